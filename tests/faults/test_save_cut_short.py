"""`Tokenizer.save` ended at any moment: the old tokenizer is there, the new one, or an error says what has happened."""

from __future__ import annotations

import errno
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import processes
import pytest
from effort import mostly_slow
from vocabularies import BYTES, rank_lines, ranks_of

import nbbpe
from nbbpe.system import atomic_files
from nbbpe.system.atomic_files import put

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="ends forked processes")

# What Python tells an audit hook before it is done: a process that ends there has done all that came before.
STEPS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.listdir", "os.scandir"}
CUT_SHORT = r"a save to this folder was cut short"


@pytest.fixture(scope="module")
def old() -> nbbpe.Tokenizer:
    return nbbpe.train(iter(["the cat sat on the mat " * 3]), 262, ["<old>"], pattern="cl100k")


@pytest.fixture(scope="module")
def new() -> nbbpe.Tokenizer:
    return nbbpe.train(iter(["a dog did not see her here " * 3]), 263, ["<new>", "<s>"], pattern="o200k")


@pytest.fixture(scope="module")
def ranks(tmp_path_factory) -> nbbpe.Tokenizer:
    """One without a list of merges, of which there is then no file."""
    path = tmp_path_factory.mktemp("ranks") / "x.tiktoken"
    path.write_bytes(rank_lines(ranks_of([*BYTES.values(), b"abcd", b"bc"])))
    return nbbpe.Tokenizer.from_tiktoken(path, "cl100k", ["<ranks>"])


def end_at(step: int, work: Callable[[], object], how: Callable[[], object]) -> bool:
    """Do something in another process, which does `how` before it takes step number `step`; whether it came so far."""
    left = step

    def hook(event: str, arguments: object) -> None:
        nonlocal left
        if event in STEPS:
            left -= 1
            if left == -1:
                how()

    def hooked() -> None:
        sys.addaudithook(hook)
        try:
            work()
        finally:
            if left < 0:
                os._exit(9)

    status = processes.exit_code(processes.fork(hooked))
    assert status in (0, 9), "what was to be ended failed by itself"
    return status == 9


def kill() -> None:
    os._exit(9)


def interrupt() -> None:
    raise KeyboardInterrupt


def loaded(folder: Path) -> nbbpe.Tokenizer | str:
    """The tokenizer in a folder, or "nothing", or "cut short"."""
    try:
        return nbbpe.load(folder)
    except FileNotFoundError:
        return "nothing"
    except ValueError as error:
        if CUT_SHORT in str(error) and str(folder) in str(error) and "save the tokenizer again" in str(error):
            return "cut short"
        raise


FOR_OTHERS = {"tokenizer.json", "tokenizer_config.json"}
USERS = {"README.md": "mine", "config.json": "{}", "special_tokens_map.json": "{}"}


def no_folder(folder: Path, old: nbbpe.Tokenizer) -> object:
    return "nothing"


def empty_folder(folder: Path, old: nbbpe.Tokenizer) -> object:
    folder.mkdir()
    return "nothing"


def users_files(folder: Path, old: nbbpe.Tokenizer) -> object:
    folder.mkdir()
    for name, content in USERS.items():
        (folder / name).write_text(content)
    return "nothing"


def old_folder(folder: Path, old: nbbpe.Tokenizer) -> object:
    old.save(folder)
    for name, content in USERS.items():
        (folder / name).write_text(content)
    return old


