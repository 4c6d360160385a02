"""Compiled kernels of other users: a file that somebody else could have written is never run, whatever names its folder.

Root runs these tests as three users: who attacks, who is attacked, and root. Where that cannot be, those cases are skipped.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import processes
import pytest
from effort import mostly_slow

import nbbpe
from nbbpe.kernels.compiler import plain, store, trusted_folders
from nbbpe.kernels.compiler.trusted_folders import InstalledFolder, PrivateFolder, Untrusted

pytestmark = pytest.mark.skipif(plain.is_plain(), reason="kernels are compiled by a plain njit")

ROOT, ATTACKER, VICTIM = 0, 65533, 64321  # the last has no entry among the users, and so no home
US = os.geteuid() if os.name != "nt" else 0
needs_root = pytest.mark.skipif(os.name == "nt" or US != 0, reason="needs root, to be several users")

# Runs a kernel of the nbbpe in folder argv[1] as user argv[2], with umask argv[3]; prints what was compiled. All that is
# imported is so before, as that user might not be allowed to read Python itself. If argv[4] is given, a file of object code
# takes the place of the compiler, which needs a second and is not what is tested.
USE = (
    """
import logging, os, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from nbbpe.kernels.training import word_digest as words
if sys.argv[4:]:
    from llvmlite import binding
    from nbbpe.kernels.compiler import obtain
    with open(sys.argv[4], "rb") as file:
        content = file.read()
    obtain.compiled = lambda kernel: obtain._say_once() or content
    kernel = words.digest_words
    obtain.loaded(kernel, content, None, False)
    binding.get_host_cpu_features()
else:
    import numba
    numba.njit(lambda x: x[0])(np.zeros(1))
if os.name != "nt" and os.geteuid() != int(sys.argv[2]):
    import fcntl
    os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
os.umask(int(sys.argv[3], 8))
"""
    + processes.RUN_A_KERNEL
)


class Used(NamedTuple):
    """What a process that ran the kernel compiled, and what it said."""

    compiled: list[str]
    said: str


class Stage:
    """A copy of the package that all may read and none may write to, and folders around it.

    folder      : anybody may make entries in it, as in /tmp
    object_code : a file of the kernel's object code, for processes that shall not compile; None for all to compile
    """

    def __init__(self, folder: Path, object_code: Path | None) -> None:
        self.folder = folder
        self.object_code = object_code
        self.install = folder / "install"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(nbbpe.__file__).parent, self.install / "nbbpe", ignore=ignored)
        self.in_tree = self.install / "nbbpe" / "kernels" / "__pycache__"
        folder.chmod(0o1777)

    def use(self, user: int, cwd: Path | None = None, umask: str = "022", **environment: str | None) -> Used:
        """Run the kernel with these variables; None is one that is not set."""
        variables = {"NUMBA_CACHE_DIR": None, "XDG_CACHE_HOME": None, "HOME": "/dev/null", **environment}
        arguments = [self.install, user, umask, *([self.object_code] if self.object_code else [])]
        done = processes.ended("-c", USE, *arguments, cwd=cwd or self.folder, **variables)
        assert done.returncode == 0, done.stderr
        return Used(done.stdout.split(), done.stderr)

    def keep_out(self) -> None:
        """Let nobody write to the package, so that there are no kernels in it."""
        self.in_tree.mkdir()
        self.in_tree.chmod(0o555)

    def make(self, path: str, owner: int, mode: int = 0o755) -> Path:
        """A folder of somebody's, with all that is above it, below `folder`."""
        made = self.folder
        for part in Path(path).parts:
            made = made / part
            if not made.exists():
                made.mkdir()
                made.chmod(mode)
                os.chown(made, owner, owner)
        return made

    def plant(self, folder: Path, name: str, content: bytes, owner: int, mode: int = 0o644) -> Path:
        """A kernel's file, as it would be taken from a folder that is trusted."""
        path = folder / name
        path.write_bytes(content)
        path.chmod(mode)
        os.chown(path, owner, owner)
        return path


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> tuple[str, bytes]:
    """The name and the content of the kernel's file."""
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "stage").mkdir()
    Stage(folder / "stage", None).use(US, NUMBA_CACHE_DIR=str(folder))
    (path,) = (folder / "nbbpe").glob("*.nbk")
    return path.name, path.read_bytes()


