"""Text to words: distinct pretokens with their counts, gathered from files and iterables by one or many processes."""

from __future__ import annotations

import collections
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.machine.intrinsics import PADDING
from ..kernels.pieces import piece_table
from ..kernels.pieces.boundaries import new_classes
from ..kernels.pieces.piece_batch import new_batch
from ..kernels.pieces.pretokens import new_split_scratch
from ..kernels.pieces.special_tokens import SpecialTokens, new_special_tokens
from ..kernels.training import count_pieces
from ..kernels.training.linked_words import digest_words
from ..sources import NO_ID, Documents, Input, Part, Skipped, Tally, warn_of_skipped
from ..system.workers import ENDED, SharedJob, run_jobs, run_together
from ..text.pattern import Pattern
from ..text.utf8 import Text, to_text
from ..text.windows import BATCH, Window

MIN_BYTES_FOR_WORKERS = 64 << 20  # below it, starting processes and adding their counts costs more than it saves
_CHUNK_BYTES = 16 << 20  # what a process takes at a time that works alone
_SHARED_CHUNK_BYTES = 4 << 20  # the same of several, which end within the time that one of these takes
_SPLIT_BYTES = 1 << 20  # of pieces that are split at a time
_SENT_BYTES = 1 << 16  # of words that a worker process sends at a time: small enough to stay in a core's cache
_SENT_TEXTS = 1 << 14  # the same as Python objects
_WORDS_TOGETHER = 64  # that are added to a table: their cache lines are waited for at once
_FIRST_SLOTS = 1 << 14  # of a new table
_THREAD_SLOTS = 1 << 17  # of a table: for less, one more thread does not pay
_TEXT_BYTES = 200  # about what a word and its count take as Python objects


class WordCounts(NamedTuple):
    """Distinct words with their counts, in no particular order.

    text   : uint8[* + PADDING]  the bytes of all words, one after another
    starts : int64[n_words + 1]  where each word's bytes start in text
    counts : int64[n_words]      how often each word occurs, >= 1
    """

    text: NDArray[np.uint8]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]


def words_from_dict(counts: dict[bytes, int]) -> WordCounts:
    """Words from a dict of counts by bytes."""
    joined = b"".join(counts)
    text = np.zeros(len(joined) + PADDING, dtype=np.uint8)
    text[: len(joined)] = np.frombuffer(joined, dtype=np.uint8)
    starts = np.cumsum([0, *map(len, counts)], dtype=np.int64)
    return WordCounts(text, starts, np.array(list(counts.values()), dtype=np.int64))


def _words_from_texts(counts: dict[str, int]) -> WordCounts:
    """As `words_from_dict`, for words as str, as `regex` gives them."""
    return words_from_dict({word.encode(errors="surrogateescape"): n for word, n in counts.items()})


def corpus_fingerprint(words: WordCounts) -> str:
    """A digest of what training learns from: the distinct words and their counts, in any order; 16 hex digits.

    So it is the same for any number of workers and any order of files or documents, and for the same text from a file or
    an iterable; another pattern or other special tokens give other words.
    """
    return f"{digest_words(words.text, words.starts, words.counts):016x}"


