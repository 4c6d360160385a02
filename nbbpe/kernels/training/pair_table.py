"""Every pair that has occurred: its two symbols, its count now, and where it occurs.

A pair is known by its index, in order of first occurrence; the linked words hold the index of the pair that starts at
each position, so the merge loop changes counts without a search. Occurrence lists only grow: a position whose
pair has changed stays in the list, and is recognised because its row no longer holds the pair's index.
All lists lie in one array, each in ascending order, which gives the left-to-right rule for overlaps.

No pair is entered twice, so no hash table is needed to find one by its symbols: pairs of two bytes are found in a table
of 65,536, and every other pair has a newest symbol, and all its occurrences appear in the merge that makes that symbol.
(No two merges make the same token: wherever the bytes of a token stand between two symbol boundaries, they have gone
through the same merges, so they are one symbol as soon as the token exists.)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int32, int64, structure
from .linked_words import NONE, PAIR, SYMBOL, LinkedWords

N_PAIRS, N_OCCURRENCES = 0, 1  # where PairTable.state keeps its numbers
N_BYTE_PAIRS = 1 << 16


@structure(int32[:], int32[:], int64[:], int64[:], int32[:], int32[:], int64[:])
class PairTable(NamedTuple):
    """The arrays of the table; all but the last two have one entry a pair.

    left, right : int32   the two symbols
    counts      : int64   how often the pair occurs now, by word counts; it may exceed the length of its list
    starts      : int64   where its occurrences start in `occurrences`
    lengths     : int32   how many entries its list has, stale ones included
    occurrences : int32[*]      positions
    state       : int64[2]   pairs in use, occurrences in use
    """

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]
    occurrences: NDArray[np.int32]
    state: NDArray[np.int64]


def new_pair_table(n_pairs: int, n_occurrences: int) -> PairTable:
    """Make an empty table with room for so many pairs and occurrences (memory is touched only as it fills)."""
    return PairTable(
        left=np.empty(n_pairs, dtype=np.int32),
        right=np.empty(n_pairs, dtype=np.int32),
        counts=np.empty(n_pairs, dtype=np.int64),
        starts=np.empty(n_pairs, dtype=np.int64),
        lengths=np.empty(n_pairs, dtype=np.int32),
        occurrences=np.empty(n_occurrences, dtype=np.int32),
        state=np.zeros(2, dtype=np.int64),
    )


@inlined
def add_pair(left_symbol, right_symbol, n_pairs, left, right, counts, lengths):
    """Write an empty entry at index `n_pairs`; the caller adds one to its number of pairs."""
    left[n_pairs] = left_symbol
    right[n_pairs] = right_symbol
    counts[n_pairs] = 0
    lengths[n_pairs] = 0


@kernel(PairTable, LinkedWords, int32[:])
def enter_first_pairs(table, words, pair_of_bytes):
    """Enter all pairs of words whose symbols are single bytes, with counts and occurrences.

    table         : PairTable, filled    empty, with room for N_BYTE_PAIRS pairs and an occurrence for each position
    words         : LinkedWords          PAIR is filled, the rest is read
    pair_of_bytes : int32[N_BYTE_PAIRS], scratch, NONE throughout

    Cost: two passes over the positions.
    """
    nodes, word_of, word_counts = words.nodes, words.words, words.counts
    left, right, counts, starts, lengths = table.left, table.right, table.counts, table.starts, table.lengths
    occurrences = table.occurrences
    n_pairs = 0
    for position in range(nodes.shape[0] - 1):
        if word_of[position + 1] != word_of[position]:
            continue
        key = nodes[position, SYMBOL] * 256 + nodes[position + 1, SYMBOL]
        pair = pair_of_bytes[key]
        if pair == NONE:
            pair = n_pairs
            pair_of_bytes[key] = pair
            add_pair(nodes[position, SYMBOL], nodes[position + 1, SYMBOL], pair, left, right, counts, lengths)
            n_pairs += 1
        counts[pair] += word_counts[word_of[position]]
        lengths[pair] += 1
        nodes[position, PAIR] = pair
    n_occurrences = reserve_lists(0, n_pairs, 0, starts, lengths)
    for position in range(nodes.shape[0]):
        pair = nodes[position, PAIR]
        if pair != NONE:
            occurrences[starts[pair] + lengths[pair]] = position
            lengths[pair] += 1
    table.state[N_PAIRS] = n_pairs
    table.state[N_OCCURRENCES] = n_occurrences


@inlined
def reserve_lists(first_pair, end_pair, n_occurrences, starts, lengths):
    """Give each of the pairs a list as long as `lengths` says, from `n_occurrences` on, and set its length to 0.

    Returns the number of occurrences in use afterwards.
    """
    for pair in range(first_pair, end_pair):
        starts[pair] = n_occurrences
        n_occurrences += lengths[pair]
        lengths[pair] = 0
    return n_occurrences
