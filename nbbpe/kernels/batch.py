"""The next pieces of a text, in batches: found, hashed, and the cache lines asked for that looking them up will need.

All in one loop, as between two loops the ends of pieces would go through memory. That the memory answers while other pieces
are found takes counting from 430 to 610 MB/s (English; 180 to 320 for CJK).
"""

import numpy as np
from numpy.typing import NDArray

from .blanks import blank_cuts
from .jit import inlined
from .piece_table import INLINE_BYTES, find_from, home_slot, key_of, swap_slots
from .scan import block_cuts
from .seams import seam_cuts
from .simd import (
    BLOCK,
    address_of,
    popcount,
    prefetch,
    read_i64,
    read_u64,
    same_16,
    trailing_zeros,
    write_i64,
    write_masked_16,
    write_u64,
)

ROW = 4  # words in a row of a batch
MIN_ROWS = BLOCK + 1  # what a batch must have room for: the pieces of a block, and that which ends with the text

_ONE = np.uint64(1)
_SEAM_STATE = 16  # from which bit of a state on it is that of seam_cuts; those below are block_cuts'
# For each length of a key that lies in its slot: the bytes that it uses of 16, and its length in the last of them.
_KEY_MASKS = np.array(
    [
        [(1 << 8 * min(n, 8)) - 1, (1 << 8 * max(n - 8, 0)) - 1, 0, n << 56]  # as key_of says
        for n in range(INLINE_BYTES + 1)
    ],
    dtype=np.uint64,
)


def new_batch(n_pieces: int = 256) -> NDArray[np.int64]:
    """Make scratch for some `n_pieces` pieces, which are hashed together and then looked up: int64[n, ROW].

    Each row has the end of a piece (it starts where the one before it ends), the address of the slot where the search for
    it starts, and its two key words. Few enough that the rows, and the cache lines that are asked for, stay in the fastest
    cache.
    """
    return np.empty((n_pieces + MIN_ROWS, ROW), dtype=np.int64)


@inlined
def end_of(row_at):
    """Where the piece in a row ends."""
    return read_i64(row_at)


@inlined
def home_of(row_at):
    """The address of the slot where the search for the piece in a row starts."""
    return read_i64(row_at + 8)


@inlined
def home_in(row_at, table_at):
    """The slot where the search for the piece in a row starts, as a table's functions name it."""
    return (home_of(row_at) - table_at[0]) >> 3


@inlined
def has_key(row_at, slot_at):
    """Whether the key in a row is that in a slot; never true of a long key, of which a slot has the place in the pool."""
    return same_16(row_at + 16, slot_at)


@inlined
def prepared_key(row_at):
    """The key words in a row."""
    return read_u64(row_at + 16), read_u64(row_at + 24)


@inlined
def find_prepared(row_at, table_at, key_at, length):
    """The slot of the piece in a row, or the free slot where it belongs (see `find`)."""
    low, high = prepared_key(row_at)
    return find_from(table_at, home_in(row_at, table_at), key_at, length, low, high)


@inlined
def bring_home(row_at, table_at, slot, length):
    """Let the piece in a row, found in a slot, change places with the one in its home slot; returns its slot then.

    A table that fills while a text goes on has what is rare where it came first. This way a piece that comes often is soon
    where it is looked for first: of a text in many languages one look-up in 60 goes on, and was one in four.
    """
    home = home_in(row_at, table_at)
    if slot == home or length > INLINE_BYTES:  # has_key is never true of a long key
        return slot
    swap_slots(table_at, slot, home)
    return home


@inlined
def write_row(row_at, key_at, length, end, table_at):
    """Fill a row with a piece of `length` bytes at an address, and ask for the cache line where it will be looked for."""
    if length <= INLINE_BYTES:
        low, high = write_masked_16(row_at + 16, key_at, address_of(_KEY_MASKS) + 32 * length)
    else:
        low, high = key_of(key_at, length)
        write_u64(row_at + 16, low)
        write_u64(row_at + 24, high)
    home_at = table_at[0] + 8 * home_slot(low, high, table_at[1])
    prefetch(home_at)
    write_i64(row_at, end)
    write_i64(row_at + 8, home_at)


@inlined
def force_breaks(cuts, start, breaks_at, next_break, n_breaks):
    """Put the edges of breaks into a block's cuts and take out what lies inside of them."""
    while next_break < n_breaks:
        break_start, break_end = read_i64(breaks_at + 24 * next_break), read_i64(breaks_at + 24 * next_break + 8)
        if break_start >= start + BLOCK:
            break
        first = max(break_start - start, 0)
        end = break_end - start
        if end < BLOCK:
            cuts &= ~((_ONE << np.uint64(end)) - (_ONE << np.uint64(first)))
            cuts |= _ONE << np.uint64(end)
        else:
            cuts &= (_ONE << np.uint64(first)) - _ONE
        if break_start >= start:
            cuts |= _ONE << np.uint64(first)
        next_break += 1
    return cuts


@inlined
def next_pieces(text_at, piece, block, end, state, of_breaks, tables, grammar, joins, table_at, batch):
    """Fill the rows of a batch with the next pieces of a text.

    text_at : address of a text with PADDING bytes after its end
    piece   : int64     start of the first of them
    block   : int64     where to scan on: at first the start of a piece, then what the last call returned
    end     : int64     end of the text
    state   : int64     0 at first, then what the last call returned
    of_breaks : address of int64[n, 3], the start, end and id of each stretch that is no text (special tokens, separators);
              the first of them that does not end before `block`; their number
    tables, grammar : see split.pretoken_end
    joins   : see seams.seam_cuts, or NO_JOINS
    table_at : see piece_table.table_addresses
    batch   : address of int64[n_rows, ROW], and n_rows >= MIN_ROWS; a break is a piece of its own, and a piece may be empty
              where a break, or the text, starts or ends

    Returns (number of pieces, block, state); the text is exhausted when block >= end, and the last piece ends with it.
    Cost: one block_cuts for 64 bytes, and 3 ns a piece.
    """
    breaks_at, next_break, n_breaks = of_breaks
    batch_at, n_rows = batch
    found = 0
    seam_state = np.uint64(state >> _SEAM_STATE)
    state &= (1 << _SEAM_STATE) - 1
    while found <= n_rows - MIN_ROWS and block < end:
        cuts, state = block_cuts(text_at + block, state, tables)
        if joins[0] != 0:
            more_cuts, seam_state = seam_cuts(text_at + block, seam_state, joins, grammar, tables)
            cuts |= more_cuts
        while next_break < n_breaks and read_i64(breaks_at + 24 * next_break + 8) < block:
            next_break += 1
        if next_break < n_breaks and read_i64(breaks_at + 24 * next_break) < block + BLOCK:
            cuts = force_breaks(cuts, block, breaks_at, next_break, n_breaks)
        elif end - block >= BLOCK:
            cuts |= blank_cuts(text_at + block, grammar)
        if end - block < BLOCK:
            cuts &= (_ONE << np.uint64(end - block)) - _ONE
        row_at = batch_at + 8 * ROW * found
        found += popcount(cuts)
        while cuts:
            piece_end = block + trailing_zeros(cuts)
            write_row(row_at, text_at + piece, piece_end - piece, piece_end, table_at)
            piece = piece_end
            cuts &= cuts - _ONE
            row_at += 8 * ROW
        block += BLOCK
    if block >= end:
        write_row(batch_at + 8 * ROW * found, text_at + piece, end - piece, end, table_at)
        found += 1
    return found, block, state | (np.int64(seam_state) << _SEAM_STATE)
