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
    """Rename the finished file or folder `whole` to `path`, where a folder may replace only an empty folder.

    A replaced file's mode is kept. If `path` is a symlink, the file that it points to is replaced (see `target_of`). A file
    on another disk is first copied to a scratch folder, so that `path` is always complete. The content is synced to disk
    before the rename, and the rename before this returns: a power cut leaves the old file or the new one.
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
    """Ask the system to start writing `n_bytes` of a file to disk, from `start` on, without waiting; only where it can."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # a file without a descriptor, or a C library without the call
            begin = ctypes.CDLL(None).sync_file_range
            begin.argtypes = ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint
            begin(file.fileno(), start, n_bytes, _BEGIN_WRITING)


def sync(path: str) -> None:
    """Sync a file, or the names in a folder, to disk if it exists and the system can. Raises OSError if that fails."""
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
    """Yield a temporary path to write to. The file is renamed to `path` at the end (see `put`), or removed after an error.

    Raises IsADirectoryError for a folder, and what `checked_name` and `scratch_folder` raise.
    """
    with name_before(path) as whole:
        yield whole
        put(whole, path)


@contextmanager
def name_before(path: Path) -> Iterator[str]:
    """As `whole_file`, but the caller renames the file, together with others, by `put_together`."""
    name = checked_name(path)
    if os.path.isdir(name) or not os.path.basename(name):
        raise IsADirectoryError(f"{name!r} is a folder; give a file name to write")
    with name_in_errors(path), scratch_folder(path) as folder:
        yield os.path.join(folder, os.path.basename(name))


def put_together(files: Sequence[tuple[str, Path]]) -> None:
    """`put` several finished files, one after another. Ctrl-C takes effect when all have their names."""
    for whole, path in files:
        with name_in_errors(path):
            sync(whole)  # here, as it may take long, and Ctrl-C waits below
    with handlers_later():
        for whole, path in files:
            put(whole, path)


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8 with `\\n` as newline, whatever the system."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


@contextmanager
def made_folder(folder: str) -> Iterator[None]:
    """Make a folder and its missing parents; after an error in the context, those made are removed again if empty.

    For a symlink to a missing folder, that folder is made. For "", the working folder, nothing is done: if it is missing,
    a later error names the file that cannot be written. Raises NotADirectoryError if `folder` is a file, OSError if it
    cannot be made, and the errors of `target_of`.
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
            except PermissionError as error:  # worded as by `scratch_folder`
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
    """Add the path of the written file to an OSError without a file name, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        raise
