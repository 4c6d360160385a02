"""Files that nbbpe keeps on disk for later processes, each with a digest of its name and content before the content.

They are read from any trusted folder, and written where that is allowed. trusted_folders.py decides which folders are
trusted: files from them are executed, or read by kernels without a check. Writes are atomic, so that processes that start
at the same time never see half a file.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from typing import NamedTuple

from .notices import say
from .trusted_folders import Folder, InstalledFolder, PrivateFolder, Untrusted

KERNELS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IN_TREE = os.path.join(KERNELS, "__pycache__")
_IN_WHEEL = os.path.join(KERNELS, "objects")
_DIGEST = 32  # bytes of a digest

WHAT_TO_SET = "set NUMBA_CACHE_DIR to the absolute path of a folder that only you can write to"


class StoredFile(NamedTuple):
    """The content of a file, and the folder that it was read from."""

    content: bytes
    folder: str


def folders() -> list[Folder]:
    """The folders that can be written to, in the order in which they are searched and written.

    NUMBA_CACHE_DIR alone, if it is set and may be written to. Else the folder of the installed package, then the
    user's cache folder.
    """
    return _folders(os.environ.get("NUMBA_CACHE_DIR", ""), getattr(os, "geteuid", int)())


@functools.cache
def _folders(chosen: str, user: int) -> list[Folder]:
    """The folders for a NUMBA_CACHE_DIR; `user` is a parameter, as other users trust other folders."""
    ours: list[Folder] = [InstalledFolder(IN_TREE), PrivateFolder(_users_folder())]
    if not chosen:
        return ours
    import tempfile  # here, as it imports many modules, and few processes need it

    folder = PrivateFolder(os.path.join(chosen, "nbbpe"))
    try:
        tempfile.TemporaryFile(dir=folder.make()).close()
    except Untrusted as why:
        say(f"NUMBA_CACHE_DIR is not used, as {why}: {WHAT_TO_SET}")
        return ours
    except OSError as error:
        if os.path.isdir(folder.path):  # it may hold kernels of a user who can write to it
            return [folder, *ours]
        say(f"NUMBA_CACHE_DIR is not used, as {folder.path} cannot be made: {error.strerror}")
        return ours
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


def read_data(name: str) -> bytes | None:
    """The content that `write_data` wrote under a name; None if no folder has it, or it is damaged or of another user."""
    found = find([name])
    return found.content if found else None


def write_data(name: str, content: bytes, into: str | None = None) -> None:
    """Write data that kernels use and that takes long to make to the first writable folder, if there is one.

    into : the only folder to write to, for a wheel
    """
    for folder in [PrivateFolder(os.path.abspath(into))] if into else folders():
        with contextlib.suppress(Untrusted, OSError):
            write_into(folder, name, content)
            return


def searched() -> list[Folder]:
    """All folders that files are read from, in order: that of a wheel, then `folders`."""
    return [InstalledFolder(_IN_WHEEL), *folders()]


def write_into(folder: Folder, name: str, content: bytes) -> None:
    """Write a file. Raises Untrusted or OSError."""
    folder.write(name, _digest(name, content) + content)


def writable_folder() -> str | None:
    """The folder that kernels are written to, judged by owner and mode only; None if there is none."""
    for folder in folders():
        with contextlib.suppress(Untrusted, OSError):
            path = folder.make()
            if os.access(path, os.W_OK):
                return path
    return None


def find(names: list[str]) -> StoredFile | None:
    """The first file with one of these names that can be used; None if no folder has one."""
    for folder in searched():
        for name in names:
            # A file that is missing, unreadable, untrusted, or damaged by a crash is made and written again.
            with skipping_unusable():
                data = folder.read(name)
                digest, content = data[:_DIGEST], data[_DIGEST:]
                if digest == _digest(name, content):
                    return StoredFile(content, folder.path)
    return None


@contextlib.contextmanager
def skipping_unusable() -> Iterator[None]:
    """Suppress the errors of folders and files that are not trusted or cannot be read, and no others.

    TimeoutError, which a signal's handler may raise, is an OSError, too, but without an errno.
    """
    try:
        yield
    except Untrusted:
        pass
    except OSError as error:
        if error.errno is None:
            raise


@functools.cache
def version_of(package: str) -> str:
    """The version of an installed package, without importing it; empty if it is not installed.

    It is the version of the distribution, whether the package is imported or not: a module's `__version__` may differ.
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


def modules_in(folder: str, deep: bool = False) -> list[str]:
    """The paths of the modules in a folder, and with `deep` in all folders below it: of the sources, or of the bytecode if
    the package is installed without sources. Raises FileNotFoundError if there is none."""
    for end in "py", "pyc":
        paths = glob.glob(os.path.join(glob.escape(folder), "**" if deep else "", f"*.{end}"), recursive=deep)
        paths = [path for path in paths if os.path.basename(os.path.dirname(path)) != "__pycache__"]
        if paths:
            return sorted(paths)
    raise FileNotFoundError(f"no module is in {folder!r}: nbbpe must be installed in a folder, not in an archive")


def _digest(name: str, content: bytes) -> bytes:
    """The digest before a file's content: machine code that is not as it was written must not run."""
    return hashlib.sha256(name.encode() + b"\0" + content).digest()
