"""Distinct words for training: symbols in CSR form, and the linked rows that merging rewires.

The symbols of all words stand one after another; `starts[w]` to `starts[w + 1]` are those of word w. A merge removes a
symbol without moving the others: the left position of the pair takes the new symbol, the right one is unlinked. A symbol
has as many positions as bytes, so its length leads to the symbol after it; the last position of a symbol of several bytes
holds that length too, which leads back. That takes 8 bytes a position; two links would take 16.

The merge loop also needs the count of each position's word, which two bytes a position say, at an address known in advance.
The number of the word would take four, and its count would be one more look-up, in memory that is in no cache: the loop
took 1.2 times as long on half a million words. Counts that two bytes cannot hold are searched for: even in hundreds of
gigabytes only some ten thousand words occur so often.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, kernel, part
from ..compiler.signature import int32, int64, reads, structure, uint8, uint16

NONE = -1  # no position, no pair
SYMBOL, PAIR = range(2)  # the columns of LinkedWords.nodes
MANY = 2**16 - 1  # in LinkedWords.counts: this or more

# Of digest_words. Changing one changes the corpus fingerprint of every text.
_ZERO, _27, _30, _31 = (np.uint64(n) for n in (0, 27, 30, 31))
_MIX_1, _MIX_2, _FNV_PRIME = (np.uint64(n) for n in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0x100000001B3))


@structure(int32[:, :], uint16[:], int32[:], int64[:])
class LinkedWords(NamedTuple):
    """Made by `new_linked_words`.

    nodes  : int32[n_positions, 2]   one row a position; both numbers of a row are in one cache line:
                 SYMBOL      token id of the symbol that starts here; or minus the length of the longer symbol that
                             ends here; the positions between these are not used
                 PAIR        index of the pair of this symbol and the next; NONE at a word's end and where unlinked
    counts : uint16[n_positions]     how often the word of the position occurs, or MANY
    frequent_starts : int32[*]       the first position of each word that occurs MANY times or more, ascending
    frequent_counts : int64[*]       how often each of these occurs
    """

    nodes: NDArray[np.int32]
    counts: NDArray[np.uint16]
    frequent_starts: NDArray[np.int32]
    frequent_counts: NDArray[np.int64]


def new_linked_words(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> LinkedWords:
    """Make room for the rows of words in CSR form (`starts`, `counts`), which `link_bytes` or `link_symbols` fills.

    Raises OverflowError where there are more positions than an int32 can number.
    """
    n_positions = int(starts[-1])
    if n_positions >= 2**31 - 1:
        raise OverflowError(
            f"the distinct words hold {n_positions:,} bytes, and at most {2**31 - 2:,} can be trained on at once; "
            "use a split pattern that gives shorter pretokens, or less text"
        )
    frequent = np.flatnonzero(counts >= MANY)
    return LinkedWords(
        nodes=np.empty((n_positions, 2), dtype=np.int32),
        counts=np.empty(n_positions, dtype=np.uint16),
        frequent_starts=starts[frequent].astype(np.int32),
        frequent_counts=counts[frequent],
    )


@inlined
def link_symbol(words, position, symbol, pair, count):
    """Fill the row of a position, of a word that occurs `count` times."""
    words.nodes[position, SYMBOL] = symbol
    words.nodes[position, PAIR] = pair
    words.counts[position] = min(count, MANY)


@kernel(reads(int64[:]), reads(int64[:]), reads(int32[:]), reads(int64[:]), reads(int32[:]), LinkedWords)
def link_symbols(starts, counts, symbols, symbol_starts, lengths, words):
    """Fill linked words with symbols of one or more bytes, as the merges that made these would have left them, but for
    pairs.

    starts        : int64[n_words + 1]   where each word's positions start
    counts        : int64[n_words]       how often each word occurs
    symbols       : int32[*]             the symbols of all words, one after another
    symbol_starts : int64[n_words + 1]   where each word's symbols start in it
    lengths       : int32[n_symbols]     the bytes of each symbol
    words         : LinkedWords, filled  PAIR is NONE throughout; positions within a symbol get minus 1

    Cost: O(n).
    """
    for word in range(starts.shape[0] - 1):
        position = starts[word]
        for i in range(symbol_starts[word], symbol_starts[word + 1]):
            end = position + lengths[symbols[i]]
            link_symbol(words, position, symbols[i], NONE, counts[word])
            for inside in range(position + 1, end - 1):
                link_symbol(words, inside, -1, NONE, counts[word])
            if end > position + 1:
                link_symbol(words, end - 1, position - end, NONE, counts[word])
            position = end


@inlined
def word_count_at(words, position):
    """How often the word of a position occurs."""
    count = np.int64(words.counts[position])
    return count if count < MANY else frequent_count_at(words, position)


@part
def frequent_count_at(words, position):
    """As `word_count_at`, of a word that occurs MANY times or more. Cost: O(log n) of such words."""
    starts = words.frequent_starts
    low, high = 0, starts.shape[0]
    while high - low > 1:
        middle = (low + high) >> 1
        if starts[middle] <= position:
            low = middle
        else:
            high = middle
    return words.frequent_counts[low]


@inlined
def _mix(x):
    """Spread every bit of a uint64 over all of them (the finaliser of SplitMix64); a bijection."""
    x = (x ^ (x >> _30)) * _MIX_1
    x = (x ^ (x >> _27)) * _MIX_2
    return x ^ (x >> _31)


@kernel(reads(uint8[:]), reads(int64[:]), reads(int64[:]))
def digest_words(text, starts, counts):
    """A digest of words and their counts that does not depend on their order, uint64.

    text, starts, counts : words as bytes in CSR form, read

    The sum over all words of a hash of its count and bytes (FNV-1a between two mixes). Words must be distinct (unchecked).
    Cost: O(n), 1 ns a byte.
    """
    total = _ZERO
    for word in range(counts.shape[0]):
        hashed = _mix(np.uint64(counts[word]))
        for position in range(starts[word], starts[word + 1]):
            hashed = (hashed ^ np.uint64(text[position])) * _FNV_PRIME
        total += _mix(hashed)
    return total
