"""Adds up words of several counters and tables within a limit of memory; beyond it, they go to sorted runs on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..sources import Input, Skipped
from ..system.excerpt import shown_count
from ..system.scratch import scratch_folder, temporary_folder
from .counters import Counter, WordRules, make_counter
from .executor_counting import count_on
from .parallel_counting import run_counters, workers_that_pay
from .sorted_runs import (
    Run,
    RunFolder,
    concatenate,
    in_blocks,
    n_bytes_of,
    n_text_of,
    sorted_words,
    total_of,
)
from .word_counts import WordCounts
from .word_table import add_up

MOST_COUNT = 2**63 - 1
_OWN_BYTES = 48 << 20  # that each process needs in addition to words
BATCH_BYTES = 64 << 20  # of sorted words that are passed on at a time
# How much of a process's share of the memory its table may take. When it is full, its words are copied out of it, and
# copied again to be sorted: 1.4 times the table for words of 10 bytes.
_TABLE_SHARE = 1 / 1.6
# Sorting takes so many times the memory of the words: they are there twice, with the order and a prefix of each.
_SORT_ROOM = 4
_TABLE_ROOM = 8  # a growing table takes at most so many times the memory of its words
_TABLE_BYTES_OF_TEXT = 64  # a table takes at most so many bytes for each byte of text


class Limit(NamedTuple):
    """A limit of memory, and a folder for what exceeds it.

    n_bytes : the limit, None for none
    runs    : where runs are written; None if nothing can exceed the limit
    """

    n_bytes: int | None = None
    runs: RunFolder | None = None

    def table_bytes(self, n_workers: int) -> int:
        """The largest table that each of several processes may have."""
        assert self.n_bytes is not None
        return int(max(self.n_bytes // n_workers - _OWN_BYTES, _OWN_BYTES // 4) * _TABLE_SHARE)

    def new_counter(self, rules: WordRules, n_workers: int) -> Counter:
        """A counter for one of `n_workers` processes, with its share of the memory."""
        return make_counter(rules) if self.runs is None else make_counter(rules, self.runs, self.table_bytes(n_workers))

    def is_reached(self, n_bytes: int) -> bool:
        """Whether words of `n_bytes` bytes must be written to a run now, as more would leave no room to sort them."""
        return self.n_bytes is not None and self.runs is not None and n_bytes * _SORT_ROOM > self.n_bytes - _OWN_BYTES


@contextmanager
def limited(n_bytes: int | None, is_asked_for: bool, most_text: int | None) -> Iterator[Limit]:
    """A Limit, with a folder for runs that is removed at the end.

    is_asked_for : whether the user gave the limit; only then is it an error if the folder cannot be made
    most_text    : bytes of text to count, at most; None if not known
    """
    if n_bytes is None or (most_text is not None and most_text * _TABLE_BYTES_OF_TEXT <= n_bytes):
        yield Limit(n_bytes)
        return
    with ExitStack() as stack:
        runs = None
        try:
            folder = temporary_folder()
            runs = RunFolder(stack.enter_context(scratch_folder(os.path.join(folder, "words"), folder)))
        except OSError:
            if is_asked_for:
                raise
        yield Limit(n_bytes, runs)


class Gathered:
    """Distinct words with their counts: in memory, or in runs.

    words   : WordCounts, in no particular order; None if they are in runs
    skipped : the malformed records of the text that were skipped
    """

    def __init__(self, words: WordCounts | None, runs: Sequence[Run], limit: Limit, skipped: Sequence[Skipped]) -> None:
        self.words = words
        self.skipped = skipped
        self._runs = list(runs)
        self._limit = limit

    def sorted_batches(self) -> Iterator[WordCounts]:
        """All words, sorted by their bytes, in batches. Words in runs can be read only once."""
        if self.words is not None:
            return in_blocks(sorted_words(self.words), BATCH_BYTES)
        assert self._limit.runs is not None
        return self._limit.runs.merge(self._runs)

    def in_memory(self) -> WordCounts:
        """All words, in memory whatever the limit. Words in runs can be read only once."""
        return concatenate(list(self.sorted_batches())) if self.words is None else self.words

    def add_to(self, gathering: Gathering, factor: int) -> None:
        """Add all words to a Gathering, with their counts multiplied by a factor."""
        if self.words is not None:
            gathering.add(self.words, factor)
        for run in self._runs:
            gathering.add_run(run, factor)

    def n_bytes(self) -> int:
        """The bytes of memory that the words take; those in runs take none."""
        return 0 if self.words is None else n_bytes_of(self.words)

    def move_to_run(self) -> None:
        """Write the words to a run, if they are in memory."""
        if self.words is not None and len(self.words.counts):
            assert self._limit.runs is not None
            parts, self.words = [self.words], None
            self._runs.append(self._limit.runs.write_parts(parts))

    def is_empty(self) -> bool:
        """Whether nothing was counted."""
        return self.words is not None and not len(self.words.counts)

    def total(self) -> int:
        """The sum of all counts."""
        return sum(run.total for run in self._runs) if self.words is None else total_of(self.words.counts)

    def n_text(self) -> int:
        """The bytes of the text that the words were counted in."""
        return sum(run.n_text for run in self._runs) if self.words is None else n_text_of(self.words)

    def longest(self) -> int:
        """The bytes of the longest word."""
        if self.words is not None:
            return int(np.diff(self.words.starts).max(initial=0))
        return max(run.longest for run in self._runs)


class Gathering:
    """Adds up words from several counters, tables and files.

    skipped : the malformed records of their text that were skipped, in order
    """

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.skipped: list[Skipped] = []
        self._parts: list[WordCounts] = []
        self._are_distinct = True  # whether the last part has each of its words once
        self._n_bytes = 0
        self._runs: list[Run] = []
        self._total = 0

    def add(self, words: WordCounts, factor: int = 1, are_distinct: bool = True) -> None:
        """Add words, with their counts multiplied by a factor; `are_distinct` says that none is there twice.

        Raises OverflowError if the sum of all counts does not fit in int64.
        """
        self._add_to_total(total_of(words.counts) * factor)
        if factor != 1 and len(words.counts):
            words = words._replace(counts=words.counts * factor)
        self._parts.append(words)
        self._n_bytes += n_bytes_of(words)
        self._are_distinct = are_distinct
        if self.limit.is_reached(self._n_bytes):
            self._spill()

    def add_counted(self, counter: Counter, factor: int = 1, n_threads: int = 1) -> None:
        """Add the words of a counter, gathered by at most `n_threads` threads, with counts multiplied by a factor."""
        for run in counter.written:
            self.add_run(run, factor)
        self.add(counter.finish(n_threads), factor)

    def add_run(self, run: Run, factor: int) -> None:
        """Add the words of a run, with their counts multiplied by a factor."""
        self._add_to_total(run.total * factor)
        self._runs.append(run._replace(factor=factor))

    def _add_to_total(self, n: int) -> None:
        self._total += n
        if self._total > MOST_COUNT:
            raise OverflowError(
                "the counts of all words, times their weights in whole numbers, add up to "
                f"{shown_count(self._total)} so far, and at most {MOST_COUNT:,} can be counted: give weights with a "
                "smaller common denominator, or smaller counts"
            )

    def _spill(self) -> None:
        assert self.limit.runs is not None
        self._runs.append(self.limit.runs.write_parts(self._parts))
        self._n_bytes = 0

    def finish(self) -> Gathered:
        """All words that were added."""
        words: WordCounts | None
        most = self.limit.n_bytes
        if self._runs:
            if self._n_bytes:
                self._spill()
            words = None
        elif len(self._parts) == 1 and self._are_distinct:
            words = self._parts[0]
        elif most is not None and self._n_bytes * _TABLE_ROOM > most:
            together = concatenate(self._parts)
            self._parts.clear()
            words = sorted_words(together)
        else:
            words = add_up(self._parts)
        return Gathered(words, self._runs, self.limit, self.skipped)


def gather_inputs(
    gathering: Gathering,
    inputs: Sequence[Input],
    rules: WordRules,
    n_workers: int,
    report: Callable[[int], None],
    factor: int = 1,
    executor: Any = None,
) -> None:
    """Count the words of inputs, as `count_files`, and add them to `gathering`, with their counts multiplied by a factor.

    Malformed records that are skipped are added to `gathering.skipped`.

    executor : counts in place of worker processes, if given
    """
    if executor is not None:
        skipped = {}
        for number, part in count_on(executor, inputs, rules, report):
            gathering.add(part.words.words(), factor)
            skipped[number] = part.skipped
        gathering.skipped += [skipped[number] for number in sorted(skipped)]
        return
    make = partial(gathering.limit.new_counter, rules, workers_that_pay(inputs, n_workers))
    counter, skipped_records = run_counters(make, inputs, rules, n_workers, report)
    gathering.skipped += skipped_records
    gathering.add_counted(counter, factor, n_workers)
