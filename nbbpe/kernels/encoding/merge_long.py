"""Merging a long pretoken over linked rows: by a heap of ranks, or, if merges ascend, by a list for each rank.

Merges ascend if each has a higher rank than the merges that make its two sides. Then a merge only makes pairs of higher
ranks than its own, so ranks can be processed one after another, all pairs of a rank together. A heap costs log n for each
pair, and the place of a pair in memory is random, and known only when it is popped; a list costs the same for every pair,
and its places are prefetched. Merges from training always ascend; merges of other tokenizer files may not.
"""

import numpy as np

from ..compiler.jit import inlined, part
from ..machine.intrinsics import (
    NO_RANK,
    prefetch,
    read_i32,
    read_i64,
    read_u8,
    read_u32,
    read_u64,
    trailing_zeros,
    write_i64,
    write_u32,
    write_u64,
)
from .merge_table import byte_pair_rank, id_of, merged_symbol, pair_rank, prefetch_pair, write_id

CHILDREN = 4  # of a node of the heap: half the levels of a binary one, and a node's children are in one or two cache lines
MOST_BYTES = 2**32 - 1  # of a pretoken: positions have 32 bits
PLACES = 14  # positions in a block of a list: with two more numbers they fill a cache line
AHEAD = 8  # how many pairs in advance the cache line of a pair in the table is prefetched

# Offsets in bytes: of the columns of a row, and of the two numbers of a block that follow its places.
_SYMBOL, _RANK = 0, 4
_N_PLACES, _NEWER = 4 * PLACES, 4 * PLACES + 4
_NONE = -1
_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_NO_RANKS = np.uint64(0xFFFFFFFFFFFFFFFF)
_ZERO, _ONE, _63 = np.uint64(0), np.uint64(1), np.uint64(63)
_QUEUE_BYTES = 3 * 3 * 8  # of the three queues of merge_long, for each byte of a pretoken; most are never touched
_ENDS_BYTES = 6 * 8
ROW_BYTES = 8  # a symbol and a rank
_BLOCK_BYTES = 64  # a cache line


def check_length(n_bytes: int) -> None:
    """Raise OverflowError for a pretoken, or a piece that may be one, whose positions do not fit in 32 bits."""
    if n_bytes > MOST_BYTES:
        raise OverflowError(
            f"the text has a stretch of {n_bytes:,} bytes that the pattern may not split, and at most {MOST_BYTES:,} "
            "can be merged together: encode it in parts, or use a pattern that splits it"
        )


