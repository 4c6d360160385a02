"""Files of this machine's file system."""

from __future__ import annotations

import glob
import os
from contextlib import AbstractContextManager
from typing import BinaryIO, NamedTuple

from ..corpus import Path, check_readable, file_size
from ..files import name_in_errors

_BLOCK = 1 << 20


class LocalFile(NamedTuple):
    """A file, pipe or the like by its path; see inputs.File."""

    path: Path

    @property
    def name(self) -> str:
        """See File."""
        return os.fspath(self.path)

    def size(self) -> int | None:
        """See File."""
        return file_size(self.path)

    def check(self) -> None:
        """See File. Pipes are not opened: what is in them can be read once only."""
        check_readable([self.path])

    def open(self) -> BinaryIO:
        """See File."""
        return open(self.path, "rb", buffering=0)

    def naming_errors(self) -> AbstractContextManager[None]:
        """See File."""
        return name_in_errors(self.path)


def exists(path: Path) -> bool:
    """Whether there is such a file or folder; False for a name that no file can have."""
    try:
        return os.path.exists(path)
    except ValueError:  # a NUL character
        return False


def matching_files(pattern: Path) -> list[LocalFile] | None:
    """The files, not folders, that a pattern such as "data/*.txt" matches, by name; ** stands for any folders.

    None for what is no pattern.
    """
    name = os.fspath(pattern)
    if not glob.has_magic(name):
        return None
    return [LocalFile(path) for path in sorted(glob.glob(name, recursive=True)) if not os.path.isdir(path)]


def count_newlines(path: Path, end: int) -> int:
    """The number of newlines in the first `end` bytes of a file."""
    n = 0
    with open(path, "rb", buffering=0) as file:
        while end > 0 and (block := file.read(min(_BLOCK, end))):
            n += block.count(b"\n")
            end -= len(block)
    return n
