"""A growing hash table of words, or of pieces of several words, with counts that are added up."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..kernels.machine.intrinsics import PADDING
from ..kernels.pieces import growing_table, piece_table
from ..kernels.pieces.marked_pretokens import MARK_BYTES
from ..kernels.pieces.pretokens import new_split_scratch
from ..kernels.pieces.split_words import split_decided
from ..kernels.training import count_pieces
from ..patterns.pattern import Pattern
from ..system.kernel_threads import run_together
from ..text.utf8 import to_text
from .word_counts import WordCounts, empty_words, words_from_texts

T = TypeVar("T")
_SPLIT_BYTES = 1 << 20  # of pieces that are split at a time
_SENT_BYTES = 1 << 16  # of words that a worker process sends at a time: small enough to stay in a core's cache
_WORDS_TOGETHER = 64  # that are looked up in a table together, so that the waits for their cache lines overlap
_FIRST_SLOTS = 1 << 14  # of a new table
_THREAD_SLOTS = 1 << 17  # of a table: for less, one more thread does not pay
_LONG_SLOTS = 1 << 24  # of a table: going through more takes 0.2 s or longer, so Ctrl-C must be able to interrupt it


class WordTable:
    """A growing table of byte strings with counts."""

    def __init__(self, capacity: int = 0) -> None:
        self._begin(capacity or _FIRST_SLOTS)

    def _begin(self, capacity: int) -> None:
        """Start with an empty table; frees the memory of the table before."""
        self.table = piece_table.new_table(capacity, 1 << 16)
        self._room = growing_table.SlotRoom(self.table.slots)

    def n_bytes(self) -> int:
        """The memory that the table takes."""
        return int(self.table.slots.nbytes + self.table.pool.nbytes)

    def is_empty(self) -> bool:
        """Whether the table has no key."""
        return not self.table.state[piece_table.N_ENTRIES]

    def grow(self, longest_key: int) -> None:
        """Make room for at least one more key of up to `longest_key` bytes."""
        self.table, self._room = growing_table.grown(self.table, self._room, longest_key)

    def add(self, words: WordCounts) -> None:
        """Add words to the counts."""
        done = 0
        while (done := self.add_some(words, done)) < len(words.counts):
            self.grow(int(words.starts[done + 1] - words.starts[done]))

    def add_some(self, words: WordCounts, first: int) -> int:
        """Add the counts of words, from word `first` on. Returns how many words are done; not all if the table is full."""
        keys = np.empty((_WORDS_TOGETHER, 3), dtype=np.uint64)
        return int(count_pieces.add_words(words.text, words.starts, words.counts, first, self.table, keys))

    def take(self, n_threads: int = 1) -> WordCounts:
        """Remove and return all words with their counts, with `n_threads` threads if there are enough slots."""
        cuts = self._cuts(n_threads)
        measured = self._together([partial(count_pieces.measure_words, self.table, *cut) for cut in pairwise(cuts)])
        first, position = np.cumsum([(0, 0), *measured], axis=0, dtype=np.int64).T.tolist()
        words = empty_words(first[-1], position[-1])
        # Each thread writes its own stretch of the text; what follows it belongs to another thread.
        texts = [words.text[: end + PADDING] for end in position[1:]]
        numbers = [(words.starts[i : j + 1], words.counts[i:j]) for i, j in pairwise(first)]
        self._together(
            [
                partial(count_pieces.take_words, self.table, *cut, at, text, *part)
                for cut, at, text, part in zip(pairwise(cuts), position, texts, numbers, strict=False)
            ]
        )
        return words

    def take_in_parts(self) -> Iterator[WordCounts]:
        """As `take`, some words at a time; each part reuses the memory of the one before.

        Words come in the order of the table's slots. So, if they are added to a table with the same secret, the memory of
        that one is read and written in about this order, too, not at random.
        """
        n_slots = len(self.table.slots)
        return _in_parts(
            lambda slot, words: count_pieces.take_words(self.table, slot, n_slots, 0, *words), 0, n_slots, _SENT_BYTES
        )

    def split_pieces(self, pattern: Pattern, by_regex: bool = False, n_threads: int = 1) -> None:
        """Replace each piece of several pretokens by these pretokens. Up to `n_threads` threads find them, or, with
        `by_regex` or if the pattern is not compiled, `regex` in one thread."""
        if by_regex or not pattern.is_compiled:
            for part in _split_partly(self.take(), pattern, by_regex):
                self.add(part)
            return
        # Pretokens are added when all pieces are taken: an added one may get a slot that was not read yet.
        calls = [partial(self._copies_of_compound, pattern, *cut) for cut in pairwise(self._cuts(n_threads))]
        for parts in self._together(calls):
            for part in parts:
                self.add(part)

    def _copies_of_compound(self, pattern: Pattern, first_slot: int, end_slot: int) -> list[WordCounts]:
        """The parts of `_take_compound`, each copied, as they share their memory."""
        return [
            WordCounts(*(array.copy() for array in part)) for part in self._take_compound(pattern, first_slot, end_slot)
        ]

    def _cuts(self, n_threads: int) -> list[int]:
        """Where to cut the slots into one part for each thread: the first slot of each part, and the end of the last."""
        n_slots = len(self.table.slots) // piece_table.SLOT_WORDS
        n_parts = max(min(n_threads, n_slots // _THREAD_SLOTS), 1)
        return [piece_table.SLOT_WORDS * (n_slots * i // n_parts) for i in range(n_parts + 1)]

    def _together(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Run calls that go through parts of the table, see `run_together`."""
        return run_together(calls, are_long=len(self.table.slots) > piece_table.SLOT_WORDS * _LONG_SLOTS)

    def take_split(self, pattern: Pattern, by_regex: bool) -> list[WordCounts]:
        """Remove all pieces, and return their pretokens in parts that may have words in common.

        Unlike `split_pieces`, this does not let the table grow, which may be as large as the limit of memory allows.
        """
        if by_regex or not pattern.is_compiled:
            pieces = self.take()
            self._begin(_FIRST_SLOTS)
            for part in _split_partly(pieces, pattern, by_regex):
                self.add(part)
            return [self.take()]
        split = WordTable()
        for part in self._take_compound(pattern, 0, len(self.table.slots)):
            split.add(part)
        return [self.take(), split.take()]

    def _take_compound(self, pattern: Pattern, first_slot: int, end_slot: int) -> Iterator[WordCounts]:
        """Remove the pieces of several pretokens in these slots. Yields the pretokens, in parts that may repeat words."""
        tables = pattern.tables
        assert tables is not None
        scratch = new_split_scratch(tables)
        return _in_parts(
            lambda slot, words: count_pieces.take_compound(self.table, tables, scratch, slot, end_slot, *words),
            first_slot,
            end_slot,
            _SPLIT_BYTES,
        )


