"""Columns of strings, as Arrow stores them: one document a row, which is copied into a window from Arrow's memory."""

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

_DICTIONARY, _RUNS, _FIXED_SIZE = "dictionary<", "run_end_encoded<", "fixed_size_binary["  # how such types are spelled
LISTS = ("list<", "large_list<", "fixed_size_list<", "list_view<", "large_list_view<")  # older pyarrow knows no views
WORD, COUNT = "word", "count"  # the columns of a table of counts, as count_words gives one
_NESTED_KINDS = ("struct<", *LISTS, "map<")


def check_column(name: str, schema: Any, column: str, may_be_null: bool = True) -> None:
    """Raise WrongArgument if a table has no such column, ValueError if the column is not text; see `check_kind`."""
    if schema.names.count(column) != 1:
        columns = shown_columns(schema)
        number = "no" if column not in schema.names else "more than one"
        if schema.names == [WORD, COUNT]:
            way_out = "To train on counts of words, use `nbbpe train --counts`, or nbbpe.train(counts=...)"
        else:
            way_out = f"Name the text's with {argument('field', ...)}"
        raise WrongArgument(f"{name!r} has {number} column {column!r}; its columns are {columns}. {way_out}")
    check_kind(f"column {column!r} of {name!r}", schema.field(column).type, may_be_null)


def shown_columns(schema: Any) -> str:
    """The columns of a table as a message lists them."""
    return first_few(schema.names, 10, repr)


def check_kind(what: str, kind: Any, may_be_null: bool = True) -> None:
    """Raise ValueError for an Arrow type that is not one of strings or binary.

    what        : the column, in the message
    may_be_null : whether the type null is allowed, which libraries give a column of nulls only, or without rows
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
    """The Arrow type of what an extension stores, or of a dictionary's values or those of runs; None of another type."""
    if hasattr(kind, "storage_type"):
        return kind.storage_type
    return kind.value_type if str(kind).startswith((_DICTIONARY, _RUNS)) else None


def as_strings(column: Any) -> Any:
    """An Arrow array of strings or binary of any kind, as one whose strings lie one after another, see `offsets_of`.

    It is the same array except dictionaries and runs, whose strings are repeated as often as they occur, views, strings of
    a fixed size, and the type null. Of an extension type (as "arrow.json" of duckdb's JSON) it is what is stored.
    """
    arrow = require("pyarrow", "Arrow")
    while _wrapped(column.type) is not None:
        if hasattr(column.type, "storage_type"):
            column = column.storage
            continue
        # Repeated, they may have more bytes than offsets of 32 bits count, which pyarrow does not notice of runs. Nor does
        # it decode views, or a dictionary in runs.
        is_runs = str(column.type).startswith(_RUNS)
        values = as_strings(column.values if is_runs else column.dictionary).cast(arrow.large_binary())
        if is_runs:
            # Run ends and values are those of all, not of a slice.
            runs = arrow.RunEndEncodedArray.from_arrays(column.run_ends, values)
            column = require("pyarrow.compute", "Arrow").run_end_decode(runs.slice(column.offset, len(column)))
        else:
            column = arrow.DictionaryArray.from_arrays(column.indices, values).dictionary_decode()
    kind = str(column.type)
    # Older versions make no arrays of views from buffers.
    if kind.endswith("_view") and column.null_count and hasattr(column.type, "has_variadic_buffers"):
        column = _with_empty_nulls(column)
    is_cast = kind == "null" or kind.endswith("_view") or kind.startswith(_FIXED_SIZE)
    return column.cast(arrow.large_binary()) if is_cast else column


