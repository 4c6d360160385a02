"""Growth of a piece table: more slots in the same memory, a larger pool, and another secret if a search found no slot.

A table that gets more slots stays in its memory while there is room, else it is copied; then its entries are spread over
all slots, mostly in order. Only if it gets another secret are entries written to another table in random order.
"""

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int64, reads, uint64
from ..machine.intrinsics import address_of, read_i64, read_u64, write_u64
from ..machine.large_pages import longer, zeros
from .piece_table import (
    KEY_OVERHEAD,
    LONG_KEY,
    MOST_PROBES,
    POOL_USED,
    SLOT_WORDS,
    PieceTable,
    home_secret_of,
    home_slot,
    is_full,
    long_hash,
    next_slot,
    table_addresses,
    with_another_secret,
)

LARGE_SLOTS = 1 << 16  # 2 MB, a large page
_MOST_ROOM = 8 << 20  # words, 64 MB: systems refuse memory that they could not provide if all of it were touched


class SlotRoom:
    """The memory of a growing table's slots. Up to 64 MB, it has room for more: untouched memory costs nothing."""

    def __init__(self, slots: NDArray[np.uint64]) -> None:
        self._room = slots

    def lengthened(self, table: PieceTable, n_slots: int) -> tuple[PieceTable, NDArray[np.uint64]]:
        """A table with `n_slots` slots in this memory: those of `table`, then empty ones; and scratch for `spread_entries`,
        which must be called next."""
        slots, n_words = table.slots, n_slots * SLOT_WORDS
        if n_words > len(self._room):
            self._room = zeros(max(n_words, min(8 * max(n_words, LARGE_SLOTS * SLOT_WORDS), _MOST_ROOM)))
            self._room[: len(slots)] = slots
        return table._replace(slots=self._room[:n_words]), zeros(len(slots) // 2)


def with_pool(table: PieceTable, longest_key: int) -> PieceTable:
    """A table whose pool has room for one more key of `longest_key` bytes: the same table if it has room."""
    used, needed = int(table.state[POOL_USED]), longest_key + KEY_OVERHEAD
    return table if used + needed <= len(table.pool) else table._replace(pool=longer(table.pool, used, needed))


def grown(table: PieceTable, room: SlotRoom, longest_key: int) -> tuple[PieceTable, SlotRoom]:
    """The table that replaces `table`, with the same entries, and its room. It has two to eight times the slots, or a
    larger pool, as needed. If neither is, it has another secret, by which keys have other slots."""
    larger, lost = with_pool(table, longest_key), table.slots[:0]
    if is_full(table):
        larger, displaced = room.lengthened(larger, more_slots(table))
        lost = displaced[: SLOT_WORDS * spread(larger, len(table.slots), displaced)]
    if larger is not table and not len(lost):
        return larger, room
    while True:
        other = with_another_secret(larger)
        if rehash(larger.slots, other) and rehash(lost, other):
            return other, SlotRoom(other.slots)


def more_slots(table: PieceTable) -> int:
    """How many slots a full table should have next. A small table soon grows again, so it takes larger steps."""
    n_slots = len(table.slots) // SLOT_WORDS
    return max(2 * n_slots, min(8 * n_slots, LARGE_SLOTS))


@inlined
def enter_entry(table_at, entry_at, low, home_secret):
    """Copy an entry to a free slot of a table that does not have its key, with `low` as its first word; returns whether a
    search found a free slot."""
    home = home_slot(low, min(read_u64(entry_at + 8), LONG_KEY), table_at.n_words, home_secret)
    slot = home
    n_probes = 1
    while n_probes < MOST_PROBES and read_u64(table_at.slots + 8 * slot + 8) != 0:
        slot = next_slot(slot, home, table_at.n_words)
        n_probes += 1
    slot_at = table_at.slots + 8 * slot
    if read_u64(slot_at + 8) != 0:
        return False
    write_u64(slot_at, low)
    for i in range(8, 8 * SLOT_WORDS, 8):
        write_u64(slot_at + i, read_u64(entry_at + i))
    return True


@inlined
def spread_entries(table_at, n_before, displaced_at):
    """Spread entries over all slots of a table that has just become longer, in the same memory.

    table_at     : the table; its entries are in the first `n_before` words of the slots, as in a table of that length; all
                   other slots are empty
    displaced_at : address of uint64[n_before / 2], overwritten    entries that were not in their home slots: at most all

    Returns how many entries found no slot; these are then the first at `displaced_at`. Memory is mostly touched in order.
    Cost: 5 ns an entry.
    """
    slots_at, home_secret = table_at.slots, home_secret_of(table_at.state)
    displaced_end = displaced_at
    for slot in range(0, n_before, SLOT_WORDS):
        slot_at = slots_at + 8 * slot
        low, high = read_u64(slot_at), read_u64(slot_at + 8)
        if high == 0:
            continue
        home = home_slot(low, min(high, LONG_KEY), table_at.n_words, home_secret)
        if home == slot:
            continue
        to_at = slots_at + 8 * home  # it is empty: only entries from one former home slot have it as their home
        if home & (n_before - 1) != slot:
            to_at = displaced_end
            displaced_end += 8 * SLOT_WORDS
        for i in range(0, 8 * SLOT_WORDS, 8):
            write_u64(to_at + i, read_u64(slot_at + i))
            write_u64(slot_at + i, np.uint64(0))
    n_lost = 0
    for entry_at in range(displaced_at, displaced_end, 8 * SLOT_WORDS):
        if not enter_entry(table_at, entry_at, read_u64(entry_at), home_secret):
            for i in range(0, 8 * SLOT_WORDS, 8):
                write_u64(displaced_at + 8 * SLOT_WORDS * n_lost + i, read_u64(entry_at + i))
            n_lost += 1
    return n_lost


@kernel(PieceTable, int64, uint64[:])
def spread(table, n_before, displaced):
    """See `spread_entries`; displaced : uint64[n_before / 2], overwritten."""
    return spread_entries(table_addresses(table), n_before, address_of(displaced))


@kernel(reads(uint64[:]), PieceTable)
def rehash(slots, table):
    """Insert every entry of `slots` into a table with the same pool and another secret, which has none of them yet.

    Returns whether all found a slot. Cost: one random write an entry.
    """
    table_at = table_addresses(table)
    home_secret = home_secret_of(table_at.state)
    entries_at = address_of(slots)
    for entry_at in range(entries_at, entries_at + 8 * slots.shape[0], 8 * SLOT_WORDS):
        low, high = read_u64(entry_at), read_u64(entry_at + 8)
        if high == 0:
            continue
        if high >= LONG_KEY:
            stored_at = table_at.pool + np.int64(high ^ LONG_KEY)
            low = long_hash(stored_at + 8, read_i64(stored_at), table_at.state)
        if not enter_entry(table_at, entry_at, low, home_secret):
            return False
    return True
