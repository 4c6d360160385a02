"""Merging a long pretoken over linked rows: by a heap of ranks, or, where merges ascend, by a list for each rank.

Merges ascend if each has a higher rank than those that make its two sides. Then a merge only ever makes pairs of higher
ranks than its own, so that ranks can be done one after another, all pairs of one at a time. A heap costs log n for a pair,
and what it hands out lies anywhere in memory, one after another; a list costs the same for any pair, and its places are
asked for ahead. All lists that training makes ascend; a list of somebody's own may not.
"""

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from .jit import inlined, kernel
from .merge_table import ask_for_pair, byte_pair_rank, id_of, merged_symbol, pair_rank, write_id
from .simd import NO_RANK, int32_pointer, int64_pointer, prefetch, read_u8, uint64_pointer

CHILDREN = 4  # of a node of the heap: half the levels of a binary one, and a node's children are in one or two cache lines
MIN_BYTES = 1 << 13  # of a pretoken from which on looking at every rank costs less than a heap
PLACES = 14  # in a block of a list, which is a cache line with two numbers more
AHEAD = 8  # how many pairs ahead the cache line is asked for where a pair would be found

_SYMBOL, _LINK_BEFORE, _LINK_AFTER, _RANK = range(4)  # columns of the rows
_N_PLACES, _OLDER = PLACES, PLACES + 1  # columns of the blocks
_NONE = -1
_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_NO_RANKS = np.uint64(0xFFFFFFFFFFFFFFFF)
_HEAP_BYTES = 3 * 3 * 8 + 4 * 4  # of scratch for each byte of a pretoken; most are never touched
_ROW_BYTES = 4 * 4


def long_scratch(longest: int, n_ascending: int) -> int:
    """Bytes of scratch that pretokens of up to `longest` bytes need; `n_ascending` as in Merges."""
    by_heap = _HEAP_BYTES * (min(longest, MIN_BYTES) if n_ascending else longest) + 48
    if not n_ascending or longest < MIN_BYTES:
        return by_heap
    return max(by_heap, (_ROW_BYTES + 4) * longest + 4 * n_ascending + 64 * (_most_blocks(longest, n_ascending) + 1))


def _most_blocks(n: int, n_ascending: int) -> int:
    """How many blocks the lists of a pretoken of n bytes have at the most: each merge adds two pairs to them."""
    return 3 * n // PLACES + n_ascending


@inlined
def ranks_pay(n, merges_at):
    """Whether a pretoken of n bytes is one for merge_by_rank."""
    return merges_at[8] != 0 and n >= MIN_BYTES


@inlined
def start_rows(rows, text_at, n, merges_at):
    """Fill the rows of a pretoken's n bytes.

    rows : int32[n, 4]   for each position the symbol that starts there, the positions of the symbols before it (or -1) and
                         after it (or n), and the rank of its pair (or -1): side by side, as most are wanted together
    """
    for i in range(n):
        rows[i, _SYMBOL] = read_u8(text_at + i)
        rows[i, _LINK_BEFORE] = i - 1
        rows[i, _LINK_AFTER] = i + 1
        rows[i, _RANK] = _NONE
    for i in range(n - 1):
        rank = byte_pair_rank(merges_at, np.int64(rows[i, _SYMBOL]), np.int64(rows[i + 1, _SYMBOL]))
        if rank != NO_RANK:
            rows[i, _RANK] = rank


@inlined
def write_ids(rows, n, merges_at, ids_at, id_size):
    """Write the ids of the symbols that are left; returns their number."""
    n_ids = 0
    position = 0
    while position < n:
        write_id(ids_at + n_ids * id_size, id_of(merges_at, np.int64(rows[position, _SYMBOL])), id_size)
        n_ids += 1
        position = np.int64(rows[position, _LINK_AFTER])
    return n_ids


@inlined
def sift_down(heap, size, parent, entry):
    """Put `entry` at `parent` or below, where the heap property holds. Cost: O(log size)."""
    while True:
        first = CHILDREN * parent + 1
        if first >= size:
            break
        child = first
        for other in range(first + 1, min(first + CHILDREN, size)):
            if heap[other] < heap[child]:
                child = other
        if heap[child] >= entry:
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = entry


