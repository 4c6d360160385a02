"""Files that are open for reading bytes, and what reads like one."""

from __future__ import annotations

import io
from typing import Protocol, cast

from ..system.paths import file_size


class Source(Protocol):
    """Where a Reader reads from: an unbuffered file, or a TextStream."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill the buffer or part of it; returns the number of bytes, 0 at the end, None where they are still to come."""


def as_source(text: object) -> Source | None:
    """A file of bytes, or what reads like one, as something to read from; None for all else."""
    return cast(Source, text) if hasattr(text, "readinto") else None


def bytes_left(source: Source) -> int | None:
    """How many bytes an open file has from where it stands on; None where only reading tells (a pipe, packed text)."""
    raw = getattr(source, "raw", source)
    if not isinstance(raw, io.FileIO):
        return None
    file = cast(io.FileIO, source)
    file.flush()  # what was written to it counts
    size = file_size(raw.fileno())
    if not size:  # files that the system makes up as they are read say 0
        return None
    return max(size - file.tell(), 0) or None
