"""The seeds as they are, and some mutations of them (see readers.py; `python -m tests.fuzz` reads many more)."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import readers

ROOT = Path(__file__).parents[2]
SECONDS = 15  # of mutations


@pytest.mark.parametrize("name", readers.READERS)
@pytest.mark.filterwarnings("ignore")
def test_a_valid_seed_is_read_and_others_are_one_error(name, tmp_path):
    for seed in (readers.SEEDS / name).iterdir():
        shutil.copytree(seed, tmp_path / seed.name)
        names = tuple(path.split("/")[-1] for path in readers.files_of(seed))
        if seed.name == "valid":
            readers.READERS[name].read(tmp_path / seed.name)
        else:
            assert readers.mutations.fault(readers.READERS[name].read, tmp_path / seed.name, names) is None


@pytest.mark.slow
def test_what_allocates_too_much_takes_too_long_or_crashes_is_found(tmp_path, monkeypatch):
    """A fuzzer that finds nothing may be one that cannot."""
    spec = importlib.util.spec_from_file_location("fuzz_main", Path(__file__).with_name("__main__.py"))
    fuzz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz)
    for does, wanted in (
        ("bytearray(100 << 20)", "allocates"),
        ("__import__('time').sleep(30)", "took too long"),
        ("__import__('os').abort()", "ended with -6"),
        ("{}['a']", "KeyError"),
        ("int('x')", "names no file"),
        ("bytearray(1 << 40)", "MemoryError"),
    ):
        script = tmp_path / "broken.py"
        script.write_text(
            Path(fuzz.__file__)
            .read_text()
            .replace("str(Path(__file__).parent)", repr(str(Path(__file__).parent)))
            .replace("SECONDS = 20", "SECONDS = 3")
            .replace(
                "    tracemalloc.start()\n",
                f"    reader = reader._replace(read=lambda folder: {does})\n    tracemalloc.start()\n",
            )
        )
        monkeypatch.setattr(fuzz, "__file__", str(script))
        faults = fuzz.run_batch("json-lines", 0, 1, 1)
        assert len(faults) == 1
        assert wanted in faults[0][1], faults


@pytest.mark.slow
def test_mutations_are_read_or_named():
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.fuzz", "--seconds", str(SECONDS), "--keep", folder]
        command += ["--files", "1000000", "--seed", "0"]  # a test that fails does so again; the long form takes another
        began = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - began < 5 * SECONDS
