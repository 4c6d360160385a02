"""Reads Parquet files through pyarrow; see table_file.py."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..inputs import File
from ..optional_packages import require
from .arrow_errors import naming_arrow_errors, read_with_arrow
from .columns import as_strings, check_column
from .table_file import MAX_BATCH_ROWS, RowGroup, RowsPart, TableFile

PARQUET = (".parquet", ".pq")  # the endings of such files' names
_BATCH_BYTES = 15 << 16  # of text in memory at a time, about a window; with 4 MB, pyarrow has used 20 MB more
_BUFFER = 1 << 20  # bytes of a column that are read at a time


@dataclass(frozen=True, eq=False)
class ParquetPart(RowsPart):
    """Some row groups of a file; see RowsPart."""

    def _batches(self, raw: Any) -> Iterator[Any]:
        with naming_arrow_errors(self.file, "parquet"):
            reader = open_parquet(self.file, raw)
            leaves = _leaves(reader.metadata, self.column)
        for i, group in enumerate(self.groups, self.first_group):
            n_rows = min(max(_BATCH_BYTES * group.n_rows // max(group.n_text, 1), 1), MAX_BATCH_ROWS)
            batches = reader.iter_batches(n_rows, row_groups=[i], column_indices=leaves, use_threads=False)
            columns = (as_strings(batch.column(self.column)) for batch in batches)
            yield from read_with_arrow(columns, self.file, "parquet")


class ParquetTable(TableFile):
    """A parquet file; see Input."""

    _part = ParquetPart

    def check(self, on_error: str) -> None:
        """See Input. Notices a missing package, a file that is not parquet, a column that is missing or holds no text."""
        self.file.check()
        if self.size() is None:
            raise ValueError(f"{self.file.name!r} has no known size (a pipe?), and parquet cannot be read in order")
        with self.file.open() as raw, naming_arrow_errors(self.file, "parquet"):
            reader = open_parquet(self.file, raw)
            check_column(self.file.name, reader.schema_arrow, self._column, may_be_null=False)
            metadata = reader.metadata
            leaves = _leaves(metadata, self._column)
            groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
            self._groups = [
                RowGroup(group.num_rows, sum(group.column(leaf).total_uncompressed_size for leaf in leaves))
                for group in groups
            ]


def open_parquet(file: File, raw: Any) -> Any:
    """Make pyarrow's reader for an open file."""
    arrow = require("pyarrow", file.name)
    # pyarrow's default memory pool keeps about 20 MB per thread, and the system's is as fast. (Pages are still decompressed
    # in the default one.)
    reader = _reader_class(file)(arrow.system_memory_pool())
    # Buffered and without read-ahead, so that a row group of gigabytes is never in memory completely.
    reader.open(raw, pre_buffer=False, buffer_size=_BUFFER)
    return reader


def _reader_class(file: File) -> Any:
    """pyarrow's class, from the internal module that defines it: importing pyarrow.parquet takes 20 ms more."""
    require("pyarrow", file.name)
    try:
        return importlib.import_module("pyarrow._parquet").ParquetReader
    except (ImportError, AttributeError):  # the class was moved, or not built
        return require("pyarrow.parquet", file.name).ParquetReader


def _leaves(metadata: Any, column: str) -> list[int]:
    """The numbers of the stored columns with this path. (A nested column is stored as one column for each of its parts.)

    There may be two: a column `a.b`, and the part `b` of a column `a`, which have the same path.
    """
    return [i for i in range(metadata.num_columns) if metadata.schema.column(i).path == column]
