"""A folder that outlives the run which fills it, so that another run goes on from there; one run at a time uses it.

As with scratch folders, a file in it is locked while it is in use, by the processes that were forked meanwhile, too: when
the lock can be had, nobody writes there any more. Processes of an executor never write there, and may go on for ever when
this process was killed, so they are not to hold the lock.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .scratch import named_instead, remove_if_left, remove_locked, try_lock
from .signals_later import handlers_later

_OWNER = ".nbbpe-kept"
_PATIENCE = 10.0  # seconds to wait for the lock: the workers of a run that was killed end within one
_not_for_forks: set[int] = set()  # descriptors of locks that only this process is to hold


def _close_in_fork() -> None:
    """Close what a forked process is not to hold; the lock stays that of its parent."""
    while _not_for_forks:
        os.close(_not_for_forks.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_fork)


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
def kept_folder(path: str, in_forks: bool) -> Iterator[KeptFolder]:
    """Use the folder of this name, which is made if it is missing.

    in_forks : whether processes that are forked meanwhile hold the lock, too

    Raises FileExistsError for what is not a folder of this kind and user, BlockingIOError while another run uses it,
    OSError where it cannot be made.
    """
    folder = KeptFolder(path)
    owners: list[int] = []
    try:
        with named_instead(path, path):
            _take(path, owners, in_forks)
        yield folder
    finally:
        try:
            _leave(folder, owners)
        except BaseException:  # another Ctrl-C
            _leave(folder, owners)
            if folder._is_done:
                remove_kept_folder(path)  # nobody needs the rest
            raise


def _leave(folder: KeptFolder, owners: list[int]) -> None:
    """Remove the folder if it is done, close the descriptors that hold its lock, and empty their list. Ctrl-C is answered
    before or after: this process itself would be the other run that is still at work."""
    with handlers_later():
        while owners:
            owner = owners.pop()
            _not_for_forks.discard(owner)
            if folder._is_done:
                remove_locked(folder.path, owner, _OWNER)
            else:
                os.close(owner)


def is_kept_folder(path: str) -> bool:
    """Whether there is a folder of this kind, in use or not."""
    return os.path.lexists(os.path.join(path, _OWNER))


def remove_kept_folder(path: str) -> None:
    """Remove the folder of this name, unless it is missing, not of this kind, or in use."""
    if is_kept_folder(path):
        with suppress(OSError):
            remove_if_left(path, _open(path), _OWNER)


def _take(path: str, owners: list[int], in_forks: bool) -> None:
    """Make or find the folder; `owners` gets a descriptor that holds its lock."""
    end = time.monotonic() + _PATIENCE
    while True:
        with handlers_later():
            is_used = _is_used(path, owners)
            if not in_forks:
                _not_for_forks.update(owners)
        if owners:
            return
        if is_used:
            if time.monotonic() > end:
                raise BlockingIOError(f"{path!r} is in use by another run on the same output: wait until it has ended")
            time.sleep(0.01)


def _is_used(path: str, owners: list[int]) -> bool:
    """Try once to take the folder, see `_take`: whether another run uses it, or else has just removed it."""
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    try:
        owner = _open(path)
    except FileNotFoundError:
        return False
    is_locked = try_lock(owner) is not False
    if is_locked and os.fstat(owner).st_nlink:
        owners.append(owner)
    else:
        os.close(owner)
    return not is_locked


def _open(path: str) -> int:
    """Open the file that is to be locked. Raises FileExistsError for a folder that is not of this kind."""
    about = os.lstat(path)
    mine = not hasattr(os, "geteuid") or about.st_uid == os.geteuid()
    name = os.path.join(path, _OWNER)
    if not stat.S_ISDIR(about.st_mode) or not mine or (not os.path.lexists(name) and os.listdir(path)):
        raise FileExistsError(f"{path!r} was not made by nbbpe for this user: move it away, or give another output")
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(name, flags, 0o600)
