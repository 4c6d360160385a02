"""Scratch folders for unfinished files. They are always removed, by a later run if the own one was killed.

Each holds a file that its process keeps locked. The system drops the lock when the process and all that it has forked
have ended, however that was, so a folder whose lock can be had is nobody's. The ids of processes would not do: the system
uses them again. Folders are looked at only by the host that made them (its digest is in their names), as not every network
disk passes locks on to others. Where files cannot be locked, as on Windows, leftovers stay.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from .lazy import imported_on_use
from .links import is_device, target_of
from .paths import Path, is_too_long
from .signals_later import handlers_later
from .user_warnings import warn_user

shutil: Any = imported_on_use("shutil")
tempfile: Any = imported_on_use("tempfile")

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]

_OWNER = ".nbbpe-owner"
_SUFFIX = ".partial"
_ROOM = "x" * 64  # as long as the path of any file that is made in a scratch folder under a name of its own


def temporary_folder() -> str:
    """The folder for temporary files of the environment variable TMPDIR, or of the system. Raises FileNotFoundError where
    none can be written to; it has no number, by which the error would be taken for that of an output. Warns once where that
    of TMPDIR cannot be.
    """
    try:
        with handlers_later():  # Ctrl-C there may leave a lock of `tempfile` locked, for which every later call waits
            folder = str(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{error.strerror}: set TMPDIR to a folder that can be written to") from None
    chosen = os.environ.get("TMPDIR")
    if chosen and not (os.path.isdir(chosen) and os.access(chosen, os.W_OK)):
        _warn_of_another(chosen, folder)
    return folder


@cache
def _warn_of_another(chosen: str, folder: str) -> None:
    warn_user(f"TMPDIR is {chosen!r}, which is not a folder that can be written to: temporary files go to {folder!r}")


@contextmanager
def scratch_folder(beside: Path, asked: Path | None = None) -> Iterator[str]:
    """A folder on the disk where a file of the name `beside` lies, removed with all that is in it whatever happens.

    So are those of runs that were killed: see `remove_leftovers`.

    asked : what the user asked for, which an error of a file in the scratch folder names; None for `beside`

    Raises FileNotFoundError or NotADirectoryError, naming the folder, if it is missing or no folder; FileExistsError if a
    device or the like is in the place of the file, PermissionError for another user's symlink (see `target_of`), and
    OSError if the name is too long, also if only those of files in the scratch folder are.
    """
    asked = os.fspath(beside if asked is None else asked)
    if is_device(beside):
        raise FileExistsError(
            f"{os.fspath(beside)!r} is a device, a pipe or the like, whose place a file would take; give a file name"
        )
    parent, name = os.path.split(target_of(beside))
    if not os.path.exists(parent):
        raise FileNotFoundError(f"the folder {parent!r} for {name!r} does not exist; make it first")
    if not os.path.isdir(parent):
        raise NotADirectoryError(f"{parent!r} is not a folder, so {name!r} cannot be written there")
    remove_leftovers(parent)
    made: list[tuple[str, int]] = []
    try:
        try:
            with handlers_later():  # as in `temporary_folder`
                made.append(_make(parent))
        except OSError as error:
            raise type(error)(error.errno, f"cannot write to the folder: {error.strerror}", parent) from None
        folder = made[0][0]
        if any(is_too_long(os.path.join(folder, each)) for each in (name, _ROOM)):
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), asked)
        with named_instead(folder, asked):
            yield folder
    finally:
        try:
            _remove_made(made)
        except BaseException:  # another Ctrl-C
            _remove_made(made)
            raise
        finally:
            remove_leftovers(parent)  # workers of a killed run may have held their locks a little longer


@contextmanager
def named_instead(folder: str, asked: Path) -> Iterator[None]:
    """Have an OSError that names a file in `folder`, of which the user does not know, name what the user asked for."""
    try:
        yield
    except OSError as error:
        if error.errno is None or not isinstance(error.filename, (str, bytes)):
            raise
        if not os.fsdecode(error.filename).startswith(os.path.join(folder, "")):
            raise
        raise type(error)(error.errno, error.strerror, os.fspath(asked)) from error


def _remove_made(made: list[tuple[str, int]]) -> None:
    """Remove scratch folders, and empty the list. Ctrl-C is answered before or after: a descriptor that nobody
    closes would hold the lock of its folder while this process lives."""
    with handlers_later():
        while made:
            remove_locked(*made.pop(), _OWNER)


def remove_leftovers(parent: str) -> None:
    """Remove the scratch folders of ended processes of this user and host from a folder, as far as possible."""
    if fcntl is None:
        return
    prefix = _prefix()
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.name.endswith(_SUFFIX):
                with suppress(OSError), handlers_later():
                    _remove_leftover(entry.path)


def _prefix() -> str:
    host = os.uname().nodename if hasattr(os, "uname") else ""
    return f".nbbpe-{hashlib.blake2b(os.fsencode(host), digest_size=4).hexdigest()}-"


def _make(parent: str) -> tuple[str, int]:
    """A new scratch folder, and a descriptor that holds its lock until it is closed."""
    while True:
        folder = tempfile.mkdtemp(prefix=_prefix(), suffix=_SUFFIX, dir=parent)
        try:
            owner = os.open(os.path.join(folder, _OWNER), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileNotFoundError:
            continue  # another process removed it before it was locked
        except BaseException:
            os.rmdir(folder)
            raise
        if try_lock(owner) is not False and os.fstat(owner).st_nlink:
            return folder, owner
        os.close(owner)  # as above, a moment later


def try_lock(descriptor: int) -> bool | None:
    """Lock a file against all other descriptors of it: whether that was possible, None where files cannot be locked."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_leftover(folder: str) -> None:
    """Remove a scratch folder unless its process, or another user, still uses it. Raises OSError if that fails."""
    # Never open a name that another user has made a symlink, a file or a pipe.
    about = os.lstat(folder)
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
        return
    try:
        owner = os.open(os.path.join(folder, _OWNER), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        os.rmdir(folder)  # ended before it had a lock, or after its lock was removed: then the folder is empty
    else:
        remove_if_left(folder, owner, _OWNER)


def remove_if_left(folder: str, owner: int, name: str) -> None:
    """Remove a folder, see `remove_locked`, if its lock can be had by a descriptor, which is closed in any case."""
    if try_lock(owner):
        remove_locked(folder, owner, name)
    else:
        os.close(owner)


def remove_locked(folder: str, owner: int, name: str) -> None:
    """Remove a folder with what is in it, as far as possible, and close the descriptor that holds the lock of file `name`.

    The file that was locked goes last, so that a rest is taken up by the next run; and before its lock is dropped, as
    another process that has just made this folder could lock the file then, and work in a folder that is removed.
    """
    lock = os.path.join(folder, name)
    with suppress(OSError):
        try:
            for each in os.listdir(folder):
                path = os.path.join(folder, each)
                if os.path.isdir(path) and not os.path.islink(path):
                    shutil.rmtree(path)
                elif each != name:
                    os.remove(path)
            if fcntl is not None:
                with suppress(FileNotFoundError):
                    os.remove(lock)
        finally:
            os.close(owner)
        if fcntl is None:
            os.remove(lock)  # on Windows, where an open file cannot be removed
        os.rmdir(folder)  # not where another run has just come to use it
