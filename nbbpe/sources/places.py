"""Places of records in their sources, for messages."""

from __future__ import annotations

from typing import NamedTuple

from ..system.paths import Path
from .compression.compressed import open_stream
from .files.local import find_local
from .inputs import WHOLE, Extent
from .tally import Tally

_BLOCK = 1 << 18


class Line(NamedTuple):
    """A line of a file: line `number`, from 1, of a part of the file. The part begins at `start` and `skip`, see Extent.

    If `start` is 0, `skip` may be larger than the text of the first frame.
    """

    name: str
    number: int
    path: Path | None = None  # needed if the part is not the first of the file
    start: int = 0
    skip: int = 0
    compression: str = ""

    def __str__(self) -> str:
        try:
            return f"{self.name!r}, line {self._lines_before() + self.number:,}"
        except OSError:  # the file is gone by now; as all records are read, a message must not end the run
            return f"{self.name!r}, line {self.number:,} after byte {self.start or self.skip:,}"

    def _lines_before(self) -> int:
        """Count the lines before the part. Done only for messages: a worker does not know them for a part inside a file."""
        if self.path is None or not (self.start or self.skip):
            return 0
        buffer = bytearray(_BLOCK)
        n_lines = n_read = 0
        # Read up to the frame at `start` and `skip` bytes of it; or up to a byte of the text.
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
