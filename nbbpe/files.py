"""Writing so that a file appears under its name only when it is whole, and nothing else is left behind."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .corpus import Path


def is_device(path: Path) -> bool:
    """Whether a path is that of a device, a pipe or a socket, which can be written into, and must never be replaced."""
    name = os.path.abspath(os.fspath(path))
    # What lies in /dev may be a link to a file, as /dev/stdout is after `> file`, and even that is not ours to replace.
    return os.path.dirname(name) in ("/dev", "/dev/fd") or (
        os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name)
    )


def target_of(path: Path) -> str:
    """Where the file of a name lies: what a link leads to, as in writing to it, whether that is there yet or not."""
    name = os.path.abspath(os.fspath(path))
    return os.path.realpath(name) if os.path.islink(name) else name


def put(whole: str, path: Path) -> None:
    """Give a finished file its name; who may read what was there before may read it now.

    Where the name is a link, the file comes to lie where the link leads. From another disk it is copied first, so that
    under its name it is always whole.
    """
    target = target_of(path)
    with suppress(OSError):
        shutil.copymode(target, whole)
    try:
        os.replace(whole, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with scratch_folder(target) as folder:
            os.replace(shutil.copy(whole, folder), target)


@contextmanager
def whole_file(path: Path) -> Iterator[str]:
    """A name to write a file under; the file appears as `path` when it is whole (see `put`), and not at all after an error.

    Raises IsADirectoryError for a folder, and what `scratch_folder` raises.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(f"{os.fspath(path)!r} is a folder; give a file name to write")
    with name_in_errors(path), scratch_folder(path) as folder:
        whole = os.path.join(folder, os.path.basename(os.fspath(path)))
        yield whole
        put(whole, path)


@contextmanager
def scratch_folder(beside: Path) -> Iterator[str]:
    """A folder on the disk where a file of the name `beside` lies, removed with all that is in it whatever happens.

    Raises FileNotFoundError or NotADirectoryError, naming the folder, where there is no such place, and FileExistsError
    where a device or the like is in the place of the file.
    """
    if is_device(beside):
        raise FileExistsError(
            f"{os.fspath(beside)!r} is a device, a pipe or the like, whose place a file would take; give a file name"
        )
    parent, name = os.path.split(target_of(beside))
    if not os.path.exists(parent):
        raise FileNotFoundError(f"the folder {parent!r} for {name!r} does not exist; make it first")
    if not os.path.isdir(parent):
        raise NotADirectoryError(f"{parent!r} is not a folder, so {name!r} cannot be written there")
    try:
        folder = tempfile.mkdtemp(prefix=".nbbpe-", suffix=".partial", dir=parent)
    except OSError as error:
        raise type(error)(error.errno, f"cannot write to the folder: {error.strerror}", parent) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """Give an OSError that names no file (a full disk says so of a write) the name of what was to be written."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        raise