def long_scratch(longest: int, n_ascending: int) -> int:
    """Bytes of scratch that pretokens of up to `longest` bytes need; `n_ascending` as in Merges."""
    rows = ROW_BYTES * (longest + 2)
    if not n_ascending:
        return _QUEUE_BYTES * longest + _ENDS_BYTES + rows
    # Each merge removes a place from the lists and adds at most two. The list of each rank may have one block that is not
    # full.
    n_places = 2 * longest
    n_blocks = n_places // PLACES + min(n_places, n_ascending)
    ranks = 8 * n_ascending + 8 * (n_ascending // 64 + 1) + 8 * (n_ascending // 4096 + 1)
    return rows + 2 * longest + 8 + ranks + _BLOCK_BYTES * (n_blocks + 1)


@inlined
def start_rows(rows_at, text_at, n, merges_at):
    """Fill the rows of a pretoken's n bytes.

    rows_at : address of int32[n, 2], with a row before it and one after it, filled    for each position
        the symbol that starts there. The second and the last position of a symbol of several bytes (256 or more) hold minus
        its length, so that the neighbours of any symbol are found from the rows next to it
        the rank of the pair that starts there, or -1
    """
    write_u32(rows_at - ROW_BYTES + _SYMBOL, 0)  # a symbol of one byte, so that -1 is the position before 0
    for i in range(n):
        row_at = rows_at + ROW_BYTES * i
        symbol = np.int64(read_u8(text_at + i))
        rank = np.int64(_NONE)
        if i + 1 < n:
            found = byte_pair_rank(merges_at, symbol, np.int64(read_u8(text_at + i + 1)))
            if found != NO_RANK:
                rank = found
        write_u32(row_at + _SYMBOL, symbol)
        write_u32(row_at + _RANK, rank)
    write_u32(rows_at + ROW_BYTES * n + _SYMBOL, 0)


@inlined
def of_row(rows_at, position, column):
    """The number in a column of the row at a position."""
    return np.int64(read_i32(rows_at + ROW_BYTES * position + column))


@inlined
def rank_of_row(rows_at, position):
    """The rank of the pair at a position, or -1."""
    return of_row(rows_at, position, _RANK)


@inlined
def before_row(rows_at, position):
    """The position of the symbol before the one at a position, or -1."""
    return position + min(of_row(rows_at, position - 1, _SYMBOL), np.int64(-1))


@inlined
def after_row(rows_at, position):
    """The position of the symbol after the one at a position; the end of the pretoken for the last symbol."""
    length = -of_row(rows_at, position + 1, _SYMBOL)
    return position + (np.int64(1) if of_row(rows_at, position, _SYMBOL) < 256 else length)


@inlined
def write_ids(rows_at, n, merges_at, ids_at, id_size):
    """Write the ids of the remaining symbols; returns their number."""
    n_ids = 0
    position = np.int64(0)
    while position < n:
        write_id(ids_at + n_ids * id_size, id_of(merges_at, of_row(rows_at, position, _SYMBOL)), id_size)
        n_ids += 1
        position = after_row(rows_at, position)
    return n_ids


@inlined
def merge_at(rows_at, position, symbol):
    """Replace the symbol at a position and the next one by `symbol`. Its pair has no rank until `new_rank` is called."""
    row_at = rows_at + ROW_BYTES * position
    removed = after_row(rows_at, position)
    after = after_row(rows_at, removed)
    write_u32(row_at + _SYMBOL, symbol)
    write_u32(row_at + _RANK, _NONE)
    write_u32(rows_at + ROW_BYTES * removed + _RANK, _NONE)
    write_u32(row_at + ROW_BYTES + _SYMBOL, position - after)
    write_u32(rows_at + ROW_BYTES * (after - 1) + _SYMBOL, position - after)


@inlined
def new_rank(rows_at, n, left, merges_at):
    """Look up and store the rank of the pair at a position; returns it, or -1."""
    right = after_row(rows_at, left)
    rank = np.int64(_NONE)
    if right < n:
        found = pair_rank(merges_at, of_row(rows_at, left, _SYMBOL), of_row(rows_at, right, _SYMBOL))
        if found != NO_RANK:
            rank = found
    write_u32(rows_at + ROW_BYTES * left + _RANK, rank)
    return rank


@inlined
def entry_of(rank, position):
    """A pair as a number: pairs are merged in the order of these numbers."""
    return (np.uint64(rank) << _32) | np.uint64(position)


@inlined
def sift_up(heap_at, child, entry):
    """Insert `entry` into a heap of `child` entries. Cost: O(log child)."""
    while child > 0:
        above = read_u64(heap_at + 8 * ((child - 1) // CHILDREN))
        if above <= entry:
            break
        write_u64(heap_at + 8 * child, above)
        child = (child - 1) // CHILDREN
    write_u64(heap_at + 8 * child, entry)


@inlined
def drop_first(heap_at, size):
    """Remove the first entry of a heap, in which `size` others remain. Cost: O(log size)."""
    if size == 0:
        return
    parent, entry = np.int64(0), read_u64(heap_at + 8 * size)  # the last entry, which moves down from the first node
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
    """Add an entry to a sorted queue that is empty or ends with no greater entry; if neither is, to the heap.

    queues_at, room : address of uint64[3, room]   two sorted queues and a heap
    ends_at         : address of int64[6]          the first entry of each and the one after the last

    Cost: one step for a queue, O(log size) for the heap.
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
    size = read_i64(ends_at + 40)
    write_i64(ends_at + 40, size + 1)
    sift_up(heap_at, size, entry)


@inlined
def pop(queues_at, room, ends_at):
    """Remove and return the least entry; _NO_RANKS if there is none."""
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
        drop_first(heap_at, size)
    elif at >= 0:
        write_i64(ends_at + 16 * at, read_i64(ends_at + 16 * at) + 1)
    return least


@part
def merge_long(text_at, n, merges_at, scratch_at, ids_at, id_size):
    """Write the ids of a pretoken of any length; arguments and result as for merge_pretoken.

    The scratch holds

    queues : uint64[3, 3 n]   rank << 32 | position, also of pairs that have changed: two queues for entries that arrive in
                         order, and a heap (a tree in an array; a node has CHILDREN children) for the others. If a letter is
                         repeated a million times, nearly all entries arrive in order, and a heap would take most of the
                         time
    ends : int64[6]      see `push`
    rows : int32[n, 2]   see `start_rows`

    Cost: O(n log n) for any text: each merge adds at most two entries, and an entry whose pair has changed is dropped when
    it is popped.
    """
    room = 3 * n
    queues_at, ends_at = scratch_at, scratch_at + _QUEUE_BYTES * n
    rows_at = scratch_at + _QUEUE_BYTES * n + _ENDS_BYTES + ROW_BYTES
    for i in range(6):
        write_i64(ends_at + 8 * i, 0)
    start_rows(rows_at, text_at, n, merges_at)
    for i in range(n - 1):
        rank = of_row(rows_at, i, _RANK)
        if rank != _NONE:
            push(queues_at, room, ends_at, entry_of(rank, i))
    while True:
        least = pop(queues_at, room, ends_at)
        if least == _NO_RANKS:
            break
        position = np.int64(least & _LOW)
        rank = np.int64(least >> _32)
        if of_row(rows_at, position, _RANK) != rank:
            continue
        merge_at(rows_at, position, merged_symbol(merges_at, rank))
        for left in (position, before_row(rows_at, position)):
            if left >= 0:
                rank = new_rank(rows_at, n, left, merges_at)
                if rank != _NONE:
                    push(queues_at, room, ends_at, entry_of(rank, left))
    return write_ids(rows_at, n, merges_at, ids_at, id_size)


@inlined
def add_place(lists, free, n_blocks, rank, position):
    """Add a position to the list of a rank.

    lists          : see `merge_by_rank`
    free, n_blocks : the first block that was freed, or -1; the number of blocks that were ever in use

    Returns the new `free` and `n_blocks`.
    """
    groups_at, words_at, ends_at, blocks_at = lists
    group_at, word_at, end_at = groups_at + 8 * (rank >> 12), words_at + 8 * (rank >> 6), ends_at + 8 * rank
    group, in_group = read_u64(group_at), _ONE << (np.uint64(rank >> 6) & _63)
    word = read_u64(word_at) if group & in_group else _ZERO
    in_word = _ONE << (np.uint64(rank) & _63)
    block, n_places = np.int64(_NONE), np.int64(PLACES)
    if word & in_word:
        block = np.int64(read_i32(end_at + 4))
        n_places = np.int64(read_i32(blocks_at + _BLOCK_BYTES * block + _N_PLACES))
    if n_places == PLACES:
        newer = free
        if newer == _NONE:
            newer = n_blocks
            n_blocks += 1
        else:
            free = np.int64(read_i32(blocks_at + _BLOCK_BYTES * newer + _NEWER))
        if block == _NONE:
            write_u64(group_at, group | in_group)
            write_u64(word_at, word | in_word)
            write_u32(end_at, newer)
        else:
            write_u32(blocks_at + _BLOCK_BYTES * block + _NEWER, newer)
        write_u32(end_at + 4, newer)
        write_u32(blocks_at + _BLOCK_BYTES * newer + _NEWER, _NONE)
        block = newer
        n_places = np.int64(0)
    block_at = blocks_at + _BLOCK_BYTES * block
    write_u32(block_at + 4 * n_places, position)
    write_u32(block_at + _N_PLACES, n_places + 1)
    return free, n_blocks


@inlined
def place_of(places_at, i):
    """A position in a block or in `merged`, unsigned: a pretoken may have more than 2**31 bytes."""
    return np.int64(read_u32(places_at + 4 * i))


@inlined
def take_rank(groups_at, words_at, group):
    """Remove the list of the lowest rank in a group that is not empty; returns this rank."""
    group_at = groups_at + 8 * group
    words = read_u64(group_at)
    word = group << 6 | trailing_zeros(words)
    ranks = read_u64(words_at + 8 * word)
    others = ranks & (ranks - _ONE)
    write_u64(words_at + 8 * word, others)
    if others == _ZERO:
        write_u64(group_at, words & (words - _ONE))
    return word << 6 | trailing_zeros(ranks)


@inlined
def merge_run(rows_at, position, rank, symbol, merged_at, n_merged):
    """Merge a run of overlapping pairs of one rank from left to right; `position` is that of any of them.

    merged_at, n_merged : address of uint32[*], filled from n_merged on     the positions of the new symbols, whose pairs
                          must be looked up

    Returns the new `n_merged`.
    """
    before = before_row(rows_at, position)
    while before >= 0 and of_row(rows_at, before, _RANK) == rank:
        position = before
        before = before_row(rows_at, position)
    while True:
        removed = after_row(rows_at, position)
        goes_on = of_row(rows_at, removed, _RANK) == rank
        merge_at(rows_at, position, symbol)
        write_u32(merged_at + 4 * n_merged, position)
        n_merged += 1
        position = after_row(rows_at, position)
        if not goes_on or of_row(rows_at, position, _RANK) != rank:
            return n_merged


@part
def merge_by_rank(text_at, n, merges_at, scratch_at, ids_at, id_size):
    """Write the ids of a pretoken of any length, by merges that ascend; arguments and result as for merge_pretoken.

    The scratch holds

    groups : uint64[*]        bit w % 64 of groups[w / 64] says that words[w] is not 0; else words[w] is undefined
    words  : uint64[*]        bit r % 64 of words[r / 64] says that rank r has a list; else ends[r] is undefined. So only
                              groups, one bit for 64 ranks, must be cleared and searched
    ends   : int32[n_ranks, 2]   the first and the last block of the list of each rank
    rows   : int32[n, 2]      see `start_rows`
    merged : uint32[n / 2]    see `merge_run`
    blocks : uint32[*, 16]    PLACES positions, how many of them are filled, and the next block (or -1) of the list, or of
                              the free blocks. A position whose pair has changed is invalid, which is detected when its
                              rank is processed. Positions mostly ascend, so that a run of overlapping pairs is found at
                              its first pair

    Cost: O(n) for any text, and one step for each 4096 ranks.
    """
    n_ranks = merges_at.n_ascending
    n_groups = (n_ranks >> 12) + 1
    groups_at = scratch_at
    words_at = groups_at + 8 * n_groups
    ends_at = words_at + 8 * ((n_ranks >> 6) + 1)
    rows_at = ends_at + 8 * n_ranks + ROW_BYTES
    merged_at = rows_at + ROW_BYTES * (n + 1)
    blocks_at = (merged_at + 2 * n + _BLOCK_BYTES - 1) & ~(_BLOCK_BYTES - 1)
    lists = groups_at, words_at, ends_at, blocks_at
    for group in range(n_groups):
        write_u64(groups_at + 8 * group, _ZERO)
    free, n_blocks = np.int64(_NONE), np.int64(0)
    start_rows(rows_at, text_at, n, merges_at)
    for i in range(n - 1):
        rank = of_row(rows_at, i, _RANK)
        if rank != _NONE:
            free, n_blocks = add_place(lists, free, n_blocks, rank, i)
    group = np.int64(0)
    while group < n_groups:
        if read_u64(groups_at + 8 * group) == _ZERO:
            group += 1
            continue
        rank = take_rank(groups_at, words_at, group)
        symbol = merged_symbol(merges_at, rank)
        n_merged = np.int64(0)
        first = block = np.int64(read_i32(ends_at + 8 * rank))
        while block != _NONE:
            block_at = blocks_at + _BLOCK_BYTES * block
            newer = np.int64(read_i32(block_at + _NEWER))
            if newer != _NONE:
                for i in range(PLACES):
                    prefetch(rows_at + ROW_BYTES * place_of(blocks_at + _BLOCK_BYTES * newer, i))
            for i in range(np.int64(read_i32(block_at + _N_PLACES))):
                position = place_of(block_at, i)
                if of_row(rows_at, position, _RANK) == rank:
                    n_merged = merge_run(rows_at, position, rank, symbol, merged_at, n_merged)
            block = newer
        write_u32(blocks_at + _BLOCK_BYTES * np.int64(read_i32(ends_at + 8 * rank + 4)) + _NEWER, free)
        free = first
        last = np.int64(_NONE)
        for i in range(n_merged + AHEAD):
            if i < n_merged:
                position = place_of(merged_at, i)
                before, after = before_row(rows_at, position), after_row(rows_at, position)
                if before >= 0:
                    prefetch_pair(merges_at, of_row(rows_at, before, _SYMBOL), symbol)
                if after < n:
                    prefetch_pair(merges_at, symbol, of_row(rows_at, after, _SYMBOL))
            if i >= AHEAD:
                position = place_of(merged_at, i - AHEAD)
                for left in (before_row(rows_at, position), position):
                    if left >= 0 and left != last:  # the pair at `last` has already been looked up
                        found = new_rank(rows_at, n, left, merges_at)
                        if found != _NONE:
                            free, n_blocks = add_place(lists, free, n_blocks, found, left)
                last = position
    return write_ids(rows_at, n, merges_at, ids_at, id_size)
