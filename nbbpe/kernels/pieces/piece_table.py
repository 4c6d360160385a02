"""A hash table whose keys are byte strings: all distinct pieces (or words) so far.

Open addressing over slots of 32 bytes, two in a cache line, of which a look-up mostly touches one:

    slot = [key_low, key_high, value_0, value_1]      four uint64

A key of up to 15 bytes is stored in the slot itself: bytes 0-7 in key_low, bytes 8-14 in key_high, and its length in
key_high's top byte (so b"a" and b"a\\0" differ, and an empty slot has key_high 0). A longer key is stored in the pool, as 8
bytes of length and then its bytes; its slot holds its 64-bit hash in key_low, and 0xFF with its pool offset in key_high.
The user of the table defines the two values: counting stores a count, encoding caches token ids.

Keys come from text that an attacker may have written. So their slots depend on a secret (see secret.py), and a search ends
after MOST_PROBES slots.

Home slots. With s0 and s1, secret numbers of 64 bits, and f, a secret odd one:

    n = low half of (key_low + s0) * upper half of it + low half of (key_high + s1) * upper half of it   modulo 2^64
    home = upper half of (n * f modulo 2^64), modulo the number of slots

n is NH of UMAC (Black et al., 1999): for any two keys, no value of the difference of their n has a chance of more
than 1 : 2^32. (Suppose that key_low differs, and fix s1. If its low half differs, fix the low half of s0, too, and with it
the carry: by the proof there, at most one upper half of s0 gives the value. Else at most one low half does.) Now, let this
difference be an odd number times 2^t, and let there be 2^m slots, m <= 32. If t < 32, the bits from 32 on of the
difference of the two products are uniform, and the homes are equal with a chance of 2 : 2^m at the most. If t < 32 + m,
bit t keeps them apart. And the chance that t is larger, or the difference 0, is 2^(32 - m) : 2^32. So any two keys share a
home with a chance of 3 : 2^m at the most, for everybody who does not know the secret.

As the lowest bits of the upper half select the home, consecutive slots of a table correspond to consecutive slots of a
smaller one, around it many times: keys that are moved in this order do not pile up in the smaller table.

Long keys. The hash is a polynomial in a secret number modulo the prime 2^61 - 1. Its coefficients are the length and, for
each 16 bytes, their n with two more secret numbers. For two different keys one coefficient differs, unless their n differ
by one of 17 multiples of the prime, for which the chance is 17 : 2^32 at the most. And two polynomials are equal at no more
places than their degree. So the hashes of two keys of k bytes are equal with a chance of 1 : 2^27 + k : 2^63 at the most.

Keys that collide by chance cost some probes. If a search ends without a slot, encoding does not cache the piece, and
counting takes another secret (see growing_table.grown).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, part
from ..compiler.signature import int64, structure, uint8, uint64
from ..machine import secret
from ..machine.intrinsics import (
    LINE,
    address_of,
    polynomial_step,
    prefetch,
    read_i64,
    read_u8,
    read_u64,
    write_homes,
    write_u8,
    write_u64,
)
from ..machine.large_pages import zeros
from ..machine.secret import HOME, LONG

SLOT_WORDS = 4  # uint64 in a slot
INLINE_BYTES = 15  # the longest key that is stored in its slot
SPILL_BYTES = 16  # the most zeros that `copy_key` writes after a key
KEY_OVERHEAD = 16  # pool bytes that a long key needs in addition to its bytes: 8 for its length, 8 for reads past its end
LONG_KEY = np.uint64(0xFF << 56)  # key_high of a long key; in a slot its lower 56 bits are the pool offset
POOL_START = 8  # no long key has offset 0, so no key_high in a slot equals LONG_KEY itself, which a search uses
N_ENTRIES, POOL_USED, SECRET = 0, 1, 2  # the places of the numbers in PieceTable.state
STATE_SIZE = SECRET + secret.SIZE
# At most _USED of _OF slots may be in use. With four of eight, later passes over the bible in many languages took 6 % more
# time, and training on 320 MB in two processes 5 %.
_USED, _OF = 3, 8
# The most slots that a search reads. Even in a table that is half full, one search in 10^20 would need more.
MOST_PROBES = 256
NO_SLOT = -1  # the result of a search that has read MOST_PROBES slots in vain

_LENGTH_SHIFT = np.uint64(56)
_ONE = np.uint64(1)
_32 = np.uint64(32)
_LOW_HALF = np.uint64((1 << 32) - 1)
# The bytes of key_low and key_high that a key of each length uses.
_LOW_BYTES = np.array([(1 << 8 * min(n, 8)) - 1 for n in range(INLINE_BYTES + 1)], dtype=np.uint64)
_HIGH_BYTES = np.array([(1 << 8 * max(n - 8, 0)) - 1 for n in range(INLINE_BYTES + 1)], dtype=np.uint64)


@structure(uint64[:], uint8[:], int64[:])
class PieceTable(NamedTuple):
    """The arrays of the table; made by `new_table` only, so that each kernel is compiled for one type.

    slots : uint64[4 * capacity]   capacity is a power of two, 2 or more; 64-byte aligned
    pool  : uint8[*]               keys longer than INLINE_BYTES
    state : int64[STATE_SIZE]      number of entries, bytes used of the pool, and the table's secret
    """

    slots: NDArray[np.uint64]
    pool: NDArray[np.uint8]
    state: NDArray[np.int64]


class TableAddresses(NamedTuple):
    """A PieceTable in the form that compiled code takes: the addresses of its arrays, and the lengths of slots (in words)
    and pool."""

    slots: int
    n_words: int
    pool: int
    pool_size: int
    state: int


def new_table(capacity: int, pool_size: int) -> PieceTable:
    """Make an empty table of `capacity` slots (a power of two, 2 or more) with room for `pool_size` bytes of long keys."""
    slots = zeros(capacity * SLOT_WORDS)  # no slot crosses a cache line
    pool = np.empty(max(pool_size, POOL_START), dtype=np.uint8)
    return PieceTable(slots, pool, _new_state(0, POOL_START, secret.of_process()))


def _new_state(n_entries: int, pool_used: int, numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
    return np.concatenate([np.array([n_entries, pool_used], dtype=np.int64), numbers.view(np.int64)])


def clear(table: PieceTable) -> None:
    """Remove all keys from a table, which keeps its size and its secret."""
    table.slots[:] = 0
    table.state[:SECRET] = 0, POOL_START


def with_another_secret(table: PieceTable) -> PieceTable:
    """A table like `table` with a new secret, and still without entries: growing_table.rehash copies them."""
    n_entries, pool_used = table.state[:SECRET].tolist()
    return table._replace(slots=zeros(len(table.slots)), state=_new_state(n_entries, pool_used, secret.fresh()))


def slots_for(n: int) -> int:
    """The fewest slots with which a table takes `n` keys: a power of two, 4 or more."""
    n_slots = 4
    while n_slots * _USED < n * _OF:
        n_slots *= 2
    return n_slots


def is_full(table: PieceTable) -> bool:
    """Whether all slots that may be in use are, so that `insert` takes no more keys."""
    return int(table.state[N_ENTRIES]) * _OF * SLOT_WORDS >= _USED * len(table.slots)


@inlined
def home_secret_of(state_at):
    """The numbers of a table's secret that `home_slot` takes."""
    at = state_at + 8 * (SECRET + HOME)
    return read_u64(at), read_u64(at + 8), read_u64(at + 16)