@pytest.fixture(scope="module")
def object_code(tmp_path_factory, compiled) -> Path:
    path = tmp_path_factory.mktemp("object") / "code"
    path.write_bytes(compiled[1][store._DIGEST :])
    return path


@pytest.fixture
def stage(nobodys_folder, object_code) -> Stage:
    return Stage(nobodys_folder[0], object_code)


# Whatever names a folder, and whose the folders are. Each makes the folder in which the attacker plants a kernel, and gives
# the user who is attacked, the variables, and the folder that user works in.
Case = Callable[[Stage], tuple[Path, int, dict[str, str | None], Path | None]]


def chosen_by_name(stage, mode=0o755):
    return stage.make("cache/nbbpe", ATTACKER, mode), VICTIM, {"NUMBA_CACHE_DIR": str(stage.folder / "cache")}, None


def chosen_and_open(stage):
    return chosen_by_name(stage, 0o777)


def chosen_below_ones_own_link(stage):
    stage.make("cache/nbbpe", ATTACKER)
    os.symlink(stage.folder / "cache", stage.folder / "link")
    os.lchown(stage.folder / "link", VICTIM, VICTIM)
    return stage.folder / "cache" / "nbbpe", VICTIM, {"NUMBA_CACHE_DIR": str(stage.folder / "link")}, None


def chosen_and_relative(stage):
    folder = stage.make("work/cache/nbbpe", ATTACKER)
    return folder, VICTIM, {"NUMBA_CACHE_DIR": "cache"}, stage.folder / "work"


def home_is_tmp(stage):
    return stage.make(".cache/nbbpe/kernels", ATTACKER), VICTIM, {"HOME": str(stage.folder)}, None


def no_home_at_all(stage):
    return stage.make("work/~/.cache/nbbpe/kernels", ATTACKER), VICTIM, {"HOME": None}, stage.folder / "work"


def relative_home(stage):
    return stage.make("work/me/.cache/nbbpe/kernels", ATTACKER), VICTIM, {"HOME": "me"}, stage.folder / "work"


def empty_cache_home(stage):
    return stage.make("work/nbbpe/kernels", ATTACKER), VICTIM, {"XDG_CACHE_HOME": ""}, stage.folder / "work"


def relative_cache_home(stage):
    return stage.make("work/c/nbbpe/kernels", ATTACKER), VICTIM, {"XDG_CACHE_HOME": "c"}, stage.folder / "work"


def root_with_a_users_home(stage):
    return stage.make("user/.cache/nbbpe/kernels", ATTACKER), ROOT, {"HOME": str(stage.folder / "user")}, None


def own_folder_below_anothers(stage):
    stage.make("user", ATTACKER)
    return stage.make("user/c/nbbpe", VICTIM), VICTIM, {"NUMBA_CACHE_DIR": str(stage.folder / "user" / "c")}, None


def own_folder_below_an_open_one(stage):
    stage.make("open", ROOT, 0o775)
    return stage.make("open/c/nbbpe", VICTIM), VICTIM, {"NUMBA_CACHE_DIR": str(stage.folder / "open" / "c")}, None


def own_folder_that_is_open(stage):
    return stage.make("c/nbbpe", VICTIM, 0o775), VICTIM, {"NUMBA_CACHE_DIR": str(stage.folder / "c")}, None


def inside_of_a_sticky_one(stage):
    stage.make("c", ROOT)
    return stage.make("c/nbbpe", ROOT, 0o1777), VICTIM, {"NUMBA_CACHE_DIR": str(stage.folder / "c")}, None


CASES: list[Case] = [
    *(chosen_by_name, chosen_and_open, chosen_below_ones_own_link, chosen_and_relative, home_is_tmp, no_home_at_all),
    *(relative_home, empty_cache_home, relative_cache_home, root_with_a_users_home, own_folder_below_anothers),
    *(own_folder_below_an_open_one, own_folder_that_is_open, inside_of_a_sticky_one),
]
USUAL_CASES = [chosen_by_name, chosen_and_open, home_is_tmp, root_with_a_users_home, own_folder_below_an_open_one]