def linked_folder(folder: Path, old: nbbpe.Tokenizer) -> object:
    old.save(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")
    return old


BEFORE = [no_folder, empty_folder, users_files, old_folder, linked_folder]


CASES = [*((before, "new", kill) for before in BEFORE), (no_folder, "new", interrupt), (old_folder, "new", interrupt)]
CASES += [(old_folder, "ranks", kill)]
USUAL = [(no_folder, "new", interrupt), (linked_folder, "new", kill), (old_folder, "ranks", kill)]


@pytest.mark.parametrize(
    "case", mostly_slow(CASES, USUAL), ids=[f"{before.__name__}-{which}-{how.__name__}" for before, which, how in CASES]
)
def test_at_every_step(tmp_path, old, case, request):
    before, which, how = case
    tokenizer = request.getfixturevalue(which)
    seen = set()
    step = 0
    while True:
        place = tmp_path / str(step)
        place.mkdir()
        folder = place / "tok"
        there = before(folder, old)
        is_cut = end_at(step, lambda folder=folder: tokenizer.save(folder), how)
        found = loaded(folder)
        assert found in (there, tokenizer, "cut short"), step
        seen.add("old" if found == there else "new" if found == tokenizer else found)
        if not is_cut:
            assert found == tokenizer
        # A later save is none the worse for it, and nothing is left of either.
        tokenizer.save(folder)
        assert nbbpe.load(folder) == tokenizer
        own = {"nbbpe.json", "vocab.json", *FOR_OTHERS} | ({"merges.txt"} if which == "new" else set())
        users = set(USERS) if before in (users_files, old_folder) else set()
        assert set(os.listdir(folder)) == own | users, step
        assert all((folder / name).read_text() == USERS[name] for name in users)
        assert set(os.listdir(place)) <= {"tok", "elsewhere"}, step
        if not is_cut:
            break
        step += 1
    assert step > 15
    # Where a folder is new, there is nothing between.
    assert seen == ({"old", "new"} if before is no_folder else {"old", "new", "cut short"})


def test_killed_at_any_time(tmp_path, old, new):
    """Real kills, of a process that does nothing but save one over the other."""
    chance = random.Random(22)
    folder = tmp_path / "tok"

    def save_for_ever() -> None:
        while True:
            old.save(folder)
            new.save(folder)

    for _ in range(40):
        child = processes.fork(save_for_ever)
        time.sleep(chance.uniform(0.002, 0.05))
        os.kill(child, signal.SIGKILL)
        assert processes.exit_code(child) == -signal.SIGKILL
        assert loaded(folder) in (old, new, "cut short", "nothing")
    new.save(folder)
    assert nbbpe.load(folder) == new
    assert set(os.listdir(folder)) == {"merges.txt", "nbbpe.json", "vocab.json", *FOR_OTHERS}
    assert os.listdir(tmp_path) == ["tok"]


@pytest.mark.parametrize("name", ["nbbpe.json", "vocab.json", "merges.txt"])
def test_a_save_that_was_cut_short_is_no_other_format(tmp_path, old, new, name):
    """By none of its files, and not as the tokenizer of another format beside it."""
    for step in range(1000):
        folder = tmp_path / str(step)
        old.save(folder)
        assert end_at(step, lambda folder=folder: new.save(folder), kill)
        if loaded(folder) == "cut short" and (folder / name).exists():
            break
    with pytest.raises(ValueError, match=CUT_SHORT):
        nbbpe.load(folder / name)
    with pytest.raises(ValueError, match=CUT_SHORT):
        nbbpe.load(folder, check=False)
    with pytest.raises(ValueError, match=CUT_SHORT):
        nbbpe.Tokenizer.load(folder)


def test_a_folder_of_an_older_version_loads(tmp_path, old):
    old.save(tmp_path)
    about = (tmp_path / "nbbpe.json").read_text()
    assert "saving" not in about
    assert nbbpe.load(tmp_path) == old


def test_two_that_save_to_a_new_folder_at_once(tmp_path, new, monkeypatch):
    """As all processes of a training run may."""
    children = [processes.fork(lambda: new.save(tmp_path / "tok")) for _ in range(8)]
    assert list(map(processes.exit_code, children)) == [0] * 8
    assert nbbpe.load(tmp_path / "tok") == new
    assert os.listdir(tmp_path) == ["tok"]


def test_what_has_a_name_is_on_the_disk(tmp_path, new, old, monkeypatch):
    """A power cut cannot be had here: that each file is synced before its name, and the folder after it, can be seen."""
    told: list[tuple[str, str]] = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        told.append(("sync", os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def renamed(source: str, target: str) -> None:
        told.append(("rename", f"{source} {target}"))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    folder = tmp_path / "tok"
    for tokenizer in old, new:
        told.clear()
        tokenizer.save(folder)
        renames = [number for number, (what, _) in enumerate(told) if what == "rename"]
        assert len(renames) == (1 if tokenizer is old else 6)
        for number in renames:
            source, target = told[number][1].split()
            assert ("sync", source) in told[:number]
            assert told[number + 1] == ("sync", os.path.dirname(target))
    (tmp_path / "new").write_text("x")
    told.clear()
    put(str(tmp_path / "new"), tmp_path / "file")
    assert [what for what, _ in told] == ["sync", "rename", "sync"]


def test_a_disk_that_knows_no_fsync_is_no_error_and_one_that_fails_is(tmp_path, monkeypatch):
    def fail(error: int) -> Callable[[int], None]:
        def fsync(descriptor: int) -> None:
            raise OSError(error, os.strerror(error))

        return fsync

    (tmp_path / "old").write_text("old")
    for error, is_error in (errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True), (errno.ENOSPC, True):
        (tmp_path / "new").write_text("new")
        monkeypatch.setattr(os, "fsync", fail(error))
        if is_error:
            with pytest.raises(OSError, match=os.strerror(error)):
                put(str(tmp_path / "new"), tmp_path / "old")
            assert (tmp_path / "old").read_text() == "old"
        else:
            put(str(tmp_path / "new"), tmp_path / "old")
            assert (tmp_path / "old").read_text() == "new"
        (tmp_path / "old").write_text("old")


@pytest.mark.parametrize("number", [0, 1])
def test_of_two_files_the_one_that_a_disk_has_no_room_for_is_named(tmp_path, monkeypatch, number):
    def sync(path: str) -> None:
        if os.path.basename(path) == names[number]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    names = "v.json", "m.txt"
    monkeypatch.setattr(atomic_files, "sync", sync)
    with pytest.raises(OSError, match=f"/{names[number]}'$"):
        nbbpe.Tokenizer(BYTES, []).save_gpt2(*(tmp_path / name for name in names))
    assert not os.listdir(tmp_path)
