"""Atomic writes: a file appears under its name when it is complete, and temporary files are removed."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from .lazy import imported_on_use
from .links import target_of
from .paths import Path, absolute, checked_name
from .scratch import scratch_folder
from .signals_later import handlers_later

ctypes: Any = imported_on_use("ctypes")
shutil: Any = imported_on_use("shutil")

_NO_FSYNC = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}  # from file systems that have no fsync
_BEGIN_WRITING = 2  # SYNC_FILE_RANGE_WRITE


def put(whole: str, path: Path) -> None:
    """Give a finished file its name, or a finished folder a name that is free or an empty folder's.

    The mode of a file that is replaced is kept. If the name is a symlink, the file that it points to is replaced, see
    `target_of`. A file on another disk is copied first, so that under its name it is always complete. The content is synced
    to disk before the rename, and the rename before this returns: a power cut leaves the old file or the new one.
    """
    target = target_of(path)
    for name in os.listdir(whole) if os.path.isdir(whole) else ():
        sync(os.path.join(whole, name))
    sync(whole)
    with suppress(OSError):
        shutil.copymode(target, whole)
    try:
        os.replace(whole, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with scratch_folder(target) as folder:
            copy = shutil.copy(whole, folder)
            sync(copy)
            os.replace(copy, target)
    sync(os.path.dirname(target))


def begin_sync(file: BinaryIO, start: int, n_bytes: int) -> None:
    """Have the system begin to write a stretch of a file to the disk, if it can, and do not wait for it."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # a file without a descriptor, or a C library without the call
            begin = ctypes.CDLL(None).sync_file_range
            begin.argtypes = ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint
            begin(file.fileno(), start, n_bytes, _BEGIN_WRITING)


def sync(path: str) -> None:
    """Sync a file, or the names in a folder, to the disk if it exists and the system can. Raises OSError if that fails."""
    try:
        descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    except OSError:  # a folder on Windows, or one that we may not read
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FSYNC:
            raise
    finally:
        os.close(descriptor)


@contextmanager
def whole_file(path: Path) -> Iterator[str]:
    """A temporary name to write a file under; it becomes `path` when it is complete (see `put`), and goes after an error.

    Raises IsADirectoryError for a folder, and what `checked_name` and `scratch_folder` raise.
    """
    with name_before(path) as whole:
        yield whole
        put(whole, path)


@contextmanager
def name_before(path: Path) -> Iterator[str]:
    """As `whole_file`, for a file that the caller gives its name, together with others: see `put_together`."""
    name = checked_name(path)
    if os.path.isdir(name) or not os.path.basename(name):
        raise IsADirectoryError(f"{name!r} is a folder; give a file name to write")
    with name_in_errors(path), scratch_folder(path) as folder:
        yield os.path.join(folder, os.path.basename(name))


def put_together(files: Sequence[tuple[str, Path]]) -> None:
    """`put` each of several finished files in turn. Ctrl-C is answered when all have their names."""
    for whole, path in files:
        with name_in_errors(path):
            sync(whole)  # which may take long
    with handlers_later():
        for whole, path in files:
            put(whole, path)


def write_text(path: Path, text: str) -> None:
    """Write a text file, the same on all systems."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


@contextmanager
def made_folder(folder: str) -> Iterator[None]:
    """A context in which a folder exists; the folders made for it are removed again after an error, if they are empty.

    Of a symlink to a folder that is missing, that folder is made. For "", the working folder, nothing is done: it is there,
    or errors name the file that cannot be written to it. Raises NotADirectoryError for a file in its place, OSError where
    it cannot be made, and what `target_of` raises.
    """
    if not folder:
        yield
        return
    missing = []
    path = absolute(folder) if os.path.isdir(folder) else target_of(folder)
    while not os.path.exists(path):
        missing.append(path)
        path = os.path.dirname(path)
    if not os.path.isdir(path):
        raise NotADirectoryError(f"{path!r} is not a folder; give one to write the tokenizer's files to")
    try:
        for path in reversed(missing):  # os.makedirs calls itself for each
            try:
                with suppress(FileExistsError):  # made by another process
                    os.mkdir(path)
            except PermissionError as error:  # in the words of an atomic write
                reason = f"cannot write to the folder: {error.strerror}"
                raise PermissionError(error.errno, reason, os.path.dirname(path)) from None
        yield
    except BaseException:
        for path in missing:
            with suppress(OSError):
                os.rmdir(path)
        raise


@contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """Add the name of the file that was written to an OSError that names none, as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        raise
