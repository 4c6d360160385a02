"""The pairs that have occurred: their two symbols, their present count, and where they occur.

Pairs that are too rare to be merged before the vocabulary is full are not entered, see merge_loop.py.

A pair is identified by its index. A merge lowers the counts of the pairs around it, which are found by their symbols in a
hash table: one search for each pair, not for each occurrence, as all its occurrences in the merge are added up first (in
the row of the new pair that takes its place, which needs no search).

The hash table has 2^k slots, and a search continues from slot to slot. It begins at the pair's home, the highest k bits of
a secret odd number (see secret.py) times the key, which is the two symbols. For anybody who does not know the secret, any
two keys share a home with a probability of at most 2 / 2^k (Dietzfelbinger et al., 1997).

An occurrence is a boundary between two symbols, see linked_words.py. Nothing is removed from a list of occurrences: a
boundary whose symbols have changed stays in it, and is recognised by its two cells. All lists are in one array, each in
ascending order, which gives the left-to-right rule for overlaps. When a pair is merged, its list is not needed any more,
and new lists are put there if they fit: so all lists of a text together take at most 1.6 times the room of the first lists,
and not 2.1 times. (For a long word of random bytes, merged to the end, they take twice that room.)

No pair is entered twice: a pair that a merge makes has a new symbol, and all its occurrences appear in that merge. (No two
merges make the same token: wherever the bytes of a token are between two boundaries, they have gone through the same
merges, so they are one symbol as soon as the token exists.)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int32, int64, reads, structure, uint8, uint32
from ..machine import secret
from ..machine.large_pages import zeros_of
from .linked_words import LinkedWords, edge_of, new_cell, symbol_in, word_count_at

NONE = -1  # in place of the number of a pair, a group, a source or a new pair
KEY, COUNT = range(2)  # the columns of PairTable.rows
N_PAIRS, N_OCCURRENCES, SHIFT, FACTOR = range(4)  # indexes of the numbers in PairTable.state
N_BYTE_PAIRS = 1 << 16
MOST_PAIRS = 2**31 - 1  # as many as a slot can distinguish
SLOTS_PER_PAIR = 2  # at least: searches are short

_GROUP_STEP = np.uint64(0xD1B54A32D192ED03)


@structure(int64[:, :], int64[:], uint32[:], int32[:], uint32[:], int32[:], int64[:])
class PairTable(NamedTuple):
    """The arrays of the table; all but the last four have one entry a pair.

    rows        : int64[n_pairs, 2]   both numbers of a row are in one cache line:
                      KEY     the two symbols, left << 32 | right
                      COUNT   how often the pair occurs at present, by word counts; it may exceed the length of its list
    starts      : int64   where its occurrences start in `occurrences`
    lengths     : uint32  how many entries its list has, stale ones included; 0 when the pair has been merged
    groups      : int32   the group of words that the entry is for, see parity_loop.py; int32[0] if all are for group 0
    occurrences : uint32[*]     boundaries
    slots       : int32[2**k]   hash table: a pair + 1, or 0
    state       : int64[4]   pairs in use, occurrences in use; 64 - k; the secret number
    """

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.uint32]
    groups: NDArray[np.int32]
    occurrences: NDArray[np.uint32]
    slots: NDArray[np.int32]
    state: NDArray[np.int64]


def new_pair_table(n_pairs: int, n_occurrences: int) -> PairTable:
    """Make an empty table with room for `n_pairs` and `n_occurrences` (memory is touched only as it fills); no slots."""
    factor = secret.of_process()[secret.PAIRS].view(np.int64)
    return PairTable(
        rows=zeros_of(np.int64, 2 * n_pairs).reshape(-1, 2),
        starts=zeros_of(np.int64, n_pairs),
        lengths=zeros_of(np.uint32, n_pairs),
        groups=np.empty(0, dtype=np.int32),
        occurrences=zeros_of(np.uint32, n_occurrences),
        slots=np.zeros(0, dtype=np.int32),
        state=np.array([0, 0, 0, factor], dtype=np.int64),
    )


@inlined
def key_of(left, right):
    """The key of two symbols."""
    return np.int64(left) << 32 | np.int64(right)


@inlined
def symbols_of(key):
    """The two symbols of a key."""
    return key >> 32, key & 0xFFFFFFFF


@inlined
def home_slot(key, group, table):
    """The slot where the search for a pair of a group begins."""
    hashed = (np.uint64(key) + np.uint64(group) * _GROUP_STEP) * np.uint64(table.state[FACTOR])
    return np.int64(hashed >> np.uint64(table.state[SHIFT]))


@inlined
def group_of(pair, table):
    """The group of an entry."""
    return np.int64(table.groups[pair]) if table.groups.shape[0] else np.int64(0)


@inlined
def enter_pair(pair, key, group, table):
    """Enter a pair into the hash table; it has no slot yet, and one must be free."""
    slots = table.slots
    slot = home_slot(key, group, table)
    while slots[slot] != 0:
        slot = (slot + 1) & (slots.shape[0] - 1)
    slots[slot] = pair + 1


@inlined
def find_pair(key, group, table):
    """The entry of a key in a group, or NONE."""
    slots = table.slots
    slot = home_slot(key, group, table)
    pair = np.int64(slots[slot]) - 1
    while pair != NONE and (table.rows[pair, KEY] != key or group_of(pair, table) != group):
        slot = (slot + 1) & (slots.shape[0] - 1)
        pair = np.int64(slots[slot]) - 1
    return pair


@kernel(PairTable)
def enter_all_pairs(table):
    """Fill the empty slots of a table with its pairs. Cost: O(n)."""
    for pair in range(table.state[N_PAIRS]):
        enter_pair(pair, table.rows[pair, KEY], group_of(pair, table), table)


def with_slots(table: PairTable, n_pairs: int) -> PairTable:
    """A table with new slots, for at least `n_pairs` pairs (memory is touched as they fill)."""
    bits = max(SLOTS_PER_PAIR * n_pairs - 1, 1).bit_length()
    table = table._replace(slots=zeros_of(np.int32, 1 << bits))
    table.state[SHIFT] = 64 - bits
    enter_all_pairs(table)
    return table


@inlined
def add_pair(key, pair, table):
    """Write an empty entry at index `pair`; the caller increases the number of pairs."""
    table.rows[pair, KEY] = key
    table.rows[pair, COUNT] = 0
    table.lengths[pair] = 0


@kernel(reads(uint8[:]), reads(int64[:]), reads(int64[:]), int64, int64, uint32[:], int64[:])
def count_byte_pairs(text, starts, counts, first_word, end_word, lengths, sums):
    """Count the pairs of bytes in the words from `first_word` to `end_word`.

    text, starts, counts : uint8[*], int64[n_words + 1], int64[n_words]    words in CSR form
    lengths : uint32[N_BYTE_PAIRS], modified    at left * 256 + right: at how many boundaries the pair is
    sums    : int64[N_BYTE_PAIRS], modified    how often it occurs, by word counts

    Cost: O(n), 2 ns a byte.
    """
    for word in range(first_word, end_word):
        for position in range(starts[word], starts[word + 1] - 1):
            pair = np.int64(text[position]) << 8 | np.int64(text[position + 1])
            lengths[pair] += 1
            sums[pair] += counts[word]


@kernel(reads(uint8[:]), reads(int64[:]), reads(int64[:]), int64, int64, int64[:], LinkedWords, uint32[:])
def link_bytes(text, starts, counts, first_word, end_word, list_ends, words, occurrences):
    """Fill the cells of the words from `first_word` to `end_word` with their bytes, and list where their pairs occur.

    text, starts, counts : uint8[*], int64[n_words + 1], int64[n_words]    words in CSR form
    list_ends   : int64[N_BYTE_PAIRS], modified  where the next occurrence of each pair is written, at left * 256 + right
    words       : LinkedWords, modified
    occurrences : uint32[*], modified            see PairTable

    Cost: O(n), 8 ns a byte.
    """
    cells, symbol_bits = words.cells, words.symbol_bits
    for word in range(first_word, end_word):
        shift = word + 1
        first, end = starts[word], starts[word + 1]
        for position in range(first, end):
            cells[position + shift] = new_cell(np.int64(text[position]), counts[word], symbol_bits)
            if position > first:
                pair = np.int64(text[position - 1]) << 8 | np.int64(text[position])
                occurrences[list_ends[pair]] = position + shift
                list_ends[pair] += 1
        cells[end + shift] = edge_of(symbol_bits)


@inlined
def next_symbol(words, token_starts, position):
    """Where the symbol or edge after the one at a position begins; `token_starts` as TieRule.starts."""
    symbol = symbol_in(words.cells[position], words.symbol_bits)
    is_edge = symbol == edge_of(words.symbol_bits)
    return position + (1 if is_edge else token_starts[symbol + 1] - token_starts[symbol])


@inlined
def pair_before(words, position, boundary):
    """The key of the symbol that begins at a position and of the next one, at `boundary`; NONE if one is an edge."""
    edge = edge_of(words.symbol_bits)
    left, right = symbol_in(words.cells[position], words.symbol_bits), symbol_in(words.cells[boundary], words.symbol_bits)
    return np.int64(NONE) if left == edge or right == edge else key_of(left, right)


@kernel(LinkedWords, reads(int64[:]))
def count_boundaries(words, token_starts):
    """How many boundaries between symbols linked words have.

    token_starts : int64[n_tokens + 1]   where each symbol's bytes start, as in TieRule

    Cost: O(n).
    """
    n = np.int64(0)
    position, last = np.int64(0), words.cells.shape[0] - 1
    while position < last:
        boundary = next_symbol(words, token_starts, position)
        n += pair_before(words, position, boundary) != NONE
        position = boundary
    return n


@kernel(PairTable, LinkedWords, reads(int64[:]))
def enter_linked_pairs(table, words, token_starts):
    """Enter all pairs of linked words, with counts and occurrences.

    table        : PairTable, filled      empty, with room and slots for all pairs and for an occurrence at each boundary
    words        : LinkedWords
    token_starts : int64[n_tokens + 1]    where each symbol's bytes start, as in TieRule

    Cost: two searches for each boundary.
    """
    rows, lengths, occurrences = table.rows, table.lengths, table.occurrences
    n_pairs = np.int64(0)
    position, last = np.int64(0), words.cells.shape[0] - 1
    while position < last:
        boundary = next_symbol(words, token_starts, position)
        key = pair_before(words, position, boundary)
        position = boundary
        if key == NONE:
            continue
        pair = find_pair(key, 0, table)
        if pair == NONE:
            pair = n_pairs
            n_pairs += 1
            add_pair(key, pair, table)
            enter_pair(pair, key, 0, table)
        rows[pair, COUNT] += word_count_at(words, boundary)
        lengths[pair] += 1
    table.state[N_PAIRS] = n_pairs
    n_occurrences = np.int64(0)
    for pair in range(n_pairs):
        table.starts[pair] = n_occurrences
        n_occurrences += lengths[pair]
        lengths[pair] = 0
    table.state[N_OCCURRENCES] = n_occurrences
    position = np.int64(0)
    while position < last:
        boundary = next_symbol(words, token_starts, position)
        key = pair_before(words, position, boundary)
        position = boundary
        if key != NONE:
            pair = find_pair(key, 0, table)
            occurrences[table.starts[pair] + lengths[pair]] = boundary
            lengths[pair] += 1
