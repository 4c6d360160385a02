"""The next pieces of a text, in batches: found, hashed, and the cache lines for their look-ups prefetched.

Each step processes a whole batch before the next step begins: the ends of pieces, block by block; their keys; then their
homes, eight at a time. A loop over the pieces of each block would have a different number of rounds each time, which no
processor predicts: here this happens once a batch. Each step is a separate function, so that it can use all registers. All
this takes 8 % off a pass over English or code whose pieces are cached.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import called, inlined
from ..machine.intrinsics import (
    AHEAD,
    BLOCK,
    LINE,
    address_of,
    popcount,
    prefetch_shared,
    read_i64,
    read_u64,
    same_16,
    trailing_zeros,
    write_i64,
    write_masked_16,
    write_u64,
)
from ..machine.intrinsics_look_up import HAS_PACKING, write_24_places, write_64_places
from ..machine.large_pages import zeros
from .boundaries import STATE_BITS, block_cuts
from .breaks import end_of_break, start_of_break
from .piece_table import INLINE_BYTES, find_from, home_secret_of, key_of, prefetch_homes, swap_slots
from .unmergeable_boundaries import seam_cuts

ROW_WORDS = 4  # of a batch: a key of two words, its home, and where its piece starts
MIN_ROWS = BLOCK + LINE  # the fewest rows of a batch: the pieces of a block, and LINE more, as homes are found together

_ONE = np.uint64(1)
# For each length of a key that is stored in its slot: a mask of its bytes among the 16, and the length in the last byte.
_KEY_MASKS = np.array(
    [
        [(1 << 8 * min(n, 8)) - 1, (1 << 8 * max(n - 8, 0)) - 1, 0, n << 56]  # as key_of says
        for n in range(INLINE_BYTES + 1)
    ],
    dtype=np.uint64,
)


def new_batch(n_pieces: int = 256) -> NDArray[np.uint64]:
    """Make scratch for about `n_pieces` pieces, which are hashed together and then looked up: uint64[n, ROW_WORDS],
    see batch_of.

    Choose few enough that the scratch and the prefetched cache lines stay in the fastest cache. 64-byte aligned.
    """
    n_rows = n_pieces + MIN_ROWS
    return zeros(ROW_WORDS * n_rows).reshape(n_rows, ROW_WORDS)


class BatchAddresses(NamedTuple):
    """A batch in the form that compiled code takes: the addresses of three arrays, and how many rows there is room for.

    keys   : uint64[n_rows, 2]   the key words of each piece
    homes  : int64[n_rows]       the address of the slot where the search for each piece starts
    bounds : int64[n_rows]       where each piece starts; it ends where the next one starts
    """

    keys: int
    homes: int
    bounds: int
    n_rows: int


class ScanAddresses(NamedTuple):
    """The addresses that a scan needs: of the pattern's tables, and of scratch (see boundaries.new_classes)."""

    tables: int
    classes: int


@inlined
def batch_of(batch_at, n_rows):
    """The BatchAddresses of a batch."""
    return BatchAddresses(batch_at, batch_at + 16 * n_rows, batch_at + 24 * n_rows, n_rows)


@inlined
def row_of_break(batch, row, n_found, breaks_at, next_break, n_breaks):
    """The row of the next break: the first of `n_found` rows, from `row` on, that starts where it does; else `n_found`."""
    start = start_of_break(breaks_at, next_break) if next_break < n_breaks else -1
    if bound_of(batch, row) <= start < bound_of(batch, n_found):
        while row < n_found and bound_of(batch, row) != start:
            row += 1
        return row
    return n_found


@inlined
def bound_of(batch, row):
    """Where the piece in a row starts, which is where the one before it ends."""
    return read_i64(batch.bounds + 8 * row)


@inlined
def home_of(batch, row):
    """The address of the slot where the search for the piece in a row starts."""
    return read_i64(batch.homes + 8 * row)


@inlined
def home_in(batch, row, table_at):
    """The slot where the search for the piece in a row starts, as an index, which functions of piece_table.py take."""
    return (home_of(batch, row) - table_at.slots) >> 3


@inlined
def has_key(batch, row, slot_at):
    """Whether the key in a row equals that in a slot; never true for a long key, as its slot holds its offset in the
    pool."""
    return same_16(batch.keys + 16 * row, slot_at)


@inlined
def prepared_key(batch, row):
    """The key words in a row."""
    return read_u64(batch.keys + 16 * row), read_u64(batch.keys + 16 * row + 8)


@inlined
def find_prepared(batch, row, table_at, key_at, length):
    """The slot of the piece in a row, the free slot where it belongs, or NO_SLOT (see `find`)."""
    low, high = prepared_key(batch, row)
    return find_from(table_at, home_in(batch, row, table_at), key_at, length, low, high)


