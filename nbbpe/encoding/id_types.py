"""The type of an array of ids that a user asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..model.special_tokens import MAX_ID
from ..system.excerpt import shown


def check_dtype(dtype: DTypeLike, vocab_size: int) -> np.dtype[Any]:
    """The type as NumPy's dtype. Raises TypeError if it is not one of integers, ValueError if it cannot hold all ids."""
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        wanted = None
    if wanted is None or wanted.kind not in "iu":
        raise TypeError(f"dtype must be an integer type of NumPy, such as 'int64', not {shown(dtype)}")
    largest = np.iinfo(wanted).max
    if largest < MAX_ID and largest < vocab_size - 1:
        raise ValueError(f"dtype {wanted} cannot hold all ids, which go up to {vocab_size - 1:,}")
    return wanted
