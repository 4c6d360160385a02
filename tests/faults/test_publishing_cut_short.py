"""Publishing a file of ids cut short at every step: what is there afterwards is described, or not there at all."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

import processes
import pytest
import texts
from effort import mostly_slow

import nbbpe
from nbbpe.idfiles import writer
from nbbpe.idfiles.sidecar import read_sidecar

OLD, NEW = ["the cat", " sat on"], ["THE DOG", " ran ab", "abab a"]
STEPS = ("replace", "remove", "rename", "unlink", "fsync", "chmod")

# An output before: none, of records with ends, of text without.
BEFORE = {"none": None, "with ends": OLD, "without ends": texts.SPECIAL.join(OLD)}
AFTER = {"with ends": NEW, "without ends": texts.SPECIAL.join(NEW)}


def encode(tokenizer: nbbpe.Tokenizer, documents: list[str] | str, path: Path) -> None:
    if isinstance(documents, str):
        path.with_name("text.txt").write_text(documents)
        tokenizer.encode_file(path.with_name("text.txt"), path)
    else:
        tokenizer.encode_file(iter(documents), path)


def found_at(path: Path, tokenizer: nbbpe.Tokenizer) -> list[str] | None:
    """The documents of a file of ids, its checksum and all that belongs to it looked at; None without a file."""
    if not path.exists():
        with pytest.raises(FileNotFoundError):
            nbbpe.TokenFile(path, tokenizer)
        return None
    file = nbbpe.TokenFile(path, tokenizer, verify=True)
    about = read_sidecar(path)
    assert about is not None
    assert about["n_ids"] == len(file)
    assert os.path.exists(f"{path}.ends") == (about["document_ends"] > 0)
    return [tokenizer.decode(ids) for ids in file.documents()]


def as_documents(documents: list[str] | str | None) -> list[str] | None:
    if not isinstance(documents, str):
        return documents
    *ended, last = documents.split(texts.SPECIAL)
    return [*(text + texts.SPECIAL for text in ended), last]


class Cut(BaseException):
    """What a step raises."""


def count_down(patch: pytest.MonkeyPatch, n_steps: int, cut: Callable[[], None]) -> None:
    """Have `cut` called when `n_steps` of the calls that change files are done, before the next one."""
    taken = itertools.count()

    def counted(real):
        def step(*args, **options):
            if next(taken) == n_steps:
                cut()
            return real(*args, **options)

        return step

    for name in STEPS:
        patch.setattr(os, name, counted(getattr(os, name)))


CASES = list(itertools.product(BEFORE, AFTER, [".bin", ".npy"]))
USUAL = [
    *[("none", "with ends", ".bin"), ("with ends", "without ends", ".npy")],
    *[("without ends", "with ends", ".bin"), ("with ends", "with ends", ".bin")],
]


@pytest.fixture(params=mostly_slow(CASES, USUAL), ids=["-".join(case) for case in CASES])
def case(request, small, tmp_path):
    """(path, the documents before, those after, what restores those before)."""
    before, after, suffix = request.param
    path = tmp_path / f"ids{suffix}"

    def start_anew() -> None:
        for left in tmp_path.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        if BEFORE[before] is not None:
            encode(small, BEFORE[before], path)

    return path, as_documents(BEFORE[before]), AFTER[after], start_anew


def publish_until(tokenizer, documents, path, n_steps: int, cut: Callable[[], None]) -> None:
    """Encode, with `cut` called within `publish` before the step number `n_steps`; no error where there are fewer."""
    real = writer.publish

    def publish(*args) -> None:
        with pytest.MonkeyPatch.context() as patch:
            count_down(patch, n_steps, cut)
            real(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "publish", publish)
        encode(tokenizer, documents, path)


def test_after_an_error_at_any_step_the_old_or_the_new_is_there_whole(small, case):
    path, old, documents, start_anew = case
    new = as_documents(documents)

    def stop() -> None:
        raise Cut

    seen = []
    for n_steps in itertools.count():
        start_anew()
        try:
            publish_until(small, documents, path, n_steps, stop)
        except Cut:
            seen.append(found_at(path, small))
            assert sorted(os.listdir(path.parent)) == names_there(path, seen[-1], old, new)
        else:
            break
        encode(small, documents, path)
        assert found_at(path, small) == new
    assert found_at(path, small) == new
    assert len(seen) >= 2
    assert all(found in (old, new) for found in seen)
    assert old in seen


def names_there(path: Path, found, old, new) -> list[str]:
    """What is to lie in the folder of an output, with nothing that is left over."""
    names = [path.name, f"{path.name}.json"] if found is not None else []
    with_ends = found in (OLD, NEW)
    text = [] if (old in (None, OLD)) and new == NEW else ["text.txt"]
    return sorted([*names, *([f"{path.name}.ends"] if with_ends else []), *text])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_a_kill_at_any_step_there_is_the_old_the_new_or_nothing(small, case):
    path, old, documents, start_anew = case
    new = as_documents(documents)
    seen = []
    for n_steps in itertools.count():
        start_anew()
        ended = processes.exit_code(
            processes.fork(partial(publish_until, small, documents, path, n_steps, lambda: os._exit(9)))
        )
        if not ended:
            break
        assert ended == 9
        seen.append(found_at(path, small))
        encode(small, documents, path)
        assert found_at(path, small) == new
    assert found_at(path, small) == new
    assert len(seen) >= 2
    assert all(found in (old, new, None) for found in seen)
    assert old in seen
    assert None in seen


def test_who_may_read_the_files_is_kept_and_a_link_is_followed(small, tmp_path):
    modes = {"ids.bin": 0o640, "ids.bin.ends": 0o600, "ids.bin.json": 0o604}
    (tmp_path / "there").mkdir()
    (tmp_path / "ids.bin").symlink_to(tmp_path / "there" / "ids.bin")
    for documents in OLD, NEW:
        encode(small, documents, tmp_path / "ids.bin")
        assert found_at(tmp_path / "there" / "ids.bin", small) == documents
        if documents == OLD:
            for name, mode in modes.items():
                os.chmod(tmp_path / "there" / name, mode)
    assert (tmp_path / "ids.bin").is_symlink()
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "there").iterdir()} == modes
    assert sorted(os.listdir(tmp_path)) == ["ids.bin", "there"]


@pytest.mark.parametrize("name", ["ids.bin", "ids.bin.json", "ids.bin.ends"])
def test_what_came_there_meanwhile_and_is_not_ours_is_kept(small, tmp_path, name):
    """A folder here, as it is what would be lost most easily."""
    path = tmp_path / "ids.bin"

    def documents():
        yield "the cat"
        (tmp_path / name).mkdir()
        (tmp_path / name / "precious").touch()

    with pytest.raises((IsADirectoryError, FileExistsError), match=name):
        small.encode_file(documents(), path)
    assert os.listdir(tmp_path) == [name]
    assert os.listdir(tmp_path / name) == ["precious"]


def test_a_wrong_pair_is_noticed(small, tmp_path):
    """Files that somebody has moved about, as nbbpe itself never leaves them."""
    a, b = tmp_path / "a.bin", tmp_path / "b.bin"
    one, two = ["the cat", "cat"], ["cat", "the cat"]
    assert sum(map(len, small.encode_batch(one))) == sum(map(len, small.encode_batch(two)))
    for documents, other in (OLD, NEW), (NEW, OLD), (one, two):
        encode(small, documents, a)
        encode(small, other, b)
        os.replace(b, a)
        with pytest.raises(ValueError, match=r"one was changed without the other|does not hold the ids that were written"):
            nbbpe.TokenFile(a, small, verify=True)
