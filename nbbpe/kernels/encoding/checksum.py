"""The checksum of the ids in a file: a polynomial of its numbers, so that parts of a file can be summed in any order."""

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import kernel
from ..compiler.signature import reads, uint16, uint64

# A number with no pattern in its bits; it is odd, so that every change of a single number is detected.
BASE = 0x9E3779B97F4A7C15
_BLOCK = 512  # numbers in a block; their weights stay in the L1 cache


def new_weights() -> NDArray[np.uint64]:
    """The powers of BASE modulo 2^64, from BASE^_BLOCK down to BASE^0: uint64[_BLOCK + 1]."""
    return np.array([pow(BASE, power, 1 << 64) for power in range(_BLOCK, -1, -1)], dtype=np.uint64)


@kernel(reads(uint16[:]), reads(uint64[:]))
def hash_numbers(numbers, weights):
    """The sum of numbers[i] * BASE^(n - 1 - i), modulo 2^64.

    numbers : uint16[n]
    weights : uint64[m + 1], BASE^m down to BASE^0, see new_weights

    Cost: O(n), 0.1 ns a number, as the inner loop is vectorised and its steps do not depend on each other.
    """
    block_size = len(weights) - 1
    value = np.uint64(0)
    for first in range(0, len(numbers), block_size):
        block = numbers[first : first + block_size]
        n = len(block)
        block_weights = weights[block_size - n + 1 :]
        block_value = np.uint64(0)
        for i in range(n):
            block_value += np.uint64(block[i]) * block_weights[i]
        value = value * weights[block_size - n] + block_value
    return value
