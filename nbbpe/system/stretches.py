"""Stretches of an array, one after another, without a loop over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def gathered(array: NDArray[Any], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[Any]:
    """The elements from each of some places on, so many from each, in one new array.

    >>> gathered(np.arange(10), np.array([7, 0, 2]), np.array([2, 1, 0]))
    array([7, 8, 0])
    """
    ends = np.cumsum(lengths)
    # Element i of the result comes from place i + (how far its stretch is moved).
    places = np.repeat(starts - (ends - lengths), lengths)
    places += np.arange(len(places))
    return array[places]
