"""Encoding that users call from their compiled code: one document, into an array of the caller.

All state is in arrays that the caller made. They include a cache of the ids of short pretokens, in which each pretoken has
exactly one possible slot, and a slot keeps the latest pretoken. Look-ups do not search, so no text can make them slow.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, part
from ..machine.intrinsics import PADDING, address_of, read_u32, read_u64, write_u32, write_u64
from ..machine.large_pages import zeros
from ..pieces.pattern_tables import MEMO, MOST_LEVELS, N_STATES, number_of
from ..pieces.pretokens import begin_piece, new_split_scratch, pretoken_end
from .merge_long import long_scratch
from .merge_pretoken import merge_pretoken, new_scratch
from .merge_short import SHORT
from .merge_table import Merges, merges_addresses

MOST_BYTES, MOST_IDS = 15, 11  # of a pretoken in the cache
SLOT_BITS = 13
_SLOT_BYTES = 64  # a cache line
_N_IDS, _IDS = 16, 20  # offsets in a slot
_NOT_ALIGNED = _SLOT_BYTES - 1  # the bits of an address that are 0 where a cache line begins

_8 = np.uint64(8)
_ONE, _ZERO = np.uint64(1), np.uint64(0)
_LENGTH_SHIFT, _HOME_SHIFT = np.uint64(56), np.uint64(64 - SLOT_BITS)
_FACTOR, _FACTOR_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)  # odd, with no pattern in their bits


class Tables(NamedTuple):
    """The arrays that encoding reads.

    pattern : PatternTables, see pieces/pattern_tables.py
    merges  : Merges, see merge_table.py
    """

    pattern: NDArray[np.uint64]
    merges: Merges

    def __reduce__(self) -> tuple[Any, ...]:
        # Vector code reads whole cache lines, but an unpickled array may begin anywhere in one.
        return tables_from, (self.pattern, self.merges)


def tables_from(pattern: NDArray[np.uint64], merges: Merges) -> Tables:
    """Tables from arrays that may begin anywhere in memory."""
    return Tables(_aligned(pattern), merges._replace(entries=_aligned(merges.entries)))


def _aligned(array: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A copy that begins where a cache line does."""
    copy = zeros(len(array))
    copy[:] = array
    return copy


class State(NamedTuple):
    """The arrays that encoding changes. Only one thread at a time may use them.

    text    : uint8[longest + PADDING]   a copy of the document, as kernels read past its end
    ids     : uint32[longest]
    scratch : uint64[*]                  see `new_scratch`
    split   : int64[*]                   see `new_split_scratch`
    cache   : uint64[2**SLOT_BITS, 8]    slots: the bytes of a pretoken, with its length in the last one of 16; the number
                                         of its ids, uint32; the ids, uint32[MOST_IDS]
    made_by : uint64[1]                  the secret of the tables with which the cached ids were made
    """

    text: NDArray[np.uint8]
    ids: NDArray[np.uint32]
    scratch: NDArray[np.uint64]
    split: NDArray[np.int64]
    cache: NDArray[np.uint64]
    made_by: NDArray[np.uint64]


