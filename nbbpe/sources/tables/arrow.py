"""Reads text in Arrow's memory format: columns, tables and streams of any library with Arrow's C interface."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...text.windows import Windows
from ..inputs import ReadOnce
from ..iterable import warn_of_name, warn_of_nothing
from ..optional_packages import require
from ..places import Row
from ..tally import Tally
from .columns import ColumnReader, as_strings, check_column, check_kind, null_rows, offsets_of

if TYPE_CHECKING:
    from ...kernels.pieces.special_tokens import SpecialTokens

_NAME = "Arrow data"


def is_arrow(data: object) -> bool:
    """Whether an object has Arrow's C interface, as columns and tables of pyarrow, polars, pandas and duckdb do."""
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def reader_of(data: Any) -> Any:
    """The RecordBatchReader of a table, or of a stream of record batches.

    Raises ArrowInvalid, TypeError or ValueError for other data, ImportError without pyarrow.
    """
    arrow = require("pyarrow", _NAME)
    # Not through the C interface for pyarrow's own tables: versions up to at least 24 then crash on views of short strings.
    if isinstance(data, arrow.Table):
        return data.to_reader()
    return data if isinstance(data, arrow.RecordBatchReader) else arrow.RecordBatchReader.from_stream(data)


def arrow_columns(data: Any, field: str) -> tuple[Iterator[Any], bool]:
    """Return (arrays of strings, whether the data is a table): the chunks of a column, or of the column `field` of a table.

    A stream is read as the arrays are requested. Raises ValueError for data without text, ImportError without pyarrow.
    """
    arrow = require("pyarrow", _NAME)
    if not hasattr(data, "__arrow_c_stream__") or isinstance(data, arrow.RecordBatch):
        found = data if isinstance(data, (arrow.Array, arrow.RecordBatch)) else arrow.array(data)
        if isinstance(found, arrow.StructArray):
            found = arrow.RecordBatch.from_struct_array(found)
        if not isinstance(found, arrow.RecordBatch):
            check_kind(_NAME, found.type)
            return iter([found]), False
        check_column(_NAME, found.schema, field)
        return iter([found.column(field)]), True
    if isinstance(data, arrow.ChunkedArray):  # which older versions cannot read from a stream
        check_kind(_NAME, data.type)
        return iter(data.chunks), False
    # A stream may be requested only once, as from a reader of arrays: so the schema is asked whether it is a column.
    is_column = hasattr(data, "__arrow_c_schema__") and not arrow.types.is_struct(arrow.field(data).type)
    try:
        reader = None if is_column else reader_of(data)
    except (arrow.ArrowInvalid, TypeError, ValueError):
        reader = None
    if reader is None:
        column = arrow.chunked_array(data)
        check_kind(_NAME, column.type)
        return iter(column.chunks), False
    check_column(_NAME, reader.schema, field)
    return _columns(reader, reader.schema.names.index(field), isinstance(data, arrow.RecordBatchReader)), True


def _columns(reader: Any, number: int, is_read_once: bool) -> Iterator[Any]:
    """Yield column `number` of each record batch."""
    is_empty = True
    for batch in reader:
        is_empty = False
        yield batch.column(number)
    if is_empty and is_read_once:
        warn_of_nothing("the RecordBatchReader gives no rows")


class ArrowColumn(ReadOnce):
    """A column of strings: an Input, and its only Part, which is read once and in this process.

    is_of_table : whether the data is a table, in which the column was found by the name `field`
    """

    def __init__(self, data: Any, field: str) -> None:
        self._columns, self.is_of_table = arrow_columns(data, field)

    @contextmanager
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> Iterator[Windows]:
        yield ColumnReader(self._strings(tally), specials, separator)

    def _strings(self, tally: Tally) -> Iterator[Any]:
        done = 0
        for column in self._columns:
            strings = as_strings(column)  # before nulls are counted, as rows may refer to a null entry of a dictionary
            for i in null_rows(strings):
                tally.malformed(Row(_NAME, done + i), "the text is null, and must be a string")
            tally.n_read += n_bytes_of(strings)  # also checks their offsets
            if not done and len(strings) and strings[0].is_valid:
                warn_of_name(strings[0].as_buffer().to_pybytes())  # as bytes, as it may be invalid UTF-8
            done += len(column)
            yield strings


def n_bytes_of(strings: Any) -> int:
    """The number of bytes of the strings of an array, see `as_strings`. Nulls may have bytes, too."""
    offsets = offsets_of(strings)
    return int(offsets[-1] - offsets[0])
