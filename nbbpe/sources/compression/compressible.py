"""Files of text that may be compressed, and where those that are can be cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from ...text.chunks import find_near
from ..inputs import WHOLE, Extent, File, Input, Part
from ..tally import Tally
from .compressed import open_stream, require_module
from .frames import find_frames

_COMPRESSED_FACTOR = 4  # text becomes about a quarter of its size
_LOOK = 1 << 17  # bytes of a frame's text that are searched for a place to cut
_LOOKS = 16  # into frames for a place to cut, for each part: each opens the file


@dataclass(frozen=True, eq=False)
class FilePart(Part):
    """A part of a file that may be compressed; see Part."""

    file: File
    compression: str
    extent: Extent

    def span(self) -> tuple[int, int | None]:
        return self.extent[:2]


class CompressibleFile(Input):
    """A file of text that may be compressed: what all inputs of such files have in common (see Input)."""

    def __init__(self, file: File, compression: str) -> None:
        """`compression` is one of COMPRESSIONS, or empty."""
        self.file: File = file
        self.compression = compression

    def n_text(self) -> int:
        return (self.size() or 0) * (_COMPRESSED_FACTOR if self.compression else 1)

    def most_text(self) -> int | None:
        return None if self.compression else self.size() or None  # a file that the system generates has size 0, too

    def can_be_cut(self) -> bool:
        """Whether it may be read in parts; a remote file is best read from its beginning to its end."""
        return self.file.path is not None and bool(self.size())

    def cut_between_frames(self, part_bytes: int, find: Callable[[bytes], int | None]) -> list[Extent]:
        """Cut a compressed file into parts of about `part_bytes` bytes of text, near where frames begin.

        `find` gets the text with which a frame begins, and says after how many bytes of it, at least 1, the file may be
        cut; None for nowhere. The text of the frame before, which may be needed to tell of its first byte, is not read.
        """
        size = self.size() or 0
        n_parts = round(self.n_text() / part_bytes) if self.can_be_cut() else 1
        cuts = [(0, 0)]
        if n_parts > 1:
            least = 0  # of the next frame that is looked into
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
        """The first bytes of the text of the frame at `start`, and none of the next one's, wherever that begins."""
        buffer = memoryview(bytearray(_LOOK))
        n = 0
        alone = Extent(start, start + 1)
        with open_stream(self.file, self.compression, Tally("raise"), alone, reads_ahead=False) as stream:
            while n < len(buffer) and (got := stream.readinto(buffer[n:])):
                n += got
        return bytes(buffer[:n])

    def check(self, on_error: str) -> None:
        """See Input. Finds a missing package, and a file that is not compressed as its name says."""
        self.file.check()
        if not self.compression:
            return
        require_module(self.compression, self.file.name)
        if self.size() is not None:
            with open_stream(self.file, self.compression, Tally(on_error), reads_ahead=False) as stream:
                stream.readinto(memoryview(bytearray(1)))


def _after_newline(text: bytes) -> int | None:
    """The end of the first newline in the beginning of a frame's text; None if there is none."""
    return text.find(b"\n") + 1 or None