class WordTable:
    """A growing table of byte strings with counts."""

    def __init__(self, capacity: int = 0) -> None:
        self.table = piece_table.new_table(capacity or _FIRST_SLOTS, 1 << 16)
        self._room = piece_table.SlotRoom(self.table.slots)

    def n_bytes(self) -> int:
        """The memory that the table takes."""
        return int(self.table.slots.nbytes + self.table.pool.nbytes)

    def is_empty(self) -> bool:
        """Whether the table has no key."""
        return not self.table.state[piece_table.N_ENTRIES]

    def grow(self, longest_key: int) -> None:
        """Make room for at least one more key of up to `longest_key` bytes."""
        self.table, self._room = piece_table.grown(self.table, self._room, longest_key)

    def add(self, words: WordCounts) -> None:
        """Add words to the counts."""
        done = 0
        while (done := self.add_some(words, done)) < len(words.counts):
            self.grow(int(words.starts[done + 1] - words.starts[done]))

    def add_some(self, words: WordCounts, first: int) -> int:
        """Add words to the counts from the `first` on; returns how many are done when the table is full, or all."""
        keys = np.empty((_WORDS_TOGETHER, 3), dtype=np.uint64)
        return int(count_pieces.add_words(words.text, words.starts, words.counts, first, self.table, keys))

    def take(self, n_threads: int = 1) -> WordCounts:
        """Remove and return all words with their counts; so many threads do it, if there are slots enough."""
        cuts = self._cuts(n_threads)
        measured = run_together([partial(count_pieces.measure_words, self.table, *cut) for cut in pairwise(cuts)])
        first, position = np.cumsum([(0, 0), *measured], axis=0, dtype=np.int64).T.tolist()
        words = _empty_words(first[-1], position[-1])
        # Each part has its own stretch of the text: what follows it belongs to another thread.
        texts = [words.text[: end + PADDING] for end in position[1:]]
        numbers = [(words.starts[i : j + 1], words.counts[i:j]) for i, j in pairwise(first)]
        run_together(
            [
                partial(count_pieces.take_words, self.table, *cut, at, text, *part)
                for cut, at, text, part in zip(pairwise(cuts), position, texts, numbers, strict=False)
            ]
        )
        return words

    def take_in_parts(self) -> Iterator[WordCounts]:
        """As `take`, some words at a time, in memory that is used again for the next ones.

        They come in the order of the table's slots: a table with the same secret to which they are added is read and
        written in about this order, too, and not at random.
        """
        n_slots = len(self.table.slots)
        return _in_parts(
            lambda slot, words: count_pieces.take_words(self.table, slot, n_slots, 0, *words), 0, n_slots, _SENT_BYTES
        )

    def split_pieces(self, pattern: Pattern, by_regex: bool = False, n_threads: int = 1) -> None:
        """Replace the pieces of several pretokens by these pretokens; so many threads find them, or `regex` in one, with
        `by_regex`."""
        if by_regex:
            self.add(_split_by_regex(self.take(), pattern))
            return
        # Only when all are taken, as added words may get slots that were not read yet.
        calls = [partial(self._copies_of_compound, pattern, *cut) for cut in pairwise(self._cuts(n_threads))]
        for parts in run_together(calls):
            for part in parts:
                self.add(part)

    def _copies_of_compound(self, pattern: Pattern, first_slot: int, end_slot: int) -> list[WordCounts]:
        """See _take_compound."""
        return [
            WordCounts(*(array.copy() for array in part)) for part in self._take_compound(pattern, first_slot, end_slot)
        ]

    def _cuts(self, n_threads: int) -> list[int]:
        """Cut the table into parts of some slots, one for each thread: where each begins, and the end of the last."""
        n_slots = len(self.table.slots) // piece_table.SLOT
        n_parts = max(min(n_threads, n_slots // _THREAD_SLOTS), 1)
        return [piece_table.SLOT * (n_slots * i // n_parts) for i in range(n_parts + 1)]

    def take_split(self, pattern: Pattern, by_regex: bool) -> list[WordCounts]:
        """Remove all pieces, and return their pretokens in parts that may have words in common.

        As `split_pieces` and `take`, but this table does not grow, which may be as large as it can be.
        """
        if by_regex:
            return [_split_by_regex(self.take(), pattern)]
        split = WordTable()
        for part in self._take_compound(pattern, 0, len(self.table.slots)):
            split.add(part)
        return [self.take(), split.take()]

    def _take_compound(self, pattern: Pattern, first_slot: int, end_slot: int) -> Iterator[WordCounts]:
        """Remove the pieces of several pretokens in some slots; these pretokens, in parts, a word perhaps several times."""
        tables = pattern.tables
        assert tables is not None
        scratch = new_split_scratch(tables)
        return _in_parts(
            lambda slot, words: count_pieces.take_compound(self.table, tables, scratch, slot, end_slot, *words),
            first_slot,
            end_slot,
            _SPLIT_BYTES,
        )


def _split_by_regex(pieces: WordCounts, pattern: Pattern) -> WordCounts:
    """The pretokens of pieces, as `regex` finds them: it sees each distinct piece once."""
    starts, text = pieces.starts.tolist(), pieces.text.tobytes()
    words: collections.Counter[str] = collections.Counter()
    for start, end, count in zip(starts, starts[1:], pieces.counts.tolist(), strict=False):
        for word in pattern.split(to_text(text[start:end])):
            words[word] += count
    return _words_from_texts(words)


def _empty_words(n_words: int, n_bytes: int) -> WordCounts:
    """Room for words (memory is touched only where it is filled)."""
    return WordCounts(
        np.empty(n_bytes + PADDING, dtype=np.uint8),
        np.empty(n_words + 1, dtype=np.int64),
        np.empty(n_words, dtype=np.int64),
    )


def _in_parts(
    take: Callable[[int, WordCounts], tuple[int, int]], slot: int, end_slot: int, room: int
) -> Iterator[WordCounts]:
    """What a kernel takes out of a table, slot after slot; each part is gone when the next one is asked for.

    take : called with the slot where to go on and room for words; returns the slot that it came to, and how many words
    room : bytes and words of a part; more for a word that is longer
    """
    words = _empty_words(room, room)
    while slot < end_slot:
        slot, n_words = take(slot, words)
        if n_words:
            starts = words.starts[: n_words + 1]
            yield WordCounts(words.text[: starts[-1] + PADDING], starts, words.counts[:n_words])
        else:
            room *= 2
            words = _empty_words(room, room)


class Counter(ABC):
    """Counts the words of text: a SharedJob for this and other processes."""

    at_once: bool  # whether a chunk must be one window

    def __init__(self, pattern: Pattern, specials: SpecialTokens, on_error: str) -> None:
        self.pattern = pattern
        self.specials = specials
        self._on_error = on_error
        self._most_bytes: int | None = None  # see bound
        self._spill: Callable[[list[WordCounts]], None]

    def run(self, part: Part) -> Iterator[int | Skipped]:
        """Count the words of a part of a source; yields the bytes that were read, and at last the skipped records."""
        taken = 0
        tally = Tally(self._on_error)
        with part.open(self.specials, self.at_once, NO_ID, tally) as reader:
            while (window := reader.advance(taken)) is not None:
                taken = self.count(window)
                yield tally.newly_read()
        yield tally.newly_read()
        yield tally.skipped()

    @abstractmethod
    def count(self, window: Window) -> int:
        """Count the words of a window; returns the position up to which it was used."""

    @abstractmethod
    def finish(self, n_threads: int = 1) -> WordCounts:
        """All words counted so far; so many threads gather them, at most."""

    def bound(self, most_bytes: int, spill: Callable[[list[WordCounts]], None]) -> None:
        """Take no more than `most_bytes` bytes of memory for words, about: before more are needed, all words so far are
        passed to `spill`, in parts that may have words in common."""
        self._most_bytes, self._spill = most_bytes, spill

    @abstractmethod
    def hand_over(self) -> Iterator[Any]:
        """See SharedJob."""

    @abstractmethod
    def take_over(self, gathered: Any) -> None:
        """See SharedJob."""


class PieceCounter(Counter):
    """Counts words by pieces, for a compiled pattern; pieces are split by its automaton or by `regex`."""

    at_once = False

    def __init__(self, pattern: Pattern, specials: SpecialTokens, on_error: str, by_regex: bool = False) -> None:
        super().__init__(pattern, specials, on_error)
        self._by_regex = by_regex
        self._pattern_tables = pattern.tables
        self._words = WordTable()
        self._masks = new_classes()
        self._batch = new_batch()

    def count(self, window: Window) -> int:
        position = window.start
        done = False
        while not done:
            position, done = count_pieces.count_pieces(
                window.data,
                position,
                window.end,
                window.limit,
                window.breaks,
                len(window.breaks),
                self._pattern_tables,
                self._masks,
                self._batch,
                self._words.table,
            )
            if not done:
                self._make_room(window.end - position)
        return int(position)

    def _make_room(self, longest_piece: int) -> None:
        words = self._words
        # A table that grows has twice its size at least.
        if self._most_bytes is not None and 2 * words.n_bytes() > self._most_bytes and not words.is_empty():
            capacity = len(words.table.slots) // piece_table.SLOT
            parts = words.take_split(self.pattern, self._by_regex)
            del words
            self._words = WordTable()  # so that the memory of the large one is free while words are sorted
            self._spill(parts)
            self._words = WordTable(capacity)
        else:
            words.grow(longest_piece)

    def finish(self, n_threads: int = 1) -> WordCounts:
        self._words.split_pieces(self.pattern, self._by_regex, n_threads)
        return self._words.take(n_threads)

    def hand_over(self) -> Iterator[WordCounts]:
        """See SharedJob. Pieces, which most workers have in common, so that each is split once, by whoever has all."""
        return self._words.take_in_parts()

    def take_over(self, gathered: WordCounts) -> None:
        """See SharedJob."""
        done = 0
        while (done := self._words.add_some(gathered, done)) < len(gathered.counts):
            self._make_room(int(gathered.starts[done + 1] - gathered.starts[done]))


class RegexCounter(Counter):
    """Counts words by `regex` alone, document by document, for a pattern that is not compiled."""

    at_once = True

    def __init__(self, pattern: Pattern, specials: SpecialTokens, on_error: str) -> None:
        super().__init__(pattern, specials, on_error)
        self._counts: collections.Counter[str] = collections.Counter()

    def count(self, window: Window) -> int:
        for document, _ in window.texts():
            for words in self.pattern.stream(document):
                self._counts.update(words)
                self._spill_if_full()
        return window.end

    def _spill_if_full(self) -> None:
        if self._most_bytes is not None and len(self._counts) * _TEXT_BYTES > self._most_bytes:
            self._spill([self.finish()])

    def finish(self, n_threads: int = 1) -> WordCounts:
        words = _words_from_texts(self._counts)
        self._counts.clear()
        return words

    def hand_over(self) -> Iterator[dict[str, int]]:
        """See SharedJob."""
        items = iter(self._counts.items())
        while part := dict(islice(items, _SENT_TEXTS)):
            yield part

    def take_over(self, gathered: dict[str, int]) -> None:
        """See SharedJob."""
        self._counts.update(gathered)
        self._spill_if_full()


def make_counter(
    pattern: Pattern, special_tokens: Sequence[bytes], on_error: str = "raise", by_regex: bool = False
) -> Counter:
    """The counter for a pattern; with `by_regex`, pieces are split by `regex` even where the pattern is compiled."""
    specials = new_special_tokens(list(special_tokens))
    if not pattern.is_compiled:
        return RegexCounter(pattern, specials, on_error)
    return PieceCounter(pattern, specials, on_error, by_regex)


def count_documents(
    documents: Iterable[Text],
    pattern: Pattern,
    special_tokens: Sequence[bytes],
    report: Callable[[int], None],
) -> WordCounts:
    """Count the words of an iterable of documents, in this process; `report` is called with the bytes read."""
    return count_files([Documents(documents)], pattern, special_tokens, 1, report)


def count_files(
    inputs: Sequence[Input],
    pattern: Pattern,
    special_tokens: Sequence[bytes],
    n_workers: int,
    report: Callable[[int], None],
    on_error: str = "raise",
    by_regex: bool = False,
) -> WordCounts:
    """Count the words of files and iterables, in `n_workers` processes where that pays.

    `report` is called with the bytes read. With on_error="skip", malformed records are skipped, and one warning says which.
    With `by_regex`, pieces are split by `regex`.
    """
    make = partial(make_counter, pattern, special_tokens, on_error, by_regex)
    counter = make()
    run_counters(counter, make, inputs, pattern, special_tokens, n_workers, report)
    return counter.finish(n_workers)


def run_counters(
    counter: SharedJob,
    make: Callable[[], SharedJob],
    inputs: Sequence[Input],
    pattern: Pattern,
    special_tokens: Sequence[bytes],
    n_workers: int,
    report: Callable[[int], None],
) -> None:
    """Count the words of inputs by a counter in this process, and by others that `make` makes in processes of their own.

    In the end, `counter` has taken over what they have counted. For the other arguments see `count_files`.
    """
    n_workers = workers_that_pay(inputs, n_workers)
    total = sum(each.n_text() for each in inputs)
    part_bytes = max(BATCH, min(_SHARED_CHUNK_BYTES, total // (8 * n_workers))) if n_workers > 1 else _CHUNK_BYTES
    tasks = [part for each in inputs for part in each.cut(part_bytes, pattern, special_tokens)]
    if n_workers > 1:
        # Workers inherit compiled kernels instead of racing to compile them.
        count_documents([b"warm up"], pattern, special_tokens, lambda n_bytes: None)
    skipped: dict[int, Skipped] = {}
    for number, result in run_jobs(make, tasks, n_workers, own=counter):
        if isinstance(result, Skipped):
            if result.n and number is not None:
                skipped[number] = result
        elif result is not ENDED:
            report(result)
    warn_of_skipped(skipped[number] for number in sorted(skipped))


def workers_that_pay(inputs: Sequence[Input], n_workers: int) -> int:
    """How many of `n_workers` processes pay for inputs."""
    return 1 if sum(each.n_text() for each in inputs) < MIN_BYTES_FOR_WORKERS else n_workers


def add_up(parts: Sequence[WordCounts]) -> WordCounts:
    """The words of all parts, of which each has each word once, with the counts of equal ones added up."""
    if len(parts) == 1:
        return parts[0]
    words = WordTable()
    for part in parts:
        words.add(part)
    return words.take()