def new_state(tables: Tables, longest: int) -> State:
    """Make the state for documents of up to `longest` bytes. Memory that no document needs is not touched."""
    return State(
        np.empty(longest + PADDING, dtype=np.uint8),
        np.empty(longest, dtype=np.uint32),
        new_scratch(longest, tables.merges),
        new_split_scratch(tables.pattern),
        zeros(_SLOT_BYTES // 8 << SLOT_BITS),
        np.array([tables.merges.secret], dtype=np.uint64),
    )


scratch_of_long = inlined(long_scratch)


@inlined
def has_room(state, n, pattern_at, n_ascending):
    """Whether a state has enough scratch for n bytes and these tables; it may have been made for other tables."""
    has_memo = number_of(pattern_at, MEMO) != 0
    if has_memo and state.split.shape[0] < 2 * (MOST_LEVELS + number_of(pattern_at, N_STATES)):
        return False
    return n <= SHORT or 8 * state.scratch.shape[0] >= scratch_of_long(n, n_ascending)


@inlined
def key_of_short(at, n):
    """The bytes of a pretoken of 1 to MOST_BYTES bytes and its length, as two numbers."""
    low, high = read_u64(at), _ZERO
    if n < 8:
        low &= (_ONE << (_8 * np.uint64(n))) - _ONE
    elif n > 8:
        high = read_u64(at + 8) & ((_ONE << (_8 * np.uint64(n - 8))) - _ONE)
    return low, high | np.uint64(n) << _LENGTH_SHIFT


@inlined
def copy_long_ids(from_at, to_at, n_ids):
    """Copy `n_ids` ids of 4 bytes from one address to another."""
    for i in range(n_ids):
        write_u32(to_at + 4 * i, read_u32(from_at + 4 * i))


@inlined
def encode_short(at, n, merges_at, scratch_at, cache_at, ids_at, id_size):
    """Write the ids of a pretoken of 1 to MOST_BYTES bytes, from the cache or by merging; returns their number."""
    low, high = key_of_short(at, n)
    slot_at = cache_at + _SLOT_BYTES * np.int64((low * _FACTOR ^ high * _FACTOR_2) * _FACTOR >> _HOME_SHIFT)
    if read_u64(slot_at) == low and read_u64(slot_at + 8) == high:
        n_ids = np.int64(read_u32(slot_at + _N_IDS))
        copy_long_ids(slot_at + _IDS, ids_at, n_ids)
        return n_ids
    n_ids = np.int64(merge_pretoken(at, n, merges_at, scratch_at, ids_at, id_size))
    if n_ids <= MOST_IDS:
        write_u64(slot_at, low)
        write_u64(slot_at + 8, high)
        write_u32(slot_at + _N_IDS, n_ids)
        copy_long_ids(ids_at, slot_at + _IDS, n_ids)
    return n_ids


@part
def encode_into(tables, state, text, start, stop, out):
    """Write the ids of the document text[start:stop] to the start of `out`, from compiled code.

    tables : from `Tokenizer.njit_tables`
    state  : from `new_state`, modified; for one thread at a time. If it was made for the tables of another tokenizer, it
        may have too little room for these
    text   : uint8[*], not modified; np.frombuffer(data, dtype=np.uint8) makes such an array of bytes without a copy
    start, stop : integers. The text before and after is ignored, as if text[start:stop] were alone
    out    : integers[*], modified; with room for as many ids as the document has bytes

    Returns the number of ids. They are those of `encode_ordinary`: special tokens in the text are plain text. Raises
    ValueError if start or stop is outside the text, if the document is longer than the state has room for, if the state was
    made for other tables and has too little room for these, if the arrays of tables or state are unaligned copies, if `out`
    is too short, or if its type cannot hold an id.

    >>> import numba, numpy as np, nbbpe.njit
    >>> @numba.njit
    ... def encode(tables, state, text, out):
    ...     return nbbpe.njit.encode_into(tables, state, text, 0, len(text), out)
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
    >>> tables = tok.njit_tables()
    >>> text, out = np.frombuffer(b"the cat", dtype=np.uint8), np.empty(7, dtype=np.uint16)
    >>> n_ids = encode(tables, nbbpe.njit.new_state(tables), text, out)
    >>> out[:n_ids]
    array([258, 261], dtype=uint16)
    """
    # This is compiled into the user's code, which may pass anything: unlike a kernel, it raises errors.
    n = stop - start
    if start < 0 or n < 0 or stop > text.shape[0]:
        raise ValueError("start and stop must be within the text, and start not after stop")
    if n > state.ids.shape[0]:
        raise ValueError("the text has more bytes than new_state made room for: pass it a larger `longest`")
    if n > out.shape[0]:
        raise ValueError("out must have room for as many ids as the text has bytes")
    if (address_of(tables.merges.entries) | address_of(state.scratch) | address_of(state.cache)) & _NOT_ALIGNED:
        raise ValueError("tables and state must be what njit_tables and new_state returned, not copies of arrays")
    if not has_room(state, n, address_of(tables.pattern), tables.merges.n_ascending):
        raise ValueError("the state was made for other tables, and has too little room for these: call new_state with them")
    for i in range(n):
        state.text[i] = text[start + i]
    for i in range(PADDING):
        state.text[n + i] = 0
    at = address_of(state.text)
    end = at + n
    ids_at, scratch_at = address_of(state.ids), address_of(state.scratch)
    pattern_at, split_at = address_of(tables.pattern), address_of(state.split)
    merges_at = merges_addresses(tables.merges)
    id_size = np.int64(4)  # not a literal 4, for which Numba would compile merging once more
    n_ids = np.int64(0)
    if state.made_by[0] != tables.merges.secret:
        state.cache[:] = _ZERO
        state.made_by[0] = tables.merges.secret
    begin_piece(split_at, pattern_at)
    while at < end:
        following = pretoken_end(at, end, pattern_at, split_at)
        next_at = ids_at + id_size * n_ids
        length = following - at
        if length <= MOST_BYTES:
            n_ids += encode_short(at, length, merges_at, scratch_at, address_of(state.cache), next_at, id_size)
        else:
            n_ids += merge_pretoken(at, length, merges_at, scratch_at, next_at, id_size)
        at = following
    for i in range(n_ids):
        out[i] = state.ids[i]
        if np.int64(out[i]) != np.int64(state.ids[i]):
            raise ValueError("the type of out cannot hold all ids: use uint32")
    return n_ids
