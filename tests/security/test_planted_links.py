"""Symlinks that another user has put where a file of ours is to be written: what they lead to is never touched.

Users are those of numbers that a child process takes on, which only root can; where that cannot be, all is skipped.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from vocabularies import WRITERS

import nbbpe
from nbbpe.system.atomic_files import put, whole_file
from nbbpe.system.links import target_of

US, MALLORY, COLLEAGUE = 20_001, 20_002, 20_003
ROOT = 0

pytestmark = [
    pytest.mark.skipif(
        not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can make the files of several users"
    ),
    pytest.mark.usefixtures("all_is_imported"),
]


def as_user(uid: int, work: Callable[[], object]) -> str:
    """Do something in a process of another user; "" or what it raised, as "type: message"."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        told = ""
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            work()
        except BaseException as error:
            told = "".join(traceback.format_exception_only(error)).strip()
        os.write(writing, told.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as file:
        told = file.read()
    os.waitpid(child, 0)
    return told


def folder(path: Path, uid: int, mode: int) -> Path:
    path.mkdir()
    os.chown(path, uid, uid)
    path.chmod(mode)
    return path


def link(path: Path, target: Path | str, uid: int) -> Path:
    path.symlink_to(target)
    os.lchown(path, uid, uid)
    return path


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of root's that anybody may enter."""
    path = Path(tempfile.mkdtemp(prefix="nbbpe-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def home(place) -> Path:
    """Our own folder."""
    return folder(place / "home", US, 0o755)


@pytest.fixture
def precious(home) -> Path:
    """A file of ours."""
    path = home / "precious"
    path.write_text("precious")
    os.chown(path, US, US)
    return path


def write(path: Path) -> None:
    with whole_file(path) as whole:
        Path(whole).write_text("new")


# owner and mode of the folder, owner of the link, and whether it is followed
CASES = {
    "ours in our own folder": (US, 0o755, US, True),
    "ours in a folder of our group": (US, 0o775, US, True),
    "ours in /tmp": (ROOT, 0o1777, US, True),
    "root's in root's folder": (ROOT, 0o755, ROOT, True),
    "root's in our own folder": (US, 0o755, ROOT, True),
    "another's in /tmp": (ROOT, 0o1777, MALLORY, False),
    "root's in /tmp": (ROOT, 0o1777, ROOT, False),
    "another's in a folder of our group": (US, 0o2775, MALLORY, False),
    "another's in our folder for all": (US, 0o777, MALLORY, False),
    "ours, maybe moved, in our folder for all": (US, 0o777, US, False),
    "another's in their folder": (MALLORY, 0o777, MALLORY, False),
    "ours, maybe moved, in another's folder": (MALLORY, 0o777, US, False),
    "ours in another's sticky folder": (MALLORY, 0o1777, US, False),
}


@pytest.mark.parametrize("case", CASES)
def test_a_link_is_followed_only_where_it_and_its_folder_are_ours(place, home, precious, case):
    folder_owner, mode, owner, followed = CASES[case]
    shared = folder(place / "shared", folder_owner, mode)
    name = link(shared / "out.txt", precious, owner)
    told = as_user(US, lambda: write(name))
    assert name.is_symlink()
    if followed:
        assert (told, precious.read_text()) == ("", "new")
    else:
        assert precious.read_text() == "precious"
        assert told.startswith("PermissionError: ")
        user = "'root'" if owner == ROOT else owner
        for named in str(name), str(precious), f"symlink of the user {user}":
            assert named in told
    assert sorted(os.listdir(shared)) == ["out.txt"]
    assert sorted(os.listdir(home)) == ["precious"]


def test_root_does_not_follow_the_links_of_users(place, home):
    victim = place / "of root"
    victim.write_text("precious")
    name = link(home / "out.txt", victim, US)
    with pytest.raises(PermissionError, match=f"symlink of the user {US}"):
        write(name)
    assert victim.read_text() == "precious"


def test_every_link_of_a_chain_is_asked_after(place, home, precious):
    shared = folder(place / "shared", ROOT, 0o1777)
    planted = link(shared / "b", precious, MALLORY)
    first = link(home / "a", planted, US)
    assert "symlink of the user" in as_user(US, lambda: write(first))
    planted.unlink()
    link(planted, precious, US)
    assert as_user(US, lambda: write(first)) == ""
    assert precious.read_text() == "new"


def test_a_link_to_a_folder_on_the_way_is_asked_after_where_all_may_write(place, home, precious):
    shared = folder(place / "shared", ROOT, 0o1777)
    through = link(shared / "run", home, MALLORY)
    assert "symlink of the user" in as_user(US, lambda: write(through / "precious"))
    assert precious.read_text() == "precious"
    # Where somebody keeps a link to a disk in a folder of their own, we are led there on purpose.
    theirs = folder(place / "colleague", COLLEAGUE, 0o755)
    link(theirs / "disk", home, COLLEAGUE)
    assert as_user(US, lambda: write(theirs / "disk" / "precious")) == ""
    assert precious.read_text() == "new"


def test_what_a_link_leads_to_is_the_same_as_for_the_system(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    leads_to = {"up": "deep/er/../..", "abs": tmp_path / "deep", "dot": "./deep/./er", "leaf": "file", "gone": "no/where"}
    for name, target in leads_to.items():
        (tmp_path / name).symlink_to(target)
    for path in "up/file", "abs/er/x", "dot/../x", "leaf", "deep/../leaf", "up/up/leaf", "missing/x", "dot/new", "gone":
        assert target_of(tmp_path / path) == os.path.realpath(tmp_path / path), path
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(OSError, match="Too many levels"):
        target_of(tmp_path / "circle")


@pytest.mark.parametrize("suffix", ["", ".json", ".ends"])
@pytest.mark.parametrize("mode", [0o777, 0o1777], ids=oct)
def test_a_file_of_ids_and_those_beside_it_follow_no_planted_link(place, precious, small, suffix, mode):
    shared = folder(place / "shared", ROOT, mode)
    planted = link(shared / f"ids.bin{suffix}", precious, MALLORY)
    told = as_user(US, lambda: small.encode_file(iter(["the cat", "sat"]), shared / "ids.bin"))
    assert precious.read_text() == "precious"
    assert not told or told.startswith(("PermissionError", "FileExistsError"))
    assert told or not planted.is_symlink()
    planted.unlink(missing_ok=True)
    link(planted, precious.with_name("nothing"), MALLORY)  # there is no file that is not ours
    told = as_user(US, lambda: small.encode_file(iter(["the cat", "sat"]), shared / "ids.bin"))
    assert f"symlink of the user {MALLORY}" in told
    assert planted.is_symlink()


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_asks(place, precious, small, name):
    shared = folder(place / "shared", ROOT, 0o1777)
    planted = link(shared / name, precious, MALLORY)
    assert f"{str(planted)!r} is a symlink of the user {MALLORY}" in as_user(US, lambda: WRITERS[name](small, planted))
    assert precious.read_text() == "precious"
    assert os.listdir(shared) == [name]


def test_a_tokenizer_is_not_saved_through_a_planted_link(place, home, small):
    shared = folder(place / "shared", ROOT, 0o1777)
    other = nbbpe.train(iter(["abc abc"]), 258)
    assert as_user(US, lambda: other.save(home / "tok")) == ""
    planted = link(shared / "tok", home / "tok", MALLORY)
    assert "symlink of the user" in as_user(US, lambda: small.save(planted))
    assert nbbpe.load(home / "tok") == other
    planted.unlink()
    link(planted, home / "nothing yet", MALLORY)
    assert "symlink of the user" in as_user(US, lambda: small.save(planted))
    assert sorted(os.listdir(home)) == ["tok"]


OWN = ["merges.txt", "nbbpe.json", "tokenizer.json", "tokenizer_config.json", "vocab.json"]


@pytest.mark.parametrize("name", OWN)
def test_a_planted_link_in_a_folder_is_found_before_anything_is_replaced(place, precious, small, name):
    shared = folder(place / "tok", US, 0o775)
    other = nbbpe.train(iter(["abc abc"]), 258)
    assert as_user(US, lambda: other.save(shared)) == ""
    os.rename(shared / name, place / "kept")
    link(shared / name, precious, MALLORY)
    assert f"symlink of the user {MALLORY}" in as_user(US, lambda: small.save(shared))
    assert precious.read_text() == "precious"
    (shared / name).unlink()
    os.rename(place / "kept", shared / name)
    assert nbbpe.load(shared) == other
    assert sorted(os.listdir(shared)) == OWN


def test_a_link_to_a_pipe_that_somebody_planted_is_not_written_into(place, home, capfd):
    from nbbpe.cli.streams import output

    pipe = home / "pipe"
    os.mkfifo(pipe)
    os.chown(pipe, US, US)
    planted = link(folder(place / "shared", ROOT, 0o1777) / "out.txt", pipe, MALLORY)

    def write_bytes() -> None:
        with output(str(planted)) as file:
            file.write(b"x")

    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # or opening it to write would wait
    try:
        assert "symlink of the user" in as_user(US, write_bytes)
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_file_goes_where_was_looked_even_if_the_link_is_changed_meanwhile(tmp_path, monkeypatch):
    """A path that was checked has no link in it that could be another one when it is used."""
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "way").symlink_to(real)
    (real / "out").symlink_to("target")
    (tmp_path / "new").write_text("new")
    replace = os.replace

    def planting(source: str, target: str) -> None:
        (tmp_path / "way").unlink()
        (real / "out").unlink()
        replace(source, target)

    monkeypatch.setattr(os, "replace", planting)
    put(str(tmp_path / "new"), tmp_path / "way" / "out")
    assert (real / "target").read_text() == "new"
