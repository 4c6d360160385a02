"""Scratch folders of runs that were killed: the next run removes them, and none that anybody still uses."""

from __future__ import annotations

import errno
import functools
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import processes
import pytest
from real_patterns import WITHOUT_PIECES

import nbbpe
from nbbpe.system import scratch
from nbbpe.system.scratch import remove_leftovers, scratch_folder

fcntl = pytest.importorskip("fcntl", reason="files cannot be locked here, so leftovers stay")

NOBODY = 65534

ENCODE = """
import itertools, sys, time, nbbpe
def documents():
    yield from ["the cat sat"] * 3
    print("amid it", flush=True)
    while True:
        time.sleep(60)
        yield ""
nbbpe.load(sys.argv[1]).encode_file(documents(), sys.argv[2])
"""
# In two worker processes, as the pattern is a custom one.
ENCODE_IN_PROCESSES = """
import sys, threading, time, os, nbbpe
def tell():
    while not any(name.endswith(".partial") for name in os.listdir(os.path.dirname(sys.argv[2]))):
        time.sleep(0.01)
    time.sleep(0.5)
    print("amid it", flush=True)
threading.Thread(target=tell, daemon=True).start()
nbbpe.load(sys.argv[1]).encode_file(sys.argv[3], sys.argv[2], workers=2)
"""
SAVE = """
import sys, time, nbbpe
from nbbpe.formats.vocab_json import gpt2
def write_merges(*arguments):
    print("amid it", flush=True)
    time.sleep(60)
tokenizer = nbbpe.load(sys.argv[1])
gpt2.write_merges = write_merges
tokenizer.save(sys.argv[2])
"""


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("tokenizer") / "tok"
    nbbpe.train(iter(["the cat sat on the mat"]), 260, ["<s>"]).save(path)
    return path


def started(script: str, *arguments: object) -> subprocess.Popen[str]:
    """A process that is amid its work."""
    process = processes.started("-c", script, *arguments)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line == "amid it\n", (line, process.wait())
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def partial(folder: Path) -> set[str]:
    return {name for name in os.listdir(folder) if name.endswith(".partial")}


def test_what_a_killed_run_left_goes_and_what_a_living_one_uses_stays(tmp_path, tokenizer):
    kill(started(ENCODE, tokenizer, tmp_path / "ids.bin"))
    assert len(partial(tmp_path)) == 1
    living = started(ENCODE, tokenizer, tmp_path / "ids.bin")  # removes the first one's
    try:
        (its,) = partial(tmp_path)
        kill(started(ENCODE, tokenizer, tmp_path / "ids.bin"))
        assert len(partial(tmp_path)) == 2
        nbbpe.load(tokenizer).encode_file(iter(["a", "b"]), tmp_path / "ids.bin")
        assert partial(tmp_path) == {its}
        assert (tmp_path / its / "0").exists()
        assert sorted(os.listdir(tmp_path)) == [its, "ids.bin", "ids.bin.ends", "ids.bin.json"]
    finally:
        kill(living)
    nbbpe.load(tokenizer).encode_file(iter(["a", "b"]), tmp_path / "ids.bin")
    assert partial(tmp_path) == set()


def test_that_of_a_run_with_worker_processes_goes(tmp_path):
    nbbpe.train(iter(["the cat sat"]), 258, ["<s>"], pattern=WITHOUT_PIECES).save(tmp_path / "tok")
    (tmp_path / "text.txt").write_text(("the cat sat on the mat, and the dog did not. " * 50_000 + "<s>") * 20)
    (tmp_path / "out").mkdir()
    kill(started(ENCODE_IN_PROCESSES, tmp_path / "tok", tmp_path / "out" / "ids.bin", tmp_path / "text.txt"))
    assert len(partial(tmp_path / "out")) == 1
    deadline = time.monotonic() + 30
    while partial(tmp_path / "out") and time.monotonic() < deadline:  # its workers end soon
        nbbpe.load(tmp_path / "tok").encode_file(iter(["a"]), tmp_path / "out" / "ids.bin")
    assert partial(tmp_path / "out") == set()


@pytest.mark.parametrize("is_there", [False, True])
def test_that_of_a_killed_save_goes(tmp_path, tokenizer, is_there):
    loaded = nbbpe.load(tokenizer)
    folder = tmp_path / "tok"
    if is_there:
        loaded.save(folder)
    where = folder if is_there else tmp_path
    for number in 1, 1:  # the second one removes the first one's
        kill(started(SAVE, tokenizer, folder))
        assert len(partial(where)) == number
    living = started(SAVE, tokenizer, folder)
    try:
        loaded.save(folder)
        assert len(partial(where)) == 1
    finally:
        kill(living)
    loaded.save(folder)  # which is there by now; where it was not, the leftover lies beside it
    assert sorted(os.listdir(folder)) == [
        "merges.txt",
        "nbbpe.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.json",
    ]
    assert os.listdir(tmp_path) == ["tok"]


