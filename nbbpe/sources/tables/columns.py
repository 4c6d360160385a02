"""Checks Arrow's columns of strings, and copies them (one document per row) from Arrow's memory into windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...system.arguments import argument
from ...system.excerpt import first_few
from ...system.wrong_argument import WrongArgument
from ...text.windows import WINDOW, RowWindows, Window
from ..optional_packages import require
from ..tally import way_out_of_nested
from .arrow_numpy import is_valid

if TYPE_CHECKING:
    from ...kernels.pieces.special_tokens import SpecialTokens

_DICTIONARY, _RUNS, _FIXED_SIZE = "dictionary<", "run_end_encoded<", "fixed_size_binary["  # prefixes of the types' names
LISTS = ("list<", "large_list<", "fixed_size_list<", "list_view<", "large_list_view<")  # older pyarrow knows no views
WORD, COUNT = "word", "count"  # the columns of a table of counts, see count_words
_NESTED_KINDS = ("struct<", *LISTS, "map<")


def check_column(name: str, schema: Any, column: str, may_be_null: bool = True) -> None:
    """Raise WrongArgument if a table has no such column, ValueError if the column is not text; see `check_kind`."""
    if schema.names.count(column) != 1:
        columns = shown_columns(schema)
        number = "no" if column not in schema.names else "more than one"
        if schema.names == [WORD, COUNT]:
            way_out = "To train on counts of words, use `nbbpe train --counts`, or nbbpe.train(counts=...)"
        else:
            way_out = f"Name the right one with {argument('field', ...)}"
        raise WrongArgument(f"{name!r} has {number} column {column!r}; its columns are {columns}. {way_out}")
    check_kind(f"column {column!r} of {name!r}", schema.field(column).type, may_be_null)


def shown_columns(schema: Any) -> str:
    """A list of the columns of a table, for messages."""
    return first_few(schema.names, 10, repr)


def check_kind(what: str, kind: Any, may_be_null: bool = True) -> None:
    """Raise ValueError unless an Arrow type is one of strings or binary.

    what        : the name of the column in the message
    may_be_null : whether the type null is allowed; libraries use it for a column without rows, or with nulls only
    """
    value = kind
    while (wrapped := _wrapped(value)) is not None:
        value = wrapped
    known = {"string", "large_string", "string_view", "binary", "large_binary", "binary_view"}
    is_known = str(value) in known or str(value).startswith(_FIXED_SIZE) or (may_be_null and str(value) == "null")
    if not is_known:
        way_out = way_out_of_nested() if str(kind).startswith(_NESTED_KINDS) else ""
        raise ValueError(f"the {what} is of type {kind}, and must hold strings or binary{way_out}")


def _wrapped(kind: Any) -> Any:
    """The Arrow type inside an extension type, a dictionary or runs; None for other types."""
    if hasattr(kind, "storage_type"):
        return kind.storage_type
    return kind.value_type if str(kind).startswith((_DICTIONARY, _RUNS)) else None


def as_strings(column: Any) -> Any:
    """Convert an Arrow array of strings or binary of any kind to one with concatenated strings, see `offsets_of`.

    Most arrays are returned unchanged. Converted are dictionaries and runs (their strings are repeated as often as they
    occur), views, strings of a fixed size, and the type null. For an extension type (such as "arrow.json" of duckdb's
    JSON), the result has what it stores.
    """
    arrow = require("pyarrow", "Arrow")
    while _wrapped(column.type) is not None:
        if hasattr(column.type, "storage_type"):
            column = column.storage
            continue
        # As large_binary: repeated strings may have too many bytes for 32-bit offsets, which pyarrow does not notice for
        # runs. It also cannot decode views, or a dictionary in runs.
        is_runs = str(column.type).startswith(_RUNS)
        values = as_strings(column.values if is_runs else column.dictionary).cast(arrow.large_binary())
        if is_runs:
            # Run ends and values are those of the whole array, of which `column` may be a slice.
            runs = arrow.RunEndEncodedArray.from_arrays(column.run_ends, values)
            column = require("pyarrow.compute", "Arrow").run_end_decode(runs.slice(column.offset, len(column)))
        else:
            column = arrow.DictionaryArray.from_arrays(column.indices, values).dictionary_decode()
    kind = str(column.type)
    # Older versions of pyarrow cannot make arrays of views from buffers.
    if kind.endswith("_view") and column.null_count and hasattr(column.type, "has_variadic_buffers"):
        column = _with_empty_nulls(column)
    is_cast = kind == "null" or kind.endswith("_view") or kind.startswith(_FIXED_SIZE)
    return column.cast(arrow.large_binary()) if is_cast else column


def _with_empty_nulls(column: Any) -> Any:
    """Make the views of nulls in an Arrow array of views empty.

    These views may hold anything: pyarrow does not check them, but a cast allocates as many bytes as all views claim.
    """
    arrow = require("pyarrow", "Arrow")
    first = column.offset % 8  # the slice of the validity buffer must begin at a whole byte
    begin = column.offset - first
    marks, views, *data = column.buffers()
    texts = np.frombuffer(views, np.int64, 2 * (first + len(column)), 16 * begin).reshape(-1, 2).copy()
    texts[first:][~is_valid(column)] = 0
    buffers = [marks.slice(begin // 8), arrow.py_buffer(texts), *data]
    return arrow.Array.from_buffers(column.type, len(column), buffers, column.null_count, first)


# The types of strings, and the types of binary that are stored in the same way.
_BYTES_OF = {"string": "binary", "large_string": "large_binary", "string_view": "binary_view"}


def checked(column: Any) -> Any:
    """Check an Arrow array of strings or binary from a file, which pyarrow does not do on reading. Returns it as binary.

    Strings become binary, because the check would reject invalid UTF-8. Raises ArrowInvalid.
    """
    arrow = require("pyarrow", "Arrow")
    while hasattr(column.type, "storage_type"):
        column = column.storage
    kind = str(column.type)
    if kind.startswith(_RUNS):
        column.validate()
        column.run_ends.validate(full=True)
        if column.run_ends.null_count or (len(column) and not len(column.run_ends)):
            raise arrow.ArrowInvalid("the ends of runs are missing")  # pyarrow would search them without a check
        values = as_strings(checked(column.values)).cast(arrow.large_binary())
        column = arrow.RunEndEncodedArray.from_arrays(column.run_ends, values).slice(column.offset, len(column))
    elif kind.startswith(_DICTIONARY):
        values = as_strings(checked(column.dictionary)).cast(arrow.large_binary())
        return arrow.DictionaryArray.from_arrays(column.indices, values)  # checks the indices
    elif kind in _BYTES_OF:
        column = column.view(getattr(arrow, _BYTES_OF[kind])())
    column.validate(full=True)
    return column


def may_grow(column: Any) -> bool:
    """Whether a `checked` array may need much more memory after `as_strings`: rows may share a text, or store none."""
    return str(column.type) not in ("binary", "large_binary")


def offsets_of(strings: Any) -> NDArray[np.int64]:
    """Where each string of an array (see `as_strings`) begins in its data, and where the last one ends: int64[n + 1].

    (A cast by pyarrow to a type with int64 offsets would take 80 us, ten times as long as copying 250 texts of 4 kB.)
    Raises ValueError if an offset is outside of the data, which pyarrow does not check for files and streams.
    """
    if not len(strings):
        return np.zeros(1, dtype=np.int64)
    dtype = np.int64 if str(strings.type).startswith("large_") else np.int32
    _, offset_bytes, data = strings.buffers()
    offsets = np.frombuffer(offset_bytes, dtype=dtype)[strings.offset : strings.offset + len(strings) + 1]
    n_data = 0 if data is None else data.size
    if offsets[0] < 0 or offsets[-1] > n_data or bool((offsets[1:] < offsets[:-1]).any()):
        raise ValueError(
            f"the Arrow data is broken: the offsets of its strings are not ascending, or outside of their {n_data:,} bytes "
            "(validate(full=True) of pyarrow says where)"
        )
    return offsets.astype(np.int64)


def null_rows(column: Any) -> list[int]:
    """The rows of an Arrow array that are null."""
    return np.flatnonzero(~is_valid(column)).tolist() if column.null_count else []


class ColumnReader(RowWindows):
    """Reads arrays of strings (see `as_strings`) window by window; see RowWindows. Nulls are skipped."""

    def __init__(self, columns: Iterator[Any], specials: SpecialTokens, separator: int) -> None:
        super().__init__(specials, separator)
        self._columns = columns
        self._strings: Any = None  # the current array, which keeps the memory at `_data_at` alive
        self._data_at = 0  # the address of its data
        self._offsets = np.zeros(1, dtype=np.int64)
        self._row = 0  # the next row

    def advance(self, taken: int) -> Window | None:
        from ...kernels.records.strings import take_strings

        while self._row == len(self._offsets) - 1:
            column = next(self._columns, None)
            if column is None:
                return None
            self._begin(column)
        longest = int(self._offsets[self._row + 1] - self._offsets[self._row]) + 1
        self._make_room(max(longest, WINDOW))
        first = self._row
        self._row, n_bytes = take_strings(self._data_at, self._offsets, first, self._out, self._breaks, self._separator)
        return self._window(n_bytes, self._row - first)

    def _begin(self, column: Any) -> None:
        """Begin to read the next array."""
        offsets = offsets_of(column)
        if column.null_count:
            rows = is_valid(column)
            if np.diff(offsets)[~rows].any():  # nulls have bytes, which is allowed, but rare
                column = column.drop_null()
                offsets = offsets_of(column)
            else:
                offsets = np.append(offsets[:1], offsets[1:][rows])
        self._strings = column
        self._row = 0
        data = column.buffers()[2]
        self._data_at = 0 if data is None else data.address
        self._offsets = offsets
