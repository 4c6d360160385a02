"""One process at a time compiles a kernel: others that need it wait, and find it stored.

Many processes may start at once on a machine that has no kernels yet, such as those of torchrun. If each compiled all that
it needs, they would slow down each other.
"""

from __future__ import annotations

import contextlib
import os
import time
import zlib
from collections.abc import Iterator

from . import store

_NAME = "compiling.lock"
_MOST_SECONDS = 60.0  # to wait for a process, which may have been stopped
_BETWEEN = 0.02  # seconds between two attempts to get the lock: to wait in the system would hold up Ctrl-C


@contextlib.contextmanager
def one_compiler(file: str) -> Iterator[None]:
    """A context in which no other process that stores kernels in the same folder is, for the same file: see `name_of` in
    kernel_files.py, which tells of the processor, too.

    Without a folder, or a lock of it, as on Windows and on some network file systems, no process waits.
    """
    descriptor = _opened()
    if descriptor is None:
        yield
        return
    try:
        _wait(descriptor, zlib.crc32(file.encode()))
        yield
    finally:
        os.close(descriptor)  # which gives back the lock


def _opened() -> int | None:
    """The file of locks, open; None if there is none."""
    folder = store.writable_folder() if os.name != "nt" else None
    if folder is not None:
        with store.without_what_cannot_be_used():
            return os.open(os.path.join(folder, _NAME), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return None


def _wait(descriptor: int, place: int) -> None:
    """Return when this process has the lock of one byte of a file, or will not get it."""
    until = time.monotonic() + _MOST_SECONDS
    while _is_locked_elsewhere(descriptor, place) and time.monotonic() < until:
        time.sleep(_BETWEEN)


def _is_locked_elsewhere(descriptor: int, place: int) -> bool:
    """Whether another process has the lock of a byte; if not, this process has it, where the file system has locks.

    Such a lock belongs to a process, not to those that are forked from it: it ends with this process.
    """
    import fcntl

    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except (BlockingIOError, PermissionError):
        return True
    except OSError as error:
        if error.errno is None:  # of a signal's handler, such as TimeoutError
            raise
    return False