@inlined
def home_slot(key_low, key_high, n_words, home_secret):
    """Where the search for a key starts, as an index into slots of `n_words` words; the key is as `key_of` returned it.

    See above, and intrinsics.write_homes, which does the same in vectors.
    """
    low_secret, high_secret, factor = home_secret
    mixed = mixed_words(key_low, key_high, low_secret, high_secret) * factor
    return np.int64((mixed >> _32) * np.uint64(SLOT_WORDS) & np.uint64(n_words - 1))


@inlined
def mixed_words(low, high, low_secret, high_secret):
    """The n of two words, see above."""
    low += low_secret
    high += high_secret
    return (low & _LOW_HALF) * (low >> _32) + (high & _LOW_HALF) * (high >> _32)


@inlined
def next_slot(slot, home, n_words):
    """The slot after another in the search that starts at `home`: first the other slot of its cache line, which is already
    loaded, then the slots from the next line on, in order."""
    if slot == home:
        return slot ^ SLOT_WORDS
    if slot == home ^ SLOT_WORDS:
        slot |= SLOT_WORDS
    return (slot + SLOT_WORDS) & (n_words - 1)


@inlined
def prefetch_homes(to_at, keys_at, table_at, home_secret):
    """Write the addresses of the home slots of LINE adjacent keys, and prefetch their cache lines."""
    write_homes(to_at, keys_at, home_secret, table_at.n_words - SLOT_WORDS, table_at.slots)
    for i in range(LINE):
        prefetch(read_i64(to_at + 8 * i))


