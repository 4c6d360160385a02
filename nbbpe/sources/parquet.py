"""Parquet files, read through pyarrow; see tables.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .columns import as_strings, check_column
from .inputs import File
from .optional_packages import naming_arrow_errors, read_with_arrow, require
from .tables import MAX_BATCH_ROWS, RowGroup, RowsPart, TableFile

PARQUET = (".parquet", ".pq")  # how names of such files end
_BATCH_BYTES = 15 << 16  # of text that is in memory at a time, about: a window; with 4 MB pyarrow has held 20 MB more
_BUFFER = 1 << 20  # bytes that are read of a column at a time


@dataclass(frozen=True, eq=False)
class ParquetPart(RowsPart):
    """Some row groups of a file; see RowsPart."""

    def _batches(self, raw: Any) -> Iterator[Any]:
        """See RowsPart."""
        with naming_arrow_errors(self.file, "parquet"):
            table = _parquet_file(self.file, raw)
        for i, group in enumerate(self.groups, self.first_group):
            n_rows = min(max(_BATCH_BYTES * group.n_rows // max(group.n_text, 1), 1), MAX_BATCH_ROWS)
            batches = table.iter_batches(batch_size=n_rows, row_groups=[i], columns=[self.column], use_threads=False)
            columns = (as_strings(batch.column(self.column)) for batch in batches)
            yield from read_with_arrow(columns, self.file, "parquet")


class ParquetTable(TableFile):
    """A parquet file; see Input."""

    _part = ParquetPart

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


def _parquet_file(file: File, raw: Any) -> Any:
    """An open file as pyarrow's ParquetFile."""
    # Buffered and without read-ahead, so that a row group of gigabytes is never in memory completely.
    return require("pyarrow.parquet", file.name).ParquetFile(raw, pre_buffer=False, buffer_size=_BUFFER)
