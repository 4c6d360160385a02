"""The bytes of the tokens that merges make."""

import numpy as np

from ..compiler.jit import kernel
from ..compiler.signature import int32, int64, reads, uint8


@kernel(reads(int32[:, :]), int64[:])
def measure_tokens(merges, starts):
    """Where the bytes of each token start, if those of all tokens are written one after another.

    merges : int32[n, 2]       the ids of left and right of each merge; merge i makes id m + i
    starts : int64[m + n + 1]  starts[: m + 1] are those of the tokens before the first merge; the others are set

    Cost: O(n).
    """
    first = starts.shape[0] - 1 - merges.shape[0]
    for i in range(merges.shape[0]):
        left, right = merges[i, 0], merges[i, 1]
        length = starts[left + 1] - starts[left] + starts[right + 1] - starts[right]
        starts[first + i + 1] = starts[first + i] + length


@kernel(reads(int32[:, :]), reads(int64[:]), uint8[:])
def spell_tokens(merges, starts, text):
    """Write the bytes of the tokens that merges make.

    merges, starts : as measure_tokens leaves them
    text           : uint8[starts[-1]]  the bytes of all tokens, one after another; those before the first merge are there

    Cost: O(n) of the bytes.
    """
    first = starts.shape[0] - 1 - merges.shape[0]
    for i in range(merges.shape[0]):
        out = starts[first + i]
        for side in range(2):
            token = np.int64(merges[i, side])
            for at in range(starts[token], starts[token + 1]):
                text[out] = text[at]
                out += 1
