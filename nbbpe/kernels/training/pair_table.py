"""Every pair that has occurred: its two symbols, its count now, and where it occurs.

A pair is known by its index; the linked words hold the index of the pair that starts at each position, so the merge loop
changes counts without a search. Nothing is taken out of a list of occurrences: a position whose pair has changed stays in
it, and is recognised because its row no longer holds the pair's index. All lists lie in one array, each in ascending order,
which gives the left-to-right rule for overlaps. When a pair is merged, its list is not needed any more, and new lists are
put there: so all lists together take 1.6 times the room of the first ones, or less, and not 2.1 times.

No pair is entered twice, so no hash table is needed to find one by its symbols: pairs of two bytes are found in a table
of 65,536, and every other pair has a newest symbol, and all its occurrences appear in the merge that makes that symbol (or,
where training goes on from a vocabulary, before the first merge).
(No two merges make the same token: wherever the bytes of a token stand between two symbol boundaries, they have gone
through the same merges, so they are one symbol as soon as the token exists.)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int32, int64, reads, structure, uint8
from .linked_words import NONE, PAIR, SYMBOL, LinkedWords, link_symbol, word_count_at

N_PAIRS, N_OCCURRENCES = 0, 1  # where PairTable.state keeps its numbers
N_BYTE_PAIRS = 1 << 16


@structure(int32[:], int32[:], int64[:], int64[:], int32[:], int32[:], int64[:])
class PairTable(NamedTuple):
    """The arrays of the table; all but the last two have one entry a pair.

    left, right : int32   the two symbols
    counts      : int64   how often the pair occurs now, by word counts; it may exceed the length of its list
    starts      : int64   where its occurrences start in `occurrences`
    lengths     : int32   how many entries its list has, stale ones included; 0 when the pair has been merged
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


@inlined
def count_new_pair(pair_at, symbol, left, right, weight, first_new, n_pairs, table):
    """Count an occurrence of a pair whose newest symbol is the present one; it is entered when it is first met.

    pair_at : int32[n_tokens], modified    left_at or right_at of Tokens, in which `symbol` names the pair (left, right)
    weight  : int64                        how often the occurrence counts
    first_new, n_pairs : int64             the first pair that is new, and how many pairs there are

    Returns the pair and the new number of pairs.
    """
    pair = np.int64(pair_at[symbol])
    if pair < first_new:
        pair = n_pairs
        pair_at[symbol] = pair
        add_pair(left, right, pair, table.left, table.right, table.counts, table.lengths)
        n_pairs += 1
    table.counts[pair] += weight
    table.lengths[pair] += 1
    return pair, n_pairs


@kernel(reads(uint8[:]), reads(int64[:]), reads(int64[:]), int64, int64, int32[:], int64[:])
def count_byte_pairs(text, starts, counts, first_word, end_word, lengths, sums):
    """Count the pairs of bytes in the words from `first_word` to `end_word`.

    text, starts, counts : uint8[*], int64[n_words + 1], int64[n_words]    words in CSR form
    lengths : int32[N_BYTE_PAIRS], modified    at left * 256 + right: at how many positions the pair starts
    sums    : int64[N_BYTE_PAIRS], modified    how often it occurs, by word counts

    Cost: O(n), 2 ns a byte.
    """
    for word in range(first_word, end_word):
        for position in range(starts[word], starts[word + 1] - 1):
            pair = np.int64(text[position]) << 8 | np.int64(text[position + 1])
            lengths[pair] += 1
            sums[pair] += counts[word]


@kernel(reads(uint8[:]), reads(int64[:]), reads(int64[:]), int64, int64, reads(int32[:]), int64[:], LinkedWords, int32[:])
def link_bytes(text, starts, counts, first_word, end_word, pair_of_bytes, list_ends, words, occurrences):
    """Fill the rows of the words from `first_word` to `end_word` with their bytes and pairs, and list where these occur.

    text, starts, counts : uint8[*], int64[n_words + 1], int64[n_words]    words in CSR form
    pair_of_bytes : int32[N_BYTE_PAIRS]       the index of each pair, at left * 256 + right
    list_ends     : int64[n_pairs], modified  where the next occurrence of each pair is written
    words         : LinkedWords, modified
    occurrences   : int32[*], modified        those of a PairTable

    Cost: O(n), 8 ns a byte.
    """
    for word in range(first_word, end_word):
        last = starts[word + 1] - 1
        for position in range(starts[word], last + 1):
            pair = np.int64(NONE)
            if position < last:
                pair = np.int64(pair_of_bytes[np.int64(text[position]) << 8 | np.int64(text[position + 1])])
                occurrences[list_ends[pair]] = position
                list_ends[pair] += 1
            link_symbol(words, position, text[position], pair, counts[word])


