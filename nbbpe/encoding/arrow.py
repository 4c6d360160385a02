"""Arrow arrays of strings to arrays of lists of ids, and back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..sources import NO_ID
from ..sources.arrow import arrow_columns, n_bytes_of
from ..sources.columns import ColumnReader, as_strings
from ..sources.extras import require
from ..system.workers import default_workers, run_jobs

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from .decoder import Decoder
    from .encoder import Encoder

_PART_BYTES = 1 << 21  # of text, that one thread takes at a time
_MIN_BYTES_FOR_THREADS = 1 << 20


class _PartEncoder:
    """Encodes parts of columns: a Job for threads."""

    def __init__(self, encoder: Encoder, specials: SpecialTokens) -> None:
        self._encoder = encoder
        self._specials = specials

    def run(self, strings: Any) -> Iterator[tuple[NDArray[Any], NDArray[np.int32]]]:
        """The ids of all strings, and how many each has; a null has none."""
        parts, ends, n_ids = [np.empty(0, dtype=self._encoder.dtype)], [np.zeros(1, dtype=np.int64)], 0
        for ids, of_rows in self._encoder.encode_all(ColumnReader(iter([strings]), self._specials, NO_ID)):
            parts.append(ids.copy())
            ends.append(of_rows + n_ids)
            n_ids += len(ids)
        counts = np.zeros(len(strings), dtype=np.int32)
        counts[strings.is_valid().to_numpy(zero_copy_only=False)] = np.diff(np.concatenate(ends))
        yield np.concatenate(parts), counts

    def finish(self) -> None:
        """Nothing remains to be reported."""


def encode_arrow(encoder: Encoder, data: Any, specials: SpecialTokens, field: str) -> Any:
    """See Tokenizer.encode_arrow."""
    arrow = require("pyarrow", "Arrow data")
    kind = arrow.list_(arrow.from_numpy_dtype(encoder.dtype))
    columns = [as_strings(column) for column in arrow_columns(data, field)]
    tasks = [part for column in columns for part in _cut(column)]
    n_bytes = sum(map(n_bytes_of, columns))
    n_threads = 1 if n_bytes < _MIN_BYTES_FOR_THREADS or encoder.in_python else default_workers()
    results: list[Any] = [None] * len(tasks)
    make_job = partial(_PartEncoder, encoder, specials)
    for number, result in run_jobs(make_job, tasks, n_threads, in_threads=n_threads > 1):
        if number is not None and isinstance(result, tuple):
            ids, counts = result
            offsets = arrow.array(np.concatenate([[0], np.cumsum(counts)]), arrow.int32())
            mask = tasks[number].is_null() if tasks[number].null_count else None
            results[number] = arrow.ListArray.from_arrays(offsets, arrow.array(ids), mask=mask)
    if isinstance(data, arrow.Array):
        return arrow.concat_arrays(results) if results else arrow.array([], kind)
    return arrow.chunked_array(results, kind)


def decode_arrow(decoder: Decoder, vocab: dict[int, bytes], data: Any, errors: str) -> Any:
    """See Tokenizer.decode_arrow."""
    arrow = require("pyarrow", "Arrow data")
    compute = require("pyarrow.compute", "Arrow data")
    column = data if isinstance(data, (arrow.Array, arrow.ChunkedArray)) else arrow.chunked_array(data)
    if not (arrow.types.is_list(column.type) or arrow.types.is_large_list(column.type)) or not arrow.types.is_integer(
        column.type.value_type
    ):
        raise ValueError(f"data must be a column of lists of ids, not of type {column.type}")
    # Ids may have gaps, so a token is found by the position of its id among all ids.
    known = np.array(sorted(vocab), dtype=np.int64)
    token_bytes = np.array([len(vocab[token_id]) for token_id in known.tolist()], dtype=np.int64)
    results = []
    for chunk in column.chunks if isinstance(column, arrow.ChunkedArray) else [column]:
        ids = chunk.flatten().to_numpy(zero_copy_only=False)
        text = decoder.decode(ids)
        ends = np.concatenate([[0], np.cumsum(token_bytes[np.searchsorted(known, ids)])])  # in bytes, of each token
        n_ids = compute.fill_null(compute.list_value_length(chunk), 0).to_numpy(zero_copy_only=False)
        offsets = ends[np.concatenate([[0], np.cumsum(n_ids)])]
        is_valid = np.packbits(chunk.is_valid().to_numpy(zero_copy_only=False), bitorder="little")
        buffers = [arrow.py_buffer(each) for each in (is_valid, offsets, text)]
        strings = arrow.Array.from_buffers(arrow.large_binary(), len(chunk), buffers)
        try:
            results.append(strings.cast(arrow.large_string()))
        except arrow.ArrowInvalid:  # invalid UTF-8
            decoded = [None if row is None else row.decode(errors=errors) for row in strings.to_pylist()]
            results.append(arrow.array(decoded, arrow.large_string()))
    return results[0] if isinstance(column, arrow.Array) else arrow.chunked_array(results, arrow.large_string())


def _cut(column: Any) -> list[Any]:
    """An array in slices of about _PART_BYTES; none for an empty one."""
    n_parts = min(max(round(n_bytes_of(column) / _PART_BYTES), 1), max(len(column), 1))
    bounds = [len(column) * i // n_parts for i in range(n_parts + 1)]
    return [column.slice(bounds[i], bounds[i + 1] - bounds[i]) for i in range(n_parts) if len(column)]
