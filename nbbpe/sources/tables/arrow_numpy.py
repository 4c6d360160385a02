"""NumPy arrays as Arrow arrays, and back, through their buffers.

pyarrow's own conversions look whether an object is one of pandas, and import it for that where it is installed, which takes
a process 0.35 s and 40 MB.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..optional_packages import require


def arrow_numbers(values: NDArray[Any]) -> Any:
    """An array of integers as an Arrow array, which shares its memory."""
    arrow = require("pyarrow", "Arrow data")
    values = np.ascontiguousarray(values)
    return arrow.Array.from_buffers(arrow.from_numpy_dtype(values.dtype), len(values), [None, arrow.py_buffer(values)])


def numpy_numbers(array: Any) -> NDArray[Any]:
    """An Arrow array of integers as one of NumPy, which shares its memory; those of nulls may be any."""
    if not len(array):
        return np.empty(0, dtype=str(array.type))
    return np.frombuffer(array.buffers()[1], dtype=str(array.type))[array.offset : array.offset + len(array)]


def is_valid(array: Any) -> NDArray[np.bool_]:
    """For each row of an Arrow array of any type but unions and runs, whether it is not null."""
    marks = array.buffers()[0]
    if marks is None or not array.null_count:
        return np.full(len(array), not array.null_count)
    first, skipped = divmod(array.offset, 8)
    n_bits = skipped + len(array)
    bits = np.frombuffer(marks, dtype=np.uint8, count=-(-n_bits // 8), offset=first)
    return np.unpackbits(bits, count=n_bits, bitorder="little")[skipped:].view(np.bool_)


def validity(is_valid: NDArray[np.bool_]) -> Any:
    """The buffer of an Arrow array that says which rows are not null; None if none is."""
    return None if is_valid.all() else require("pyarrow", "Arrow data").py_buffer(np.packbits(is_valid, bitorder="little"))
