"""The queues of parity_loop.py, with which `learn_merges` trains for parity between sources."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.training import bucket_queue, parity_loop
from ..kernels.training.bucket_queue import TieRule
from ..kernels.training.linked_words import LinkedWords
from ..kernels.training.pair_table import N_PAIRS, NONE, PairTable, with_slots
from ..system.stretches import starts_of
from .growing_arrays import with_pairs, with_room

_MOST_TURNS = 2  # the most merges of a source in a window, as a multiple of its even share


class Groups(NamedTuple):
    """The words of several sources, and of texts that measure them.

    starts      : int64[n_groups + 1]  the first word of each group; the sources' groups come first
    sizes       : int64[n_groups]      divided by the tokens of a group, this says how well it is compressed
    measured_by : int64[n_sources]     the group that measures each source: its own, or a later one
    window      : in so many merges in a row, a source gets at most twice its even share; 0 for no limit
    """

    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    measured_by: NDArray[np.int64]
    window: int


class ParityQueues:
    """A queue of pairs for each source, in place of the single queue `merges.MergeQueue`.

    arrays : the queues as `merge_parity_batch` takes them
    """

    def __init__(
        self,
        groups: Groups,
        word_starts: NDArray[np.int64],
        n_symbols: NDArray[np.int64],
        counts: NDArray[np.int64],
        n_tokens: int,
    ) -> None:
        """Make empty queues.

        word_starts : the first position of each word, and the end of the last
        n_symbols   : how many symbols each word has before the first merge
        counts      : how often each word occurs
        """
        self._groups = groups
        self._first_positions = word_starts[groups.starts] + groups.starts + 1
        n_groups, n_sources = len(groups.sizes), len(groups.measured_by)
        columns = np.zeros((n_groups, 4), dtype=np.int64)
        columns[:, parity_loop.SIZE] = groups.sizes
        for group in range(n_groups):
            words = slice(groups.starts[group], groups.starts[group + 1])
            columns[group, parity_loop.GROUP_TOKENS] = n_symbols[words] @ counts[words]
        sources = np.zeros((n_sources, 3), dtype=np.int64)
        sources[:, parity_loop.MEASURED_BY] = groups.measured_by
        sources[:, parity_loop.IS_DONE] = columns[:n_sources, parity_loop.GROUP_TOKENS] == 0
        self.arrays = parity_loop.ParityQueue(
            siblings=np.empty(0, dtype=np.int32),
            latest=np.full((2, n_tokens), NONE, dtype=np.int32),
            heads=np.full((n_sources, bucket_queue.N_BUCKETS), NONE, dtype=np.int32),
            links=np.empty(0, dtype=np.int32),
            heap_pairs=np.empty(0, dtype=np.int32),
            heap_counts=np.empty(0, dtype=np.int64),
            heap_starts=np.zeros(n_sources + 1, dtype=np.int64),
            queues=np.array([[bucket_queue.N_BUCKETS - 1, 0]] * n_sources, dtype=np.int64),
            groups=columns,
            sources=sources,
            recent=np.full(min(groups.window, n_tokens), NONE, dtype=np.int32),  # there are fewer merges than tokens
            state=np.array([0, min(_MOST_TURNS * groups.window // max(n_sources, 1), n_tokens)], dtype=np.int64),
        )

    def enter(self, table: PairTable, linked: LinkedWords, ties: TieRule, min_count: int) -> PairTable:
        """Queue all pairs of a table. Returns the table, which then has an entry for each pair in each group."""
        n_pairs = int(table.state[N_PAIRS])
        n_entries = int(np.minimum(table.lengths[:n_pairs], len(self._groups.sizes), dtype=np.int64).sum())
        table = table._replace(groups=np.empty(len(table.rows), dtype=np.int32))
        table = with_pairs(table, n_entries + n_entries // 2, n_pairs)
        self.grow(len(table.rows), 0)
        parity_loop.divide_pairs(table, linked, self._first_positions, self.arrays)
        columns = self.arrays.groups
        columns[:, parity_loop.GROUP_WANTED] = columns[:, parity_loop.GROUP_PAIRS]
        self.grow(len(table.rows), int(table.state[N_PAIRS]))
        parity_loop.push_divided_pairs(self.arrays, table, ties, min_count)
        return with_slots(table, 2 * int(table.state[N_PAIRS]))

    def grow(self, n_pairs: int, used: int) -> None:
        """Make room for `n_pairs` pairs, of which the first `used` are kept, and for the pairs in each source's heap."""
        queue = self.arrays
        n_sources = len(queue.sources)
        wanted = queue.groups[:n_sources, parity_loop.GROUP_WANTED]
        rooms = np.diff(queue.heap_starts)
        rooms = np.where(wanted > rooms, wanted + wanted // 2, rooms)
        starts = starts_of(rooms)
        heaps: dict[str, NDArray[Any]] = {}
        for name in "heap_pairs", "heap_counts":
            old = getattr(queue, name)
            heaps[name] = np.empty(starts[-1], dtype=old.dtype)
            for source in range(n_sources):
                n = int(queue.queues[source, bucket_queue.HEAP_SIZE])
                first = int(queue.heap_starts[source])
                heaps[name][starts[source] : starts[source] + n] = old[first : first + n]
        self.arrays = queue = queue._replace(heap_starts=starts, **heaps)
        if n_pairs > len(queue.links):
            fields = ("siblings", "links")
            self.arrays = queue._replace(**{name: with_room(getattr(queue, name), n_pairs, used) for name in fields})
