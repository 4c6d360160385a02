"""Writing so that a file appears under its name only when it is whole, and nothing else is left behind."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from .corpus import Path


@contextmanager
def scratch_folder(beside: Path) -> Iterator[str]:
    """A folder on the same disk as the file `beside`, removed with all that is in it at the end, whatever happens.

    Raises FileNotFoundError or NotADirectoryError, naming the folder, where there is no such place.
    """
    parent, name = os.path.split(os.path.abspath(os.fspath(beside)))
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
