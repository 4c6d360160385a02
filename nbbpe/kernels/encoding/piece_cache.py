"""The cache of pieces: the ids of each, in a piece table.

Few ids are stored in the two values of a slot, 16 bytes, in the format of the output; the last two bytes are the number of
their bytes. More ids are stored in a pool: then the last two bytes are POOLED, and those before are the place in the pool
and the number of their bytes. All 16 bytes of a slot are copied to the output: the next piece overwrites the surplus.

At its limits the cache is emptied: single pieces are never evicted.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.jit import inlined
from ..machine.intrinsics import copy_16, copy_32, read_i64, read_u16, read_u64, write_i64, write_u64
from ..pieces.piece_table import (
    KEY_OVERHEAD,
    N_ENTRIES,
    NO_SLOT,
    POOL_START,
    TableAddresses,
    find,
    insert,
    is_free,
    key_of,
)
from ..pieces.piece_table import POOL_USED as KEY_BYTES

# The places of the numbers in the state of the cache, see CacheAddresses.
IDS_USED, LIMIT = range(2)
STATE_SIZE = 2
INLINE_ID_BYTES = 14  # of ids that are stored in a slot
POOLED = 0xFFFF
SPARE_BYTES = 32  # room after the ids in the output and in the pool, as ids are copied this many bytes at a time
BYTES_PER_PIECE = 64  # at most, of the pool of long keys, for each piece that may be cached

_SIZE_SHIFT = np.uint64(48)
_BELOW_SIZE = np.uint64((1 << 48) - 1)


class CacheAddresses(NamedTuple):
    """A cache in the form that compiled code takes.

    table         : the piece table
    ids_pool, ids_pool_size : address and length of uint8[*], the ids of pieces that have many
    state         : address of int64[STATE_SIZE]: the bytes used of the pool, and how many pieces may be cached
    """

    table: TableAddresses
    ids_pool: int
    ids_pool_size: int
    state: int


@inlined
def is_within_limits(cache, length):
    """Whether the limits allow another piece of this many bytes."""
    limit = read_i64(cache.state + 8 * LIMIT)
    key_bytes = read_i64(cache.table.state + 8 * KEY_BYTES)
    return read_i64(cache.table.state + 8 * N_ENTRIES) < limit and key_bytes + length <= BYTES_PER_PIECE * limit


@inlined
def is_never_cached(cache, length):
    """Whether a piece has more bytes than all pieces together may have."""
    return POOL_START + length > BYTES_PER_PIECE * read_i64(cache.state + 8 * LIMIT)


@inlined
def needs_room(cache, length, id_size):
    """Whether a pool may be too small to cache a piece of this many bytes, or the cache must be emptied first."""
    if not is_within_limits(cache, length):
        return read_i64(cache.table.state + 8 * N_ENTRIES) > 0 and not is_never_cached(cache, length)
    ids_end = read_i64(cache.state + 8 * IDS_USED) + length * id_size + SPARE_BYTES
    key_end = read_i64(cache.table.state + 8 * KEY_BYTES) + length + KEY_OVERHEAD
    return ids_end > cache.ids_pool_size or key_end > cache.table.pool_size


@inlined
def copy_ids(from_at, to_at, n_bytes):
    """Copy `n_bytes` of ids, and up to SPARE_BYTES more: they are copied this many at a time."""
    for i in range(0, n_bytes, SPARE_BYTES):
        copy_32(from_at + i, to_at + i)


@inlined
def copy_slot(slot_at, pool_at, to_at):
    """Copy the ids of a slot, and up to SPARE_BYTES more; returns how many bytes the ids take, 0 for a free slot."""
    n_bytes = np.int64(read_u16(slot_at + 30))
    if n_bytes == POOLED:
        n_bytes = np.int64(read_u64(slot_at + 24) & _BELOW_SIZE)
        copy_ids(pool_at + read_i64(slot_at + 16), to_at, n_bytes)
    else:
        copy_16(slot_at + 16, to_at)
    return n_bytes


@inlined
def cache_ids(cache, slot, key_at, length, low, high, ids_at, n_bytes):
    """Cache the ids of a piece that is not in the table.

    slot, key_at, length, low, high : as for piece_table.insert
    ids_at, n_bytes : the ids; SPARE_BYTES more may be read

    Returns False, and stores nothing, if there is no room: the table or a pool must grow, or the cache be emptied at its
    limits. Returns True, and stores nothing, if the piece would not even fit into an empty cache, or the slot is NO_SLOT.
    """
    if slot == NO_SLOT:
        return True
    if not is_within_limits(cache, length):
        return read_i64(cache.table.state + 8 * N_ENTRIES) == 0 or is_never_cached(cache, length)
    used = read_i64(cache.state + 8 * IDS_USED)
    few = n_bytes <= INLINE_ID_BYTES
    if not few and used + n_bytes + SPARE_BYTES > cache.ids_pool_size:
        return False
    if not insert(cache.table, slot, key_at, length, low, high):
        return False
    value_at = cache.table.slots + 8 * slot + 16
    if few:
        write_u64(value_at, read_u64(ids_at))
        write_u64(value_at + 8, (read_u64(ids_at + 8) & _BELOW_SIZE) | (np.uint64(n_bytes) << _SIZE_SHIFT))
    else:
        write_i64(value_at, used)
        write_u64(value_at + 8, np.uint64(n_bytes) | (np.uint64(POOLED) << _SIZE_SHIFT))
        copy_ids(ids_at, cache.ids_pool + used, n_bytes)
        write_i64(cache.state + 8 * IDS_USED, used + n_bytes)
    return True


@inlined
def copy_hit(cache, key_at, length, ids_at):
    """Write the ids of a piece to `ids_at` if it is cached; returns how many bytes they take, 0 for a miss."""
    low, high = key_of(key_at, length, cache.table.state)
    slot = find(cache.table, key_at, length, low, high)
    if is_free(cache.table, slot):
        return np.int64(0)
    return copy_slot(cache.table.slots + 8 * slot, cache.ids_pool, ids_at)
