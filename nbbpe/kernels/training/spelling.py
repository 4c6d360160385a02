"""The bytes of the tokens that merges make."""

import numpy as np

from ..compiler.jit import kernel
from ..compiler.signature import int32, int64, reads, uint8


@kernel(reads(int32[:, :]), int64[:], uint8[:])
def spell_tokens(merges, starts, text):
    """Append the bytes of the tokens that merges make to those of the tokens before, if there is room for all.

    merges : int32[n, 2]       the ids of left and right of each merge; merge i makes id m + i
    starts : int64[m + n + 1]  where the bytes of each token start; starts[: m + 1] are given, the others are filled
    text   : uint8[*]          the bytes of all tokens, one after another; those of the first m are given, the others are
                               filled

    Returns how many bytes all tokens have; if `text` has fewer, it is not changed.
    Cost: O(n), and O(1) for each byte that is written.
    """
    first = starts.shape[0] - 1 - merges.shape[0]
    for i in range(merges.shape[0]):
        left, right = merges[i, 0], merges[i, 1]
        length = starts[left + 1] - starts[left] + starts[right + 1] - starts[right]
        starts[first + i + 1] = starts[first + i] + length
    n_bytes = starts[-1]
    if text.shape[0] < n_bytes:
        return n_bytes
    out = starts[first]
    for i in range(merges.shape[0]):
        for side in range(2):
            token = np.int64(merges[i, side])
            for at in range(starts[token], starts[token + 1]):
                text[out] = text[at]
                out += 1
    return n_bytes