@needs_root
@pytest.mark.parametrize("case", mostly_slow(CASES, USUAL_CASES), ids=lambda case: case.__name__)
def test_a_kernel_in_a_folder_of_others_does_not_run(stage, compiled, case):
    stage.keep_out()
    if case is root_with_a_users_home:
        shutil.rmtree(stage.in_tree)
        stage.in_tree.write_bytes(b"")  # which keeps out root
    folder, user, environment, cwd = case(stage)
    # In a folder of the user's own the file is the user's, too: what is wrong there is the folder alone.
    stage.plant(folder, *compiled, folder.stat().st_uid)
    used = stage.use(user, cwd, **environment)
    assert used.compiled == ["digest_words"]
    assert used.said.count("set NUMBA_CACHE_DIR to the absolute path of a folder that only you can write to") <= 2
    assert used.said.count("compiled kernels cannot be stored: ") == 1
    assert used.said.count("NUMBA_CACHE_DIR is not used, as ") == ("NUMBA_CACHE_DIR" in environment)


@needs_root
@pytest.mark.parametrize(("owner", "mode"), [(ATTACKER, 0o755), (ROOT, 0o777), (ROOT, 0o775)])
def test_a_kernel_in_the_package_that_others_could_write_does_not_run(stage, compiled, owner, mode):
    stage.in_tree.mkdir()
    os.chown(stage.in_tree, owner, owner)
    stage.in_tree.chmod(mode)
    stage.plant(stage.in_tree, *compiled, ROOT)
    assert stage.use(VICTIM).compiled == ["digest_words"]


@needs_root
@pytest.mark.parametrize(("owner", "mode"), [(ATTACKER, 0o644), (VICTIM, 0o664), (ROOT, 0o602)])
def test_a_file_of_others_in_ones_own_folder_does_not_run_and_is_replaced(stage, compiled, owner, mode):
    folder = stage.make("mine/nbbpe", VICTIM, 0o700)
    planted = stage.plant(folder, *compiled, owner, mode)
    for expected in ["digest_words"], []:
        assert stage.use(VICTIM, NUMBA_CACHE_DIR=str(folder.parent)).compiled == expected
    assert (planted.stat().st_uid, stat.S_IMODE(planted.stat().st_mode)) == (VICTIM, 0o600)


@needs_root
def test_a_link_to_a_file_of_others_is_not_followed(stage, compiled):
    elsewhere = stage.plant(stage.make("theirs", ATTACKER), *compiled, VICTIM)
    before = elsewhere.stat().st_mtime_ns
    folder = stage.make("mine/nbbpe", VICTIM, 0o700)
    os.symlink(elsewhere, folder / compiled[0])
    assert stage.use(VICTIM, NUMBA_CACHE_DIR=str(folder.parent)).compiled == ["digest_words"]
    assert elsewhere.stat().st_mtime_ns == before
    assert not (folder / compiled[0]).is_symlink()


@needs_root
def test_kernels_are_not_written_through_a_link_of_others(stage):
    target = stage.make("mine", VICTIM, 0o700)
    os.symlink(target, stage.folder / "link")
    os.lchown(stage.folder / "link", ATTACKER, ATTACKER)
    stage.keep_out()
    used = stage.use(VICTIM, NUMBA_CACHE_DIR=str(stage.folder / "link"))
    assert "link belongs to another user" in used.said
    assert list(target.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_what_is_no_file_does_not_stop_anything(stage, compiled, make):
    folder = stage.folder / "mine" / "nbbpe"
    folder.mkdir(0o700, parents=True)
    make(folder / compiled[0])
    assert stage.use(US, NUMBA_CACHE_DIR=str(folder.parent)).compiled == ["digest_words"]


# Where kernels are kept


def modes(folder: Path) -> list[int]:
    return [stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.glob("*.nbk"))]


