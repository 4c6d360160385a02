"""Encode many texts in one call: batches, divided among threads if there is enough text, and segments of one text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise, takewhile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..system.excerpt import shown
from ..text.item_checks import check_items
from ..text.text_rows import RowsReader, cut_rows, rows_of
from ..text.utf8 import Text
from ..text.windows import NO_ID
from .decoder import Ids
from .encoder import SHORT, Encoder
from .special_choice import Chosen, pack_special_tokens
from .threads import MemoryPart, check_threads, encode_parts, part_bytes, stretches, threads_for

_FEW = 32  # texts; encoding up to so many short ones one by one takes less time than starting a batch


class FlatBatch(NamedTuple):
    """The ids of several texts in one array.

    ids    : [n_ids]              the ids of all texts, one text after another
    starts : int64[n_texts + 1]   the ids of text i are ids[starts[i]:starts[i + 1]]
    """

    ids: NDArray[Any]
    starts: NDArray[np.int64]


def rows_of_batch(batch: Iterable[Ids]) -> Iterable[Ids]:
    """The ids of each text of a batch; those of a FlatBatch are views."""
    if isinstance(batch, FlatBatch):
        return (batch.ids[start:end] for start, end in pairwise(batch.starts.tolist()))
    return batch


def encode_batch_flat(
    encoder: Encoder, texts: Iterable[Text], chosen: Chosen, num_threads: int | None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """See Tokenizer.encode_batch_flat."""
    most = check_threads(num_threads)
    rows = rows_of(texts)
    chosen.check_each(rows.texts)
    specials = chosen.recognised or pack_special_tokens({})
    n_bytes = int(rows.sizes.sum())
    n_threads = threads_for(n_bytes, most)
    if n_threads == 1 and len(rows.texts) <= _FEW and rows.sizes.max(initial=0) <= SHORT:
        short = (encoder.encode_short(text, chosen.recognised, np.ndarray) for text in rows.texts)
        found = list(takewhile(lambda ids: ids is not None, short))  # the rest would be wasted after a None
        if len(found) == len(rows.texts):
            starts = np.cumsum([0, *map(len, found)], dtype=np.int64)
            return np.concatenate([np.empty(0, dtype=encoder.dtype), *found]), starts
    parts: list[MemoryPart] = []
    size = part_bytes(n_bytes + len(rows.sizes), n_threads)  # with a separator for each text
    for first, last in cut_rows(rows, size):
        if rows.sizes[first] > 2 * size:  # such a text is a stretch of its own
            *begin, end = stretches(encoder, rows.texts[first], specials, n_threads)
            if begin:
                parts += [*begin, end._replace(ends_text=True)]
                continue
        of_rows = partial(RowsReader, rows, first, last, separator=NO_ID)
        parts.append(MemoryPart(int(rows.sizes[first:last].sum()) + last - first, of_rows))
    return encode_parts(encoder, parts, specials, n_threads)


def encode_segments(
    segments: Iterable[tuple[Text, bool]], encode: Callable[[Any], list[int]], encode_ordinary: Callable[[Any], list[int]]
) -> list[int]:
    """See Tokenizer.encode_segments."""
    check_items(segments, "segments", "pairs (text, whether it is trusted)")
    ids: list[int] = []
    for number, segment in enumerate(segments):
        if not isinstance(segment, tuple) or len(segment) != 2 or not isinstance(segment[1], bool):
            raise TypeError(
                f"segment {number:,} (from 0) must be a pair (text, whether it is trusted), not {shown(segment)}"
            )
        text, is_trusted = segment
        ids += encode(text) if is_trusted else encode_ordinary(text)
    return ids
