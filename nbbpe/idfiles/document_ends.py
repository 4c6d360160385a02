"""Reads and writes the file of document ends (`ids.bin.ends` for `ids.bin`): where documents end without a separator.

The file holds MAGIC, and then for each document the number of ids up to its end, ascending, as little-endian int64.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..system.beside_ids import ENDS
from ..system.paths import Path
from ..system.read_numbers import read_numbers

MAGIC = b"nbbpeEND"  # the first bytes of the file
END_DTYPE: np.dtype[Any] = np.dtype("<i8")
_AT_ONCE = 1 << 16  # ends in memory while files are concatenated: a file may have as many ends as ids


def ends_path(ids_path: Path) -> str:
    """The path of the file of ends that belongs to a file of ids."""
    return os.fspath(ids_path) + ENDS


def is_file_or_nothing(path: str) -> bool:
    """Whether a path is a regular file, or free. It is looked at once, as it may be replaced between two looks."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True


def is_ours(path: str) -> bool:
    """Whether a path is free, or a file of ends that nbbpe wrote."""
    if not is_file_or_nothing(path):
        return False
    with suppress(FileNotFoundError, NotADirectoryError), open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC
    return True


def count_ends(path: str) -> int:
    """The number of ends in a file of ends; 0 if there is no file."""
    if not os.path.exists(path):
        return 0
    return (os.path.getsize(path) - len(MAGIC)) // END_DTYPE.itemsize


def append_ends(whole: str, part: str | NDArray[np.int64], n_before: int) -> None:
    """Append the ends of a part to the file of ends `whole`, which is made if it is missing.

    part     : an array of ends, or the path of a file of ends without magic; counted from the beginning of the part
    n_before : the number of ids before the part
    """
    with open(whole, "ab") as out:
        if out.tell() == 0:
            out.write(MAGIC)
        if not isinstance(part, str):
            out.write((part + n_before).data)
            return
        with open(part, "rb") as file:
            while len(ends := read_numbers(file, END_DTYPE, _AT_ONCE)):
                out.write((ends + n_before).data)


def map_ends(ids_path: Path) -> NDArray[np.int64] | None:
    """Map the ends that belong to a file of ids into memory; None if their file is missing or invalid."""
    path = ends_path(ids_path)
    try:
        if not is_file_or_nothing(path):  # opening a pipe would wait for a writer forever
            return None
        with open(path, "rb") as file:
            n_ends, rest = divmod(os.fstat(file.fileno()).st_size - len(MAGIC), END_DTYPE.itemsize)
            if rest or file.read(len(MAGIC)) != MAGIC:
                return None
            return np.memmap(file, dtype=END_DTYPE, mode="r", offset=len(MAGIC), shape=(n_ends,))
    except OSError:
        return None  # see `checked_ends`, which raises an error if ends are needed


def checked_ends(ids_path: Path, ends: NDArray[np.int64] | None, n_ends: int, n_ids: int) -> NDArray[np.int64]:
    """Copy mapped ends to an int64[n_ends]. Raises FileNotFoundError, or ValueError if they do not fit the file of ids.

    n_ends, n_ids : the numbers of ends and of ids in the sidecar
    """
    if not n_ends:
        return np.empty(0, dtype=np.int64)
    path = ends_path(ids_path)
    if ends is None and not os.path.exists(path):
        raise FileNotFoundError(f"{path!r} is missing, which says where the documents of {os.fspath(ids_path)!r} end")
    found = np.empty(0, dtype=np.int64) if ends is None else np.array(ends, dtype=np.int64)
    if len(found) != n_ends or found[-1] > n_ids or found[0] < 0 or (np.diff(found) < 0).any():
        raise ValueError(
            f"{path} does not hold the {n_ends:,} ends of documents that {os.path.basename(os.fspath(ids_path))} has: one "
            "was changed without the other; encode the text again"
        )
    return found
