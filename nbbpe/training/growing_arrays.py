"""Copies arrays of the training kernels into larger ones; the kernels return to ask for room."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from ..kernels.machine.large_pages import zeros_of
from ..kernels.training.pair_table import MOST_PAIRS, PairTable
from ..system.arguments import argument

_PAIR_FIELDS = ("rows", "starts", "lengths")  # of PairTable, with one entry for each pair


def with_room(array: NDArray[Any], n: int, used: int, most: int | None = None) -> NDArray[Any]:
    """A copy of `array` with room for at least `n` entries, but never for more than `most`; the first `used` are copied."""
    length = max(n, len(array) + len(array) // 2)
    n_entries = length if most is None else min(length, most)
    larger = zeros_of(array.dtype.type, n_entries * math.prod(array.shape[1:])).reshape(n_entries, *array.shape[1:])
    larger[:used] = array[:used]
    return larger


def with_pairs(table: PairTable, n: int, used: int) -> PairTable:
    """A copy of a table of `used` pairs, with room for at least `n`. Raises OverflowError for more than MOST_PAIRS."""
    if n > MOST_PAIRS:
        raise OverflowError(
            f"there are {used:,} distinct pairs, and the next merge may need more than {MOST_PAIRS:,}, which is the most: "
            f"use a smaller vocabulary, a larger {argument('min_word_count')}, or less text"
        )
    fields = [*_PAIR_FIELDS, "groups"] if len(table.groups) else _PAIR_FIELDS
    return table._replace(**{name: with_room(getattr(table, name), n, used, MOST_PAIRS) for name in fields})
