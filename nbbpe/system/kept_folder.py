"""A folder that outlives the run which fills it, so that another run goes on from there; one run at a time uses it.

As with scratch folders, a file in it is locked while it is in use, by the processes that were forked meanwhile, too: when
the lock can be had, nobody writes there any more.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .scratch import remove_if_left, remove_locked, try_lock, unlock

_OWNER = ".nbbpe-kept"
_PATIENCE = 10.0  # seconds to wait for the lock: the workers of a run that was killed end within one


class KeptFolder:
    """A folder in use. It is removed at the end of the context only where `done` was called."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._is_done = False

    def done(self) -> None:
        """Say that nobody needs what is in it any more."""
        self._is_done = True

    def file(self, name: str) -> str:
        """The path of a file in it."""
        return os.path.join(self.path, name)


@contextmanager
def kept_folder(path: str, unlocks: bool) -> Iterator[KeptFolder]:
    """Use the folder of this name, which is made if it is missing.

    unlocks : whether the lock ends with the context also where processes go on that were forked meanwhile, as those of an
        executor, which never write there

    Raises FileExistsError for what is not a folder of this kind and user, BlockingIOError while another run uses it,
    OSError where it cannot be made.
    """
    owner = _take(path)
    folder = KeptFolder(path)
    try:
        yield folder
    finally:
        if folder._is_done:
            try:
                remove_locked(path, owner, _OWNER)
            except BaseException:  # Ctrl-C: nobody needs the rest
                remove_kept_folder(path)
                raise
        else:
            if unlocks:
                unlock(owner)
            os.close(owner)


def remove_kept_folder(path: str) -> None:
    """Remove the folder of this name, unless it is missing, not of this kind, or in use."""
    if os.path.lexists(os.path.join(path, _OWNER)):
        with suppress(OSError):
            remove_if_left(path, _open(path), _OWNER)


def _take(path: str) -> int:
    """Make or find the folder; returns a descriptor that holds its lock."""
    end = time.monotonic() + _PATIENCE
    while True:
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
        try:
            owner = _open(path)
        except FileNotFoundError:
            continue  # another run is done with it, and removed it
        if try_lock(owner) is not False:
            if os.fstat(owner).st_nlink:
                return owner
            os.close(owner)  # as above
            continue
        os.close(owner)
        if time.monotonic() > end:
            raise BlockingIOError(f"{path!r} is in use by another run on the same output: wait until it has ended")
        time.sleep(0.01)


def _open(path: str) -> int:
    """Open the file that is to be locked. Raises FileExistsError for a folder that is not of this kind."""
    about = os.lstat(path)
    mine = not hasattr(os, "geteuid") or about.st_uid == os.geteuid()
    name = os.path.join(path, _OWNER)
    if not stat.S_ISDIR(about.st_mode) or not mine or (not os.path.lexists(name) and os.listdir(path)):
        raise FileExistsError(f"{path!r} was not made by nbbpe for this user: move it away, or give another output")
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(name, flags, 0o600)
