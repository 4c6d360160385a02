"""The example that trains a model from a file of ids: its slopes are right, and it learns."""

from __future__ import annotations

import importlib
import itertools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import processes
import pytest
import texts
from conftest import ROOT

import nbbpe

# The sums of several threads may be put together in another order each time.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
EXAMPLES = ROOT / "examples"


@pytest.fixture
def bigram(monkeypatch: pytest.MonkeyPatch):
    """The script as a module."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("bigram")


@pytest.fixture
def folder(small, tmp_path: Path) -> Path:
    """A folder with a tokenizer and a file of ids."""
    (tmp_path / "text.txt").write_text((texts.SAMPLE + texts.SPECIAL) * 20, encoding="utf-8", newline="")
    small.save(tmp_path / "tokenizer")
    small.encode_file(tmp_path / "text.txt", tmp_path / "train.bin")
    return tmp_path


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return processes.ended(EXAMPLES / "bigram.py", *arguments, **ONE_THREAD)


def test_a_step_goes_down_the_slope_of_the_loss(bigram, monkeypatch):
    rng = np.random.default_rng(0)
    model = bigram.Bigram(5, rng)
    model.weights *= 10
    x, y = rng.integers(4, size=(2, 3, 6))
    wanted = {}
    for name in "features", "weights", "bias":
        values = getattr(model, name)
        slopes = np.zeros_like(values)
        for place in np.ndindex(values.shape):
            kept = values[place]
            losses = []
            for change in -0.01, 0.01:
                values[place] = kept + change
                losses.append(model.loss(x, y))
            values[place] = kept
            slopes[place] = (losses[1] - losses[0]) / 0.02
        wanted[name] = slopes
    before = {name: getattr(model, name).copy() for name in wanted}
    monkeypatch.setattr(bigram, "LEARNING_RATE", 1.0)
    model._squares = [np.full(squares.shape, 1e8) for squares in model._squares]  # a step is then slope / 10,000
    model.step(x, y)
    for name, slopes in wanted.items():
        moved = (before[name].astype(np.float64) - getattr(model, name)) * 1e4
        assert np.allclose(moved, slopes, atol=3e-3), name
        assert np.abs(slopes).max() > 0.01


def test_it_learns_what_follows_what(bigram):
    model = bigram.Bigram(6, np.random.default_rng(0))
    ids = np.tile(np.arange(6), 20)
    x, y = ids[None, :-1], ids[None, 1:]
    assert abs(model.loss(x, y) - np.log(6)) < 0.2
    for _ in range(50):
        model.step(x, y)
    assert model.loss(x, y) < 0.05
    written = itertools.islice(model.write(2, np.random.default_rng(0)), 4)
    assert list(written) == [3, 4, 5, 0]


def test_the_loop_is_closed(folder):
    done = run(folder / "train.bin", "--steps", 60, "--sample", 50)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    about, before, after, *sample = done.stdout.splitlines()
    n_ids = len(nbbpe.TokenFile(folder / "train.bin"))
    assert f"{n_ids:,} ids; guessing blindly has a loss of {np.log(400):.2f} nats" in about
    losses = [float(re.search(r"\d+\.\d+$", line).group()) for line in (before, after)]
    assert abs(losses[0] - np.log(400)) < 0.1
    assert losses[1] < losses[0] / 2
    assert len("".join(sample)) > 20
    assert run(folder / "train.bin", "--steps", 60, "--sample", 50).stdout == done.stdout


def test_no_steps_and_no_sample_are_no_error(folder):
    done = run(folder / "train.bin", "--steps", 0, "--sample", 0)
    assert done.returncode == 0, done.stderr
    before, after = re.findall(r"\d+\.\d+$", done.stdout, re.MULTILINE)
    assert before == after


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing/train.bin"], "'missing/tokenizer' is missing"),
        (["missing.bin"], "No such file or directory"),
        (["."], "Is a directory"),
        (["short.bin"], "holds 3 ids, and block_size=64 needs at least 65"),
        (["train.bin", "--steps", "-1"], "argument --steps: -1 is less than 0"),
        (["train.bin", "--sample", "-1"], "argument --sample: -1 is less than 0"),
        (["train.bin", "--seed", "-1"], "argument --seed: -1 is less than 0"),
        (["train.bin", "--seed", "x"], "argument --seed: invalid number value: 'x'"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(bigram, folder, small, monkeypatch, capsys, arguments, said):
    small.encode_file(iter(["a\0b"]), folder / "short.bin")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["bigram.py", *arguments])
    with pytest.raises(SystemExit, match="2"):
        bigram.main()
    assert said in capsys.readouterr().err.splitlines()[-1]
