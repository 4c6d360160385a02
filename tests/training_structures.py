"""Merges as bytes, and the data structures of training, held against what is recounted from the linked words."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable

from numba import njit
from vocabularies import BYTES

from nbbpe.kernels.training import linked_words, merge_loop, pair_table


@njit
def symbol_at(words, position):
    """See linked_words."""
    return linked_words.symbol_in(words.cells[position], words.symbol_bits)


@njit
def word_count_at(words, position):
    """See linked_words."""
    return linked_words.word_count_at(words, position)


@njit
def find_pair(table, left, right):
    """See pair_table."""
    return pair_table.find_pair(pair_table.key_of(left, right), 0, table)


def spelled(merges, tokens: Iterable[bytes] = BYTES.values()) -> list[tuple[bytes, bytes]]:
    """Merges of ids, which come after some tokens, as pairs of byte strings."""
    tokens = list(tokens)
    pairs = []
    for left, right in merges.tolist():
        pairs.append((tokens[left], tokens[right]))
        tokens.append(tokens[left] + tokens[right])
    return pairs


def walk(words, starts: list[int], lengths: list[int]):
    """Each word as [(position, symbol)]."""
    edge = linked_words.edge_of.function(words.symbol_bits)
    for number, (start, end) in enumerate(itertools.pairwise(starts)):
        row, position = [], start + number + 1
        assert symbol_at(words, position - 1) == edge
        while position < end + number + 1:
            symbol = symbol_at(words, position)
            row.append((position, symbol))
            position += lengths[symbol]
            assert symbol_at(words, position - 1) == symbol
        assert position == end + number + 1
        yield row
    assert symbol_at(words, len(words.cells) - 1) == edge


def symbol_pairs(table) -> list[tuple[int, int]]:
    """The symbols of each pair, by its index."""
    n_pairs = int(table.state[pair_table.N_PAIRS])
    return [*map(pair_table.symbols_of.function, table.rows[:n_pairs, pair_table.KEY].tolist())]


def check_structures(counted, words, table, ties, tokens) -> None:
    """Recount everything from the linked words and hold the other structures against it."""
    starts = counted.starts.tolist()
    n_tokens = int(tokens.state[merge_loop.N_TOKENS])
    texts_of = [ties.text[ties.starts[i] : ties.starts[i + 1]].tobytes() for i in range(n_tokens)]
    recounted: Counter[tuple[int, int]] = Counter()
    positions: dict[tuple[int, int], set[int]] = {}
    for number, row in enumerate(walk(words, starts, [*map(len, texts_of)])):
        word = counted.text[starts[number] : starts[number + 1]].tobytes()
        assert b"".join(texts_of[symbol] for _, symbol in row) == word
        for (_, left), (boundary, right) in itertools.pairwise(row):
            assert word_count_at(words, boundary) == counted.counts[number]
            recounted[left, right] += int(counted.counts[number])
            positions.setdefault((left, right), set()).add(boundary)
    lists, symbols = [], symbol_pairs(table)
    floor = max(int(tokens.state[merge_loop.FLOOR]), 1)
    assert {pair for pair, count in recounted.items() if count >= floor} <= set(symbols)
    assert len(symbols) == len(set(symbols))
    assert sorted(table.slots[table.slots > 0].tolist()) == [*range(1, len(symbols) + 1)]
    for number, pair in enumerate(symbols):
        assert table.rows[number, pair_table.COUNT] == recounted[pair], pair
        assert find_pair(table, *pair) == number
        first = int(table.starts[number])
        occurrences = table.occurrences[first : first + table.lengths[number]].tolist()
        assert occurrences == sorted(set(occurrences))
        assert positions.get(pair, set()) <= set(occurrences)
        lists.append((first, first + len(occurrences)))
    for (_, end), (first, _) in itertools.pairwise(sorted(each for each in lists if each[1] > each[0])):
        assert end <= first
    assert max(end for _, end in [(0, 0), *lists]) <= table.state[pair_table.N_OCCURRENCES]
    assert not table.rows[len(symbols) :].any()
