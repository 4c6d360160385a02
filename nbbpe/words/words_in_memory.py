"""Brings the words to train on into memory, and skips rare words if asked, or so that the others fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..counting.gathering import Gathered, Limit
from ..counting.sorted_runs import read_run, total_of
from ..counting.word_counts import WordCounts
from ..kernels.machine.intrinsics import PADDING
from ..kernels.training.linked_words import MOST_CELLS, n_cells
from ..system.arguments import argument
from ..system.user_warnings import warn_user
from ..system.wrong_argument import WrongArgument
from ..training.merges import n_bytes_needed
from .counting_options import MinWordCount

_MOST_EXACT = 1 << 16  # the highest min_word_count that "auto" tries: no text needs a higher one


class LeftOut(NamedTuple):
    """How many words are not trained on.

    min_word_count  : words that occur less often are skipped
    n_words         : the number of distinct words that are skipped
    n_occurrences   : how often they occur, together
    n_all_words, n_all_occurrences : the same for all words
    """

    min_word_count: int
    n_words: int
    n_occurrences: int
    n_all_words: int
    n_all_occurrences: int

    def __str__(self) -> str:
        return (
            f"{argument('min_word_count', self.min_word_count)} skips {self.n_words:,} of {self.n_all_words:,} "
            f"distinct words, with {self.n_occurrences:,} of {self.n_all_occurrences:,} occurrences "
            f"({self.n_occurrences / max(self.n_all_occurrences, 1):.3%} of the words of the text)"
        )


def record_of(left_out: LeftOut | None) -> dict[str, Any]:
    """The entry of the provenance about words that are not trained on; none if there are no such words."""
    return {} if left_out is None else {"left_out": left_out._asdict()}


class _Sizes:
    """Sums over words: of their number, their bytes and their counts.

    n_words, n_bytes : int64[_MOST_EXACT + 1]  [i] for words that occur i times, the last one also for more often
    all, kept        : [words, bytes, counts] of all words, and of those whose count is at least `threshold`
    unit             : the count of one occurrence
    """

    def __init__(self, threshold: int, unit: int) -> None:
        self.unit = unit
        self.n_words = np.zeros(_MOST_EXACT + 1, dtype=np.int64)
        self.n_bytes = np.zeros(_MOST_EXACT + 1, dtype=np.int64)
        self.threshold = threshold
        self.all = [0, 0, 0]
        self.kept = [0, 0, 0]

    def add(self, words: WordCounts) -> None:
        """Add words to the sums."""
        lengths = np.diff(words.starts)
        # With tiny weights, the unit may exceed all counts, and the range of int64.
        times = np.minimum(words.counts // self.unit, _MOST_EXACT) if self.unit < 2**63 else np.zeros_like(words.counts)
        self.n_words += np.bincount(times, minlength=_MOST_EXACT + 1)
        self.n_bytes += np.bincount(times, lengths, minlength=_MOST_EXACT + 1).astype(np.int64)
        kept = words.counts >= self.threshold
        for sums, chosen in (self.all, slice(None)), (self.kept, kept):
            sums[0] += len(words.counts[chosen])
            sums[1] += int(lengths[chosen].sum())
            sums[2] += total_of(words.counts[chosen])

    def least_that_fits(self, n_tokens: int, most_bytes: int | None) -> int | None:
        """The smallest min_word_count with which the words fit and some are left; None if there is none."""
        n_words, n_bytes = (np.cumsum(sizes[::-1])[::-1].tolist() for sizes in (self.n_words, self.n_bytes))
        for n in range(1, _MOST_EXACT + 1):
            if n_words[n] and _fits(n_words[n], n_bytes[n], n_tokens, most_bytes):
                return n
        return None

    def left_out(self) -> LeftOut:
        """How many words the threshold skips."""
        n_words, _, n_occurrences = (whole - kept for whole, kept in zip(self.all, self.kept, strict=True))
        unit = self.unit
        return LeftOut(self.threshold // unit, n_words, n_occurrences // unit, self.all[0], self.all[2] // unit)


def _fits(n_words: int, n_bytes: int, n_tokens: int, most_bytes: int | None) -> bool:
    if n_cells(n_words, n_bytes) > MOST_CELLS:
        return False
    return most_bytes is None or n_bytes_needed(n_words, n_bytes, n_tokens) <= most_bytes


def words_that_fit(
    gathered: Gathered, n_tokens: int, limit: Limit, min_word_count: MinWordCount, unit: int
) -> tuple[WordCounts, LeftOut | None]:
    """The words to train on, in memory, and how many were skipped (None if none were).

    n_tokens       : how many tokens are learned, the 256 bytes included
    min_word_count : words that occur less often are skipped; None skips no word, "auto" as few as necessary
    unit           : the count of one occurrence: the common denominator of weights

    Raises MemoryError if the words do not fit in memory, OverflowError if they need more cells than can be numbered.
    """
    threshold = min_word_count * unit if isinstance(min_word_count, int) else 1
    words = gathered.words
    sizes = _Sizes(threshold, unit)
    measured: Iterable[WordCounts]
    if words is None:
        assert limit.runs is not None
        # The runs become one run, which is measured while it is written, and then read without the rare words.
        measured = read_run(limit.runs.write(_measuring(gathered.sorted_batches(), sizes)))
    else:
        n_words, n_bytes = len(words.counts), int(words.starts[-1] - words.starts[0])
        if threshold == 1 and _fits(n_words, n_bytes, n_tokens, limit.n_bytes):
            return words, None
        sizes.add(words)
        measured = [words]
    if not _fits(sizes.kept[0], sizes.kept[1], n_tokens, limit.n_bytes):
        least = sizes.least_that_fits(n_tokens, limit.n_bytes)
        if min_word_count != "auto" or least is None:
            raise _error(sizes, n_tokens, limit, least)
        threshold = least * unit
        sizes.threshold = threshold
        sizes.kept = [int(sizes.n_words[least:].sum()), int(sizes.n_bytes[least:].sum()), 0]
    if not sizes.kept[0]:
        raise WrongArgument(f"{argument('min_word_count', min_word_count)} skips every word: none occurs that often")
    kept = _collected(measured, threshold, sizes)
    if sizes.kept[0] == sizes.all[0]:
        return kept, None
    sizes.kept[2] = total_of(kept.counts)
    left_out = sizes.left_out()
    if min_word_count == "auto":
        warn_user(f"so that the words fit in memory, {left_out}")
    return kept, left_out


def _measuring(batches: Iterable[WordCounts], sizes: _Sizes) -> Iterator[WordCounts]:
    for batch in batches:
        sizes.add(batch)
        yield batch


def _collected(batches: Iterable[WordCounts], threshold: int, sizes: _Sizes) -> WordCounts:
    """The words whose count is at least `threshold`, as one WordCounts; `sizes.kept` says how many these are.

    Equal words are not added up: with parity, each source has its own.
    """
    n_words, n_bytes, _ = sizes.kept
    made = WordCounts(np.zeros(n_bytes + PADDING, np.uint8), np.zeros(n_words + 1, np.int64), np.empty(n_words, np.int64))
    word = 0
    for batch in batches:
        kept, lengths = batch.counts >= threshold, np.diff(batch.starts)
        end, at = word + np.count_nonzero(kept), int(made.starts[word])
        made.counts[word:end] = batch.counts[kept]
        made.starts[word + 1 : end + 1] = np.cumsum(lengths[kept]) + at
        made.text[at : made.starts[end]] = batch.text[batch.starts[0] : batch.starts[-1]][np.repeat(kept, lengths)]
        word = end
    return made


def _error(sizes: _Sizes, n_tokens: int, limit: Limit, least: int | None) -> Exception:
    n_words, n_bytes, _ = sizes.kept
    there_are = f"there are {n_words:,} distinct words with {n_bytes:,} bytes"
    if sizes.threshold > 1:
        there_are += " that occur often enough"
    fits = (
        f"no {argument('min_word_count')} would make them fit"
        if least is None
        else f"{argument('min_word_count', least)} would make them fit, as it skips words that occur less often "
        '("auto" does so and says how much of the text that is)'
    )
    if n_cells(n_words, n_bytes) > MOST_CELLS:
        reason = (
            f"words and bytes can be at most {MOST_CELLS - 1:,} together: use a split pattern that gives shorter pretokens"
        )
        return OverflowError(f"{there_are}, and {reason}, or less text; {fits}")
    needed = n_bytes_needed(n_words, n_bytes, n_tokens)
    return MemoryError(
        f"{there_are}, and to learn merges from them takes {needed / 1e9:,.2f} GB of memory, where "
        f"{argument('memory_limit')} allows {(limit.n_bytes or 0) / 1e9:,.2f} GB; {fits}"
    )
