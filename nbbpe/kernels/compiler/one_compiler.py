"""One process at a time compiles a kernel: others that need it wait, and find it stored.

Many processes may start at once on a machine that has no kernels yet, such as those of torchrun. If each compiled all that
it needs, they would slow each other down.
"""

from __future__ import annotations

import contextlib
import os
import time
import zlib
from collections.abc import Iterator

from . import store

_NAME = "compiling.lock"
_MOST_SECONDS = 60.0  # to wait for the lock: the process that has it may have been stopped
_BETWEEN = 0.02  # seconds between two attempts to get the lock; a wait in the system call would delay Ctrl-C


@contextlib.contextmanager
def one_compiler(file: str) -> Iterator[None]:
    """Hold a lock during this context, so that only one process at a time compiles a kernel; wait for the lock at first.

    file : the name of the kernel's file, which also depends on the processor (see `kernel_files.name_of`)

    No process waits if there is no folder for kernels, or no locks in it, as on Windows and on some network file systems.
    """
    descriptor = _open_lock_file()
    if descriptor is None:
        yield
        return
    try:
        _wait(descriptor, zlib.crc32(file.encode()))
        yield
    finally:
        os.close(descriptor)  # this releases the lock


def _open_lock_file() -> int | None:
    """Open the lock file in the folder that kernels are written to; None if there is no such folder."""
    folder = store.writable_folder() if os.name != "nt" else None
    if folder is not None:
        with store.skipping_unusable():
            return os.open(os.path.join(folder, _NAME), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return None


def _wait(descriptor: int, place: int) -> None:
    """Wait until this process holds the lock of byte `place` of a file, or `_MOST_SECONDS` have passed."""
    until = time.monotonic() + _MOST_SECONDS
    while not _try_lock(descriptor, place) and time.monotonic() < until:
        time.sleep(_BETWEEN)


def _try_lock(descriptor: int, place: int) -> bool:
    """Try to lock one byte of a file: False if another process has the lock, True also if the file system has no locks.

    The lock belongs to this process, not to those that are forked from it: it ends with this process.
    """
    import fcntl

    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        if error.errno is None:  # raised by a signal's handler, such as TimeoutError
            raise
    return True