@inlined
def bring_home(batch, row, table_at, slot, length):
    """Swap the piece in a row, found in a slot, with the one in its home slot; returns its new slot.

    In a table that fills during a text, rare pieces stay in home slots if they came first. With swaps, a frequent piece is
    soon in its home slot: in a text in many languages, one look-up in 60 must search on, instead of one in four.
    """
    home = home_in(batch, row, table_at)
    if slot == home or length > INLINE_BYTES:  # has_key is never true for a long key
        return slot
    swap_slots(table_at, slot, home)
    return home


@inlined
def write_key(to_at, key_at, length, state_at):
    """Write the key words of a piece of `length` bytes at an address; see piece_table.key_of."""
    if length <= INLINE_BYTES:
        write_masked_16(to_at, key_at, address_of(_KEY_MASKS) + 32 * length)
    else:
        low, high = key_of(key_at, length, state_at)
        write_u64(to_at, low)
        write_u64(to_at + 8, high)


@inlined
def write_ends(to_at, cuts, block):
    """Write where the pieces of a block end, int64, and after them undefined values, at most BLOCK numbers in all.

    cuts : uint64    bit i says that a piece ends before byte `block + i`

    Returns their number.
    """
    n_cuts = popcount(cuts)
    if HAS_PACKING:
        write_24_places(to_at, cuts, block)
        if n_cuts > 24:  # never in a block of prose, so the branch is predicted
            write_64_places(to_at, cuts, block)
    else:
        # So many are written without a test that the next branch is mostly predicted.
        for _ in range(2 * LINE):
            write_i64(to_at, block + trailing_zeros(cuts))
            cuts &= cuts - _ONE
            to_at += 8
        while cuts:
            for _ in range(LINE):
                write_i64(to_at, block + trailing_zeros(cuts))
                cuts &= cuts - _ONE
                to_at += 8
    return n_cuts


@called
def prepare(batch, n_pieces, text_at, table_at):
    """Write keys and homes to the first rows of a batch, which have their bounds; and prefetch the cache lines of the
    homes.

    Cost: 1.5 ns a piece.
    """
    start = bound_of(batch, 0)
    for row in range(n_pieces):
        end = bound_of(batch, row + 1)
        write_key(batch.keys + 16 * row, text_at + start, end - start, table_at.state)
        start = end
    home_secret = home_secret_of(table_at.state)  # read once: for the compiler, any write may change it
    for row in range(0, n_pieces, LINE):
        prefetch_homes(batch.homes + 8 * row, batch.keys + 16 * row, table_at, home_secret)


@inlined
def force_breaks(cuts, start, breaks_at, next_break, n_breaks):
    """Add the edges of breaks to a block's cuts, and remove the cuts inside them."""
    while next_break < n_breaks:
        break_start, break_end = start_of_break(breaks_at, next_break), end_of_break(breaks_at, next_break)
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


@called
def next_pieces(text_at, piece, block, end, state, breaks, scan, joins, table_at, batch):
    """Fill the rows of a batch with the next pieces of a text.

    text_at : address of a text with PADDING bytes after its end
    piece   : int64     start of the first of them
    block   : int64     where the scan continues: at first the start of a piece, then what the last call returned
    end     : int64     end of the text
    state   : int64     0 at first, then what the last call returned
    breaks  : Breaks, see breaks.py
    scan    : ScanAddresses
    joins   : Joins, see unmergeable_boundaries.seam_cuts, or NO_JOINS
    table_at : TableAddresses
    batch   : BatchAddresses, with n_rows >= MIN_ROWS; a break is a separate piece, and there may be an empty piece where a
              break, or the text, starts or ends

    Returns (number of pieces, block, state); the text is exhausted when block >= end, and the last piece ends with it.
    Cost: one block_cuts for 64 bytes, and 2 ns a piece.
    """
    breaks_at, next_break, n_breaks = breaks
    found = 0
    write_i64(batch.bounds, piece)
    seam_state = np.uint64(state >> STATE_BITS)
    state &= (1 << STATE_BITS) - 1
    while found <= batch.n_rows - MIN_ROWS and block < end:
        # Without this, the first read of each page of a text waits for memory: passes took 1.12 to 1.18 times as long.
        prefetch_shared(text_at + block + AHEAD)
        cuts, more_cuts, state = block_cuts(text_at + block, state, scan.tables, scan.classes)
        if joins.bits != 0:
            seams, seam_state = seam_cuts(text_at + block, seam_state, joins, scan.tables, scan.classes)
            cuts |= seams
        while next_break < n_breaks and end_of_break(breaks_at, next_break) < block:
            next_break += 1
        if next_break < n_breaks and start_of_break(breaks_at, next_break) < block + BLOCK:
            cuts = force_breaks(cuts, block, breaks_at, next_break, n_breaks)
        elif end - block >= BLOCK:
            cuts |= more_cuts
        if end - block < BLOCK:
            cuts &= (_ONE << np.uint64(end - block)) - _ONE
        found += write_ends(batch.bounds + 8 + 8 * found, cuts, block)
        block += BLOCK
    if block >= end:
        found += 1
        write_i64(batch.bounds + 8 * found, end)
    prepare(batch, found, text_at, table_at)
    return found, block, state | (np.int64(seam_state) << STATE_BITS)
