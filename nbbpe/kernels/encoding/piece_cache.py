"""What is remembered of pieces: the ids of each, in a piece table.

The two values of a slot, 16 bytes, hold the ids themselves where they are few, as they will stand in the output, and in the
last two bytes how many bytes they take; else POOLED in these, and before them how many bytes they take, and where they
begin in a pool. A slot's ids are written to the output as 16 bytes, however few they are: what was too much is overwritten
by the next.
"""

import numpy as np

from ..compiler.jit import inlined
from ..machine.intrinsics import copy_16, read_i64, read_u16, read_u64, write_i64, write_u64
from ..pieces.piece_table import KEY_OVERHEAD, N_ENTRIES, NO_SLOT, POOL_START, find, insert, is_free, key_of, move_entries
from ..pieces.piece_table import POOL_USED as KEY_BYTES
from .encode_state import FORMER, IDS_POOL, TABLE, five

IDS_USED, LIMIT = 0, 1  # where the state of the memory keeps its numbers
INLINE_ID_BYTES = 14  # what ids may take that lie in a slot
POOLED = 0xFFFF
SPARE_BYTES = 16  # room after the ids in the output and in the pool: they are copied so many bytes at a time
BYTES_PER_PIECE = 64  # what the pool of long keys may take for each piece that may be remembered

_SIZE_SHIFT = np.uint64(48)
_BELOW_SIZE = np.uint64((1 << 48) - 1)


@inlined
def move_former(context_at):
    """Move entries into a table that has grown. A kernel for that alone would take 2 ms to load."""
    at = context_at + 8 * FORMER
    if read_i64(at) != 0:
        table_at = five(context_at, TABLE)
        n_lost = move_entries(read_i64(at), read_i64(at + 8), table_at, False)
        n_entries_at = table_at[4] + 8 * N_ENTRIES
        write_i64(n_entries_at, read_i64(n_entries_at) - n_lost)
        write_i64(at, 0)


@inlined
def room_to_remember(context_at, length):
    """Whether the limits allow another piece of so many bytes."""
    state_at, table_state_at = read_i64(context_at + 8 * (IDS_POOL + 2)), read_i64(context_at + 8 * (TABLE + 4))
    limit = read_i64(state_at + 8 * LIMIT)
    key_bytes = read_i64(table_state_at + 8 * KEY_BYTES)
    return read_i64(table_state_at + 8 * N_ENTRIES) < limit and key_bytes + length <= BYTES_PER_PIECE * limit


@inlined
def has_too_many_bytes(context_at, length):
    """Whether a piece has more bytes than may be remembered of all pieces together."""
    limit = read_i64(read_i64(context_at + 8 * (IDS_POOL + 2)) + 8 * LIMIT)
    return POOL_START + length > BYTES_PER_PIECE * limit


@inlined
def needs_memory(context_at, length, id_size):
    """Whether a pool may be too small to remember a piece of so many bytes, or all must be forgotten first."""
    table_at = five(context_at, TABLE)
    if not room_to_remember(context_at, length):
        return read_i64(table_at[4] + 8 * N_ENTRIES) > 0 and not has_too_many_bytes(context_at, length)
    at = context_at + 8 * IDS_POOL
    ids_end = read_i64(read_i64(at + 16) + 8 * IDS_USED) + length * id_size + SPARE_BYTES
    key_end = read_i64(table_at[4] + 8 * KEY_BYTES) + length + KEY_OVERHEAD
    return ids_end > read_i64(at + 8) or key_end > table_at[3]


@inlined
def copy_ids(from_at, to_at, n_bytes):
    """Copy the bytes of ids, SPARE_BYTES at a time: up to so many more than there are."""
    for i in range(0, n_bytes, SPARE_BYTES):
        copy_16(from_at + i, to_at + i)


@inlined
def copy_slot(slot_at, pool_at, to_at):
    """Copy the ids of a slot, and up to SPARE_BYTES more; returns how many bytes they take, 0 for a free slot."""
    n_bytes = np.int64(read_u16(slot_at + 30))
    if n_bytes == POOLED:
        n_bytes = np.int64(read_u64(slot_at + 24) & _BELOW_SIZE)
        copy_ids(pool_at + read_i64(slot_at + 16), to_at, n_bytes)
    else:
        copy_16(slot_at + 16, to_at)
    return n_bytes


@inlined
def remember(context_at, slot, key_at, length, low, high, ids_at, n_bytes):
    """Keep the ids of a piece that is not in the table.

    slot, key_at, length, low, high : as for piece_table.insert
    ids_at, n_bytes : the ids; SPARE_BYTES more may be read

    Returns False, and keeps nothing, where there is no room: the table or a pool should grow, or at the limits be emptied.
    What could not even be kept in an empty table is not kept, and True returned; likewise where the slot is NO_SLOT.
    """
    if slot == NO_SLOT:
        return True
    table_at = five(context_at, TABLE)
    if not room_to_remember(context_at, length):
        return read_i64(table_at[4] + 8 * N_ENTRIES) == 0 or has_too_many_bytes(context_at, length)
    at = context_at + 8 * IDS_POOL
    pool_at, pool_size, state_at = read_i64(at), read_i64(at + 8), read_i64(at + 16)
    used = read_i64(state_at + 8 * IDS_USED)
    few = n_bytes <= INLINE_ID_BYTES
    if not few and used + n_bytes + SPARE_BYTES > pool_size:
        return False
    if not insert(table_at, slot, key_at, length, low, high):
        return False
    value_at = table_at[0] + 8 * slot + 16
    if few:
        write_u64(value_at, read_u64(ids_at))
        write_u64(value_at + 8, (read_u64(ids_at + 8) & _BELOW_SIZE) | (np.uint64(n_bytes) << _SIZE_SHIFT))
    else:
        write_i64(value_at, used)
        write_u64(value_at + 8, np.uint64(n_bytes) | (np.uint64(POOLED) << _SIZE_SHIFT))
        copy_ids(ids_at, pool_at + used, n_bytes)
        write_i64(state_at + 8 * IDS_USED, used + n_bytes)
    return True


@inlined
def copy_known(context_at, key_at, length, ids_at):
    """Write the ids of a piece to `ids_at` if it is in the table; returns how many bytes they take, 0 where it is not."""
    table_at = five(context_at, TABLE)
    low, high = key_of(key_at, length, table_at[4])
    slot = find(table_at, key_at, length, low, high)
    if is_free(table_at, slot):
        return np.int64(0)
    return copy_slot(table_at[0] + 8 * slot, read_i64(context_at + 8 * IDS_POOL), ids_at)
