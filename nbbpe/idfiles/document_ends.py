"""Where documents end in a file of ids (of `ids.bin`, in `ids.bin.ends`), if no separators among the ids say so.

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

MAGIC = b"nbbpeEND"  # the first bytes of our files
END_DTYPE: np.dtype[Any] = np.dtype("<i8")
_AT_ONCE = 1 << 16  # ends that are in memory while files are concatenated: there may be as many as ids


def ends_path(ids_path: Path) -> str:
    """The path of the file of ends that belongs to a file of ids."""
    return os.fspath(ids_path) + ENDS


def is_file_or_nothing(path: str) -> bool:
    """Whether there is a regular file, or nothing. One call, as it may be replaced between two."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True


def is_ours(path: str) -> bool:
    """Whether the name is free, or a file of ends."""
    if not is_file_or_nothing(path):
        return False
    with suppress(FileNotFoundError, NotADirectoryError), open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC
    return True


def count_ends(path: str) -> int:
    """The number of ends in a file of ends, 0 without a file."""
    if not os.path.exists(path):
        return 0
    return (os.path.getsize(path) - len(MAGIC)) // END_DTYPE.itemsize


def append_ends(whole: str, part: str | NDArray[np.int64], n_before: int) -> None:
    """Write the ends of a part to the end of a file, which is made where it is missing.

    part     : an array of them, or a file, which has no magic
    n_before : how many ids come before those of the part
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
    """The ends that belong to a file of ids, mapped into memory; None if nbbpe wrote none."""
    path = ends_path(ids_path)
    try:
        if not is_file_or_nothing(path):  # to open a pipe would wait for a writer without end
            return None
        with open(path, "rb") as file:
            n_ends, rest = divmod(os.fstat(file.fileno()).st_size - len(MAGIC), END_DTYPE.itemsize)
            if rest or file.read(len(MAGIC)) != MAGIC:
                return None
            return np.memmap(file, dtype=END_DTYPE, mode="r", offset=len(MAGIC), shape=(n_ends,))
    except OSError:
        return None  # a caller that needs them raises an error


def checked_ends(ids_path: Path, ends: NDArray[np.int64] | None, n_ends: int, n_ids: int) -> NDArray[np.int64]:
    """Mapped ends as int64[n_ends] in memory. Raises FileNotFoundError, or ValueError for another file's."""
    if not n_ends:
        return np.empty(0, dtype=np.int64)
    path = ends_path(ids_path)
    if ends is None and not os.path.exists(path):
        raise FileNotFoundError(f"{path!r} is missing, which says where the documents of {os.fspath(ids_path)!r} end")
    found = np.empty(0, dtype=np.int64) if ends is None else np.array(ends, dtype=np.int64)
    if len(found) != n_ends or found[-1] > n_ids or found[0] < 0 or (np.diff(found) < 0).any():
        raise ValueError(
            f"{path} does not hold {n_ends:,} ends of documents, as {os.path.basename(os.fspath(ids_path))} has them: one "
            "was changed without the other; encode the text again"
        )
    return found