@inlined
def push(queues, ends, entry):
    """Add an entry: to a sorted queue whose last is not greater, in one step, or else to the heap, in O(log size) steps.

    queues : uint64[3, *]   two sorted queues and a heap;  ends : int64[6]   of each the first and the one after the last
    """
    for i in range(2):
        first, end = ends[2 * i], ends[2 * i + 1]
        if first == end:
            ends[2 * i] = 0
            ends[2 * i + 1] = 1
            queues[i, 0] = entry
            return
        if queues[i, end - 1] <= entry:
            queues[i, end] = entry
            ends[2 * i + 1] = end + 1
            return
    heap = queues[2]
    child = ends[5]
    ends[5] = child + 1
    while child > 0 and heap[(child - 1) // CHILDREN] > entry:
        heap[child] = heap[(child - 1) // CHILDREN]
        child = (child - 1) // CHILDREN
    heap[child] = entry


@inlined
def pop(queues, ends):
    """Take the least entry out; _NO_RANKS where there is none."""
    least = _NO_RANKS
    at = -1
    for i in range(3):
        if ends[2 * i] < ends[2 * i + 1] and queues[i, ends[2 * i]] <= least:
            least = queues[i, ends[2 * i]]
            at = i
    if at == 2:
        size = ends[5] - 1
        ends[5] = size
        if size > 0:
            sift_down(queues[2], size, 0, queues[2, size])
    elif at >= 0:
        ends[2 * at] += 1
    return least


@kernel
def merge_long(text_at, n, merges_at, scratch_at, ids_at, id_size):
    """Write the ids of a pretoken of any length; arguments and result as for encode.merge_pretoken.

    In the scratch lie

    queues : uint64[3, 3 n]   rank << 32 | position, with entries that have become void: two queues in which they come in
                         order, and a heap, a tree in an array where a node has CHILDREN children, for those that do not.
                         In a million of one letter nearly all come in order, and the heap would take most of the time
    ends : int64[6]      see `push`
    rows : int32[n, 4]   see `start_rows`

    Cost: O(n log n), whatever the text is: each merge adds at most two entries to the heap, and an entry whose pair has
    changed is dropped when it comes up.
    """
    queues = carray(uint64_pointer(scratch_at), (3, 3 * n))
    rows = carray(int32_pointer(scratch_at + 72 * n), (n, 4))
    ends = carray(int64_pointer(scratch_at + 88 * n), 6)
    ends[:] = 0
    start_rows(rows, text_at, n, merges_at)
    for i in range(n - 1):
        rank = np.int64(rows[i, _RANK])
        if rank != _NONE:
            push(queues, ends, (np.uint64(rank) << _32) | np.uint64(i))
    while True:
        least = pop(queues, ends)
        if least == _NO_RANKS:
            break
        position = np.int64(least & _LOW)
        rank = np.int64(least >> _32)
        if rows[position, _RANK] != rank:
            continue
        removed = np.int64(rows[position, _LINK_AFTER])
        after = np.int64(rows[removed, _LINK_AFTER])
        rows[position, _SYMBOL] = merged_symbol(merges_at, rank)
        rows[position, _LINK_AFTER] = after
        rows[removed, _RANK] = _NONE
        if after < n:
            rows[after, _LINK_BEFORE] = position
        for left in (position, np.int64(rows[position, _LINK_BEFORE])):
            if left < 0:
                continue
            rows[left, _RANK] = _NONE
            right = np.int64(rows[left, _LINK_AFTER])
            if right < n:
                rank = pair_rank(merges_at, np.int64(rows[left, _SYMBOL]), np.int64(rows[right, _SYMBOL]))
                if rank != NO_RANK:
                    rows[left, _RANK] = rank
                    push(queues, ends, (np.uint64(rank) << _32) | np.uint64(left))
    return write_ids(rows, n, merges_at, ids_at, id_size)


@inlined
def add_place(lists, latest, n_blocks, rank, position):
    """Add a position to the list of a rank; returns the number of blocks that are in use."""
    block = np.int64(latest[rank])
    if block == _NONE or lists[block, _N_PLACES] == PLACES:
        lists[n_blocks, _N_PLACES] = 0
        lists[n_blocks, _OLDER] = block
        latest[rank] = n_blocks
        block = n_blocks
        n_blocks += 1
    n_places = np.int64(lists[block, _N_PLACES])
    lists[block, n_places] = position
    lists[block, _N_PLACES] = n_places + 1
    return n_blocks


@inlined
def merge_run(rows, n, position, rank, symbol, merged, n_merged):
    """Merge the pairs of a rank that lie in each other, of which one is at `position`, from left to right.

    merged, n_merged : int32[*], filled on from n_merged     the positions of the new symbols, whose pairs are not known yet

    Returns n_merged.
    """
    before = np.int64(rows[position, _LINK_BEFORE])
    while before >= 0 and rows[before, _RANK] == rank:
        position = before
        before = np.int64(rows[position, _LINK_BEFORE])
    while True:
        removed = np.int64(rows[position, _LINK_AFTER])
        after = np.int64(rows[removed, _LINK_AFTER])
        goes_on = rows[removed, _RANK] == rank and rows[after, _RANK] == rank
        rows[position, _SYMBOL] = symbol
        rows[position, _LINK_AFTER] = after
        rows[position, _RANK] = _NONE
        rows[removed, _RANK] = _NONE
        if after < n:
            rows[after, _LINK_BEFORE] = position
        merged[n_merged] = position
        n_merged += 1
        if not goes_on:
            return n_merged
        position = after


@kernel
def merge_by_rank(text_at, n, merges_at, scratch_at, ids_at, id_size):
    """Write the ids of a pretoken of any length, by merges that ascend; arguments and result as for encode.merge_pretoken.

    In the scratch lie

    rows   : int32[n, 4]      see `start_rows`
    merged : int32[n]         see `merge_run`
    latest : int32[n_ranks]   of each rank the block where its list goes on, or -1
    lists  : int32[*, 16]     blocks: PLACES positions, how many of them are filled, and the block before this one (or -1).
                              A position whose pair has changed is void, and seen to be when its rank comes

    Cost: O(n + n_ranks), whatever the text is.
    """
    n_ranks = merges_at[8]
    lists_at = (scratch_at + 20 * n + 4 * n_ranks + 63) & ~63
    rows = carray(int32_pointer(scratch_at), (n, 4))
    merged = carray(int32_pointer(scratch_at + 16 * n), n)
    latest = carray(int32_pointer(scratch_at + 20 * n), n_ranks)
    lists = carray(int32_pointer(lists_at), (3 * n // PLACES + n_ranks, PLACES + 2))
    latest[:] = _NONE
    n_blocks = np.int64(0)
    start_rows(rows, text_at, n, merges_at)
    for i in range(n - 1):
        if rows[i, _RANK] != _NONE:
            n_blocks = add_place(lists, latest, n_blocks, np.int64(rows[i, _RANK]), i)
    for rank in range(n_ranks):
        block = np.int64(latest[rank])
        if block == _NONE:
            continue
        symbol = merged_symbol(merges_at, rank)
        n_merged = np.int64(0)
        while block != _NONE:
            older = np.int64(lists[block, _OLDER])
            if older != _NONE:
                for i in range(PLACES):
                    prefetch(scratch_at + _ROW_BYTES * np.int64(lists[older, i]))
            for i in range(lists[block, _N_PLACES]):
                position = np.int64(lists[block, i])
                if rows[position, _RANK] == rank:
                    n_merged = merge_run(rows, n, position, rank, symbol, merged, n_merged)
            block = older
        last = np.int64(_NONE)
        for i in range(n_merged + AHEAD):
            if i < n_merged:
                before, after = np.int64(rows[merged[i], _LINK_BEFORE]), np.int64(rows[merged[i], _LINK_AFTER])
                if before >= 0:
                    ask_for_pair(merges_at, np.int64(rows[before, _SYMBOL]), symbol)
                if after < n:
                    ask_for_pair(merges_at, symbol, np.int64(rows[after, _SYMBOL]))
            if i >= AHEAD:
                position = np.int64(merged[i - AHEAD])
                before = np.int64(rows[position, _LINK_BEFORE])
                for left in (before, position):
                    if left < 0 or left == last:  # the pair of `last` was looked up with the symbol after it
                        continue
                    right = np.int64(rows[left, _LINK_AFTER])
                    if right >= n:
                        continue
                    found = pair_rank(merges_at, np.int64(rows[left, _SYMBOL]), np.int64(rows[right, _SYMBOL]))
                    rows[left, _RANK] = _NONE if found == NO_RANK else found
                    if found != NO_RANK:
                        n_blocks = add_place(lists, latest, n_blocks, found, left)
                last = position
    return write_ids(rows, n, merges_at, ids_at, id_size)
