"""Merging with BPE dropout (Provilkov et al. 2020), which splits the same text in many ways, for training a model.

At each step every pair of adjacent symbols that has a merge is dropped with the probability p, independently and for
this step only. Of the other pairs the one of lowest rank is merged, the leftmost of several. If all are dropped, merging
ends.

Here pairs are taken from a heap in the order of their ranks, and each is dropped or not when it is taken. The first pair
that is not dropped is merged, and the dropped ones go back into the heap; the pairs after it need no random number. So a
step takes 1 / (1 - p) pairs on average.

If the smallest symbols of a vocabulary are longer than a byte, such as characters, the merges that make them from bytes
come first, and are never dropped.

A pretoken that is a token although merging does not give it (see `Merges.whole`) becomes that token before all merges;
this, too, is dropped with the probability p.
"""

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, kernel, part
from ..compiler.signature import int64, reads, uint8, uint64
from ..machine.intrinsics import address_of, read_u64, write_u64
from ..machine.large_pages import zeros
from ..machine.splitmix import next_random
from .merge_long import (
    ROW_BYTES,
    before_row,
    check_length,
    drop_first,
    entry_of,
    merge_at,
    new_rank,
    rank_of_row,
    sift_up,
    start_rows,
    write_ids,
)
from .merge_table import Merges, merged_symbol, merges_addresses, whole_token, write_id

SHARE_BITS = 53  # of a random number, and of the threshold that it is compared with
_HEAP_BYTES = 3 * 8  # of scratch for each byte of a pretoken: a merge takes one entry and adds at most two

_11, _32 = np.uint64(11), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def dropout_scratch(longest: int) -> NDArray[np.uint64]:
    """Make room for merging pretokens of up to `longest` bytes. Raises OverflowError for too many."""
    check_length(longest)
    return zeros((_HEAP_BYTES * longest + ROW_BYTES * (longest + 2)) // 8 + 1)


@inlined
def is_dropped(random_at, threshold):
    """Whether the next random number, of SHARE_BITS bits, is less than `threshold`; random_at : address of uint64[1]."""
    return next_random(random_at) >> _11 < threshold


@part
def merge_with_dropout(text_at, n, merges_at, n_kept, scratch_at, threshold, random_at, ids_at, id_size):
    """Write the ids of the pretoken of n >= 1 bytes at `text_at`; returns their number.

    n_kept    : pairs of ranks below this are never dropped
    threshold : uint64   the probability that a pair is dropped, times 2 ** SHARE_BITS
    random_at : address of uint64[1], modified: the state of the random numbers
    Other arguments as for merge_pretoken.

    The scratch holds a heap, uint64[3 n], of rank << 32 | position, and rows, see `start_rows`. Entries whose pair has
    changed stay in the heap. They are recognised by another rank in the row, as a pair never returns to a position.
    """
    if merges_at.whole != 0:
        token_id = whole_token(merges_at.whole, text_at, n)
        if token_id >= 0 and not is_dropped(random_at, threshold):
            write_id(ids_at, token_id, id_size)
            return np.int64(1)
    heap_at, rows_at = scratch_at, scratch_at + _HEAP_BYTES * n + ROW_BYTES
    start_rows(rows_at, text_at, n, merges_at)
    size = np.int64(0)
    for i in range(n - 1):
        rank = rank_of_row(rows_at, i)
        if rank >= 0:
            sift_up(heap_at, size, entry_of(rank, i))
            size += 1
    while size > 0:
        # Dropped entries are kept behind the heap, from `top` downwards: each entry taken from the heap makes room for one.
        top = size
        n_dropped = np.int64(0)
        merged = np.int64(-1)
        while size > 0 and merged < 0:
            entry = read_u64(heap_at)
            size -= 1
            drop_first(heap_at, size)
            position = np.int64(entry & _LOW)
            if rank_of_row(rows_at, position) == np.int64(entry >> _32):
                if np.int64(entry >> _32) >= n_kept and is_dropped(random_at, threshold):
                    n_dropped += 1
                    write_u64(heap_at + 8 * (top - n_dropped), entry)
                else:
                    merged = position
        if merged < 0:
            break
        merge_at(rows_at, merged, merged_symbol(merges_at, rank_of_row(rows_at, merged)))
        for i in range(n_dropped):
            entry = read_u64(heap_at + 8 * (top - n_dropped + i))
            if rank_of_row(rows_at, np.int64(entry & _LOW)) == np.int64(entry >> _32):
                sift_up(heap_at, size, entry)
                size += 1
        for left in (merged, before_row(rows_at, merged)):
            if left >= 0:
                rank = new_rank(rows_at, n, left, merges_at)
                if rank >= 0:
                    sift_up(heap_at, size, entry_of(rank, left))
                    size += 1
    return write_ids(rows_at, n, merges_at, ids_at, id_size)


@kernel(reads(uint8[:]), reads(int64[:]), Merges, int64, uint64[:], uint64, uint64[:], int64, int64)
def encode_with_dropout(text, starts, merges, n_kept, scratch, threshold, random, ids_at, id_size):
    """Write the ids of adjacent pretokens, merged with dropout.

    text    : uint8[* + PADDING], read;  starts : int64[n + 1], read      where each pretoken starts in it, none empty
    merges  : Merges, read;  scratch : uint64[*], overwritten             see `dropout_scratch`
    n_kept, threshold, random : see `merge_with_dropout`
    ids_at  : address where ids of `id_size` bytes go; there must be room for as many as there are bytes (unchecked)

    Returns the number of ids.
    """
    text_at, merges_at = address_of(text), merges_addresses(merges)
    n_ids = 0
    for i in range(starts.shape[0] - 1):
        n_ids += merge_with_dropout(
            text_at + starts[i],
            starts[i + 1] - starts[i],
            merges_at,
            n_kept,
            address_of(scratch),
            threshold,
            address_of(random),
            ids_at + n_ids * id_size,
            id_size,
        )
    return n_ids
