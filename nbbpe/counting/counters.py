"""Counters, which count the words of text window after window: as pieces that are split later, or by `regex` alone."""

from __future__ import annotations

import collections
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ..kernels.pieces import piece_table
from ..kernels.pieces.boundaries import new_classes
from ..kernels.pieces.piece_batch import new_batch
from ..kernels.pieces.special_tokens import new_special_tokens
from ..kernels.training import count_pieces
from ..patterns.pattern import Pattern
from ..sources import Part, Skipped, Tally
from ..text.chunks import CutRules
from ..text.windows import NO_ID, Window
from .sorted_runs import Run, RunFolder
from .word_counts import WordCounts, words_from_texts
from .word_table import WordTable

_SENT_TEXTS = 1 << 14  # words that a worker process sends at a time, as Python objects
_ENTRY_BYTES = 100  # about the memory of a word and its count as Python objects, without the text
_COPIES = 4  # of the text, while words become arrays


class WordRules(NamedTuple):
    """How a counter makes words of text.

    pattern        : splits text into words
    special_tokens : separate texts that are split one by one; they are not words themselves
    on_error       : "raise" or "skip", for malformed records
    by_regex       : whether `regex` splits pieces, even if the pattern is compiled
    """

    pattern: Pattern
    special_tokens: Sequence[bytes] = ()
    on_error: str = "raise"
    by_regex: bool = False

    @property
    def cut_rules(self) -> CutRules:
        """The rules for where text may be cut, so that several counters can share it."""
        return CutRules(self.pattern, self.special_tokens)


class Counter(ABC):
    """Counts the words of text: a SharedJob for this and other processes.

    runs    : where all words so far are written before they take more than about `most_bytes` bytes of memory; None for no
              limit
    written : the runs that were written by this counter, and by those that it took over
    """

    def __init__(self, rules: WordRules, runs: RunFolder | None = None, most_bytes: int = 0) -> None:
        self._rules = rules
        self._specials = new_special_tokens(list(rules.special_tokens))
        self._runs = runs
        self._most_bytes = most_bytes
        self.written: list[Run] = []

    def run(self, part: Part) -> Iterator[int | Skipped]:
        """Count the words of a part of a source; yields how many bytes were read, and finally the skipped records."""
        taken = 0
        tally = Tally(self._rules.on_error)
        with part.open(self._specials, False, NO_ID, tally) as reader:
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
        """The words that are not in runs, gathered by at most `n_threads` threads. Called once, after all counting."""

    def hand_over(self) -> Iterator[Any]:
        """See SharedJob. Yields the counted words in parts, or the runs, if there are any."""
        if not self.written:
            yield from self._parts()
        else:
            self._write([self.finish()])
            yield self.written

    def take_over(self, gathered: Any) -> None:
        """See SharedJob. Words that are not in runs count towards the memory of this job."""
        if isinstance(gathered, list):
            self.written += gathered
        else:
            self._add_part(gathered)

    @abstractmethod
    def _parts(self) -> Iterator[Any]:
        """The counted words, in parts to send."""

    @abstractmethod
    def _add_part(self, part: Any) -> None:
        """Add a part of another counter's words."""

    def _write(self, parts: list[WordCounts]) -> None:
        """Write the words of all parts to a run, and empty the list."""
        assert self._runs is not None
        self.written.append(self._runs.write_parts(parts))


class PieceCounter(Counter):
    """Counts pieces, for a pattern with certain boundaries; at the end, the pattern's automata or `regex` split them."""

    def __init__(self, rules: WordRules, runs: RunFolder | None = None, most_bytes: int = 0) -> None:
        super().__init__(rules, runs, most_bytes)
        self._words = WordTable()
        self._classes = new_classes()
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
                self._rules.pattern.tables,
                self._classes,
                self._batch,
                self._words.table,
            )
            if not done:
                self._make_room(window.end - position)
        return int(position)

    def _make_room(self, longest_piece: int) -> None:
        words = self._words
        # A table that grows has twice its size at least.
        if self._runs is not None and 2 * words.n_bytes() > self._most_bytes and not words.is_empty():
            capacity = len(words.table.slots) // piece_table.SLOT_WORDS
            parts = words.take_split(self._rules.pattern, self._rules.by_regex)
            del words
            self._words = WordTable()  # frees the memory of the large one while words are sorted
            self._write(parts)
            self._words = WordTable(capacity)
        else:
            words.grow(longest_piece)

    def finish(self, n_threads: int = 1) -> WordCounts:
        self._words.split_pieces(self._rules.pattern, self._rules.by_regex, n_threads)
        words = self._words.take(n_threads)
        del self._words  # frees the memory of the table while words are sorted
        return words

    def _parts(self) -> Iterator[WordCounts]:
        """The pieces, not words: workers have most pieces in common, so each is split only once, after all are added up."""
        return self._words.take_in_parts()

    def _add_part(self, part: WordCounts) -> None:
        done = 0
        while (done := self._words.add_some(part, done)) < len(part.counts):
            self._make_room(int(part.starts[done + 1] - part.starts[done]))


class RegexCounter(Counter):
    """Counts words by `regex` alone, document by document, for a pattern without certain boundaries."""

    def __init__(self, rules: WordRules, runs: RunFolder | None = None, most_bytes: int = 0) -> None:
        super().__init__(rules, runs, most_bytes)
        self._counts: collections.Counter[str] = collections.Counter()
        self._n_text = 0  # bytes of memory of the words as str

    def count(self, window: Window) -> int:
        window = window.of_whole_documents()
        for document, _ in window.texts():
            for words in self._rules.pattern.stream(document):
                self._add_part(words)
        return window.end

    def _add_part(self, part: Iterable[str] | dict[str, int]) -> None:
        """Count words, or add the counts of a dict."""
        counts = self._counts
        n = len(counts)
        counts.update(part)
        if self._runs is None:
            return
        self._n_text += sum(map(sys.getsizeof, islice(reversed(counts), len(counts) - n)))  # the new ones are the last
        if len(counts) * _ENTRY_BYTES + self._n_text * _COPIES > self._most_bytes:
            self._write([self.finish()])

    def finish(self, n_threads: int = 1) -> WordCounts:
        words = words_from_texts(self._counts)
        self._counts.clear()
        self._n_text = 0
        return words

    def _parts(self) -> Iterator[dict[str, int]]:
        items = iter(self._counts.items())
        while part := dict(islice(items, _SENT_TEXTS)):
            yield part


def make_counter(rules: WordRules, runs: RunFolder | None = None, most_bytes: int = 0) -> Counter:
    """A counter for these rules: of pieces, if the pattern has tables, which give its certain boundaries."""
    kind = RegexCounter if rules.pattern.tables is None else PieceCounter
    return kind(rules, runs, most_bytes)
