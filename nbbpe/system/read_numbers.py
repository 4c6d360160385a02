"""Numbers read from an open file."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray


def read_numbers(file: BinaryIO, dtype: DTypeLike, n: int) -> NDArray[Any]:
    """The next `n` numbers of a buffered file; fewer where it ends before."""
    # np.fromfile makes a TypeError of a Ctrl-C that comes while it asks what the file is.
    numbers = np.empty(n, dtype=dtype)
    n_bytes = file.readinto(numbers.view(np.uint8).data)  # type: ignore[attr-defined]
    return numbers[: n_bytes // numbers.itemsize]
