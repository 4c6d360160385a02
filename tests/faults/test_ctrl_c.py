"""Ctrl-C wherever it may come while a file is written: nothing stays, no lock is held, and the next run goes at once."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
from abc import ABCMeta
from pathlib import Path

import numpy as np
import pytest
from interrupts import interrupted
from vocabularies import BYTES

import nbbpe
from nbbpe.idfiles import publishing
from nbbpe.idfiles.document_ends import append_ends
from nbbpe.system import kept_folder as kept
from nbbpe.system.kept_folder import kept_folder
from nbbpe.system.scratch import scratch_folder, temporary_folder

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files as Linux lists them")


FILES = {"nbbpe.json", "vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json"}


def n_open() -> int:
    return len(os.listdir("/proc/self/fd"))


def assert_no_lock(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def test_while_a_scratch_folder_is_made_used_or_removed(tmp_path, monkeypatch):
    def work() -> None:
        monkeypatch.setattr(tempfile, "_name_sequence", None)  # as before its first use, which takes a lock
        assert temporary_folder()
        with scratch_folder(tmp_path / "x") as folder:
            Path(folder, "part").touch()

    before = n_open()
    for end in interrupted(work, ["scratch.py", "tempfile.py", "contextlib.py"]):
        assert isinstance(end.error, KeyboardInterrupt), end
        where, end = end.where, None  # its traceback keeps what it went through
        assert not tempfile._once_lock.locked(), where
        assert os.listdir(tmp_path) == [], where
        assert n_open() == before, where


@pytest.mark.parametrize("is_done", [False, True])
def test_while_a_kept_folder_is_taken_or_left(tmp_path, monkeypatch, is_done):
    monkeypatch.setattr(kept, "_PATIENCE", 0)

    def work() -> None:
        with kept_folder(str(tmp_path / "x"), True) as folder:
            Path(folder.file("part")).touch()
            if is_done:
                folder.done()

    before = n_open()
    for end in interrupted(work, ["kept_folder.py", "scratch.py", "contextlib.py"]):
        assert isinstance(end.error, KeyboardInterrupt), end
        where, end = end.where, None
        assert n_open() == before, where
        work()
        assert os.listdir(tmp_path) == ([] if is_done else ["x"]), where


def test_while_ends_of_documents_are_joined(tmp_path):
    part = tmp_path / "part"
    part.write_bytes(np.arange(3, dtype="<i8").tobytes())

    def work() -> None:
        assert isinstance(part, os.PathLike)  # which NumPy asks, too, where it is given a file
        append_ends(str(tmp_path / "all"), str(part), 5)

    asked = os.path.basename(ABCMeta.__instancecheck__.__code__.co_filename)
    for end in interrupted(work, ["document_ends.py", "read_numbers.py", asked]):
        assert isinstance(end.error, KeyboardInterrupt), end


def test_while_files_get_their_names_and_again_while_that_is_undone(small, tmp_path, monkeypatch):
    def interrupted_once(real):
        left = [signal.SIGINT]

        def call(*arguments):
            while left:
                signal.raise_signal(left.pop())
            return real(*arguments)

        return call

    def files() -> list[tuple[str, bytes]]:
        return [(path.name, path.read_bytes()) for path in sorted(tmp_path.iterdir())]

    small.encode_file(documents=["new", "one"], output_path=tmp_path / "x.bin")
    new = files()
    small.encode_file(documents=["the", "older"], output_path=tmp_path / "x.bin")
    older = files()
    monkeypatch.setattr(publishing, "put", interrupted_once(publishing.put))
    monkeypatch.setattr(publishing, "_put_back", interrupted_once(publishing._put_back))
    with pytest.raises(KeyboardInterrupt):
        small.encode_file(documents=["new", "one"], output_path=tmp_path / "x.bin")
    assert files() in (older, new)


@pytest.mark.parametrize("is_older_there", [False, True])
def test_while_a_tokenizer_is_saved_as_several_files(tmp_path, is_older_there):
    """Which are then all older or all new."""
    older, newer = (nbbpe.Tokenizer({**BYTES, 256: token}, [(token[:1], token[1:])]) for token in (b"ab", b"cd"))

    def prepare() -> Path:
        folder = tmp_path / "tok"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if is_older_there:
            save(older, folder)
        return folder

    def save(tokenizer: nbbpe.Tokenizer, folder: Path) -> None:
        tokenizer.save(folder)
        tokenizer.save_gpt2(folder / "v.json", folder / "m.txt")

    for end in interrupted(lambda folder: save(newer, folder), ["atomic_files.py"], prepare=prepare):
        assert isinstance(end.error, KeyboardInterrupt), end
        assert os.listdir(tmp_path) == ["tok"], end.where
        names = {path.name for path in (tmp_path / "tok").iterdir()}
        if is_older_there or "nbbpe.json" in names:
            assert nbbpe.load(tmp_path / "tok").merges in (older.merges, newer.merges), end.where
        if is_older_there or "m.txt" in names:
            read = nbbpe.Tokenizer.from_files(tmp_path / "tok" / "v.json", tmp_path / "tok" / "m.txt")
            assert read in (older, newer), end.where
        else:
            assert names in (set(), FILES), end.where


def test_while_the_folder_of_the_output_is_locked(tmp_path):
    def work() -> None:
        with publishing.publishing(tmp_path / "x"):
            pass

    for end in interrupted(work, ["publishing.py", "contextlib.py"]):
        assert isinstance(end.error, KeyboardInterrupt), end
        where, end = end.where, None
        try:
            assert_no_lock(tmp_path)
        except BlockingIOError:
            pytest.fail(where)