@kernel(
    PairTable,
    LinkedWords,
    reads(int64[:]),
    reads(int32[:]),
    reads(int64[:]),
    reads(int32[:]),
    int32[:],
    int32[:],
    int32[:],
    int64[:],
    int32[:],
)
def enter_first_pairs(
    table, words, starts, symbols, symbol_starts, symbol_lengths, pair_of_bytes, left_at, right_at, of_newest, by_newest
):
    """Enter all pairs of words before the first merge, with counts and occurrences.

    table          : PairTable, filled    empty, with room for all pairs and an occurrence for each position
    words          : LinkedWords          PAIR is filled, the rest is read
    starts         : int64[n_words + 1]   where each word's positions start
    symbols        : int32[*]             the symbols of all words, one after another, as they are linked
    symbol_starts  : int64[n_words + 1]   where each word's symbols start in it
    symbol_lengths : int32[n_symbols]     bytes of each symbol; those below 256 are the bytes
    pair_of_bytes  : int32[N_BYTE_PAIRS], scratch, NONE throughout
    left_at, right_at : int32[>= n_symbols], modified, NONE throughout   those of Tokens; afterwards their entries are stale
    of_newest      : int64[n_symbols + 1], scratch, 0 throughout
    by_newest      : int32[*], scratch    room for each position where a pair that is not of two bytes starts

    The pairs of each newest symbol are taken together, as they are in a merge.

    Cost: two passes over the positions, and two more over those of pairs that are not of two bytes.
    """
    nodes = words.nodes
    left, right, counts, lengths, occurrences = table.left, table.right, table.counts, table.lengths, table.occurrences
    n_pairs = np.int64(0)
    n_others = np.int64(0)
    for word in range(starts.shape[0] - 1):
        position = starts[word]
        for i in range(symbol_starts[word], symbol_starts[word + 1] - 1):
            symbol, following = symbols[i], symbols[i + 1]
            newest = max(symbol, following)
            if newest > 255:
                of_newest[newest] += 1
                n_others += 1
            else:
                key = symbol * 256 + following
                pair = pair_of_bytes[key]
                if pair == NONE:
                    pair = n_pairs
                    pair_of_bytes[key] = pair
                    add_pair(symbol, following, pair, left, right, counts, lengths)
                    n_pairs += 1
                counts[pair] += word_count_at(words, position)
                lengths[pair] += 1
                nodes[position, PAIR] = pair
            position += symbol_lengths[symbol]
    if n_others:
        n_before = np.int64(0)
        for newest in range(of_newest.shape[0]):  # from numbers to where each newest symbol's positions start
            n_of_this = of_newest[newest]
            of_newest[newest] = n_before
            n_before += n_of_this
        for word in range(starts.shape[0] - 1):
            position = starts[word]
            for i in range(symbol_starts[word], symbol_starts[word + 1] - 1):
                newest = max(symbols[i], symbols[i + 1])
                if newest > 255:
                    by_newest[of_newest[newest]] = position
                    of_newest[newest] += 1
                position += symbol_lengths[symbols[i]]
        first_new = n_pairs
        present = np.int64(0)
        for i in range(n_others):
            position = np.int64(by_newest[i])
            symbol = nodes[position, SYMBOL]
            following = nodes[position + symbol_lengths[symbol], SYMBOL]
            newest = max(symbol, following)
            if newest != present:
                present = newest
                first_new = n_pairs
            weight = word_count_at(words, position)
            if following == newest:
                pair, n_pairs = count_new_pair(left_at, symbol, symbol, following, weight, first_new, n_pairs, table)
            else:
                pair, n_pairs = count_new_pair(right_at, following, symbol, following, weight, first_new, n_pairs, table)
            nodes[position, PAIR] = pair
    n_occurrences = reserve_lists(0, n_pairs, 0, 0, 0, table.starts, lengths)
    for position in range(nodes.shape[0]):
        pair = nodes[position, PAIR]
        if pair != NONE:
            occurrences[table.starts[pair] + lengths[pair]] = position
            lengths[pair] += 1
    table.state[N_PAIRS] = n_pairs
    table.state[N_OCCURRENCES] = n_occurrences


@inlined
def reserve_lists(first_pair, end_pair, n_occurrences, free, n_free, starts, lengths):
    """Give each of the pairs a list as long as `lengths` says, and set its length to 0.

    free, n_free : int64, a part of the occurrences that is not needed any more: lists that fit there are put there, all
                   others behind the `n_occurrences` in use

    Returns the number of occurrences in use afterwards.
    """
    for pair in range(first_pair, end_pair):
        length = lengths[pair]
        lengths[pair] = 0
        if length <= n_free:
            starts[pair] = free
            free += length
            n_free -= length
        else:
            starts[pair] = n_occurrences
            n_occurrences += length
    return n_occurrences