@pytest.mark.skipif(os.name == "nt", reason="needs modes")
@pytest.mark.parametrize(
    ("environment", "where", "umask"),
    [
        ({"NUMBA_CACHE_DIR": "{}/a/b"}, "a/b/nbbpe", "000"),
        ({"XDG_CACHE_HOME": "{}/a/b"}, "a/b/nbbpe/kernels", "022"),
        ({"XDG_CACHE_HOME": "", "HOME": "{}/a"}, "a/.cache/nbbpe/kernels", "000"),
        ({"XDG_CACHE_HOME": "b", "HOME": "{}/a"}, "a/.cache/nbbpe/kernels", "077"),
    ],
)
def test_ones_own_folder_is_made_for_oneself_alone_and_read_again(stage, environment, where, umask):
    stage.in_tree.write_bytes(b"")
    environment = {name: value.format(stage.folder) for name, value in environment.items()}
    folder = stage.folder / where
    for expected in ["digest_words"], []:
        assert stage.use(US, umask=umask, **environment).compiled == expected
        assert modes(folder) == [0o700, 0o600]
    made = list(folder.relative_to(stage.folder).parents)[:-1]
    assert {stat.S_IMODE((stage.folder / each).stat().st_mode) for each in made} == {0o700}


@needs_root
@pytest.mark.parametrize(("umask", "compiles"), [("000", False), ("077", True)])
def test_what_root_compiles_into_the_package_is_for_all_who_can_read_it(stage, umask, compiles):
    if compiles:
        stage.object_code = None
    assert stage.use(ROOT, umask=umask).compiled == ["digest_words"]
    assert modes(stage.in_tree) == [0o755, 0o644]
    used = stage.use(VICTIM)
    assert used == ([], "")


@needs_root
def test_the_owner_of_the_package_may_be_anybody(stage):
    stage.in_tree.mkdir()
    for path in [stage.install, *stage.install.rglob("*")]:
        os.chown(path, ATTACKER, ATTACKER)
    for user, expected in [(ATTACKER, ["digest_words"]), (VICTIM, []), (ROOT, [])]:
        assert stage.use(user).compiled == expected


@needs_root
def test_a_folder_of_roots_serves_others_where_they_can_read_it(stage):
    stage.keep_out()
    folder = stage.make("shared/nbbpe", ROOT, 0o755)
    environment = {"NUMBA_CACHE_DIR": str(folder.parent)}
    assert stage.use(ROOT, **environment).compiled == ["digest_words"]
    assert modes(folder) == [0o755, 0o644]
    used = stage.use(VICTIM, **environment)
    assert used == ([], "")


@pytest.mark.slow
def test_warmup_fails_where_no_folder_takes_the_kernels(stage):
    stage.in_tree.write_bytes(b"")
    script = """
import pkgutil, sys
sys.path.insert(0, sys.argv[1])
from nbbpe import cli
from nbbpe.kernels.compiler import jit
from nbbpe.kernels.training import word_digest
from nbbpe.patterns import pattern
pattern.NAMED.clear()

def walk_packages(*_):  # what imports all kernels: this one is all there is
    jit.KERNELS[:] = [word_digest.digest_words]
    return []

pkgutil.walk_packages = walk_packages
print(cli.main(["warmup", *sys.argv[2:]]))
"""
    relative = processes.run(script, str(stage.install), NUMBA_CACHE_DIR="relative", HOME="/dev/null", XDG_CACHE_HOME="")
    assert relative.splitlines()[1:] == ["1 kernels could not be stored: each process will compile them again", "1"]
    kept = processes.run(script, str(stage.install), NUMBA_CACHE_DIR=str(stage.folder / "c")).splitlines()
    assert kept[1:] == [f"1 kernels are stored in {stage.folder / 'c' / 'nbbpe'}", "0"]


# The rules one by one


