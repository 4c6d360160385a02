"""Object code of kernels on disk: found by a digest of its sources, read from any trusted folder, written where that is
allowed.

A file's name says what its content was made from and for, so that processes that start at once, machines with different
processors that share a home, and several versions never overwrite each other's files. A digest of name and content precedes
the content. Which folders are trusted, trusted_folders.py decides: what is read from them is executed.

Kernels that are made for other machines, for a wheel or for a kind of processors, are found with any version of Numba, or
none.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import hashlib
import importlib.util
import os
import sys
import tempfile
from typing import NamedTuple

from .layouts import layouts
from .notices import say
from .target import UnknownProcessor, label_of, parse, present, runs_here
from .trusted_folders import Folder, InstalledFolder, PrivateFolder, Untrusted

_KERNELS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_IN_TREE = os.path.join(_KERNELS, "__pycache__")
_IN_WHEEL = os.path.join(_KERNELS, "objects")
_DIGEST = 32  # bytes of a digest
_PYTHON = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
_FORMAT = 1  # of entries and files
# Settings of Numba that do not change what it compiles, or that `Target` has.
_NO_MATTER = {"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"}


_WHAT_TO_SET = "set NUMBA_CACHE_DIR to the absolute path of a folder that only you can write to"


class Found(NamedTuple):
    """Object code, and the folder that it was read from."""

    content: bytes
    folder: str


def folders() -> list[Folder]:
    """The folders for compiled kernels, in the order in which they are searched and written.

    NUMBA_CACHE_DIR alone, if it is set and may be written to. Else the folder of the installed package, then the
    user's cache folder.
    """
    return _folders(os.environ.get("NUMBA_CACHE_DIR", ""), getattr(os, "geteuid", int)())


@functools.cache
def _folders(chosen: str, user: int) -> list[Folder]:
    """The folders for a NUMBA_CACHE_DIR; `user` is a parameter, as other users trust other folders."""
    ours: list[Folder] = [InstalledFolder(_IN_TREE), PrivateFolder(_users_folder())]
    if not chosen:
        return ours
    folder = PrivateFolder(os.path.join(chosen, "nbbpe"))
    try:
        tempfile.TemporaryFile(dir=folder.make()).close()
    except Untrusted as why:
        say(f"NUMBA_CACHE_DIR is not used, as {why}: {_WHAT_TO_SET}")
        return ours
    except OSError:
        return [folder, *ours]
    return [folder]


def _users_folder() -> str:
    """The user's cache folder; a relative path if there is none."""
    home = os.path.expanduser("~")
    if os.name == "nt":
        base = os.path.join(os.environ.get("LOCALAPPDATA", ""), "nbbpe", "Cache")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Caches", "nbbpe")
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # the standard says to ignore these
            base = os.path.join(home, ".cache")
        base = os.path.join(base, "nbbpe")
    return os.path.join(base, "kernels")


def count_stored() -> dict[str, int]:
    """How many kernels each folder has, as the sources are now; without folders that have none."""
    found = {}
    for folder in [InstalledFolder(_IN_WHEEL), *folders()]:
        n = count_stored_in(folder)
        if n:
            found[folder.path] = n
    return found


def count_stored_in(folder: Folder) -> int:
    """How many kernels a folder has, as the sources are now."""
    with contextlib.suppress(Untrusted, OSError):
        pattern = os.path.join(glob.escape(folder.check()), f"*.{_PYTHON}.{_sources()}.*.nbk")
        return len({os.path.basename(path).partition(f".{_PYTHON}.")[0] for path in glob.glob(pattern)})
    return 0


def read_data(name: str) -> bytes | None:
    """What `write_data` wrote under a name; None where no folder has it, or it is damaged or of somebody else."""
    found = _read([InstalledFolder(_IN_WHEEL), *folders()], [name])
    return found.content if found else None


def write_data(name: str, content: bytes, into: str | None = None) -> None:
    """Write data that kernels use, and that takes long to make, to the first writable folder, if there is one.

    into : the only folder to write to, for a wheel
    """
    for folder in [PrivateFolder(os.path.abspath(into))] if into else folders():
        with contextlib.suppress(Untrusted, OSError):
            folder.write(name, _digest(name, content) + content)
            return


def read(kernel: str) -> Found | None:
    """The object code of a kernel for this process and its processor, or None where no folder has it."""
    where = [InstalledFolder(_IN_WHEEL), *folders()]
    return _read(where, [_own_name(kernel), _others_name(kernel)]) or _read_for_kind(where, kernel)


def write(kernel: str, content: bytes, into: str | None = None) -> str | None:
    """Write object code to the first writable folder, and return that; if there is none, warn once and go on.

    into : the only folder to write to, for kernels for other machines
    """
    reasons = []
    name = _others_name(kernel) if into or label_of(present()) else _own_name(kernel)
    for folder in [PrivateFolder(os.path.abspath(into))] if into else folders():
        try:
            folder.write(name, _digest(name, content) + content)
        except Untrusted as error:
            reasons.append(str(error))
        except OSError as error:
            reasons.append(f"{folder.path} cannot be written to ({error.strerror})")
        else:
            if folder.path == _IN_TREE:
                _remove_outdated(kernel)
            return folder.path
    _say_that_none_is_kept("; ".join(reasons))
    return None


