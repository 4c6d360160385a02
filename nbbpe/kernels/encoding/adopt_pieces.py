"""Pieces that another thread has encoded, taken into this thread's cache from its journal.

Encoding a new piece takes about 400 ns, and this a cache miss, which is prefetched. Threads that work on one text meet nine
tenths of all words each.
"""

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int64, reads, uint64
from ..machine.intrinsics import address_of, prefetch, read_i64, read_u64, write_u64
from ..pieces.piece_table import N_ENTRIES, NO_SLOT, SLOT, find_from, home_secret_of, home_slot, insert, is_free
from .encode_state import finish_growth, state_of
from .piece_cache import LIMIT

_AHEAD = 8  # entries between the one that is taken and the one whose slot is prefetched


@inlined
def home_of_entry(entry_at, table_at):
    """The home slot of an entry, which has a short key."""
    secret = home_secret_of(table_at.state)
    return home_slot(read_u64(entry_at), read_u64(entry_at + 8), table_at.n_words, secret)


@kernel(int64, reads(uint64[:]), int64)
def adopt_pieces(state_at, entries, first):
    """Take entries of a journal into the cache of a state that has not got them.

    state_at : address of an EncodeState, whose cache is modified
    entries  : uint64[SLOT * n], read    slots of a cache for the same model in the same process, all with short keys
    first    : int64                     the first entry to take

    Returns the first entry that was not taken as the table is half full: let it grow, and call again; n if all were, or
    the cache is at its limit.
    """
    finish_growth(state_at)
    state = state_of(state_at)
    table_at = state.cache.table
    entries_at = address_of(entries)
    n = entries.shape[0] // SLOT
    limit = read_i64(state.cache.state + 8 * LIMIT)
    for i in range(first, n):
        ahead = min(i + _AHEAD, n - 1)
        prefetch(table_at.slots + 8 * home_of_entry(entries_at + 8 * SLOT * ahead, table_at))
        if read_i64(table_at.state + 8 * N_ENTRIES) >= limit:
            return n
        entry_at = entries_at + 8 * SLOT * i
        low, high = read_u64(entry_at), read_u64(entry_at + 8)
        slot = find_from(table_at, home_of_entry(entry_at, table_at), 0, 0, low, high)
        if slot == NO_SLOT or not is_free(table_at, slot):
            continue
        if not insert(table_at, slot, 0, 0, low, high):
            return i
        for k in range(16, 32, 8):
            write_u64(table_at.slots + 8 * slot + k, read_u64(entry_at + k))
    return n
