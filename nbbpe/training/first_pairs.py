"""Builds the structures that the first merge needs: linked words, and the table of their pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..counting.word_counts import WordCounts
from ..kernels.training import pair_table
from ..kernels.training.linked_words import LinkedWords, link_symbols, new_linked_words
from ..kernels.training.merge_loop import AHEAD
from ..kernels.training.pair_table import (
    COUNT,
    KEY,
    MOST_PAIRS,
    N_BYTE_PAIRS,
    N_OCCURRENCES,
    N_PAIRS,
    PairTable,
    with_slots,
)
from ..system.kernel_threads import run_together
from ..system.stretches import starts_of
from .start import Start

_PER_THREAD = 1 << 18  # positions; for less, one more thread does not pay
_LONG = 1 << 26  # positions; going through more takes 0.2 s or longer, so Ctrl-C must be able to interrupt it


def _new_table(n_positions: int, n_others: int = 0) -> PairTable:
    """An empty table for words with `n_positions` positions. At most `n_others` of the first pairs are not pairs of bytes.

    It has room for two occurrences per position. Text needs 1.6 or fewer, as most new lists are stored where old ones were;
    a long word of random bytes that is merged to the end needs nearly 2.
    """
    n_pairs = min(N_BYTE_PAIRS + n_positions // 4 + n_others, MOST_PAIRS)
    return pair_table.new_pair_table(n_pairs, 2 * n_positions + AHEAD)


def pairs_of_bytes(counted: WordCounts, n_tokens: int, n_threads: int) -> tuple[LinkedWords, PairTable]:
    """Link words as single bytes, and enter all their pairs in a table; with up to `n_threads` threads.

    n_tokens : the most tokens that there will be
    """
    text, starts, counts = counted.text, counted.starts, counted.counts
    n_positions = int(starts[-1])
    linked, table = new_linked_words(starts, counts, n_tokens), _new_table(n_positions)
    n_parts = max(min(n_threads, n_positions // _PER_THREAD), 1)
    cuts = [*np.searchsorted(starts, [n_positions * i // n_parts for i in range(n_parts)]).tolist(), len(counts)]
    lengths = np.zeros((n_parts, N_BYTE_PAIRS), dtype=np.uint32)
    sums = np.zeros((n_parts, N_BYTE_PAIRS), dtype=np.int64)

    def in_parts(work: Callable[[int, int, int], object]) -> None:
        """Call `work` with the number of each part, its first word and the end of its words."""
        calls = [partial(work, i, first, end) for i, (first, end) in enumerate(pairwise(cuts))]
        run_together(calls, are_long=n_positions > _LONG)

    in_parts(lambda i, first, end: pair_table.count_byte_pairs(text, starts, counts, first, end, lengths[i], sums[i]))
    bytes_of = np.flatnonzero(lengths.any(axis=0))  # left * 256 + right of each pair
    n_pairs, lengths = len(bytes_of), lengths[:, bytes_of]
    # The list of a pair has the occurrences in the first part, then those in the second.
    ends = np.cumsum(lengths.T, dtype=np.int64).reshape(n_pairs, n_parts).T
    first_ends = ends - lengths
    list_ends = np.zeros((n_parts, N_BYTE_PAIRS), dtype=np.int64)
    list_ends[:, bytes_of] = first_ends
    table.rows[:n_pairs, KEY] = (bytes_of >> 8) << 32 | bytes_of & 255
    table.rows[:n_pairs, COUNT] = sums[:, bytes_of].sum(axis=0)
    table.starts[:n_pairs], table.lengths[:n_pairs] = first_ends[0], lengths.sum(axis=0)
    table.state[N_PAIRS], table.state[N_OCCURRENCES] = n_pairs, ends.max(initial=0)
    in_parts(
        lambda i, first, end: pair_table.link_bytes(
            text, starts, counts, first, end, list_ends[i], linked, table.occurrences
        )
    )
    return linked, with_slots(table, max(2 * n_pairs, n_positions // 16))


def pairs_of_symbols(counted: WordCounts, start: Start, n_tokens: int) -> tuple[LinkedWords, PairTable]:
    """Link words as the symbols of a vocabulary, and enter all their pairs in a table.

    n_tokens : the most tokens that there will be
    """
    starts, symbol_lengths = counted.starts, start.lengths()
    linked = new_linked_words(starts, counted.counts, n_tokens)
    link_symbols(starts, counted.counts, start.symbols, start.symbol_starts, symbol_lengths, linked)
    return linked, pairs_of_linked(linked, starts_of(symbol_lengths))


def pairs_of_linked(linked: LinkedWords, token_starts: NDArray[np.int64]) -> PairTable:
    """A table with all pairs of linked words; `token_starts` says where the bytes of each symbol start."""
    n_positions = len(linked.cells)
    is_long = n_positions > _LONG
    [n_boundaries] = run_together([partial(pair_table.count_boundaries, linked, token_starts)], is_long)
    table = with_slots(_new_table(n_positions, n_boundaries), n_boundaries)
    run_together([partial(pair_table.enter_linked_pairs, table, linked, token_starts)], is_long)
    return with_slots(table, 2 * int(table.state[N_PAIRS]))
