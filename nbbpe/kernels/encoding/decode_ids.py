"""Ids to bytes: the tokens of the ids are copied one after another."""

from collections.abc import Callable
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import kernel
from ..compiler.signature import int64
from ..machine.addresses import read_fields
from ..machine.ids_argument import IDS_ARGUMENT, NO_LIST
from ..machine.intrinsics import PADDING, copy_16, read_i64

UNKNOWN = -1  # see decode_ids
NO_TOKEN = -1  # see new_pool
_LENGTH_BITS = 32


def new_pool(vocab: dict[int, bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of all tokens, one after another, uint8[* + PADDING]; and the place and length of each, int64[n].

    The second array has NO_TOKEN for an id without a token; else the high 32 bits are the place, the low 32 the length.
    """
    tokens = list(map(vocab.get, range(max(vocab) + 1), repeat(b"")))
    lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    places = (np.cumsum(lengths) - lengths) << _LENGTH_BITS | lengths
    is_token = np.zeros(len(tokens), dtype=bool)
    is_token[np.fromiter(vocab, dtype=np.int64, count=len(vocab))] = True
    places[~is_token] = NO_TOKEN
    return np.frombuffer(b"".join([*tokens, bytes(PADDING)]), dtype=np.uint8), places


class DecodeState(NamedTuple):
    """The addresses of the arrays that `decode_ids` uses, the number of places, and the room in `out`."""

    places: int
    n_tokens: int
    pool: int
    out: int
    room: int


def new_state(pool: NDArray[np.uint8], places: NDArray[np.int64], out: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Make the array of a DecodeState, int64[5]. The arrays that it points to must outlive it."""
    state = DecodeState(places.ctypes.data, len(places), pool.ctypes.data, out.ctypes.data, len(out) - PADDING)
    return np.array(state, dtype=np.int64)


@kernel(int64, IDS_ARGUMENT, int64, int64)
def decode_ids(state_at, ids, ids_at, n):
    """Write the bytes of the tokens of ids, one after another.

    state_at : address of a DecodeState; its `out`, uint8[room + PADDING], is filled, also the PADDING
    ids      : an IdsArgument. If it is not a list, the ids are int64[n] at the address `ids_at`, or missing if n < 0

    Returns the number of bytes of all tokens, even if `out` has no room for all: then only the first tokens are written.
    Returns UNKNOWN if an id has no token, or the ids are missing. Cost: one copy for each 16 bytes of a token; 2 ns an id.
    """
    state = read_fields(DecodeState, state_at)
    if ids.n != NO_LIST:
        ids_at, n = ids.at, ids.n
    if n < 0:
        return UNKNOWN
    n_bytes = 0
    for i in range(n):
        token = read_i64(ids_at + 8 * i)
        if token < 0 or token >= state.n_tokens:
            return UNKNOWN
        place = read_i64(state.places + 8 * token)
        if place == NO_TOKEN:
            return UNKNOWN
        length = place & ((1 << _LENGTH_BITS) - 1)
        if n_bytes + length <= state.room:
            from_at, to_at = state.pool + (place >> _LENGTH_BITS), state.out + n_bytes
            for step in range(0, length, 16):
                copy_16(from_at + step, to_at + step)
        n_bytes += length
    return n_bytes


def compiled_decode_ids() -> Callable[[int, object, int, int], int]:
    """`decode_ids`, compiled; its second argument may be any object."""
    return decode_ids.entry_point()
