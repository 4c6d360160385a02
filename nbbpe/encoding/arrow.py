"""Encode Arrow arrays of strings to arrays of lists of ids, and decode these."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..sources.optional_packages import require
from ..sources.tables.arrow import arrow_columns, is_arrow, n_bytes_of
from ..sources.tables.arrow_numpy import arrow_numbers, is_valid, numpy_numbers, validity
from ..sources.tables.columns import LISTS, ColumnReader, as_strings
from ..system.stretches import starts_of
from ..text.item_checks import check_collected, check_texts
from ..text.windows import NO_ID
from .threads import MemoryPart, check_threads, encode_parts, part_bytes, threads_for

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from ..model.packed_vocab import PackedVocab
    from .decoder import Decoder
    from .encoder import Encoder

_MOST_IDS = (1 << 31) - 1  # in an Arrow array of lists


def encode_arrow(encoder: Encoder, data: Any, specials: SpecialTokens, field: str, num_threads: int | None) -> Any:
    """See Tokenizer.encode_arrow."""
    most = check_threads(num_threads)
    arrow = require("pyarrow", "Arrow data")
    check_collected(data, "data")
    if not is_arrow(data):  # else pyarrow would take the letters of a str, or the names of a dict, for texts
        check_texts(data)
    found, _ = arrow_columns(data, field)
    columns = list(map(as_strings, found))
    n_bytes = sum(map(n_bytes_of, columns))
    n_threads = 1 if encoder.in_python else threads_for(n_bytes, most)
    size = part_bytes(n_bytes, n_threads)
    parts = [
        MemoryPart(n_bytes_of(strings) + len(strings), partial(ColumnReader, iter([strings]), separator=NO_ID))
        for column in columns
        for strings in _cut(column, size)
    ]
    ids, ends = encode_parts(encoder, parts, specials, n_threads)
    lists: list[Any] = []
    n_done = 0
    for column in columns:
        n_rows = len(column) - column.null_count
        of_rows = ends[n_done : n_done + n_rows + 1]
        lists.append(_lists(arrow, column, of_rows - of_rows[0], ids[of_rows[0] : of_rows[-1]]))
        n_done += n_rows
    if isinstance(data, arrow.Array):
        return lists[0]
    return arrow.chunked_array(lists, arrow.list_(arrow.from_numpy_dtype(encoder.dtype)))


def _lists(arrow: Any, column: Any, ends: NDArray[np.int64], ids: NDArray[Any]) -> Any:
    """Make an Arrow array of lists, null where a column is; `ends` is 0 and where the ids of each other row end."""
    if len(ids) > _MOST_IDS:
        raise ValueError(
            f"an Arrow array of {len(column):,} texts would have {len(ids):,} ids, and its lists hold {_MOST_IDS:,} at "
            "most: pass the texts in several arrays, as a ChunkedArray or a table"
        )
    marks = None
    if column.null_count:
        rows = is_valid(column)
        marks, ends = validity(rows), ends[starts_of(rows)]
    values = arrow_numbers(ids)
    buffers = [marks, arrow.py_buffer(ends.astype(np.int32))]
    return arrow.Array.from_buffers(arrow.list_(values.type), len(column), buffers, children=[values])


def decode_arrow(decoder: Decoder, vocab: PackedVocab, data: Any, errors: str) -> Any:
    """See Tokenizer.decode_arrow."""
    arrow = require("pyarrow", "Arrow data")
    check_collected(data, "data")
    try:
        column = data if isinstance(data, (arrow.Array, arrow.ChunkedArray)) else arrow.chunked_array(data)
    except (TypeError, ValueError) as error:
        kind = type(data).__name__
        raise TypeError(
            f"data must be an Arrow column of lists of ids, not {kind}: {error}; decode_batch takes lists"
        ) from None
    kind = column.type
    is_lists = str(kind).startswith(LISTS)
    if arrow.types.is_null(kind) or (is_lists and arrow.types.is_null(kind.value_type)):  # no row has an id
        column = column.cast(arrow.list_(arrow.int64()))
    elif not is_lists or not arrow.types.is_integer(kind.value_type):
        raise ValueError(f"data must be a column of lists of ids, which are integers, and is of type {kind}")
    results: list[Any] = []
    for chunk in column.chunks if isinstance(column, arrow.ChunkedArray) else [column]:
        chunk.validate(full=True)  # files and streams may hold invalid offsets
        values, n_ids = _flat(chunk)
        if values.null_count:
            _raise_for_row(decoder, chunk, sum(map(len, results)))
        ids = numpy_numbers(values)
        try:
            text = decoder.decode_part(ids)
        except ValueError:
            _raise_for_row(decoder, chunk, sum(map(len, results)))
            raise
        offsets = starts_of(vocab.lengths_of(ids))[starts_of(n_ids)]  # in bytes
        if decoder.drops_space:
            text, offsets = _without_spaces(text, offsets)
        buffers = [validity(is_valid(chunk)), arrow.py_buffer(offsets), arrow.py_buffer(text)]
        strings = arrow.Array.from_buffers(arrow.large_string(), len(chunk), buffers)
        try:
            strings.validate(full=True)
        except arrow.ArrowInvalid:  # invalid UTF-8
            rows = strings.view(arrow.large_binary()).to_pylist()
            strings = arrow.array(
                [None if row is None else row.decode(errors=errors) for row in rows], arrow.large_string()
            )
        results.append(strings)
    return results[0] if isinstance(column, arrow.Array) else arrow.chunked_array(results, arrow.large_string())


def _without_spaces(text: bytes, offsets: NDArray[np.int64]) -> tuple[bytes, NDArray[np.int64]]:
    """The texts of rows without a space at the beginning of each, and their offsets."""
    data = np.frombuffer(text, dtype=np.uint8)
    begins = np.zeros(len(offsets) - 1, dtype=np.bool_)
    filled = np.flatnonzero(np.diff(offsets))
    begins[filled] = data[offsets[filled]] == ord(" ")
    return np.delete(data, offsets[:-1][begins]).tobytes(), offsets - starts_of(begins)


def _flat(lists: Any) -> tuple[Any, NDArray[Any]]:
    """The ids of all rows of an Arrow array of lists, and how many each row has: 0 for a null."""
    if len(lists) and not lists.null_count and str(lists.type).startswith(("list<", "large_list<")):
        offsets = numpy_numbers(lists.offsets)  # the same as below, without importing pyarrow.compute, which takes 0.1 s
        return lists.values[offsets[0] : offsets[-1]], np.diff(offsets)
    lengths = numpy_numbers(require("pyarrow.compute", "Arrow data").list_value_length(lists))
    return lists.flatten(), np.where(is_valid(lists), lengths, 0)


def _raise_for_row(decoder: Decoder, chunk: Any, n_before: int) -> None:
    """Raise ValueError for the first row of ids that cannot be decoded; `n_before` rows are in other chunks before it."""
    for row, ids in enumerate(chunk.to_pylist(), n_before):
        if None in (ids or ()):
            raise ValueError(f"row {row}: the id at index {ids.index(None)} is null")
        try:
            decoder.decode(ids or ())
        except ValueError as error:
            raise ValueError(f"row {row}: {error}") from None


def _cut(column: Any, n_bytes: int) -> list[Any]:
    """Cut an array into slices of about `n_bytes` bytes; an empty array has none."""
    n_parts = min(max(round(n_bytes_of(column) / n_bytes), 1), max(len(column), 1))
    bounds = [len(column) * i // n_parts for i in range(n_parts + 1)]
    return [column.slice(bounds[i], bounds[i + 1] - bounds[i]) for i in range(n_parts) if len(column)]
