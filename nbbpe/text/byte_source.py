"""Sources of bytes: open files, and objects that are read like one."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import BinaryIO, Protocol, cast

from ..system.paths import file_size


class Source(Protocol):
    """The source of a Reader: an unbuffered file, or a TextStream."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill the buffer or part of it; returns the number of bytes, 0 at the end, None if there are none yet."""


class BlockStream:
    """Blocks of bytes as one stream; errors of the iterable pass through."""

    def __init__(self, blocks: Iterable[bytes | memoryview]) -> None:
        self._blocks = iter(blocks)
        self._left = memoryview(b"")

    def readinto(self, buffer: memoryview, /) -> int:
        while not self._left:
            try:
                self._left = memoryview(next(self._blocks))
            except StopIteration:
                return 0
        n = min(len(buffer), len(self._left))
        buffer[:n], self._left = self._left[:n], self._left[n:]
        return n


def as_source(text: object) -> Source | None:
    """A file of bytes, or an object that reads like one, as a source; None for every other object."""
    return cast(Source, text) if hasattr(text, "readinto") else None


def read_at(file: BinaryIO, position: int, n_bytes: int) -> bytes:
    """Read `n_bytes` bytes of a seekable file from a position on, or as many as there are."""
    file.seek(position)
    blocks = [file.read(n_bytes)]
    while blocks[-1] and sum(map(len, blocks)) < n_bytes:
        blocks.append(file.read(n_bytes - sum(map(len, blocks))))
    return b"".join(blocks)


def bytes_left(source: Source) -> int | None:
    """How many bytes an open file has from its position on; None if only reading it tells (a pipe, compressed text)."""
    raw = getattr(source, "raw", source)
    if not isinstance(raw, io.FileIO):
        return None
    file = cast(io.FileIO, source)
    file.flush()  # so that bytes which were written to it count
    size = file_size(raw.fileno())
    if not size:  # files that the system generates during reading have size 0
        return None
    return max(size - file.tell(), 0) or None
