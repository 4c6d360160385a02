"""Numbers read from an open file."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray


def read_numbers(file: BinaryIO, dtype: DTypeLike, n: int) -> NDArray[Any]:
    """Read the next `n` numbers of a buffered file; fewer if it ends before."""
    # Not np.fromfile, which turns Ctrl-C into a TypeError while it inspects the file.
    numbers = np.empty(n, dtype=dtype)
    n_bytes = file.readinto(numbers.view(np.uint8).data)  # type: ignore[attr-defined]
    return numbers[: n_bytes // numbers.itemsize]
