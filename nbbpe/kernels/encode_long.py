"""Merging a long pretoken over linked rows: by a heap of ranks, or, where merges ascend, by a list for each rank.

Merges ascend if each has a higher rank than those that make its two sides. Then a merge only ever makes pairs of higher
ranks than its own, so that ranks can be done one after another, all pairs of one at a time. A heap costs log n for a pair,
and what it hands out lies anywhere in memory, one after another; a list costs the same for any pair, and its places are
asked for ahead. All lists that training makes ascend; a list of somebody's own may not.
"""

import numpy as np

from .jit import inlined, part
from .merge_table import ask_for_pair, byte_pair_rank, id_of, merged_symbol, pair_rank, write_id
from .simd import NO_RANK, prefetch, read_i32, read_i64, read_u8, read_u64, write_i64, write_u32, write_u64

CHILDREN = 4  # of a node of the heap: half the levels of a binary one, and a node's children are in one or two cache lines
MIN_BYTES = 1 << 13  # of a pretoken from which on looking at every rank costs less than a heap
PLACES = 14  # in a block of a list, which is a cache line with two numbers more
AHEAD = 8  # how many pairs ahead the cache line is asked for where a pair would be found

# Where a row has its columns, and a block what it has besides places, in bytes.
_SYMBOL, _LINK_BEFORE, _LINK_AFTER, _RANK = range(0, 16, 4)
_N_PLACES, _NEWER = 4 * PLACES, 4 * PLACES + 4
_NONE = -1
_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_NO_RANKS = np.uint64(0xFFFFFFFFFFFFFFFF)
_HEAP_BYTES = 3 * 3 * 8 + 4 * 4  # of scratch for each byte of a pretoken; most are never touched
_ROW = 16  # bytes of a row
_BLOCK = 64  # bytes of a block


def long_scratch(longest: int, n_ascending: int) -> int:
    """Bytes of scratch that pretokens of up to `longest` bytes need; `n_ascending` as in Merges."""
    by_heap = _HEAP_BYTES * (min(longest, MIN_BYTES) if n_ascending else longest) + 48
    if not n_ascending or longest < MIN_BYTES:
        return by_heap
    return max(by_heap, (_ROW + 4) * longest + 8 * n_ascending + _BLOCK * (_most_blocks(longest, n_ascending) + 1))


def _most_blocks(n: int, n_ascending: int) -> int:
    """How many blocks the lists of a pretoken of n bytes have at the most: each merge adds two pairs to them."""
    return 3 * n // PLACES + n_ascending


@inlined
def ranks_pay(n, merges_at):
    """Whether a pretoken of n bytes is one for merge_by_rank."""
    return merges_at[8] != 0 and n >= MIN_BYTES


@inlined
def start_rows(rows_at, text_at, n, merges_at):
    """Fill the rows of a pretoken's n bytes.

    rows_at : address of int32[n, 4]   for each position the symbol that starts there, the positions of the symbols before
                                       it (or -1) and after it (or n), and the rank of its pair (or -1): side by side, as
                                       most are wanted together
    """
    for i in range(n):
        row_at = rows_at + _ROW * i
        symbol = np.int64(read_u8(text_at + i))
        rank = np.int64(_NONE)
        if i + 1 < n:
            found = byte_pair_rank(merges_at, symbol, np.int64(read_u8(text_at + i + 1)))
            if found != NO_RANK:
                rank = found
        write_u32(row_at + _SYMBOL, symbol)
        write_u32(row_at + _LINK_BEFORE, i - 1)
        write_u32(row_at + _LINK_AFTER, i + 1)
        write_u32(row_at + _RANK, rank)


@inlined
def of_row(rows_at, position, column):
    """A number of a row."""
    return np.int64(read_i32(rows_at + _ROW * position + column))


@inlined
def write_ids(rows_at, n, merges_at, ids_at, id_size):
    """Write the ids of the symbols that are left; returns their number."""
    n_ids = 0
    position = np.int64(0)
    while position < n:
        write_id(ids_at + n_ids * id_size, id_of(merges_at, of_row(rows_at, position, _SYMBOL)), id_size)
        n_ids += 1
        position = of_row(rows_at, position, _LINK_AFTER)
    return n_ids


@inlined
def join(rows_at, n, position, symbol):
    """Put a symbol in the place of that at a position and the next, without a rank."""
    row_at = rows_at + _ROW * position
    removed = of_row(rows_at, position, _LINK_AFTER)
    after = of_row(rows_at, removed, _LINK_AFTER)
    write_u32(row_at + _SYMBOL, symbol)
    write_u32(row_at + _LINK_AFTER, after)
    write_u32(row_at + _RANK, _NONE)
    write_u32(rows_at + _ROW * removed + _RANK, _NONE)
    if after < n:
        write_u32(rows_at + _ROW * after + _LINK_BEFORE, position)


