"""Ids to bytes: the tokens of many ids copied one after another."""

import numpy as np
from numpy.typing import NDArray

from .jit import kernel
from .simd import PADDING, address_of, read_u64, write_u64

_STEP = 8  # bytes copied at once; most tokens are no longer


def new_pool(tokens: list[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of tokens, uint8[* + PADDING], and where each starts, int64[n_tokens + 1]; no id has an empty token."""
    pool = np.frombuffer(b"".join([*tokens, bytes(PADDING)]), dtype=np.uint8)
    return pool, np.cumsum([0, *map(len, tokens)], dtype=np.int64)


@kernel
def measure_tokens(ids, starts):
    """The number of bytes of all tokens, and the place of the first id that is none (the number of ids if there is none).

    ids    : int64[n]              any numbers
    starts : int64[n_tokens + 1]   see new_pool
    """
    n_bytes = 0
    for place in range(ids.shape[0]):
        token = ids[place]
        if token < 0 or token >= starts.shape[0] - 1 or starts[token] == starts[token + 1]:
            return n_bytes, place
        n_bytes += starts[token + 1] - starts[token]
    return n_bytes, ids.shape[0]


@kernel
def copy_tokens(ids, pool, starts, out):
    """Write the tokens of ids one after another.

    ids    : int64[n]                that measure_tokens has found good (unchecked)
    pool, starts                     see new_pool
    out    : uint8[* + PADDING], filled   as many bytes as measure_tokens said; the PADDING may be written to

    Cost: one step for each 8 bytes of a token, or part of them.
    """
    pool_at, out_at = address_of(pool), address_of(out)
    for place in range(ids.shape[0]):
        start = starts[ids[place]]
        length = starts[ids[place] + 1] - start
        for i in range(0, length, _STEP):
            write_u64(out_at + i, read_u64(pool_at + start + i))
        out_at += length
