"""A folder that outlives the run that fills it, so that a later run can resume; one run at a time uses it.

As in scratch folders, a file in it is locked while the folder is in use. Processes that were forked meanwhile hold the
lock, too, so once it is free nobody writes there any more. Processes of an executor must not hold it: they never write
there, and may outlive a killed run for ever.
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
_not_for_forks: set[int] = set()  # descriptors of locks that forked processes must not hold


def _close_in_fork() -> None:
    """Close the descriptors that a forked process must not hold; its parent keeps the locks."""
    while _not_for_forks:
        os.close(_not_for_forks.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_fork)


class KeptFolder:
    """A folder in use. It is removed at the end of the context only if `done` was called."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._is_done = False

    def done(self) -> None:
        """Declare that its content is no longer needed."""
        self._is_done = True

    def file(self, name: str) -> str:
        """The path of a file in it."""
        return os.path.join(self.path, name)


@contextmanager
def kept_folder(path: str, in_forks: bool) -> Iterator[KeptFolder]:
    """Lock the folder `path` for this run; it is made if it is missing.

    in_forks : whether processes that are forked meanwhile hold the lock, too

    Raises FileExistsError if `path` is neither a kept folder of this user nor an empty folder, BlockingIOError while
    another run uses it, OSError if it cannot be made.
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
    """Remove the folder if it is done, close the descriptors that hold its lock, and empty their list. Ctrl-C takes effect
    before or after: with a descriptor left open, this process would lock out its own next run."""
    with handlers_later():
        while owners:
            owner = owners.pop()
            _not_for_forks.discard(owner)
            if folder._is_done:
                remove_locked(folder.path, owner, _OWNER)
            else:
                os.close(owner)


def is_kept_folder(path: str) -> bool:
    """Whether `path` is a kept folder, in use or not."""
    return os.path.lexists(os.path.join(path, _OWNER))


def remove_kept_folder(path: str) -> None:
    """Remove a kept folder, unless it is missing, not a kept folder, or in use."""
    if is_kept_folder(path):
        with suppress(OSError):
            remove_if_left(path, _open_lock_file(path), _OWNER)


def _take(path: str, owners: list[int], in_forks: bool) -> None:
    """Make or find the folder, and append to `owners` a descriptor that holds its lock."""
    end = time.monotonic() + _PATIENCE
    while True:
        with handlers_later():
            is_used = _try_to_take(path, owners)
            if not in_forks:
                _not_for_forks.update(owners)
        if owners:
            return
        if is_used:
            if time.monotonic() > end:
                raise BlockingIOError(f"{path!r} is in use by another run on the same output: wait until it has ended")
            time.sleep(0.01)


def _try_to_take(path: str, owners: list[int]) -> bool:
    """Try to take the folder, as `_take`. Return whether another run uses it; if not, and `owners` is empty, try again."""
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    try:
        owner = _open_lock_file(path)
    except FileNotFoundError:
        return False
    is_locked = try_lock(owner) is not False
    if is_locked and os.fstat(owner).st_nlink:
        owners.append(owner)
    else:
        os.close(owner)
    return not is_locked


def _open_lock_file(path: str) -> int:
    """Open the file that is to be locked. Raises FileExistsError for a folder that is not of this kind."""
    status = os.lstat(path)
    mine = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    name = os.path.join(path, _OWNER)
    if not stat.S_ISDIR(status.st_mode) or not mine or (not os.path.lexists(name) and os.listdir(path)):
        raise FileExistsError(f"{path!r} was not made by nbbpe for this user: move it away, or give another output")
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(name, flags, 0o600)