def leftover(folder: Path) -> Path:
    """What a process that was killed leaves."""

    def killed() -> None:
        with scratch_folder(folder / "x") as made:
            (Path(made) / "deep").mkdir()
            (Path(made) / "deep" / "part").touch()
            (Path(made) / "0").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    processes.exit_code(processes.fork(killed))
    (name,) = partial(folder)
    return folder / name


def test_a_forked_process_that_lives_on_keeps_it(tmp_path):
    """It may be at work in there."""
    reading, writing = os.pipe()

    def killed() -> None:
        with scratch_folder(tmp_path / "x"):
            os.write(writing, str(processes.fork(lambda: time.sleep(60))).encode())
            os.kill(os.getpid(), signal.SIGKILL)

    processes.exit_code(processes.fork(killed))
    grandchild = int(os.read(reading, 20))
    os.close(reading), os.close(writing)
    try:
        remove_leftovers(str(tmp_path))
        assert len(partial(tmp_path)) == 1
    finally:
        os.kill(grandchild, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while partial(tmp_path) and time.monotonic() < deadline:
        remove_leftovers(str(tmp_path))
        time.sleep(0.01)
    assert partial(tmp_path) == set()


def test_those_of_another_host_and_of_other_programs_stay(tmp_path, monkeypatch):
    path = leftover(tmp_path)
    (tmp_path / ".nbbpe-other.partial").mkdir()
    (tmp_path / "mine.partial").mkdir()
    uname = os.uname()
    with monkeypatch.context() as patched:
        patched.setattr(os, "uname", lambda: os.uname_result((uname[0], "another-host", *uname[2:])))
        remove_leftovers(str(tmp_path))
    assert path.is_dir()
    remove_leftovers(str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == [".nbbpe-other.partial", "mine.partial"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make the files of several users")
def test_those_of_another_user_stay_and_nothing_is_followed(tmp_path):
    path = leftover(tmp_path)
    os.chown(path, NOBODY, NOBODY)
    remove_leftovers(str(tmp_path))
    assert path.is_dir()
    os.chown(path, 0, 0)
    precious = tmp_path / "precious"
    shutil.copytree(path, precious)
    (tmp_path / (path.name[:-8] + "2.partial")).symlink_to(precious)
    (tmp_path / (path.name[:-8] + "3.partial")).touch()
    remove_leftovers(str(tmp_path))
    assert not path.exists()
    assert (precious / "0").exists()
    assert len(partial(tmp_path)) == 2


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path):
    path = leftover(tmp_path)
    (path / scratch._OWNER).unlink()
    (tmp_path / "free").touch()  # whose lock could be had
    (path / scratch._OWNER).symlink_to(tmp_path / "free")
    remove_leftovers(str(tmp_path))
    assert path.is_dir()
    (path / scratch._OWNER).unlink()
    os.mkfifo(path / scratch._OWNER)
    remove_leftovers(str(tmp_path))  # does not wait for whoever would write
    assert os.listdir(tmp_path) == ["free"]


def test_a_link_within_is_removed_and_not_what_it_leads_to(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").touch()
    path = leftover(tmp_path)
    (path / "link").symlink_to(tmp_path / "data")
    remove_leftovers(str(tmp_path))
    assert os.listdir(tmp_path) == ["data"]
    assert os.listdir(tmp_path / "data") == ["file"]


def test_ended_between_any_two_steps_nothing_is_left_in_the_end(tmp_path):
    """Killed while it makes the folder, or while it removes it, or what another one left."""
    steps = {"open", "os.mkdir", "os.remove", "os.rmdir", "os.listdir", "os.scandir", "fcntl.flock", "shutil.rmtree"}

    def use_until(step: int, folder: Path) -> None:
        left = step

        def hook(event: str, arguments: object) -> None:
            nonlocal left
            left -= event in steps
            if left < 0:
                os._exit(9)

        sys.addaudithook(hook)
        with scratch_folder(folder / "x") as made:
            (Path(made) / "part").touch()

    step = 0
    while True:
        folder = tmp_path / str(step)
        folder.mkdir()
        leftover(folder)
        code = processes.exit_code(processes.fork(functools.partial(use_until, step, folder)))
        remove_leftovers(str(folder))
        assert os.listdir(folder) == [], step
        if code == 0:
            break
        step += 1
    assert step > 10


def test_many_at_once_take_nothing_from_each_other(tmp_path):
    """Processes that make, use and remove folders, some of which are killed, and each of which removes leftovers."""

    def use(is_killed: bool) -> None:
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            with scratch_folder(tmp_path / "x") as made:
                (Path(made) / "part").write_text("mine")
                remove_leftovers(str(tmp_path))
                assert (Path(made) / "part").read_text() == "mine"
                if is_killed:
                    os.kill(os.getpid(), signal.SIGKILL)

    children = [processes.fork(functools.partial(use, number >= 4)) for number in range(6)]
    assert list(map(processes.exit_code, children)) == [0] * 4 + [-signal.SIGKILL] * 2
    remove_leftovers(str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_removed_is_never_one_that_can_be_locked(tmp_path, monkeypatch):
    """A process that has just made the folder locks it when it can, and would work in a folder that goes away."""
    path = leftover(tmp_path)
    maker = os.open(path / ".nbbpe-owner", os.O_RDWR)  # of that process, before it could lock
    close, seen = os.close, []

    def close_and_lock(descriptor: int) -> None:
        close(descriptor)
        seen.append(scratch.try_lock(maker) and os.fstat(maker).st_nlink)

    with monkeypatch.context() as patched:
        patched.setattr(scratch.os, "close", close_and_lock)
        remove_leftovers(str(tmp_path))
    os.close(maker)
    assert seen
    assert not any(seen)
    assert os.listdir(tmp_path) == []


def test_where_files_cannot_be_locked_all_works_and_leftovers_stay(tmp_path, monkeypatch):
    path = leftover(tmp_path)

    def flock(descriptor: int, operation: int) -> None:
        raise OSError(95, "Operation not supported")

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", flock)
        with scratch_folder(tmp_path / "x"):
            remove_leftovers(str(tmp_path))
            assert len(partial(tmp_path)) == 2
    with monkeypatch.context() as patched:
        patched.setattr(scratch, "fcntl", None)
        with scratch_folder(tmp_path / "x"):
            pass
        assert partial(tmp_path) == {path.name}


def test_a_lock_on_another_descriptor_of_this_process_counts(tmp_path):
    """As for a save within the folder that the command holds while it trains."""
    with scratch_folder(tmp_path / "x") as outer:
        with scratch_folder(tmp_path / "x"):
            assert os.path.isdir(outer)
        assert os.path.isdir(outer)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files as Linux lists them")
def test_what_is_in_use_is_looked_at_and_closed_again(tmp_path):
    with scratch_folder(tmp_path / "x"):
        n_open = len(os.listdir("/proc/self/fd"))
        remove_leftovers(str(tmp_path))
        assert len(os.listdir("/proc/self/fd")) == n_open


def test_a_folder_of_which_the_lock_cannot_be_made_goes_at_once(tmp_path, monkeypatch):
    real = os.open

    def refuse(path, *args):
        if os.path.basename(path) == ".nbbpe-owner":
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return real(path, *args)

    monkeypatch.setattr(scratch.os, "open", refuse)
    with pytest.raises(OSError, match="cannot write to the folder: Too many open files"), scratch_folder(tmp_path / "x"):
        pass
    assert os.listdir(tmp_path) == []


def test_one_that_cannot_be_removed_does_not_keep_the_others(tmp_path, monkeypatch):
    paths, tried = [leftover(tmp_path)], []
    for ending in "1.partial", "2.partial":
        paths.append(shutil.copytree(paths[0], str(paths[0]).replace(".partial", ending)))

    def refuse(folder: str) -> None:
        tried.append(folder)
        raise PermissionError

    monkeypatch.setattr(scratch, "_remove_leftover", refuse)
    remove_leftovers(str(tmp_path))
    assert sorted(tried) == sorted(map(str, paths))


def test_a_folder_that_may_be_written_and_not_read(nobodys_folder):
    folder, as_nobody = nobodys_folder
    box = folder / "box"
    box.mkdir()
    box.chmod(0o733)
    with as_nobody(), scratch_folder(box / "x") as made:
        Path(made, "part").touch()
    assert os.listdir(box) == []


def test_the_name_of_this_host_may_be_any_bytes(tmp_path, monkeypatch):
    uname = os.uname()
    named = os.uname_result([uname.sysname, os.fsdecode(b"b\xfcro"), *uname[2:]])
    monkeypatch.setattr(os, "uname", lambda: named)
    with scratch_folder(tmp_path / "a") as folder:
        assert os.listdir(tmp_path) == [os.path.basename(folder)]
    assert os.listdir(tmp_path) == []
