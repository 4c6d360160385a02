"""Converts between NumPy arrays and Arrow arrays, through their buffers.

pyarrow's own conversions check whether an object is from pandas, and import pandas for that if it is installed, which takes
a process 0.35 s and 40 MB.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..optional_packages import require


def arrow_numbers(values: NDArray[Any]) -> Any:
    """Convert an array of integers to an Arrow array that shares its memory."""
    arrow = require("pyarrow", "Arrow data")
    values = np.ascontiguousarray(values)
    return arrow.Array.from_buffers(arrow.from_numpy_dtype(values.dtype), len(values), [None, arrow.py_buffer(values)])


def numpy_numbers(array: Any) -> NDArray[Any]:
    """Convert an Arrow array of integers to a NumPy array that shares its memory. Nulls become arbitrary integers."""
    if not len(array):
        return np.empty(0, dtype=str(array.type))
    return np.frombuffer(array.buffers()[1], dtype=str(array.type))[array.offset : array.offset + len(array)]


def is_valid(array: Any) -> NDArray[np.bool_]:
    """bool[n]: whether each row of an Arrow array is not null. Not for unions and runs."""
    marks = array.buffers()[0]
    if marks is None or not array.null_count:
        return np.full(len(array), not array.null_count)
    first, skipped = divmod(array.offset, 8)
    n_bits = skipped + len(array)
    bits = np.frombuffer(marks, dtype=np.uint8, count=-(-n_bits // 8), offset=first)
    return np.unpackbits(bits, count=n_bits, bitorder="little")[skipped:].view(np.bool_)


def validity(is_valid: NDArray[np.bool_]) -> Any:
    """The validity buffer of an Arrow array, from `is_valid`; None if no row is null."""
    return None if is_valid.all() else require("pyarrow", "Arrow data").py_buffer(np.packbits(is_valid, bitorder="little"))