def writable_folder() -> str | None:
    """The folder that kernels are written to, as far as its owner and mode say; None if there is none."""
    for folder in folders():
        with contextlib.suppress(Untrusted, OSError):
            path = folder.make()
            if os.access(path, os.W_OK):
                return path
    return None


@functools.cache
def _say_that_none_is_kept(why: str) -> None:
    say(f"compiled kernels cannot be stored: {why}. Each process will compile them again; {_WHAT_TO_SET}")


def _read(where: list[Folder], names: list[str]) -> Found | None:
    for folder in where:
        for name in names:
            # Missing, unreadable, untrusted, or damaged by a crash: it is compiled and written again.
            with contextlib.suppress(Untrusted, OSError):
                data = folder.read(name)
                digest, content = data[:_DIGEST], data[_DIGEST:]
                if digest == _digest(name, content):
                    return Found(content, folder.path)
    return None


def _read_for_kind(where: list[Folder], kernel: str) -> Found | None:
    """Object code for a kind of processors to which this one belongs: the one that uses most of its features."""
    beginning = f"{kernel}.{_PYTHON}.{_sources()}.for-"
    usable = set()
    for folder in where:
        with contextlib.suppress(Untrusted, OSError):
            for path in glob.glob(os.path.join(glob.escape(folder.check()), f"{beginning}*.nbk")):
                label = os.path.basename(path)[len(beginning) :].rpartition(".")[0].rpartition(".")[0]
                with contextlib.suppress(UnknownProcessor):
                    if runs_here(parse(label)):
                        usable.add(label)
    if label_of(present()):  # the user has named a processor to compile for
        usable &= {label_of(present())}
    # A higher level has the greater name, and more features a longer one.
    for label in sorted(usable, key=lambda each: (each.partition("+")[0], len(each)), reverse=True):
        found = _read(where, [_others_name(kernel, label)])
        if found:
            return found
    return None


def _own_name(kernel: str) -> str:
    """The file of a kernel as this process would compile it."""
    made_with = (version_of("numba"), version_of("llvmlite"))
    return f"{kernel}.{_PYTHON}.{_sources()}.{_key((made_with, present()))}.nbk"


def _others_name(kernel: str, label: str | None = None) -> str:
    """The file of a kernel that is made for other machines, which may have another Numba; see target.label_of."""
    label = label_of(present()) if label is None else label
    target = parse(label) if label else present()
    return f"{kernel}.{_PYTHON}.{_sources()}.for-{label or 'one'}.{_key(target)}.nbk"


def _key(more: tuple[object, ...]) -> str:
    settings = sorted(
        (name, value) for name, value in os.environ.items() if name.startswith("NUMBA_") and name not in _NO_MATTER
    )
    made_for = (_FORMAT, sys.implementation.cache_tag, tuple(layouts()), settings, more)
    return hashlib.sha256(repr(made_for).encode()).hexdigest()[:16]


def _remove_outdated(kernel: str) -> None:
    """Remove the kernels of earlier sources. Only in the folder of the sources: other folders serve several
    installations."""
    for path in glob.glob(os.path.join(glob.escape(_IN_TREE), f"{kernel}.{_PYTHON}.*.nbk")):
        if not os.path.basename(path).startswith(f"{kernel}.{_PYTHON}.{_sources()}."):
            with contextlib.suppress(OSError):
                os.remove(path)


@functools.cache
def version_of(package: str) -> str:
    """The version of a package that is installed, without importing it; empty where it is not.

    It is that of the distribution, whether the package is imported or not: a module's own `__version__` may be another.
    """
    if package in sys.modules:
        origin = getattr(sys.modules[package], "__file__", None)
    else:
        found = importlib.util.find_spec(package)
        origin = found.origin if found is not None else None
    if origin:
        # From the name of its metadata's folder, which most installations have: importlib.metadata takes 30 ms.
        beside = os.path.dirname(os.path.dirname(origin))
        folders = glob.glob(os.path.join(glob.escape(beside), f"{package}-*.dist-info"))
        if len(folders) == 1:
            return os.path.basename(folders[0])[len(package) + 1 : -len(".dist-info")]
    from importlib import metadata

    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version(package)
    return str(getattr(sys.modules.get(package), "__version__", ""))


@functools.cache
def _sources() -> str:
    """A digest of the sources of kernels: the modules of kernels.

    Any change compiles all of them again, as helpers of one file are compiled into kernels of another. It covers contents,
    not times, which do not survive in an image.
    """
    digest = hashlib.sha256()
    for path in sorted(glob.glob(os.path.join(glob.escape(_KERNELS), "**", "*.py"), recursive=True)):
        with open(path, "rb") as file:
            name = os.path.relpath(path, _KERNELS).replace(os.sep, "/")
            digest.update(name.encode() + hashlib.sha256(file.read()).digest())
    return digest.hexdigest()[:16]


def sources() -> str:
    """A digest of the modules that kernels are made from."""
    return _sources()


def _digest(name: str, content: bytes) -> bytes:
    """The digest before a kernel on disk: machine code that is not what was written there must not run."""
    return hashlib.sha256(name.encode() + b"\0" + content).digest()
