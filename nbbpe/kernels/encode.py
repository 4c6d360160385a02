"""Applying merges to one pretoken: by the lowest of a few vectors of ranks, or by a heap over linked arrays."""

import numpy as np
from numba import carray  # type: ignore[attr-defined]
from numpy.typing import NDArray

from .jit import inlined, kernel
from .memory import zeros
from .merge_table import NO_SYMBOL, byte_pair_rank, id_of, merged_symbol, pair_rank, whole_token
from .simd import (
    LANES,
    NO_RANK,
    address_of,
    copy_16,
    int32_pointer,
    int64_pointer,
    lowest_rank,
    read_i64,
    read_u8,
    read_u32,
    uint64_pointer,
    write_i64,
    write_ranks,
    write_u8,
    write_u16,
    write_u32,
)

CHILDREN = 4  # of a node of the heap: half the levels of a binary one, and a node's children are in one or two cache lines
SHORT = 254  # bytes up to which a pretoken's positions, with one more at each end, are numbers of one byte
# See start_short.
RANKS_AT, SYMBOLS_AT = 64, 64 + 4 * 256
BEFORE_AT = SYMBOLS_AT + 4 * 256
AFTER_AT = BEFORE_AT + 256 + 16
LANE_BYTES = AFTER_AT + 256 + 16 + 32
_LONG_SCRATCH = 3 * 3 * 8 + 4 * 4  # bytes of scratch for each byte of a long one; most are never touched

_SYMBOL, _LINK_BEFORE, _LINK_AFTER, _RANK = range(4)  # columns of the rows of merge_long
_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_NO_RANKS = np.uint64(0xFFFFFFFFFFFFFFFF)
# Where lanes start from.
_NO_RANKS_16 = np.full(16, 255, dtype=np.uint8)
_BEFORE = np.arange(-1, 271).astype(np.uint8)
_AFTER = np.arange(1, 273).astype(np.uint8)


