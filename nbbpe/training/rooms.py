"""Arrays of the training kernels that grow: kernels say how much room they want, and get it here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.training.pair_table import PairTable

_PAIR_FIELDS = ("rows", "starts", "lengths")  # of PairTable, with an entry a pair


def with_room(array: NDArray[Any], n: int, used: int) -> NDArray[Any]:
    """A copy of `array` with room for at least `n` entries; the first `used` are kept."""
    larger = np.empty((max(n, len(array) + len(array) // 2), *array.shape[1:]), dtype=array.dtype)
    larger[:used] = array[:used]
    return larger


def with_pairs(table: PairTable, n: int, used: int) -> PairTable:
    """A table with room for at least `n` pairs, of which `used` are there."""
    fields = [*_PAIR_FIELDS, "groups"] if len(table.groups) else _PAIR_FIELDS
    return table._replace(**{name: with_room(getattr(table, name), n, used) for name in fields})
