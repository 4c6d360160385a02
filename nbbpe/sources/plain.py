"""Reads files of plain text, which can be cut at special tokens and at certain boundaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..text.chunks import cut_file, find_cut
from ..text.windows import NO_ID, Reader, Window, Windows, concatenated
from .compression.compressed import open_stream
from .compression.compressible import CompressibleFile, FilePart
from .inputs import WHOLE, Extent, Part
from .tally import Tally

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from ..text.chunks import CutRules


@dataclass(frozen=True, eq=False)
class TextPart(FilePart):
    """A part of a file of plain text; see Part."""

    is_last: bool
    has_records = False

    @contextmanager
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> Iterator[Windows]:
        """See Part. A separator follows only the end of the file; special tokens inside it are separators themselves."""
        with open_stream(self.file, self.compression, tally, self.extent) as stream:
            reader = Reader(stream, self.extent.n_bytes(self.compression), specials, at_once)
            if self.is_last and separator != NO_ID:
                yield _Followed(reader, concatenated([b""], specials, separator))
            else:
                yield reader


class _Followed(Windows):
    """The windows of a reader, followed by one more."""

    def __init__(self, reader: Windows, last: Window) -> None:
        self.n_expected = reader.n_expected
        self._reader = reader
        self._last: Window | None = last

    def advance(self, taken: int) -> Window | None:
        window = self._reader.advance(taken)
        if window is None:
            window, self._last = self._last, None
        return window


class PlainText(CompressibleFile):
    """A file of plain text, compressed or not; see Input."""

    has_records = False

    def cut(self, part_bytes: int, rules: CutRules) -> Sequence[Part]:
        """See Input. Cut at special tokens or certain boundaries."""
        if self.file.path is None or not self.can_be_cut():
            extents = [WHOLE]
        elif self.compression:
            find = partial(find_cut, rules=rules)
            extents = self.cut_between_frames(part_bytes, find)
        else:
            chunks = cut_file(self.file.path, part_bytes, rules)
            extents = [Extent(chunk.start, chunk.end) for chunk in chunks]
        return [TextPart(self.file, self.compression, extent, extent is extents[-1]) for extent in extents]