@inlined
def new_rank(rows_at, n, left, merges_at):
    """Look up and note the rank of the pair at a position; returns it, or -1."""
    right = of_row(rows_at, left, _LINK_AFTER)
    rank = np.int64(_NONE)
    if right < n:
        found = pair_rank(merges_at, of_row(rows_at, left, _SYMBOL), of_row(rows_at, right, _SYMBOL))
        if found != NO_RANK:
            rank = found
    write_u32(rows_at + _ROW * left + _RANK, rank)
    return rank


@inlined
def sift_down(heap_at, size, parent, entry):
    """Put `entry` at `parent` or below, where the heap property holds. Cost: O(log size)."""
    while True:
        first = CHILDREN * parent + 1
        if first >= size:
            break
        child = first
        for other in range(first + 1, min(first + CHILDREN, size)):
            if read_u64(heap_at + 8 * other) < read_u64(heap_at + 8 * child):
                child = other
        if read_u64(heap_at + 8 * child) >= entry:
            break
        write_u64(heap_at + 8 * parent, read_u64(heap_at + 8 * child))
        parent = child
    write_u64(heap_at + 8 * parent, entry)


@inlined
def push(queues_at, room, ends_at, entry):
    """Add an entry: to a sorted queue whose last is not greater, in one step, or else to the heap, in O(log size) steps.

    queues_at, room : address of uint64[3, room]   two sorted queues and a heap
    ends_at         : address of int64[6]          of each the first and the one after the last
    """
    for i in range(2):
        queue_at, limits_at = queues_at + 8 * room * i, ends_at + 16 * i
        first, end = read_i64(limits_at), read_i64(limits_at + 8)
        if first == end:
            write_i64(limits_at, 0)
            write_i64(limits_at + 8, 1)
            write_u64(queue_at, entry)
            return
        if read_u64(queue_at + 8 * (end - 1)) <= entry:
            write_u64(queue_at + 8 * end, entry)
            write_i64(limits_at + 8, end + 1)
            return
    heap_at = queues_at + 16 * room
    child = read_i64(ends_at + 40)
    write_i64(ends_at + 40, child + 1)
    while child > 0:
        above = read_u64(heap_at + 8 * ((child - 1) // CHILDREN))
        if above <= entry:
            break
        write_u64(heap_at + 8 * child, above)
        child = (child - 1) // CHILDREN
    write_u64(heap_at + 8 * child, entry)


@inlined
def pop(queues_at, room, ends_at):
    """Take the least entry out; _NO_RANKS where there is none."""
    least = _NO_RANKS
    at = -1
    for i in range(3):
        first, end = read_i64(ends_at + 16 * i), read_i64(ends_at + 16 * i + 8)
        if first < end:
            entry = read_u64(queues_at + 8 * (room * i + first))
            if entry <= least:
                least = entry
                at = i
    if at == 2:
        heap_at = queues_at + 16 * room
        size = read_i64(ends_at + 40) - 1
        write_i64(ends_at + 40, size)
        if size > 0:
            sift_down(heap_at, size, np.int64(0), read_u64(heap_at + 8 * size))
    elif at >= 0:
        write_i64(ends_at + 16 * at, read_i64(ends_at + 16 * at) + 1)
    return least


@part
def merge_long(text_at, n, merges_at, scratch_at, ids_at, id_size):
    """Write the ids of a pretoken of any length; arguments and result as for encode.merge_pretoken.

    In the scratch lie

    queues : uint64[3, 3 n]   rank << 32 | position, with entries that have become void: two queues in which they come in
                         order, and a heap, a tree in an array where a node has CHILDREN children, for those that do not.
                         In a million of one letter nearly all come in order, and the heap would take most of the time
    rows : int32[n, 4]   see `start_rows`
    ends : int64[6]      see `push`

    Cost: O(n log n), whatever the text is: each merge adds at most two entries to the heap, and an entry whose pair has
    changed is dropped when it comes up.
    """
    room = 3 * n
    queues_at, rows_at, ends_at = scratch_at, scratch_at + 72 * n, scratch_at + 88 * n
    for i in range(6):
        write_i64(ends_at + 8 * i, 0)
    start_rows(rows_at, text_at, n, merges_at)
    for i in range(n - 1):
        rank = of_row(rows_at, i, _RANK)
        if rank != _NONE:
            push(queues_at, room, ends_at, (np.uint64(rank) << _32) | np.uint64(i))
    while True:
        least = pop(queues_at, room, ends_at)
        if least == _NO_RANKS:
            break
        position = np.int64(least & _LOW)
        rank = np.int64(least >> _32)
        if of_row(rows_at, position, _RANK) != rank:
            continue
        join(rows_at, n, position, merged_symbol(merges_at, rank))
        for left in (position, of_row(rows_at, position, _LINK_BEFORE)):
            if left >= 0:
                rank = new_rank(rows_at, n, left, merges_at)
                if rank != _NONE:
                    push(queues_at, room, ends_at, (np.uint64(rank) << _32) | np.uint64(left))
    return write_ids(rows_at, n, merges_at, ids_at, id_size)


@inlined
def add_place(lists_at, ends_at, n_blocks, rank, position):
    """Add a position to the list of a rank; returns the number of blocks that are in use."""
    block = np.int64(read_i32(ends_at + 8 * rank + 4))
    n_places = np.int64(PLACES)
    if block != _NONE:
        n_places = np.int64(read_i32(lists_at + _BLOCK * block + _N_PLACES))
    if n_places == PLACES:
        write_u32(ends_at + 8 * rank if block == _NONE else lists_at + _BLOCK * block + _NEWER, n_blocks)
        write_u32(ends_at + 8 * rank + 4, n_blocks)
        write_u32(lists_at + _BLOCK * n_blocks + _NEWER, _NONE)
        block = n_blocks
        n_blocks += 1
        n_places = np.int64(0)
    block_at = lists_at + _BLOCK * block
    write_u32(block_at + 4 * n_places, position)
    write_u32(block_at + _N_PLACES, n_places + 1)
    return n_blocks


@inlined
def merge_run(rows_at, n, position, rank, symbol, merged_at, n_merged):
    """Merge the pairs of a rank that lie in each other, of which one is at `position`, from left to right.

    merged_at, n_merged : address of int32[*], filled on from n_merged     the positions of the new symbols, whose pairs are
                          not known yet

    Returns n_merged.
    """
    before = of_row(rows_at, position, _LINK_BEFORE)
    while before >= 0 and of_row(rows_at, before, _RANK) == rank:
        position = before
        before = of_row(rows_at, position, _LINK_BEFORE)
    while True:
        removed = of_row(rows_at, position, _LINK_AFTER)
        goes_on = of_row(rows_at, removed, _RANK) == rank
        join(rows_at, n, position, symbol)
        write_u32(merged_at + 4 * n_merged, position)
        n_merged += 1
        position = of_row(rows_at, position, _LINK_AFTER)
        if not goes_on or of_row(rows_at, position, _RANK) != rank:
            return n_merged


@part
def merge_by_rank(text_at, n, merges_at, scratch_at, ids_at, id_size):
    """Write the ids of a pretoken of any length, by merges that ascend; arguments and result as for encode.merge_pretoken.

    In the scratch lie

    rows   : int32[n, 4]      see `start_rows`
    merged : int32[n]         see `merge_run`
    ends   : int32[n_ranks, 2]   of each rank the first and the last block of its list, or -1
    lists  : int32[*, 16]     blocks: PLACES positions, how many of them are filled, and the block after this one (or -1).
                              A position whose pair has changed is void, and seen to be when its rank comes. They mostly
                              ascend, so that a run of pairs that lie in each other is met where it begins

    Cost: O(n + n_ranks), whatever the text is.
    """
    n_ranks = merges_at[8]
    rows_at, merged_at, ends_at = scratch_at, scratch_at + _ROW * n, scratch_at + (_ROW + 4) * n
    lists_at = (ends_at + 8 * n_ranks + _BLOCK - 1) & ~(_BLOCK - 1)
    for i in range(2 * n_ranks):
        write_u32(ends_at + 4 * i, _NONE)
    n_blocks = np.int64(0)
    start_rows(rows_at, text_at, n, merges_at)
    for i in range(n - 1):
        rank = of_row(rows_at, i, _RANK)
        if rank != _NONE:
            n_blocks = add_place(lists_at, ends_at, n_blocks, rank, i)
    for rank in range(n_ranks):
        block = np.int64(read_i32(ends_at + 8 * rank))
        if block == _NONE:
            continue
        symbol = merged_symbol(merges_at, rank)
        n_merged = np.int64(0)
        while block != _NONE:
            block_at = lists_at + _BLOCK * block
            newer = np.int64(read_i32(block_at + _NEWER))
            if newer != _NONE:
                for i in range(PLACES):
                    prefetch(rows_at + _ROW * np.int64(read_i32(lists_at + _BLOCK * newer + 4 * i)))
            for i in range(np.int64(read_i32(block_at + _N_PLACES))):
                position = np.int64(read_i32(block_at + 4 * i))
                if of_row(rows_at, position, _RANK) == rank:
                    n_merged = merge_run(rows_at, n, position, rank, symbol, merged_at, n_merged)
            block = newer
        last = np.int64(_NONE)
        for i in range(n_merged + AHEAD):
            if i < n_merged:
                position = np.int64(read_i32(merged_at + 4 * i))
                before, after = of_row(rows_at, position, _LINK_BEFORE), of_row(rows_at, position, _LINK_AFTER)
                if before >= 0:
                    ask_for_pair(merges_at, of_row(rows_at, before, _SYMBOL), symbol)
                if after < n:
                    ask_for_pair(merges_at, symbol, of_row(rows_at, after, _SYMBOL))
            if i >= AHEAD:
                position = np.int64(read_i32(merged_at + 4 * (i - AHEAD)))
                for left in (of_row(rows_at, position, _LINK_BEFORE), position):
                    if left >= 0 and left != last:  # the pair of `last` was looked up with the symbol after it
                        found = new_rank(rows_at, n, left, merges_at)
                        if found != _NONE:
                            n_blocks = add_place(lists_at, ends_at, n_blocks, found, left)
                last = position
    return write_ids(rows_at, n, merges_at, ids_at, id_size)