@inlined
def key_of(key_at, length, state_at):
    """The two key words of the `length` (>= 1) bytes at an address; for a long key, its hash and LONG_KEY.

    state_at : address of the state of the table that is searched

    Reads 16 bytes or more, which must exist (unchecked).
    """
    if length <= INLINE_BYTES:
        low = read_u64(key_at) & _LOW_BYTES[length]
        high = read_u64(key_at + 8) & _HIGH_BYTES[length]
        return low, high | (np.uint64(length) << _LENGTH_SHIFT)
    return long_hash(key_at, length, state_at), LONG_KEY


@inlined
def long_hash(key_at, length, state_at):
    """The hash of a long key, by a table's secret; see above."""
    at = state_at + 8 * (SECRET + LONG)
    first, second, factor = read_u64(at), read_u64(at + 8), read_u64(at + 16)
    hashed = np.uint64(length)
    for i in range(0, length - 16, 16):
        mixed = mixed_words(read_u64(key_at + i), read_u64(key_at + i + 8), first, second)
        hashed = polynomial_step(hashed, factor, mixed)
    end_at = key_at + length
    return polynomial_step(hashed, factor, mixed_words(read_u64(end_at - 16), read_u64(end_at - 8), first, second))


@inlined
def equals_pool(stored_at, key_at, length):
    """Whether the key that the pool has at `stored_at` equals the long key of `length` bytes at `key_at`."""
    if read_u64(stored_at) != np.uint64(length):
        return False
    stored_at += 8
    for i in range(0, length - 8, 8):
        if read_u64(stored_at + i) != read_u64(key_at + i):
            return False
    return read_u64(stored_at + length - 8) == read_u64(key_at + length - 8)


@inlined
def table_addresses(table):
    """The TableAddresses of a PieceTable."""
    return TableAddresses(
        address_of(table.slots),
        table.slots.shape[0],
        address_of(table.pool),
        table.pool.shape[0],
        address_of(table.state),
    )


@inlined
def find(table_at, key_at, length, key_low, key_high):
    """The slot of a key, or the free slot where it belongs (its key_high is 0), or NO_SLOT.

    table_at          : TableAddresses
    key_at, length    : address and number of the key's bytes
    key_low, key_high : the key words, from key_of

    Cost: about one cache line.
    """
    home = home_slot(key_low, key_high, table_at.n_words, home_secret_of(table_at.state))
    return find_from(table_at, home, key_at, length, key_low, key_high)


@inlined
def find_from(table_at, home, key_at, length, key_low, key_high):
    """As `find`, for a key whose home slot is known."""
    slots_at, n_words = table_at.slots, table_at.n_words
    slot = home
    if key_high != LONG_KEY:
        for _ in range(MOST_PROBES):
            stored = read_u64(slots_at + 8 * slot + 8)
            if (stored == key_high and read_u64(slots_at + 8 * slot) == key_low) or stored == 0:
                return slot
            slot = next_slot(slot, home, n_words)
        return NO_SLOT
    for _ in range(MOST_PROBES):
        stored = read_u64(slots_at + 8 * slot + 8)
        if stored == 0:
            return slot
        same_hash = stored >= LONG_KEY and read_u64(slots_at + 8 * slot) == key_low
        if same_hash and equals_pool(table_at.pool + np.int64(stored ^ LONG_KEY), key_at, length):
            return slot
        slot = next_slot(slot, home, n_words)
    return NO_SLOT


@inlined
def swap_slots(table_at, slot, other):
    """Swap two keys with their values, of which one is in the home slot of the other. All keys are found as before.

    (The search for the key that was moved away reaches its former slot, and continues as the search for the other key did,
    which met no free slot. If both slots are in one cache line, it reads both, in either order. The key is no longer found
    only if this search needs more than MOST_PROBES slots, which is harmless in a cache.)
    """
    slot_at, other_at = table_at.slots + 8 * slot, table_at.slots + 8 * other
    for i in range(0, 8 * SLOT_WORDS, 8):
        word = read_u64(slot_at + i)
        write_u64(slot_at + i, read_u64(other_at + i))
        write_u64(other_at + i, word)


