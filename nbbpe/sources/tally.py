"""What reading comes to besides text: bytes read, and bad records, which are raised or left out and counted."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import NamedTuple

from ..system.paths import Path
from .local import count_newlines

ON_ERROR = ("raise", "skip")
_MAX_NAMED = 5  # bad records that are named of those that were left out


class Line(NamedTuple):
    """A line of a file: line `number`, from 1, of those that start at byte `start`."""

    name: str
    number: int
    path: Path | None = None  # where `start` is not 0
    start: int = 0

    def __str__(self) -> str:
        # A worker that began in the middle cannot know its lines' numbers; they are only needed here.
        before = count_newlines(self.path, self.start) if self.path is not None and self.start else 0
        return f"{self.name!r}, line {before + self.number:,}"


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


Place = Line | Row | Record


class Skipped(NamedTuple):
    """Records that were left out: how many, and of the first few where they stand and why they are bad."""

    n: int
    first: list[tuple[Place, str]]


class Tally:
    """What one part came to. With on_error="raise", a bad record is an error at once."""

    def __init__(self, on_error: str) -> None:
        self._on_error = on_error
        self._n_bad = 0
        self._first: list[tuple[Place, str]] = []
        self._n_told = 0
        self.n_read = 0  # bytes, as they lie in the file

    def bad_record(self, place: Place, reason: str) -> None:
        """Count a bad record, or raise ValueError that names it."""
        if self._on_error == "raise":
            raise ValueError(f'{place}: {reason} (on_error="skip" leaves such records out)')
        self._n_bad += 1
        if len(self._first) < _MAX_NAMED:
            self._first.append((place, reason))

    def newly_read(self) -> int:
        """The bytes read since the last call."""
        n = self.n_read - self._n_told
        self._n_told = self.n_read
        return n

    def skipped(self) -> Skipped:
        """The records that were left out."""
        return Skipped(self._n_bad, self._first)


def warn_of_skipped(parts: Iterable[Skipped], stacklevel: int) -> None:
    """One warning about all records that were left out, of parts in their order; none where there are none."""
    parts = list(parts)
    n = sum(part.n for part in parts)
    if not n:
        return
    named = [bad for part in parts for bad in part.first][:_MAX_NAMED]
    places = "; ".join(f"{place}: {reason}" for place, reason in named)
    more = f"; and {n - len(named):,} more" if n > len(named) else ""
    records = "1 bad record was" if n == 1 else f"{n:,} bad records were"
    warnings.warn(f"{records} left out: {places}{more}", stacklevel=stacklevel + 1)