def _split_partly(pieces: WordCounts, pattern: Pattern, by_regex: bool) -> Iterator[WordCounts]:
    """The pretokens of pieces, in parts; a part may have a word several times. `regex` splits each distinct piece once, or,
    if the pattern is partly compiled, only the pieces that its automata do not decide."""
    n = len(pieces.counts)
    if by_regex or not pattern.is_partly_compiled:
        yield from _split_by_regex(pieces, np.arange(n), pattern)
        return
    undecided: list[NDArray[np.int64]] = []
    scratch = np.empty(MARK_BYTES * int(np.diff(pieces.starts).max(initial=0)), dtype=np.uint8)
    first = 0
    while first < n:
        end = max(first + 1, int(np.searchsorted(pieces.starts, pieces.starts[first] + _SPLIT_BYTES, side="right")) - 1)
        starts, counts = pieces.starts[first : end + 1], pieces.counts[first:end]
        n_bytes = int(starts[-1] - starts[0])
        words, numbers = empty_words(n_bytes, 0), np.empty(len(counts), dtype=np.int64)
        n_words, n_undecided = split_decided(
            pieces.text, starts, counts, pattern.tables, scratch, words.starts, words.counts, numbers
        )
        if n_undecided:
            undecided.append(first + numbers[:n_undecided])
        yield WordCounts(pieces.text, words.starts[: n_words + 1], words.counts[:n_words])
        first = end
    if undecided:
        yield from _split_by_regex(pieces, np.concatenate(undecided), pattern)


def _split_by_regex(pieces: WordCounts, numbers: NDArray[np.int64], pattern: Pattern) -> Iterator[WordCounts]:
    """The pretokens that `regex` finds in the pieces with these numbers; in parts, as words take ten times the memory as
    Python objects."""
    from ..patterns.joined_pieces import split_each  # here, as it brings `regex` with it

    n_bytes = np.cumsum(pieces.starts[numbers + 1] - pieces.starts[numbers])
    for part in np.split(numbers, np.flatnonzero(np.diff(n_bytes // _SPLIT_BYTES)) + 1):
        arrays = pieces.starts[part], pieces.starts[part + 1], pieces.counts[part]
        starts, ends, counts = (each.tolist() for each in arrays)
        texts = (to_text(pieces.text[start:end].tobytes()) for start, end in zip(starts, ends, strict=True))
        words: collections.Counter[str] = collections.Counter()
        for pretokens, count in zip(split_each(pattern, texts), counts, strict=True):
            for word in pretokens:
                words[word] += count
        yield words_from_texts(words)


def _in_parts(
    take: Callable[[int, WordCounts], tuple[int, int]], slot: int, end_slot: int, room: int
) -> Iterator[WordCounts]:
    """The words that a kernel takes out of a table, slot after slot; each part is valid until the next one is requested.

    take : called with the slot to go on from and room for words; returns the slot it stopped at, and the number of words
    room : bytes and words of a part; it grows if a word is longer
    """
    words = empty_words(room, room)
    while slot < end_slot:
        slot, n_words = take(slot, words)
        if n_words:
            starts = words.starts[: n_words + 1]
            yield WordCounts(words.text[: starts[-1] + PADDING], starts, words.counts[:n_words])
        else:
            room *= 2
            words = empty_words(room, room)


def add_up(parts: Sequence[WordCounts]) -> WordCounts:
    """The words of all parts, with the counts of equal ones added up."""
    words = WordTable()
    for part in parts:
        words.add(part)
    return words.take()
