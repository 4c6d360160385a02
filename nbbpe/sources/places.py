"""The place of a record, for messages."""

from __future__ import annotations

from typing import NamedTuple

from ..system.paths import Path
from .compression.compressed import open_stream
from .files.local import find_local
from .inputs import WHOLE, Extent
from .tally import Tally

_BLOCK = 1 << 18


class Line(NamedTuple):
    """A line of a file: line `number`, from 1, of those in a part of it, which begins as Extent says.

    With a `start` of 0, `skip` may be bytes of the text of several frames.
    """

    name: str
    number: int
    path: Path | None = None  # where the part is not the file's first
    start: int = 0
    skip: int = 0
    compression: str = ""

    def __str__(self) -> str:
        try:
            return f"{self.name!r}, line {self._lines_before() + self.number:,}"
        except OSError:  # the file is gone by now: a message about a record must not end a run that has read all records
            return f"{self.name!r}, line {self.number:,} after byte {self.start or self.skip:,}"

    def _lines_before(self) -> int:
        """A worker that began in the middle of a file does not know line numbers; they are counted only for messages."""
        if self.path is None or not (self.start or self.skip):
            return 0
        buffer = bytearray(_BLOCK)
        n_lines = n_read = 0
        # Up to a frame, or up to some byte: of the file, or of the text of all its frames.
        is_frame = bool(self.compression and self.start)
        most, before = (None, Extent(0, self.start, 0, self.skip)) if is_frame else (self.start or self.skip, WHOLE)
        with open_stream(find_local(self.path), self.compression, Tally("raise"), before, reads_ahead=False) as stream:
            while n := stream.readinto(memoryview(buffer)[: None if most is None else most - n_read]):
                n_lines += buffer.count(b"\n", 0, n)
                n_read += n
        return n_lines


class Row(NamedTuple):
    """A row of a table, from 0."""

    name: str
    number: int

    def __str__(self) -> str:
        return f"{self.name!r}, row {self.number:,} (from 0)"


class Record(NamedTuple):
    """A record of an array, from 0."""

    name: str
    number: int

    def __str__(self) -> str:
        return f"{self.name!r}, record {self.number:,} (from 0)"


Place = Line | Row | Record  # of files


class Document(NamedTuple):
    """A document of an iterable, from 0."""

    number: int

    def __str__(self) -> str:
        return f"document {self.number:,} (from 0)"