@pytest.fixture
def private(tmp_path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir(0o700)
    return folder


@pytest.mark.skipif(os.name == "nt", reason="needs modes")
def test_links_and_dots_in_ones_own_path_lead_where_they_lead(private):
    (private / "a" / "b").mkdir(parents=True)
    (private / "link").symlink_to("a/../a/./b")
    (private / "absolute").symlink_to(private / "link")
    for path in "a/b", "link", "absolute", "absolute/", "a/b/../../link/.", "a//b":
        assert PrivateFolder(f"{private}/{path}").check() == str(private / "a" / "b")
        assert PrivateFolder(f"{private}/{path}").make() == str(private / "a" / "b")
    (private / "circle").symlink_to("circle")
    with pytest.raises(Untrusted, match="too many symlinks"):
        PrivateFolder(str(private / "circle")).check()


@pytest.mark.skipif(os.name == "nt", reason="needs modes")
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(private, mode):
    inside = private / "inside"
    inside.mkdir(0o700)
    private.chmod(mode)
    for make in PrivateFolder.check, PrivateFolder.make:
        with pytest.raises(Untrusted, match="others can write to"):
            make(PrivateFolder(str(private)))
        with pytest.raises(Untrusted, match="others can write to"):
            make(PrivateFolder(f"{inside}/.."))
        if mode & stat.S_ISVTX:  # nobody else can exchange what is ours there
            assert make(PrivateFolder(str(inside))) == str(inside)
        else:
            with pytest.raises(Untrusted, match="others can write to"):
                make(PrivateFolder(str(inside)))


def test_a_folder_that_is_missing_is_not_made_to_be_read(private):
    with pytest.raises(FileNotFoundError):
        PrivateFolder(str(private / "a")).read("x")
    assert list(private.iterdir()) == []


@pytest.mark.parametrize("path", ["", ".", "a", "~/.cache", "../a"])
def test_a_path_that_is_not_absolute_is_no_place(path, private, monkeypatch):
    monkeypatch.chdir(private)
    for use in PrivateFolder.check, PrivateFolder.make, lambda folder: folder.write("x", b""):
        with pytest.raises(Untrusted, match="is not an absolute path"):
            use(PrivateFolder(path))
    assert list(private.iterdir()) == []


def test_the_packages_folder_is_as_good_as_its_sources(private):
    folder = InstalledFolder(str(private / "__pycache__"))
    folder.write("x", b"1")
    assert folder.read("x") == b"1"
    os.chmod(folder.path, 0o770)
    with pytest.raises(Untrusted, match="can be written to by others than the folder that contains it"):
        folder.read("x")
    private.chmod(0o770)  # who can write here can change the sources
    assert folder.read("x") == b"1"
    os.chmod(f"{folder.path}/x", 0o660)  # as a wheel's files are after an installation with a umask of 002
    assert folder.read("x") == b"1"
    os.chmod(f"{folder.path}/x", 0o662)
    with pytest.raises(Untrusted, match="others can write to"):
        folder.read("x")
    os.chmod(f"{folder.path}/x", 0o660)
    os.chmod(folder.path, 0o700)
    private.chmod(0o700)
    with pytest.raises(Untrusted, match="others can write to"):
        folder.read("x")
    shutil.rmtree(folder.path)
    os.symlink(private, folder.path)
    with pytest.raises(Untrusted, match="is not a folder"):
        folder.read("x")


@pytest.mark.skipif(os.name == "nt", reason="needs modes")
@pytest.mark.parametrize("mode", [0o755, 0o750, 0o700])
def test_the_packages_folder_is_as_readable_as_its_sources(private, mode):
    private.chmod(mode)
    before = os.umask(0o077)
    try:
        InstalledFolder(str(private / "__pycache__")).write("x.nbk", b"1")
    finally:
        os.umask(before)
    assert modes(private / "__pycache__") == [mode, mode & 0o644]


def test_where_there_are_no_owners_a_path_must_be_absolute_and_no_more(private, monkeypatch):
    monkeypatch.setattr(trusted_folders, "_HAS_OWNERS", False)
    monkeypatch.delattr(os, "geteuid")
    monkeypatch.delattr(os, "fchmod")
    private.chmod(0o777)
    for folder in PrivateFolder(str(private / "a" / "b")), InstalledFolder(str(private / "__pycache__")):
        folder.write("x", b"1\r\n2\n")
        assert folder.read("x") == b"1\r\n2\n"
    with pytest.raises(Untrusted):
        PrivateFolder("a").make()


def test_nothing_is_left_of_a_file_that_cannot_be_written(private, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        PrivateFolder(str(private)).write("x", b"1")
    assert list(private.iterdir()) == []
