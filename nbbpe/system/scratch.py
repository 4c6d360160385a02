"""Scratch folders for unfinished files. They are always removed: by a later run if the run that made them was killed.

Each holds a file that its process keeps locked. The system drops the lock when the process and all that it has forked
have ended, for whatever reason, so a folder whose lock is free is no longer in use. Process ids would not do: the system
uses them again. A host looks only at the folders that it made (they have a digest of its name in theirs), as some network
disks do not show locks to other hosts. Where files cannot be locked, as on Windows, leftovers stay.
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
_ROOM = "x" * 64  # at least as long as the names that we choose for files in a scratch folder


def temporary_folder() -> str:
    """The folder for temporary files that the environment variable TMPDIR names, or else the system's.

    Warns once if that of TMPDIR cannot be written to. Raises FileNotFoundError if none can be, without an errno, by
    which it would be taken for an error about an output.
    """
    try:
        with handlers_later():  # Ctrl-C in it may leave a lock of `tempfile` locked: every later call would wait
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
    """Yield a new folder beside a file, or its target if it is a symlink. It is removed with its content whatever happens.

    Those of killed runs are removed, too: see `remove_leftovers`.

    asked : the path that the user gave, which errors about files in the scratch folder name instead; None for `beside`

    Raises FileNotFoundError or NotADirectoryError, naming the parent folder, if it is missing or not a folder;
    FileExistsError if `beside` is a device or the like, PermissionError if it is another user's symlink (see `target_of`),
    and OSError if its name, or that of a file in the scratch folder, is too long.
    """
    asked = os.fspath(beside if asked is None else asked)
    if is_device(beside):
        raise FileExistsError(
            f"{os.fspath(beside)!r} is a device, a pipe or the like, which a file must not replace: give a file name"
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
    """Make an OSError about a file in `folder`, which the user does not know of, name `asked` instead."""
    try:
        yield
    except OSError as error:
        if error.errno is None or not isinstance(error.filename, (str, bytes)):
            raise
        if not os.fsdecode(error.filename).startswith(os.path.join(folder, "")):
            raise
        raise type(error)(error.errno, error.strerror, os.fspath(asked)) from error


def _remove_made(made: list[tuple[str, int]]) -> None:
    """Remove scratch folders, and empty the list. Ctrl-C takes effect before or after: a descriptor that nobody
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
    """Make a scratch folder. Return it, and a descriptor that holds its lock until it is closed."""
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
        os.close(owner)  # removed by another process, but a moment later


def try_lock(descriptor: int) -> bool | None:
    """Try to lock a file: True if locked, False if another descriptor has the lock, None where files cannot be locked."""
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
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return
    try:
        owner = os.open(os.path.join(folder, _OWNER), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        os.rmdir(folder)  # its process was killed before it made that file or after it removed it: the folder is empty
    else:
        remove_if_left(folder, owner, _OWNER)


def remove_if_left(folder: str, owner: int, name: str) -> None:
    """Remove a folder as `remove_locked` does, if `owner` can get the lock of its file `name`. `owner` is always closed."""
    if try_lock(owner):
        remove_locked(folder, owner, name)
    else:
        os.close(owner)


def remove_locked(folder: str, owner: int, name: str) -> None:
    """Remove a folder and its content, as far as possible, and close `owner`, which holds the lock of its file `name`.

    The locked file is removed last, so that a later run can find and remove the rest; and it is removed before its lock is
    dropped, or another process that has just made this folder could lock it, and work in a folder that is removed.
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
        os.rmdir(folder)  # fails if another run has just begun to use it
