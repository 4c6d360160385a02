"""Paths of files: their types, the size of the file, whether it can be read."""

from __future__ import annotations

import os
import stat

Path = str | os.PathLike[str]


def check_readable(path: Path) -> None:
    """Raise the OSError that reading a file would raise, before long work."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{os.fspath(path)!r} is a folder; give the text files in it")
    if stat.S_ISREG(mode):
        open(path, "rb").close()


def file_size(path: Path | int) -> int | None:
    """The size of a regular file in bytes, by its path or its number where it is open; None for a pipe or the like."""
    status = os.stat(path)
    return status.st_size if stat.S_ISREG(status.st_mode) else None
