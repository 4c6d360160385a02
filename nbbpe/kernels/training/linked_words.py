"""Distinct words for training: one cell of four bytes for each byte of a word, in which symbols are merged in place.

A symbol has as many cells as bytes. Its first and its last cell hold its id; the cells between are not read. A boundary
between two symbols of a word is given by the position of the cell after it. So the cell before the boundary holds the left
symbol, and the cell after it the right one: the pair at a boundary is read without a link. Merging a pair writes two cells,
the first one of its left symbol and the last one of its right symbol. The symbols around the pair are in the cells next to
these, which are found by the lengths of the two symbols.

A boundary disappears when the pair around it is merged. It is never mistaken for a boundary of another pair: each of its
two cells still holds its symbol of that time, or a newer one, and the only list of occurrences that has this boundary for
the two symbols of that time is the list of the merged pair, which is not read again.

A cell also holds the count of its word, so that everything that the merge loop reads at a boundary is in one or two
cache lines. The symbol takes as many bits as the number of tokens needs, the count takes the others, and a count that is
too large for them is found by a search. There is an edge cell before the first word, between two words, and after the last.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, kernel, part
from ..compiler.signature import int32, int64, reads, structure, uint32
from ..machine.large_pages import zeros_of

MOST_CELLS = 2**32 - 1  # as many as a position of four bytes can address


@structure(uint32[:], uint32[:], int64[:], int64)
class LinkedWords(NamedTuple):
    """Made by `new_linked_words`.

    cells : uint32[n_bytes + n_words + 1]   symbol | count << symbol_bits; word w begins at starts[w] + w + 1
    frequent_starts : uint32[*]             the first cell of each word whose count is too large for a cell, ascending
    frequent_counts : int64[*]              how often each of these occurs
    symbol_bits     : int64                 the low bits of a cell: all set for an edge; all others set for a large count
    """

    cells: NDArray[np.uint32]
    frequent_starts: NDArray[np.uint32]
    frequent_counts: NDArray[np.int64]
    symbol_bits: int


def n_cells(n_words: int, n_bytes: int) -> int:
    """How many cells words take."""
    return n_bytes + n_words + 1


def new_linked_words(starts: NDArray[np.int64], counts: NDArray[np.int64], n_tokens: int) -> LinkedWords:
    """Make room for the cells of words in CSR form (`starts`, `counts`), which `link_bytes` or `link_symbols` fill; their
    symbols will be below `n_tokens`, which is below 2**31.

    Raises OverflowError if there are more than MOST_CELLS.
    """
    n_words, n_bytes = len(counts), int(starts[-1])
    if n_cells(n_words, n_bytes) > MOST_CELLS:
        raise OverflowError(
            f"the {n_words:,} distinct words hold {n_bytes:,} bytes, and words and bytes can be at most {MOST_CELLS - 1:,} "
            "together; use a split pattern that gives shorter pretokens, or less text"
        )
    symbol_bits = n_tokens.bit_length()
    cells = zeros_of(np.uint32, n_cells(n_words, n_bytes))
    cells[0] = edge_of.function(symbol_bits)
    frequent = np.flatnonzero(counts >= many_of.function(symbol_bits))
    return LinkedWords(cells, (starts[frequent] + frequent + 1).astype(np.uint32), counts[frequent], symbol_bits)


@inlined
def edge_of(symbol_bits):
    """The number in place of a symbol in the cells between words."""
    return (1 << symbol_bits) - 1


@inlined
def many_of(symbol_bits):
    """The largest count that a cell can hold, which stands for larger ones, too."""
    return (1 << 32 - symbol_bits) - 1


@inlined
def symbol_in(cell, symbol_bits):
    """The symbol in a cell, or an edge."""
    return np.int64(cell) & ((1 << symbol_bits) - 1)


@inlined
def new_cell(symbol, count, symbol_bits):
    """A cell of a word that occurs `count` times."""
    return np.uint32(symbol | min(count, many_of(symbol_bits)) << symbol_bits)


@inlined
def with_symbol(cell, symbol, symbol_bits):
    """The cell with another symbol, as an int64."""
    return np.int64(cell) >> symbol_bits << symbol_bits | symbol


@kernel(reads(int64[:]), reads(int64[:]), reads(int32[:]), reads(int64[:]), reads(int32[:]), LinkedWords)
def link_symbols(starts, counts, symbols, symbol_starts, lengths, words):
    """Fill linked words with symbols of one or more bytes, as they would be after the merges that made these symbols.

    starts        : int64[n_words + 1]   where each word's bytes start
    counts        : int64[n_words]       how often each word occurs
    symbols       : int32[*]             the symbols of all words, one after another
    symbol_starts : int64[n_words + 1]   where each word's symbols start in `symbols`
    lengths       : int32[n_symbols]     the bytes of each symbol
    words         : LinkedWords, filled  all cells of a symbol hold it

    Cost: O(n).
    """
    cells, symbol_bits = words.cells, words.symbol_bits
    for word in range(counts.shape[0]):
        position = starts[word] + word + 1
        for i in range(symbol_starts[word], symbol_starts[word + 1]):
            end = position + lengths[symbols[i]]
            for inside in range(position, end):
                cells[inside] = new_cell(np.int64(symbols[i]), counts[word], symbol_bits)
            position = end
        cells[position] = edge_of(symbol_bits)


@inlined
def word_count_at(words, position):
    """How often the word at a position occurs."""
    return word_count(words.cells[position], words, position)


@inlined
def word_count(cell, words, position):
    """As `word_count_at`, if the cell is already read."""
    count = np.int64(cell) >> words.symbol_bits
    return count if count < many_of(words.symbol_bits) else frequent_count_at(words, position)


@part
def frequent_count_at(words, position):
    """As `word_count_at`, for a word whose count is too large for a cell. Cost: O(log n) for n such words."""
    starts = words.frequent_starts
    low, high = 0, starts.shape[0]
    while high - low > 1:
        middle = (low + high) >> 1
        if starts[middle] <= position:
            low = middle
        else:
            high = middle
    return words.frequent_counts[low]
