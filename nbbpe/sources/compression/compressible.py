"""Cuts files of text, compressed or not, into parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from ...text.chunks import find_near
from ..inputs import WHOLE, Extent, File, Input, Part
from ..tally import Tally
from .compressed import open_stream, require_module
from .frames import find_frames

_COMPRESSED_FACTOR = 4  # text is about four times as large as the compressed file
_LOOK = 1 << 17  # bytes at the beginning of a frame's text that are searched for a place to cut
_LOOKS = 16  # frames that are searched for each part, at most, as each search opens the file


@dataclass(frozen=True, eq=False)
class FilePart(Part):
    """A part of a file that may be compressed; see Part."""

    file: File
    compression: str
    extent: Extent

    def span(self) -> tuple[int, int | None]:
        return self.extent[:2]


class CompressibleFile(Input):
    """The base class of inputs that are files of text, compressed or not; see Input."""

    def __init__(self, file: File, compression: str) -> None:
        """`compression` is one of COMPRESSIONS, or "" for none."""
        self.file: File = file
        self.compression = compression

    def n_text(self) -> int:
        return (self.size() or 0) * (_COMPRESSED_FACTOR if self.compression else 1)

    def most_text(self) -> int | None:
        return None if self.compression else self.size() or None  # not 0: a file that the system generates has size 0

    def can_be_cut(self) -> bool:
        """Whether the file may be read in parts. (A remote file is best read from beginning to end.)"""
        return self.file.path is not None and bool(self.size())

    def cut_between_frames(self, part_bytes: int, find: Callable[[bytes], int | None]) -> list[Extent]:
        """Cut a compressed file into parts of about `part_bytes` bytes of text, near the beginnings of frames.

        find : gets the beginning of a frame's text, and returns after how many bytes the file may be cut, or None. At least
            1: whether it may be cut before the first byte can depend on the frame before, which is not read
        """
        size = self.size() or 0
        n_parts = round(self.n_text() / part_bytes) if self.can_be_cut() else 1
        cuts = [(0, 0)]
        if n_parts > 1:
            least = 0  # frames that start before this byte are not searched
            with self.file.open() as raw:
                for start in find_frames(raw, self.compression):
                    if start < least or start * n_parts < len(cuts) * size:
                        continue
                    if (skip := find(self._beginning(start))) is not None:
                        cuts.append((start, skip))
                    least = start + size // (n_parts * _LOOKS)
        ends: list[tuple[int | None, int]] = [*cuts[1:], (None, 0)]
        return [Extent(start, end, skip, end_skip) for (start, skip), (end, end_skip) in zip(cuts, ends, strict=True)]

    def cut_after_newlines(self, part_bytes: int) -> list[Extent]:
        """Cut a file of lines into parts of about `part_bytes` bytes of text, each of whole lines."""
        if self.compression:
            return self.cut_between_frames(part_bytes, _after_newline)
        size = self.size() or 0
        n_parts = round(size / part_bytes)
        if n_parts <= 1 or not self.can_be_cut():
            return [WHOLE]
        with self.file.open() as file:
            cuts = {newline + 1 for newline in find_near(file, size, n_parts, b"\n")}
        return [Extent(start, end) for start, end in pairwise(sorted({0, size} | cuts))]

    def _beginning(self, start: int) -> bytes:
        """The first _LOOK bytes of the text of the frame at `start`, or all its text if it is shorter."""
        buffer = memoryview(bytearray(_LOOK))
        n = 0
        alone = Extent(start, start + 1)
        with open_stream(self.file, self.compression, Tally("raise"), alone, reads_ahead=False) as stream:
            while n < len(buffer) and (got := stream.readinto(buffer[n:])):
                n += got
        return bytes(buffer[:n])

    def check(self, on_error: str) -> None:
        """See Input. Notices a missing package, and a file that is not compressed as its name says."""
        self.file.check()
        if not self.compression:
            return
        require_module(self.compression, self.file.name)
        if self.size() is not None:
            with open_stream(self.file, self.compression, Tally(on_error), reads_ahead=False) as stream:
                stream.readinto(memoryview(bytearray(1)))


def _after_newline(text: bytes) -> int | None:
    """The position after the first newline in a text; None if there is none."""
    return text.find(b"\n") + 1 or None
