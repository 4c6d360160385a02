"""Compiled kernels on disk: where they are found and written, by whom, and what becomes of broken and outdated ones.

Each process here compiles one small kernel, or finds it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numba
import processes
import pytest
from numba.core import config

import nbbpe
from nbbpe.kernels.compiler import disk_cache, jit

# Runs a kernel of the nbbpe in folder argv[1]; prints what was compiled. With argv[2], as a user who owns nothing: all that
# is imported is so before, down to Numba's last module, as that user might not be allowed to read Python itself.
USE = (
    """
import os, sys
import numba, numpy as np
from numba.core import event
sys.path.insert(0, sys.argv[1])
from nbbpe.kernels.training import linked_words as words
assert words.__file__.startswith(sys.argv[1]), words.__file__
if sys.argv[2:]:
    numba.njit(lambda x: x[0])(np.zeros(1))
    if os.geteuid() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
"""
    + processes.RUN_A_KERNEL
)


def use(install: Path, *nobody: str, **environment: str) -> tuple[list[str], str]:
    """What a process that runs the kernel compiled, and what it said."""
    extra = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": "/dev/null", "HOME": "/dev/null", **environment}
    done = subprocess.run(
        [sys.executable, "-c", USE, str(install), *nobody],
        env=processes.environment(**extra),
        cwd=install,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def kernels_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*.nbk*"))


@pytest.fixture
def install(nobodys_folder) -> Path:
    """A copy of the package, without compiled kernels, that everybody may read."""
    folder = nobodys_folder[0] / "install"
    shutil.copytree(Path(nbbpe.__file__).parent, folder / "nbbpe", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def make_read_only(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def test_kernels_are_kept_in_the_package_and_read_there_by_who_may_not_write(install):
    assert use(install)[0] == ["fill_links"]
    assert len(kernels_in(install / "nbbpe" / "kernels" / "__pycache__")) == 1
    make_read_only(install)
    compiled, said = use(install, "nobody")
    assert compiled == []
    assert said == ""


def test_a_read_only_package_has_its_kernels_in_the_users_cache(install, nobodys_folder):
    make_read_only(install)
    cache = nobodys_folder[0] / "cache"
    cache.mkdir()
    if os.geteuid() == 0:
        os.chown(cache, 65534, 65534)
    for expected in ["fill_links"], []:
        compiled, said = use(install, "nobody", XDG_CACHE_HOME=str(cache))
        assert compiled == expected
        assert "cannot be kept" not in said
    assert len(kernels_in(cache / "nbbpe")) == 1
    assert kernels_in(install) == []


def test_without_a_folder_to_write_to_kernels_work_and_one_line_says_that_none_is_kept(install, nobodys_folder):
    make_read_only(install)
    closed = nobodys_folder[0] / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    for chosen in "", str(closed):
        compiled, said = use(install, "nobody", XDG_CACHE_HOME=str(closed / "below"), NUMBA_CACHE_DIR=chosen)
        assert compiled == ["fill_links"]
        assert said.count("set NUMBA_CACHE_DIR to a folder") == 1
        assert len(said.splitlines()) == 2  # the other says that kernels are being compiled
    assert kernels_in(nobodys_folder[0]) == []


@pytest.mark.slow
def test_processes_that_start_at_once_on_an_empty_cache_do_not_break_it(install, tmp_path):
    command = [sys.executable, "-c", USE, str(install)]
    environment = processes.environment(NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, env=environment, cwd=install, **pipes) for _ in range(4)]
    for process in running:
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        assert "Traceback" not in said
    assert len(kernels_in(tmp_path / "cache")) == 1
    assert kernels_in(install) == []
    assert use(install, NUMBA_CACHE_DIR=str(tmp_path / "cache"))[0] == []


# In this process: a kernel that is made anew stands for another process.


def add_one(x):
    return x + 1


@pytest.fixture
def compiles(tmp_path, monkeypatch) -> Iterator[Callable[[], bool]]:
    """Whether a new kernel of `add_one` is compiled, where kernels lie in `tmp_path`."""
    # Numba reads its settings again whenever the environment changes.
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    config.reload_config()

    def use() -> bool:
        kernel = jit.kernel(add_one)
        jit.KERNELS.remove(kernel)
        assert kernel(1) == 2
        assert kernel.stats.cache_path == str(tmp_path / "nbbpe")
        return bool(sum(kernel.stats.cache_misses.values()))

    yield use
    monkeypatch.undo()
    config.reload_config()


@pytest.mark.parametrize(
    "damaged",
    [
        *(lambda data, end=end: data[:end] for end in (0, 20, 1000, -1)),
        lambda data: bytes(len(data)),  # what a file system may have kept of it when the power went
        *(lambda data, at=at: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in (0, 40, 2000)),
    ],
)
def test_a_damaged_kernel_is_compiled_again(compiles, tmp_path, damaged):
    assert compiles()
    (path,) = tmp_path.rglob("*.nbk")
    path.write_bytes(damaged(path.read_bytes()))
    assert compiles()
    assert not compiles()


def test_a_change_of_any_source_makes_kernels_anew(compiles, tmp_path, monkeypatch):
    sources = tmp_path / "sources"
    shutil.copytree(disk_cache._KERNELS, sources, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(disk_cache, "_KERNELS", str(sources))
    disk_cache._sources.cache_clear()
    try:
        assert compiles()
        (sources / "machine" / "intrinsics.py").touch()
        disk_cache._sources.cache_clear()
        assert not compiles()
        with open(sources / "machine" / "intrinsics.py", "a", encoding="utf-8") as file:
            file.write("\n")
        disk_cache._sources.cache_clear()
        assert compiles()
        assert len(disk_cache.kept()) == 1
    finally:
        disk_cache._sources.cache_clear()


def test_outdated_kernels_are_removed_from_the_package_and_from_nowhere_else(compiles, tmp_path, monkeypatch):
    outdated = tmp_path / "nbbpe" / f"test_disk_cache.add_one.{disk_cache._PYTHON}.0123456789abcdef.0.nbk"
    others = outdated.with_name(f"test_disk_cache.add_one_more.{disk_cache._PYTHON}.0123456789abcdef.0.nbk")
    outdated.parent.mkdir()
    for path in outdated, others:
        path.write_bytes(b"old")
    assert compiles()
    assert outdated.exists()
    next(path for path in outdated.parent.iterdir() if path not in (outdated, others)).unlink()
    monkeypatch.setattr(disk_cache, "_IN_TREE", str(outdated.parent))
    assert compiles()
    assert not outdated.exists()
    assert others.exists()


def test_kernels_with_and_without_bounds_checks_are_told_apart(compiles, monkeypatch):
    for checks in "0", "1":
        monkeypatch.setenv("NUMBA_BOUNDSCHECK", checks)
        assert compiles()
    for checks in "0", "1":
        monkeypatch.setenv("NUMBA_BOUNDSCHECK", checks)
        assert not compiles()


def test_a_kernel_that_was_read_from_disk_can_be_called_by_others_that_are_compiled(compiles):
    assert compiles()
    read = jit.kernel(add_one)
    jit.KERNELS.remove(read)
    assert read(1) == 2
    assert sum(read.stats.cache_hits.values()) == 1
    for factor in 2, 3:  # its intermediate code is parsed for the first, and kept for the second
        assert numba.njit(lambda x, factor=factor: factor * read(x))(4) == 5 * factor
