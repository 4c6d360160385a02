"""The base classes of files of tables: one document per row, in one of the columns; cut between groups of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from ...text.windows import Windows
from ..inputs import File, Input, Part
from ..places import Row
from ..tally import Tally
from .columns import ColumnReader, null_rows

if TYPE_CHECKING:
    from ...kernels.pieces.special_tokens import SpecialTokens
    from ...text.chunks import CutRules

# Rows that repeat a text take a few bytes each in the file, but the whole text in memory. A lower limit would cost time.
MAX_BATCH_ROWS = 1 << 11


class RowGroup(NamedTuple):
    """A group of rows: the number of rows, and about how many bytes of text they have."""

    n_rows: int
    n_text: int


@dataclass(frozen=True, eq=False)
class RowsPart(Part, ABC):
    """Consecutive groups of rows of a file; see Part."""

    file: File
    column: str
    groups: list[RowGroup]  # empty if the groups are not known: then the part is the whole file
    first_group: int
    first_row: int
    size: int  # the part's share of the file's bytes

    def span(self) -> tuple[int, int | None]:
        return self.first_row, self.first_row + sum(group.n_rows for group in self.groups) if self.groups else None

    @contextmanager
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> Iterator[Windows]:
        with self.file.open() as raw:
            yield ColumnReader(self._columns(raw, tally), specials, separator)

    def _columns(self, raw: Any, tally: Tally) -> Iterator[Any]:
        """Yield the column's strings, some rows at a time; nulls are counted as malformed records."""
        n_rows = sum(group.n_rows for group in self.groups)
        done = 0
        for column in self._batches(raw):
            for i in null_rows(column):
                row = self.first_row + done + i
                tally.malformed(Row(self.file.name, row), f"the column {self.column!r} is null, and must be a string")
            yield column
            done += len(column)
            tally.n_read = self.size * done // n_rows if n_rows else min(raw.tell(), self.size)
        tally.n_read = self.size

    @abstractmethod
    def _batches(self, raw: Any) -> Iterator[Any]:
        """Yield the column as arrays of strings (see columns.as_strings), some rows at a time."""


class TableFile(Input):
    """A file of a table; see Input."""

    _part: type[RowsPart]

    def __init__(self, file: File, column: str) -> None:
        self.file: File = file
        self._column = column
        self._groups: list[RowGroup] = []  # found by `check`

    def n_text(self) -> int:
        return sum(group.n_text for group in self._groups)

    def cut(self, part_bytes: int, rules: CutRules) -> Sequence[Part]:
        """See Input. Cut between groups of rows, so that each part is as near to `part_bytes` as possible."""
        size = self.size() or 0
        rows = list(accumulate((group.n_rows for group in self._groups), initial=0))
        if not rows[-1]:
            return [self._part(self.file, self._column, [], 0, 0, size)]
        boundaries = [0]
        begun = 0
        for i, group in enumerate(self._groups if self.file.path is not None else []):
            if 2 * begun + group.n_text > 2 * part_bytes and begun:
                boundaries.append(i)
                begun = 0
            begun += group.n_text
        boundaries.append(len(self._groups))
        shares = [size * rows[i] // rows[-1] for i in boundaries]
        return [
            self._part(self.file, self._column, self._groups[first:end], first, rows[first], there - here)
            for (first, end), (here, there) in zip(pairwise(boundaries), pairwise(shares), strict=True)
        ]
