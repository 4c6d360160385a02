"""Learns merges from words: builds the structures of the training kernels, gives them room, and calls them in batches."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..counting.word_counts import WordCounts
from ..kernels.compiler.beside import compile_beside
from ..kernels.training import (
    bucket_queue,
    linked_words,
    merge_loop,
    pair_table,
    parity_loop,
    spelling,
    token_limits,
    word_digest,
)
from ..model.byte_alphabet import byte_order
from .first_pairs import pairs_of_bytes, pairs_of_linked, pairs_of_symbols
from .growing_arrays import with_pairs, with_room
from .learning_options import LearningOptions
from .parity_queues import Groups, ParityQueues
from .start import Start
from .token_rules import TokenFilter

# Symbols replaced between two returns to Python: about 0.1 s of work, so that progress moves and Ctrl-C works.
BATCH_BUDGET = 1_000_000
_PAIR_BYTES = 56  # that a pair takes in the table, its slots and the queue
_TOKEN_BYTES = 64  # that a token takes: its merge, its bytes, its order
# Bytes or letters. If tokens must be shorter, the pairs that may be merged run out, and at the end the floor of
# merge_loop.py is too high: limits of 2 to 6 showed that with each text that was tried, for some sizes of the vocabulary.
_LONG_TOKEN = 8


def tie_rule(tie_break: str, n_tokens: int, start: Start | None) -> bucket_queue.TieRule:
    """The TieRule of a named rule, with the 256 bytes entered, or the tokens of `start`, and room for `n_tokens` tokens."""
    tokens = [bytes([byte]) for byte in range(256)] if start is None else start.tokens
    n, text = len(tokens), b"".join(tokens)
    ties = bucket_queue.TieRule(
        kind=np.array([bucket_queue.BY_BYTES if tie_break == "bytes" else bucket_queue.BY_ORDER], dtype=np.int64),
        prefixes=np.zeros(n_tokens, dtype=np.uint64),
        order=np.arange(n_tokens, dtype=np.int32),
        text=np.empty(16 * n_tokens + 4096 + len(text), dtype=np.uint8),
        starts=np.zeros(n_tokens + 1, dtype=np.int64),
    )
    ties.prefixes[:n] = np.frombuffer(b"".join(token[:8].ljust(8, b"\0") for token in tokens), dtype=">u8")
    ties.text[: len(text)] = np.frombuffer(text, dtype=np.uint8)
    ties.starts[1 : n + 1] = np.cumsum(np.fromiter(map(len, tokens), dtype=np.int64, count=n))
    if start is not None:
        ties.order[:n] = start.order
    if tie_break == "huggingface":
        # Bytes come first, numbered as in the alphabet; the other tokens follow, in the order of their ids.
        ties.order[256:n] = 256 + np.argsort(np.argsort(ties.order[256:n]))
        ties.order[:256] = byte_order()
    return ties


class MergeQueue:
    """The queue of pairs to merge, for `learn_merges`; ParityQueues does the same for several sources.

    arrays : the queue as `merge_batch` takes it
    """

    def __init__(self) -> None:
        self.arrays = bucket_queue.new_queue()

    def enter(
        self, table: pair_table.PairTable, linked: linked_words.LinkedWords, ties: bucket_queue.TieRule, min_count: int
    ) -> pair_table.PairTable:
        """Queue all pairs of a table. Returns the table."""
        self.grow(len(table.rows), 0)
        merge_loop.push_all_pairs(self.arrays, table, ties, min_count)
        return table

    def grow(self, n_pairs: int, used: int) -> None:
        """Make room for `n_pairs` pairs; the first `used` are kept."""
        fields = ("links", "heap_pairs", "heap_counts")
        self.arrays = self.arrays._replace(
            **{name: with_room(getattr(self.arrays, name), n_pairs, used) for name in fields}
        )


def _spelled(ties: bucket_queue.TieRule, first: int, end: int) -> list[bytes]:
    """The bytes of some tokens."""
    starts = ties.starts[first : end + 1].tolist()
    return [ties.text[at:stop].tobytes() for at, stop in pairwise(starts)]


def _scratch(table: pair_table.PairTable, existing: NDArray[np.int64]) -> NDArray[np.int64]:
    """Scratch of `merge_batch` for the longest list: the existing scratch, unless that is too short or much too long.

    No list of a new pair is longer than that of the pair whose merge makes it, so what fits once fits until the end.
    Cost: O(n) of the pairs.
    """
    n_pairs = int(table.state[pair_table.N_PAIRS])
    n = 2 * int(table.lengths[:n_pairs].max(initial=1))
    return existing if n <= len(existing) < 2 * n else np.empty(n, dtype=np.int64)


def n_bytes_needed(n_words: int, n_bytes: int, n_tokens: int) -> int:
    """Estimate the memory of `learn_merges`, including that of its words, whose bytes are `n_bytes`.

    Most texts need 0.5 to 0.8 times the sum below, and a quarter is added. Texts with many pairs need more, as the table
    grows beyond its first room: 4 MB of Chinese words with 100,000 tokens 1.24 times the sum, random words up to 1.76.
    """
    words = n_bytes + 16 * n_words  # text; starts and counts
    cells = 4 * linked_words.n_cells(n_words, n_bytes)
    occurrences = 8 * n_bytes
    pairs = _PAIR_BYTES * (pair_table.N_BYTE_PAIRS + n_bytes // 4)
    tokens = _TOKEN_BYTES * min(n_tokens, merge_loop.N_BYTES + n_bytes)
    return (words + cells + occurrences + pairs + tokens) * 5 // 4


def _check_sums(words: WordCounts) -> None:
    """Raise OverflowError if the count of a pair may not fit in int64: a word may have a pair several times."""
    if int(words.counts.max(initial=0)) * int(words.starts[-1]) < 2**63:  # nearly always, and seen at once
        return
    lengths = np.maximum(np.diff(words.starts), 1) - 1  # how many pairs each word has
    if float((lengths.astype(np.float64) * words.counts).sum()) < 2.0**62:  # np.dot would start the threads of BLAS
        return
    total = sum(length * count for length, count in zip(lengths.tolist(), words.counts.tolist(), strict=True))
    if total >= 2**63:
        raise OverflowError(
            f"the counts of all pairs add up to {total:,}, and at most {2**63 - 1:,} can be counted: "
            "divide the counts, or give smaller weights"
        )


def compile_beside_counting() -> None:
    """Let another process compile the kernels that training needs after counting, unless they are stored, while this
    process counts words."""
    compile_beside(
        [
            word_digest.digest_words,
            pair_table.count_byte_pairs,
            pair_table.link_bytes,
            merge_loop.push_all_pairs,
            merge_loop.merge_batch,
            spelling.spell_tokens,
        ]
    )


class _Structures:
    """The arrays that the kernels work on while merges are learned. Grows them, and answers questions of the kernels.

    ties   : the bytes of the tokens so far, and how ties between pairs are broken
    tokens : the merges so far, with room for all
    """

    def __init__(
        self,
        counted: WordCounts,
        n_tokens: int,
        options: LearningOptions,
        start: Start | None,
        groups: Groups | None,
        n_threads: int,
    ) -> None:
        """See `learn_merges`; `n_tokens` is the most tokens that there may be, including those of `start`."""
        self.tokens = merge_loop.new_tokens(merge_loop.N_BYTES if start is None else len(start.tokens), n_tokens)
        if start is None:
            self._linked, table = pairs_of_bytes(counted, n_tokens, n_threads)
        else:
            self._linked, table = pairs_of_symbols(counted, start, n_tokens)
        self.ties = tie_rule(options.tie_break, n_tokens, start)
        self._filter = TokenFilter(options.rules, () if start is None else start.tokens)
        self._limits = self._filter.limits(options.max_token_length)
        if self._limits.numbers[[token_limits.MOST_BYTES, token_limits.MOST_LETTERS]].min() < _LONG_TOKEN:
            self.tokens.state[merge_loop.FLOOR_RISES] = 0
        self._min_count = min(options.least_count, 2**63 - 1)
        self._queue: MergeQueue | ParityQueues = MergeQueue()
        self._merge_batch = merge_loop.merge_batch
        if groups is not None:
            lengths = np.diff(counted.starts if start is None else start.symbol_starts)
            self._queue = ParityQueues(groups, counted.starts, lengths, counted.counts, n_tokens)
            self._merge_batch = parity_loop.merge_parity_batch
        self._table = self._queue.enter(table, self._linked, self.ties, self._min_count)
        self._found = _scratch(self._table, np.empty(0, dtype=np.int64))

    def merge(self, most: int) -> int:
        """Continue merging until there are at most `most` merges. Returns the status of the kernel."""
        tokens = self.tokens._replace(merges=self.tokens.merges[:most])
        structures = self._linked, self._table, self._queue.arrays, self.ties, tokens, self._found
        return int(self._merge_batch(*structures, self._min_count, self._limits, BATCH_BUDGET))

    def n_tokens(self) -> int:
        """How many tokens there are so far."""
        return int(self.tokens.state[merge_loop.N_TOKENS])

    def prepare(self, status: int) -> None:
        """Do what the kernel needs before it can continue; its status says what that is."""
        if status == merge_loop.BATCH_DONE:  # not after each question to the filter, as this reads all lengths
            self._found = _scratch(self._table, self._found)
        table, state = self._table, self.tokens.state
        wanted, n_tokens = int(state[merge_loop.WANTED]), self.n_tokens()
        if status == merge_loop.NEED_PAIRS:
            n_pairs = int(table.state[pair_table.N_PAIRS])
            if wanted > len(table.rows):
                self._table = with_pairs(table, wanted, n_pairs)
            self._queue.grow(len(self._table.rows), n_pairs)
        elif status == merge_loop.NEED_SLOTS:
            self._table = pair_table.with_slots(table, wanted)
        elif status == merge_loop.NEED_OCCURRENCES:
            used = int(table.state[pair_table.N_OCCURRENCES])
            self._table = table._replace(occurrences=with_room(table.occurrences, wanted, used))
        elif status == merge_loop.NEED_RARE:
            state[[merge_loop.FLOOR, merge_loop.FLOOR_RISES, merge_loop.ASKED]] = 0, 0, pair_table.NONE
            del table, self._table  # frees the memory for the new table
            new = pairs_of_linked(self._linked, self.ties.starts)
            self._table = self._queue.enter(new, self._linked, self.ties, self._min_count)
            self._found = _scratch(self._table, self._found)
        elif status == merge_loop.NEED_ANSWER:
            (token,) = _spelled(self.ties, n_tokens, n_tokens + 1)
            state[merge_loop.ANSWER] = merge_loop.ALLOWED if self._filter.allows(token) else merge_loop.REFUSED
        elif status == merge_loop.NEED_TEXT:
            self.ties = self.ties._replace(text=with_room(self.ties.text, wanted, int(self.ties.starts[n_tokens])))


def learn_merges(
    counted: WordCounts,
    n_tokens: int,
    options: LearningOptions | None = None,
    report: Callable[[int], None] | None = None,
    start: Start | None = None,
    stop: Callable[[], bool] | None = None,
    groups: Groups | None = None,
    n_threads: int = 1,
) -> NDArray[np.int32]:
    """Learn byte-pair merges from distinct words until there are `n_tokens` tokens, the 256 bytes included.

    Parameters
    ----------
    counted : WordCounts
    n_tokens : int, >= 256
    options : which pairs are merged; None for any, and ties by bytes. Seeds are not learned here
    report : called several times a second with the number of tokens so far
    start : a vocabulary to continue from, instead of the bytes
    stop : called as often; if it returns True, the merges so far are returned
    groups : the groups of the words; each merge is then the most frequent pair of the source that is compressed worst
    n_threads : the most threads that prepare the first merge; one thread merges

    Raises OverflowError if the count of a pair may not fit in int64.

    Returns
    -------
    int32[n_merges, 2]: for each merge in order, the ids of left and right. Ids 0 to 255 are the bytes; merge i makes id
    256 + i. There are fewer merges if the pairs run out, or if `stop` returned True.

    With a `start`, these are symbols, not ids, and merge i makes symbol len(start.tokens) + i. `n_tokens` then counts the
    symbols of `start` and of the merges, without those of merges that make one of `start.unmade`.
    """
    _check_sums(counted)
    n_start = merge_loop.N_BYTES if start is None else len(start.tokens)
    unmade: frozenset[bytes] = frozenset() if start is None else start.unmade
    most = min(n_tokens + len(unmade), n_start + int(counted.starts[-1]))  # each merge takes a position away
    structures = _Structures(counted, most, options or LearningOptions(), start, groups, n_threads)
    n_known = 0  # merges that make a token of the vocabulary, one of `unmade`
    n_checked = n_start  # tokens that were compared with `unmade`
    while True:
        status = structures.merge(n_tokens - n_start + n_known)
        learned = structures.n_tokens()
        if report is not None:
            report(learned - n_known)
        is_stopped = stop is not None and stop()
        if status == merge_loop.TOKENS_DONE and unmade and not is_stopped:
            n_more = sum(token in unmade for token in _spelled(structures.ties, n_checked, learned))
            n_known, n_checked = n_known + n_more, learned
            if n_more:
                continue
        if status in (merge_loop.TOKENS_DONE, merge_loop.NO_PAIRS) or is_stopped:
            return structures.tokens.merges[: learned - n_start]
        structures.prepare(status)