def new_scratch(longest: int) -> NDArray[np.uint64]:
    """Make room for merging pretokens of up to `longest` bytes; 64-byte aligned."""
    return zeros((LANE_BYTES + 48 + _LONG_SCRATCH * longest) // 8 + 1)


@inlined
def write_id(at, token_id, id_size):
    """Write an id of `id_size` bytes, 2 or 4."""
    if id_size == 2:
        write_u16(at, token_id)
    else:
        write_u32(at, token_id)


@inlined
def start_short(lane_at, text_at, n, merges_at):
    """Put a pretoken of 1 to SHORT bytes into a lane, with the ranks of its pairs.

    lane_at : address of LANE_BYTES, 64-byte aligned, overwritten: n and the number of vectors of ranks, int64; from
              RANKS_AT a rank and from SYMBOLS_AT a symbol for each of 256 positions, uint32; from BEFORE_AT and AFTER_AT
              the positions of the symbols before and after it, uint8

    Position p + 1 stands for byte p; positions 0 and n + 1 hold NO_SYMBOL, which merges with nothing. A symbol keeps its
    first position.
    """
    symbols_at, ranks_at = lane_at + SYMBOLS_AT, lane_at + RANKS_AT
    n_vectors = (n - 1) // LANES + 1
    for at in range(ranks_at, ranks_at + 4 * LANES * n_vectors, 16):
        copy_16(address_of(_NO_RANKS_16), at)
    for i in range(0, n + 2, 16):
        copy_16(address_of(_BEFORE) + i, lane_at + BEFORE_AT + i)
        copy_16(address_of(_AFTER) + i, lane_at + AFTER_AT + i)
    left = np.int64(read_u8(text_at))
    write_u32(symbols_at, NO_SYMBOL)
    write_u32(symbols_at + 4, left)
    for i in range(1, n):
        right = np.int64(read_u8(text_at + i))
        write_u32(symbols_at + 4 * i + 4, right)
        write_u32(ranks_at + 4 * i, byte_pair_rank(merges_at, left, right))
        left = right
    write_u32(symbols_at + 4 * n + 4, NO_SYMBOL)
    write_i64(lane_at, n)
    write_i64(lane_at + 8, n_vectors)


@inlined
def step_short(lane_at, merges_at):
    """Do the next merge in a lane; False where there is none. Without a branch that could be mispredicted but this.

    Cost: some 30 ns, nearly all of it waiting for one look-up after another; and 5 ns for each further 16 bytes.
    """
    symbols_at, ranks_at = lane_at + SYMBOLS_AT, lane_at + RANKS_AT
    before_at, after_at = lane_at + BEFORE_AT, lane_at + AFTER_AT
    n_vectors = read_i64(lane_at + 8)
    rank, position = lowest_rank(ranks_at)
    for i in range(1, n_vectors):
        other, lane = lowest_rank(ranks_at + 4 * LANES * i)
        if other < rank:
            rank, position = other, lane + LANES * i
    if rank == NO_RANK:
        return False
    symbol = merged_symbol(merges_at, rank)
    write_u32(symbols_at + 4 * position, symbol)
    before = np.int64(read_u8(before_at + position))
    removed = np.int64(read_u8(after_at + position))
    after = np.int64(read_u8(after_at + removed))
    write_u8(after_at + position, after)
    write_u8(before_at + after, position)
    rank_before = pair_rank(merges_at, np.int64(read_u32(symbols_at + 4 * before)), symbol)
    rank_after = pair_rank(merges_at, symbol, np.int64(read_u32(symbols_at + 4 * after)))
    if n_vectors == 1:
        write_ranks(ranks_at, before, rank_before, position, rank_after, removed, NO_RANK)
    else:
        write_u32(ranks_at + 4 * before, rank_before)
        write_u32(ranks_at + 4 * position, rank_after)
        write_u32(ranks_at + 4 * removed, NO_RANK)
    return True


@inlined
def finish_short(lane_at, merges_at, ids_at, id_size):
    """Write the ids of the symbols in a lane; returns their number."""
    end = read_i64(lane_at)
    position = 1
    n_ids = 0
    while position <= end:
        symbol = np.int64(read_u32(lane_at + SYMBOLS_AT + 4 * position))
        write_id(ids_at + n_ids * id_size, id_of(merges_at, symbol), id_size)
        n_ids += 1
        position = np.int64(read_u8(lane_at + AFTER_AT + position))
    return n_ids


@kernel
def merge_short(text_at, n, merges_at, scratch_at, ids_at, id_size):
    """Write the ids of a pretoken of 1 to SHORT bytes; arguments and result as for merge_pretoken."""
    start_short(scratch_at, text_at, n, merges_at)
    while step_short(scratch_at, merges_at):
        pass
    return finish_short(scratch_at, merges_at, ids_at, id_size)


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
    """Write the ids of a pretoken of any length; arguments and result as for merge_pretoken.

    In the scratch lie

    queues : uint64[3, 3 n]   rank << 32 | position, with entries that have become void: two queues in which they come in
                         order, and a heap, a tree in an array where a node has CHILDREN children, for those that do not.
                         In a million of one letter nearly all come in order, and the heap would take most of the time
    ends : int64[6]      see `push`
    rows : int32[n, 4]   for each position the symbol that starts there, the positions of the symbols before it (or -1) and
                         after it (or n), and the rank of its pair (or -1): side by side, as most are wanted together

    Cost: O(n log n), whatever the text is: each merge adds at most two entries to the heap, and an entry whose pair has
    changed is dropped when it comes up.
    """
    queues = carray(uint64_pointer(scratch_at), (3, 3 * n))
    rows = carray(int32_pointer(scratch_at + 72 * n), (n, 4))
    ends = carray(int64_pointer(scratch_at + 88 * n), 6)
    ends[:] = 0
    for i in range(n):
        rows[i, _SYMBOL] = read_u8(text_at + i)
        rows[i, _LINK_BEFORE] = i - 1
        rows[i, _LINK_AFTER] = i + 1
        rows[i, _RANK] = -1
    for i in range(n - 1):
        rank = byte_pair_rank(merges_at, np.int64(rows[i, _SYMBOL]), np.int64(rows[i + 1, _SYMBOL]))
        if rank != NO_RANK:
            rows[i, _RANK] = rank
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
        rows[removed, _RANK] = -1
        if after < n:
            rows[after, _LINK_BEFORE] = position
        for left in (position, np.int64(rows[position, _LINK_BEFORE])):
            if left < 0:
                continue
            rows[left, _RANK] = -1
            right = np.int64(rows[left, _LINK_AFTER])
            if right < n:
                rank = pair_rank(merges_at, np.int64(rows[left, _SYMBOL]), np.int64(rows[right, _SYMBOL]))
                if rank != NO_RANK:
                    rows[left, _RANK] = rank
                    push(queues, ends, (np.uint64(rank) << _32) | np.uint64(left))
    n_ids = 0
    position = 0
    while position < n:
        write_id(ids_at + n_ids * id_size, id_of(merges_at, np.int64(rows[position, _SYMBOL])), id_size)
        n_ids += 1
        position = np.int64(rows[position, _LINK_AFTER])
    return n_ids


@inlined
def merge_pretoken(text_at, n, merges_at, scratch_at, ids_at, id_size):
    """Write the ids of the pretoken of n >= 1 bytes at `text_at`.

    Merges the pair of lowest rank, the leftmost of several, until none is left (as Hugging Face and tiktoken do).

    text_at    : address of the pretoken, with PADDING bytes after it
    merges_at  : see merge_table.merges_addresses
    scratch_at : address of a scratch that is large enough for n bytes (unchecked), overwritten
    ids_at     : where the ids go, each of `id_size` (2 or 4) bytes; up to n of them

    Returns the number of ids.
    """
    if merges_at[5] != 0:
        token_id = whole_token(merges_at[5], text_at, n)
        if token_id >= 0:
            write_id(ids_at, token_id, id_size)
            return 1
    if n <= SHORT:
        return merge_short(text_at, n, merges_at, scratch_at, ids_at, id_size)
    return merge_long(text_at, n, merges_at, scratch_at, ids_at, id_size)
