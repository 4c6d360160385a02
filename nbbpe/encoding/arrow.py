"""Arrow arrays of strings to arrays of lists of ids, and back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..sources.arrow import arrow_columns, is_arrow, n_bytes_of
from ..sources.columns import LISTS, ColumnReader, as_strings
from ..sources.optional_packages import require
from ..system.stretches import starts_of
from ..text.utf8 import check_collected, check_texts
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
    if not is_arrow(data):  # pyarrow would take letters, or names, for texts
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
    """An Arrow array of lists, null where a column is; `ends` says for its other rows where their ids end, after a 0."""
    if len(ids) > _MOST_IDS:
        raise ValueError(
            f"an Arrow array of {len(column):,} texts would have {len(ids):,} ids, and its lists hold {_MOST_IDS:,} at "
            "most: pass the texts in several arrays, as a ChunkedArray or a table"
        )
    mask = None
    if column.null_count:
        mask = column.is_null()
        ends = ends[starts_of(column.is_valid().to_numpy(zero_copy_only=False))]
    return arrow.ListArray.from_arrays(arrow.array(ends.astype(np.int32)), arrow.array(ids), mask=mask)


def decode_arrow(decoder: Decoder, vocab: PackedVocab, data: Any, errors: str) -> Any:
    """See Tokenizer.decode_arrow."""
    arrow = require("pyarrow", "Arrow data")
    compute = require("pyarrow.compute", "Arrow data")
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
        chunk.validate(full=True)  # files and streams may hold offsets that lead anywhere
        ids = chunk.flatten().to_numpy(zero_copy_only=False)
        try:
            text = decoder.decode(ids)
        except ValueError:
            _say_which_row(decoder, chunk, sum(map(len, results)))
            raise
        starts = starts_of(vocab.lengths_of(ids))  # in bytes, of each token
        n_ids = compute.fill_null(compute.list_value_length(chunk), 0).to_numpy(zero_copy_only=False)
        offsets = starts[starts_of(n_ids)]
        is_valid = np.packbits(chunk.is_valid().to_numpy(zero_copy_only=False), bitorder="little")
        buffers = [arrow.py_buffer(each) for each in (is_valid, offsets, text)]
        strings = arrow.Array.from_buffers(arrow.large_binary(), len(chunk), buffers)
        try:
            results.append(strings.cast(arrow.large_string()))
        except arrow.ArrowInvalid:  # invalid UTF-8
            decoded = [None if row is None else row.decode(errors=errors) for row in strings.to_pylist()]
            results.append(arrow.array(decoded, arrow.large_string()))
    return results[0] if isinstance(column, arrow.Array) else arrow.chunked_array(results, arrow.large_string())


def _say_which_row(decoder: Decoder, chunk: Any, n_before: int) -> None:
    """Raise ValueError for the first row of ids that cannot be decoded; `n_before` rows are in other chunks before it."""
    for row, ids in enumerate(chunk.to_pylist(), n_before):
        if None in (ids or ()):
            raise ValueError(f"row {row}: the id at index {ids.index(None)} is null")
        try:
            decoder.decode(ids or ())
        except ValueError as error:
            raise ValueError(f"row {row}: {error}") from None


def _cut(column: Any, n_bytes: int) -> list[Any]:
    """An array in slices of about so many bytes; none for an empty one."""
    n_parts = min(max(round(n_bytes_of(column) / n_bytes), 1), max(len(column), 1))
    bounds = [len(column) * i // n_parts for i in range(n_parts + 1)]
    return [column.slice(bounds[i], bounds[i + 1] - bounds[i]) for i in range(n_parts) if len(column)]