def _with_empty_nulls(column: Any) -> Any:
    """An Arrow array of views where those of nulls are empty.

    They may hold anything, and pyarrow does not check them, but makes room for as many bytes as all views have together.
    """
    arrow = require("pyarrow", "Arrow")
    first = column.offset % 8  # nulls are marked by bits
    begin = column.offset - first
    marks, views, *data = column.buffers()
    texts = np.frombuffer(views, np.int64, 2 * (first + len(column)), 16 * begin).reshape(-1, 2).copy()
    texts[first:][~is_valid(column)] = 0
    buffers = [marks.slice(begin // 8), arrow.py_buffer(texts), *data]
    return arrow.Array.from_buffers(column.type, len(column), buffers, column.null_count, first)


# Of kinds of strings, those of bytes that are stored alike.
_BYTES_OF = {"string": "binary", "large_string": "large_binary", "string_view": "binary_view"}


def checked(column: Any) -> Any:
    """An Arrow array of strings or binary of any kind from a file, as binary, after pyarrow has checked what it leads to.

    pyarrow reads files without that. As binary, because it would refuse invalid UTF-8. Raises ArrowInvalid.
    """
    arrow = require("pyarrow", "Arrow")
    while hasattr(column.type, "storage_type"):
        column = column.storage
    kind = str(column.type)
    if kind.startswith(_RUNS):
        column.validate()
        column.run_ends.validate(full=True)
        if column.run_ends.null_count or (len(column) and not len(column.run_ends)):
            raise arrow.ArrowInvalid("the ends of runs are missing")  # which pyarrow looks for
        values = as_strings(checked(column.values)).cast(arrow.large_binary())
        column = arrow.RunEndEncodedArray.from_arrays(column.run_ends, values).slice(column.offset, len(column))
    elif kind.startswith(_DICTIONARY):
        values = as_strings(checked(column.dictionary)).cast(arrow.large_binary())
        return arrow.DictionaryArray.from_arrays(column.indices, values)  # which checks them
    elif kind in _BYTES_OF:
        column = column.view(getattr(arrow, _BYTES_OF[kind])())
    column.validate(full=True)
    return column


def may_grow(column: Any) -> bool:
    """Whether an array that is `checked` may take much more memory as strings: rows may share a text, or have none."""
    return str(column.type) not in ("binary", "large_binary")


def offsets_of(strings: Any) -> NDArray[np.int64]:
    """Where each string of an array begins in its data, see `as_strings`, and where the last one ends: int64[n + 1].

    A cast by pyarrow to the type whose offsets are int64 takes 80 us, ten times as long as copying 250 texts of 4 kB.
    Raises ValueError where they lead out of the data, as those in files and streams may, which pyarrow does not check.
    """
    if not len(strings):
        return np.zeros(1, dtype=np.int64)
    dtype = np.int64 if str(strings.type).startswith("large_") else np.int32
    _, offset_bytes, data = strings.buffers()
    offsets = np.frombuffer(offset_bytes, dtype=dtype)[strings.offset : strings.offset + len(strings) + 1]
    n_data = 0 if data is None else data.size
    if offsets[0] < 0 or offsets[-1] > n_data or bool((offsets[1:] < offsets[:-1]).any()):
        raise ValueError(
            f"the Arrow data is broken: the offsets of its strings lead back, or out of their {n_data:,} bytes "
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
        self._strings: Any = None  # the present ones, to which the address below belongs
        self._data_at = 0
        self._offsets = np.zeros(1, dtype=np.int64)
        self._row = 0  # of the next one

    def advance(self, taken: int) -> Window | None:
        from ...kernels.records.strings import take_strings

        while self._row == len(self._offsets) - 1:
            column = next(self._columns, None)
            if column is None:
                return None
            self._take_up(column)
        longest = int(self._offsets[self._row + 1] - self._offsets[self._row]) + 1
        self._make_room(max(longest, WINDOW))
        first = self._row
        self._row, n_bytes = take_strings(self._data_at, self._offsets, first, self._out, self._breaks, self._separator)
        return self._window(n_bytes, self._row - first)

    def _take_up(self, column: Any) -> None:
        """Begin with the strings of the next array."""
        offsets = offsets_of(column)
        if column.null_count:
            rows = is_valid(column)
            if np.diff(offsets)[~rows].any():  # which is allowed, but rarely done
                column = column.drop_null()
                offsets = offsets_of(column)
            else:
                offsets = np.append(offsets[:1], offsets[1:][rows])
        self._strings = column
        self._row = 0
        data = column.buffers()[2]
        self._data_at = 0 if data is None else data.address
        self._offsets = offsets
