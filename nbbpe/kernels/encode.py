"""Text to ids: merging by rank within a pretoken, and the pass over remembered pieces.

In a piece table used for encoding, a slot's values are the piece's ids: up to three of them in the slot itself,

    value_0 = id_0 | id_1 << 32        value_1 = id_2 | n_ids << 32

and more than three in the ids pool, with value_0 the offset there.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import inlined, kernel
from .piece_table import (
    N_ENTRIES,
    PieceTable,
    batch_addresses,
    find,
    find_prepared,
    insert,
    key_of,
    prepare_batch,
    prepared_key,
    table_addresses,
)
from .piece_table import POOL_USED as KEY_BYTES
from .scan import addresses, find_pieces
from .simd import address_of, multiply_fold, read_u64, write_u64
from .split import pretoken_end

# Why `encode_pieces` returned.
DONE, NEED_OUT, NEED_SCRATCH, NEED_MEMORY = range(4)
POOL_USED, LIMIT = 0, 1  # where Memory.state keeps its numbers
INLINE_IDS = 3
SPARE_IDS = 4  # room after the ids in `out` and in the pool: they are copied 16 bytes at a time
BYTES_PER_PIECE = 64  # what the pool of long pieces may take for each piece that may be remembered
NO_RANK = 0x7FFFFFFF

_ONE = np.uint64(1)
_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Merges(NamedTuple):
    """The merges of a tokenizer as a hash table from pairs of ids, read only; made by `new_merges`.

    slots    : uint64[2 * capacity]   key (left << 32 | right, all ones where free), value (rank << 32 | id of result)
    byte_ids : int32[256]             the id of each single byte
    whole    : uint64[*]              tokens that a pretoken is though merging does not give them, see `pack_whole`; most
                                      vocabularies have none, and this has no entries
    """

    slots: NDArray[np.uint64]
    byte_ids: NDArray[np.int32]
    whole: NDArray[np.uint64]


class Scratch(NamedTuple):
    """Room for merging one pretoken; a pretoken of n bytes needs n entries of each and 3 n of the heap.

    ids       : int32[*]    id of the symbol that starts at this position
    previous  : int32[*]    position of the symbol before it, or -1
    following : int32[*]    position of the symbol after it, or n
    ranks     : int32[*]    rank of the pair that starts here, or NO_RANK
    heap      : uint64[*]   rank << 32 | position, a binary tree in an array, with entries that have become void
    """

    ids: NDArray[np.int32]
    previous: NDArray[np.int32]
    following: NDArray[np.int32]
    ranks: NDArray[np.int32]
    heap: NDArray[np.uint64]


class Memory(NamedTuple):
    """What was encoded before. The piece table is passed beside it, so that it can be one type everywhere.

    ids_pool : uint32[*]   ids of pieces that have more than INLINE_IDS
    state    : int64[2]    ids used of the pool; how many pieces may be remembered
    """

    ids_pool: NDArray[np.uint32]
    state: NDArray[np.int64]


@inlined
def merge_slot(slots, left, right):
    """The slot of a pair, or the free one where it belongs."""
    key = (np.uint64(left) << _32) | np.uint64(right)
    mask = slots.shape[0] - 1
    slot = np.int64(multiply_fold(key, _MULTIPLIER)) & (mask - 1)
    while slots[slot] != key and slots[slot] != _EMPTY:
        slot = (slot + 2) & mask
    return slot


@inlined
def enter_merge(slots, left, right, rank, result):
    """Enter a merge; of a pair that comes twice, the lower rank stays."""
    slot = merge_slot(slots, left, right)
    value = (np.uint64(rank) << _32) | np.uint64(result)
    if slots[slot] == _EMPTY or value < slots[slot + 1]:
        slots[slot] = (np.uint64(left) << _32) | np.uint64(right)
        slots[slot + 1] = value


@kernel
def fill_merges(lefts, rights, ranks, results, slots):
    """Enter merges into empty slots.

    lefts, rights, ranks, results : int32[n_merges], read;  slots : uint64[2 * capacity], filled
    """
    for i in range(lefts.shape[0]):
        enter_merge(slots, lefts[i], rights[i], ranks[i], results[i])


def empty_merges(n_merges: int, byte_ids: NDArray[np.int32]) -> Merges:
    """Make a table that has room for `n_merges` merges."""
    capacity = 4
    while capacity < 2 * n_merges:
        capacity *= 2
    return Merges(np.full(2 * capacity, _EMPTY, dtype=np.uint64), byte_ids, np.empty(0, dtype=np.uint64))


def new_merges(
    lefts: NDArray[np.int32],
    rights: NDArray[np.int32],
    ranks: NDArray[np.int32],
    results: NDArray[np.int32],
    byte_ids: NDArray[np.int32],
) -> Merges:
    """Make the table of merges: ids of left and right, rank, and id of the result of each."""
    merges = empty_merges(len(lefts), byte_ids)
    fill_merges(lefts, rights, ranks, results, merges.slots)
    return merges


def pack_whole(table: PieceTable) -> NDArray[np.uint64]:
    """A piece table from tokens to ids as one array, which costs less to pass: length of the slots, slots, pool."""
    pool = np.zeros(-(-len(table.pool) // 8), dtype=np.uint64)
    pool.view(np.uint8)[: len(table.pool)] = table.pool
    return np.concatenate([np.array([len(table.slots)], dtype=np.uint64), table.slots, pool])


@inlined
def whole_token(whole, key_at, length):
    """The id of the token of `length` bytes at an address, or -1 where `whole` (see pack_whole) has none."""
    n_words = np.int64(whole[0])
    slots_at = address_of(whole) + 8
    low, high = key_of(key_at, length)
    slot = find((slots_at, n_words, slots_at + 8 * n_words, 0, 0), key_at, length, low, high)
    if read_u64(slots_at + 8 * slot + 8) == 0:
        return -1
    return np.int64(read_u64(slots_at + 8 * slot + 16))


def new_scratch(longest: int) -> Scratch:
    """Make room for pretokens of up to `longest` bytes."""
    ids, previous, following, ranks = (np.empty(longest, dtype=np.int32) for _ in range(4))
    return Scratch(ids, previous, following, ranks, np.empty(3 * longest, dtype=np.uint64))


@inlined
def sift_down(heap, size, parent, entry):
    """Put `entry` at `parent` or below, where the heap property holds. Cost: O(log size)."""
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= entry:
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = entry


@inlined
def pair_value(slots, left, right):
    """rank << 32 | result of merging two ids; the rank is NO_RANK or above where they do not merge."""
    slot = merge_slot(slots, left, right)
    return slots[slot + 1] if slots[slot] != _EMPTY else _EMPTY


@kernel
def merge_pretoken(text, start, end, merges, scratch, out, n_out):
    """Append the ids of the pretoken text[start:end] to `out`.

    Merges the pair of lowest rank, the leftmost of several, until none is left (as Hugging Face and tiktoken do).

    text    : uint8[>= end + PADDING]
    scratch : Scratch, overwritten     large enough for end - start bytes (unchecked)
    out     : uint32[*], filled from n_out on, up to end - start entries

    Returns the number of ids in `out`. Cost: O(n log n) for n bytes, whatever they are: each merge adds at most two
    entries to the heap, and an entry whose pair has changed is dropped when it comes up.
    """
    slots, byte_ids = merges.slots, merges.byte_ids
    ids, previous, following, ranks, heap = (
        scratch.ids,
        scratch.previous,
        scratch.following,
        scratch.ranks,
        scratch.heap,
    )
    n = end - start
    if merges.whole.shape[0] > 0:
        token = whole_token(merges.whole, address_of(text) + start, n)
        if token >= 0:
            out[n_out] = token
            return n_out + 1
    for i in range(n):
        ids[i] = byte_ids[text[start + i]]
        previous[i] = i - 1
        following[i] = i + 1
    size = 0
    for i in range(n - 1):
        value = pair_value(slots, ids[i], ids[i + 1])
        ranks[i] = NO_RANK
        if value != _EMPTY:
            ranks[i] = np.int32(value >> _32)
            heap[size] = (value >> _32 << _32) | np.uint64(i)
            size += 1
    ranks[n - 1] = NO_RANK
    for parent in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, parent, heap[parent])
    while size > 0:
        top = heap[0]
        size -= 1
        if size > 0:
            sift_down(heap, size, 0, heap[size])
        position = np.int64(top & _LOW)
        if ranks[position] != np.int64(top >> _32):
            continue
        removed = np.int64(following[position])
        after = np.int64(following[removed])
        ids[position] = np.int32(pair_value(slots, ids[position], ids[removed]) & _LOW)
        following[position] = after
        ranks[removed] = NO_RANK
        if after < n:
            previous[after] = position
        for left in (position, np.int64(previous[position])):
            right = np.int64(following[left]) if left >= 0 else n
            if left >= 0:
                ranks[left] = NO_RANK
            if right < n:
                value = pair_value(slots, ids[left], ids[right])
                if value != _EMPTY:
                    ranks[left] = np.int32(value >> _32)
                    entry = (value >> _32 << _32) | np.uint64(left)
                    child = size
                    size += 1
                    while child > 0 and heap[(child - 1) >> 1] > entry:
                        heap[child] = heap[(child - 1) >> 1]
                        child = (child - 1) >> 1
                    heap[child] = entry
    position = 0
    while position < n:
        out[n_out] = ids[position]
        n_out += 1
        position = np.int64(following[position])
    return n_out


@inlined
def memory_addresses(memory):
    """Where the arrays of a Memory are, and how long its pool is."""
    return address_of(memory.ids_pool), memory.ids_pool.shape[0], address_of(memory.state)


@kernel
def remember(table_at, memory_at, slot, key_at, length, low, high, ids_at, n_ids):
    """Keep the ids of a piece that is not in the table.

    table_at, memory_at   : see table_addresses, memory_addresses; what they lead to is modified
    slot, key_at, length, low, high : as for piece_table.insert
    ids_at, n_ids         : the ids, uint32; SPARE_IDS more may be read

    Returns False where the table or a pool has no room but the limits would allow it: then they should grow. At the
    limits nothing is kept, and True returned.
    """
    ids_pool_at, pool_size, state_at = memory_at
    limit = np.int64(read_u64(state_at + 8 * LIMIT))
    pool_used = np.int64(read_u64(state_at + 8 * POOL_USED))
    n_entries = np.int64(read_u64(table_at[4] + 8 * N_ENTRIES))
    key_bytes = np.int64(read_u64(table_at[4] + 8 * KEY_BYTES))
    if n_entries >= limit or key_bytes + length > BYTES_PER_PIECE * limit:
        return True
    if n_ids > INLINE_IDS and pool_used + n_ids + SPARE_IDS > pool_size:
        return False
    if not insert(table_at, slot, key_at, length, low, high):
        return False
    value_at = table_at[0] + 8 * slot + 16
    if n_ids <= INLINE_IDS:
        write_u64(value_at, read_u64(ids_at))
        write_u64(value_at + 8, (read_u64(ids_at + 8) & _LOW) | (np.uint64(n_ids) << _32))
    else:
        write_u64(value_at, np.uint64(pool_used))
        write_u64(value_at + 8, np.uint64(n_ids) << _32)
        copy_ids(ids_at, ids_pool_at + 4 * pool_used, n_ids)
        write_u64(state_at + 8 * POOL_USED, np.uint64(pool_used + n_ids))
    return True


@inlined
def copy_ids(from_at, to_at, n_ids):
    """Copy ids, uint32, 16 bytes at a time: up to SPARE_IDS more than there are."""
    for i in range(0, 4 * n_ids, 16):
        write_u64(to_at + i, read_u64(from_at + i))
        write_u64(to_at + i + 8, read_u64(from_at + i + 8))


@kernel
def merge_piece(text, start, end, grammar, tables, merges, scratch, out, n_out):
    """Append the ids of the piece text[start:end] to `out`, pretoken by pretoken; returns the number of ids in `out`."""
    text_at = address_of(text)
    while start < end:
        after = pretoken_end(text_at + start, text_at + end, grammar, tables) - text_at
        n_out = merge_pretoken(text, start, after, merges, scratch, out, n_out)
        start = after
    return n_out


@kernel
def encode_pieces(
    text, start, end, limit, breaks, n_breaks, scanner, grammar, masks, batch, merges, scratch, table, memory, out, n_out
):
    """Write the ids of a text's pieces, and those of its breaks (where >= 0), to `out`.

    text   : uint8[>= end + PADDING], read
    start  : int64                  start of a piece
    end    : int64                  end of the text
    limit  : int64                  boundaries after it are not trusted yet; `end` where no text follows
    breaks : int64[>= n_breaks, 3]  see scan.find_pieces; a break's id stands for it, -1 for nothing
    grammar : int64                 see split.pretoken_end
    masks, batch, scratch : overwritten
    table, memory : modified        pieces that are remembered
    out    : uint32[*], filled from n_out on

    Returns (status, position, piece end, n_out): the ids up to `position` are written. DONE: all that can be. NEED_*:
    give more room, for the piece from position to piece end at least, and call again. Cost: scan, one look-up and a
    16-byte write a piece.
    """
    ends = batch.ends
    text_at, out_at, batch_at = address_of(text), address_of(out), batch_addresses(batch)
    table_at, memory_at = table_addresses(table), memory_addresses(memory)
    tables = addresses(scanner, masks)
    room = out.shape[0] - SPARE_IDS
    scratch_room = scratch.ids.shape[0]
    next_break = 0
    while next_break < n_breaks and breaks[next_break, 1] <= start:
        next_break += 1
    first_break = next_break
    piece = start
    block = start
    state = 0
    while block < end:
        found, block, state = find_pieces(text, block, end, state, breaks, first_break, n_breaks, tables, ends)
        if block >= end:
            ends[found] = end
            found += 1
        prepare_batch(batch_at, found, piece, text_at, table_at)
        for i in range(found):
            piece_end = ends[i]
            length = piece_end - piece
            if piece_end > limit:
                return DONE, piece, piece, n_out
            if n_out + length > room:
                return NEED_OUT, piece, piece_end, n_out
            if next_break < n_breaks and piece == breaks[next_break, 0]:
                if length > 0:
                    if breaks[next_break, 2] >= 0:
                        out[n_out] = breaks[next_break, 2]
                        n_out += 1
                    next_break += 1
            elif length > 0:
                key_at = text_at + piece
                slot = find_prepared(batch_at, i, table_at, key_at, length)
                value_0 = read_u64(table_at[0] + 8 * slot + 16)
                value_1 = read_u64(table_at[0] + 8 * slot + 24)
                n_ids = np.int64(value_1 >> _32)
                if 0 < n_ids <= INLINE_IDS:
                    write_u64(out_at + 4 * n_out, value_0)
                    write_u64(out_at + 4 * n_out + 8, value_1)
                    n_out += n_ids
                elif n_ids > 0:
                    copy_ids(memory_at[0] + 4 * np.int64(value_0), out_at + 4 * n_out, n_ids)
                    n_out += n_ids
                else:
                    if length > scratch_room:
                        return NEED_SCRATCH, piece, piece_end, n_out
                    after = merge_piece(text, piece, piece_end, grammar, tables, merges, scratch, out, n_out)
                    low, high = prepared_key(batch_at, i)
                    ids_at = out_at + 4 * n_out
                    if not remember(table_at, memory_at, slot, key_at, length, low, high, ids_at, after - n_out):
                        return NEED_MEMORY, piece, piece_end, n_out
                    n_out = after
            piece = piece_end
        first_break = next_break
    return DONE, piece, piece, n_out


@kernel
def encode_pretokens(text, starts, merges, scratch, out, n_out, ends):
    """Append the ids of pretokens to `out`.

    text   : uint8[* + PADDING], read;  starts : int64[n + 1], where each pretoken starts in it
    out    : uint32[*], filled from n_out on; it and `scratch` must have room for all of them (unchecked)
    ends   : int64[n + 1], filled    ends[i] is the number of ids in `out` before pretoken i

    Returns the number of ids in `out`.
    """
    ends[0] = n_out
    for i in range(starts.shape[0] - 1):
        n_out = merge_pretoken(text, starts[i], starts[i + 1], merges, scratch, out, n_out)
        ends[i + 1] = n_out
    return n_out