@inlined
def prefetch_key(table_at, slot):
    """Prefetch the pool entry of the key in a slot, which may be free; the slot itself is read.

    Keys that are read in the order of their slots are in random order in the pool. Without this, gathering half a million
    words took 1.6 times as long.
    """
    high = read_u64(table_at.slots + 8 * slot + 8)
    if high >= LONG_KEY:
        prefetch(table_at.pool + np.int64(high ^ LONG_KEY))


@inlined
def is_free(table_at, slot):
    """Whether a search did not find its key: the slot that it returned is free, or NO_SLOT."""
    return slot == NO_SLOT or read_u64(table_at.slots + 8 * slot + 8) == 0


@part
def insert(table_at, slot, key_at, length, key_low, key_high):
    """Insert a key into the free slot that `find` returned, with both values 0.

    Returns False, and changes nothing, if the table is full (see `is_full`), the pool has no room, or the slot is NO_SLOT:
    grow the table and find again.
    """
    state_at = table_at.state
    n_entries = read_u64(state_at + 8 * N_ENTRIES)
    if n_entries * np.uint64(_OF * SLOT_WORDS) >= np.uint64(_USED * table_at.n_words) or slot == NO_SLOT:
        return False
    if key_high == LONG_KEY:
        used = read_u64(state_at + 8 * POOL_USED)
        stored_at = table_at.pool + np.int64(used)
        if np.int64(used) + length + KEY_OVERHEAD > table_at.pool_size:
            return False
        write_u64(stored_at, np.uint64(length))
        copy_words(key_at, stored_at + 8, length)
        write_u64(state_at + 8 * POOL_USED, used + np.uint64(8 + length))
        key_high |= used
    slot_at = table_at.slots + 8 * slot
    write_u64(slot_at, key_low)
    write_u64(slot_at + 8, key_high)
    write_u64(slot_at + 16, np.uint64(0))
    write_u64(slot_at + 24, np.uint64(0))
    write_u64(state_at + 8 * N_ENTRIES, n_entries + _ONE)
    return True


@inlined
def copy_words(from_at, to_at, length):
    """Copy `length` bytes, and up to 7 bytes after them, for which there must be room, too."""
    for i in range(0, length, 8):
        write_u64(to_at + i, read_u64(from_at + i))


@inlined
def copy_key(table_at, slot, out_at):
    """Write the key of an occupied slot to an address, and up to SPILL_BYTES zeros after it; returns its length."""
    slot_at = table_at.slots + 8 * slot
    low, high = read_u64(slot_at), read_u64(slot_at + 8)
    if high < LONG_KEY:
        length = np.int64(high >> _LENGTH_SHIFT)
        write_u64(out_at, low)
        write_u64(out_at + 8, high & _HIGH_BYTES[INLINE_BYTES])
    else:
        stored_at = table_at.pool + np.int64(high ^ LONG_KEY)
        length = read_i64(stored_at)
        copy_words(stored_at + 8, out_at, length)
    write_u64(out_at + length, np.uint64(0))
    return length


@inlined
def copy_key_exactly(table_at, slot, out_at):
    """As `copy_key`, but without writing after the key: another thread may be writing there."""
    slot_at = table_at.slots + 8 * slot
    low, high = read_u64(slot_at), read_u64(slot_at + 8)
    length = key_length(table_at, slot)
    if high < LONG_KEY:
        for i in range(length):
            word = low if i < 8 else high
            write_u8(out_at + i, np.int64(word >> np.uint64(8 * (i & 7))) & 0xFF)
    else:
        stored_at = table_at.pool + np.int64(high ^ LONG_KEY) + 8
        for i in range(length):
            write_u8(out_at + i, read_u8(stored_at + i))
    return length


@inlined
def key_length(table_at, slot):
    """The length in bytes of the key in an occupied slot."""
    high = read_u64(table_at.slots + 8 * slot + 8)
    if high < LONG_KEY:
        return np.int64(high >> _LENGTH_SHIFT)
    return read_i64(table_at.pool + np.int64(high ^ LONG_KEY))
