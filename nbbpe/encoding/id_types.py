"""The type of ids that a user asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..model.special_tokens import MAX_ID
from ..system.excerpt import shown


def integer_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """The type as NumPy's dtype. Raises TypeError if it is not one of integers."""
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        wanted = None
    if wanted is None or wanted.kind not in "iu":
        raise TypeError(f"dtype must be an integer type of NumPy, such as 'uint16', not {shown(dtype)}")
    return wanted


def check_dtype(dtype: DTypeLike, vocab_size: int) -> np.dtype[Any]:
    """As `integer_dtype`; also raises ValueError if the type cannot hold all ids."""
    wanted = integer_dtype(dtype)
    largest = np.iinfo(wanted).max
    if largest < MAX_ID and largest < vocab_size - 1:
        raise ValueError(f"dtype {wanted} cannot hold all ids, which go up to {vocab_size - 1:,}")
    return wanted
