"""Parquet files: one document a row, with its text in one of the columns; read through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from ..text.windows import Windows
from .columns import ColumnReader, as_strings, check_column, null_rows
from .inputs import File, Input, Part
from .optional_packages import naming_arrow_errors, read_with_arrow, require
from .places import Row
from .tally import Tally

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from ..text.chunks import CutRules

PARQUET = (".parquet", ".pq")  # how names of such files end
_BATCH_BYTES = 15 << 16  # of text that is in memory at a time, about: a window; with 4 MB pyarrow has held 20 MB more
# Rows that repeat a text of a dictionary take a few bytes each in the file, and all of the text in memory. Fewer cost time.
_MAX_BATCH_ROWS = 1 << 11
_BUFFER = 1 << 20  # bytes that are read of a column at a time


class RowGroup(NamedTuple):
    """Of a row group: how many rows it has, and how many bytes their texts take, about."""

    n_rows: int
    n_text: int


@dataclass(frozen=True, eq=False)
class RowsPart(Part):
    """Some row groups of a file, side by side; see Part."""

    file: File
    column: str
    groups: list[RowGroup]
    first_group: int
    first_row: int
    size: int  # their share of the file's bytes

    def span(self) -> tuple[int, int | None]:
        """See Part."""
        return self.first_row, self.first_row + sum(group.n_rows for group in self.groups)

    @contextmanager
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> Iterator[Windows]:
        """See Part."""
        with self.file.open() as raw:
            yield ColumnReader(self._columns(raw, tally), specials, separator)

    def _columns(self, raw: Any, tally: Tally) -> Iterator[Any]:
        """The column's strings, some rows at a time, without those that are null."""
        n_rows = sum(group.n_rows for group in self.groups)
        done = 0
        for column in self._batches(raw):
            for i in null_rows(column):
                row = self.first_row + done + i
                tally.malformed(Row(self.file.name, row), f"the column {self.column!r} is null, and must be a string")
            yield column
            done += len(column)
            tally.n_read = self.size * done // n_rows
        tally.n_read = self.size

    def _batches(self, raw: Any) -> Iterator[Any]:
        """The column, some rows at a time."""
        with naming_arrow_errors(self.file, "parquet"):
            table = _parquet_file(self.file, raw)
        for i, group in enumerate(self.groups, self.first_group):
            n_rows = min(max(_BATCH_BYTES * group.n_rows // max(group.n_text, 1), 1), _MAX_BATCH_ROWS)
            batches = table.iter_batches(batch_size=n_rows, row_groups=[i], columns=[self.column], use_threads=False)
            columns = (as_strings(batch.column(self.column)) for batch in batches)
            yield from read_with_arrow(columns, self.file, "parquet")


class ParquetTable(Input):
    """A parquet file; see Input."""

    has_records = True
    in_python = False

    def __init__(self, file: File, column: str) -> None:
        self.file: File = file
        self._column = column
        self._groups: list[RowGroup] = []

    def n_text(self) -> int:
        """See Input."""
        return sum(group.n_text for group in self._groups)

    def check(self, on_error: str) -> None:
        """See Input. Finds a missing package, a file that is not parquet, a column that is missing or holds no text."""
        self.file.check()
        require("pyarrow.parquet", self.file.name)
        if self.size() is None:
            raise ValueError(f"{self.file.name!r} has no known size (a pipe?), and parquet cannot be read in order")
        with self.file.open() as raw, naming_arrow_errors(self.file, "parquet"):
            table = _parquet_file(self.file, raw)
            check_column(self.file.name, table.schema_arrow, self._column, may_be_null=False)
            metadata = table.metadata
            leaf = [metadata.schema.column(i).path for i in range(metadata.num_columns)].index(self._column)
            groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
            self._groups = [RowGroup(group.num_rows, group.column(leaf).total_uncompressed_size) for group in groups]

    def cut(self, part_bytes: int, rules: CutRules) -> Sequence[Part]:
        """See Input. Cut between row groups, where a part comes nearest to `part_bytes`."""
        size = self.size() or 0
        rows = list(accumulate((group.n_rows for group in self._groups), initial=0))
        if not rows[-1]:
            return [RowsPart(self.file, self._column, [], 0, 0, size)]
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
            RowsPart(self.file, self._column, self._groups[first:end], first, rows[first], there - here)
            for (first, end), (here, there) in zip(pairwise(boundaries), pairwise(shares), strict=True)
        ]


def _parquet_file(file: File, raw: Any) -> Any:
    """An open file as pyarrow's ParquetFile."""
    # Buffered and without read-ahead, so that a row group of gigabytes is never in memory completely.
    return require("pyarrow.parquet", file.name).ParquetFile(raw, pre_buffer=False, buffer_size=_BUFFER)
