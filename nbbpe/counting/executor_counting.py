"""Counts files on an executor: each task is a part of a file, given by its path and its range of bytes or rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..sources import Input, Part, Skipped
from ..sources.files.portable_parts import portable_part
from ..system.executors import run_on
from ..system.stretches import starts_of
from ..text.utf8 import padded
from .counters import WordRules, make_counter
from .word_counts import WordCounts

# Large enough that the cost of a task is small compared with its work, small enough that a lost worker costs little. Dask
# takes 4 ms of processor time for a task, and as much for each MB of its result.
_LEAST_BYTES, _MOST_BYTES = 80 << 20, 256 << 20
_N_PARTS = 64  # of a text of middle size


class SentWords(NamedTuple):
    """Words in the form in which they are sent: half the bytes of WordCounts.

    text    : uint8[*]          the bytes of all words, one after another
    lengths : uint*[n_words]    of each word, in the narrowest type
    counts  : uint*[n_words]    of each word, in the narrowest type
    """

    text: NDArray[np.uint8]
    lengths: NDArray[Any]
    counts: NDArray[Any]

    @classmethod
    def of(cls, words: WordCounts) -> SentWords:
        """The form to send of words whose text begins at 0."""
        return cls(words.text[: words.starts[-1]], _narrowed(np.diff(words.starts)), _narrowed(words.counts))

    def words(self) -> WordCounts:
        """The words as they were before they were sent."""
        return WordCounts(padded(self.text.data), starts_of(self.lengths), self.counts.astype(np.int64))


def _narrowed(numbers: NDArray[np.int64]) -> NDArray[Any]:
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


class CountedPart(NamedTuple):
    """The result of a task.

    words   : with their counts
    n_read  : bytes that were read
    skipped : malformed records
    """

    words: SentWords
    n_read: int
    skipped: Skipped


def count_part(part: Part, rules: WordRules) -> CountedPart:
    """Count the words of a part. The result is the same however often this is called, and on any machine."""
    counter = make_counter(rules)
    n_read, skipped = 0, Skipped(0, [])
    for result in counter.run(part):
        if isinstance(result, Skipped):
            skipped = result
        else:
            n_read += result
    return CountedPart(SentWords.of(counter.finish()), n_read, skipped)


def count_on(
    executor: Any, inputs: Sequence[Input], rules: WordRules, report: Callable[[int], None]
) -> Iterator[tuple[int, CountedPart]]:
    """Count the words of files on an executor. Yields (number of the part, its words), in the order in which parts end."""
    total = sum(each.n_text() for each in inputs)
    part_bytes = min(max(total // _N_PARTS, _LEAST_BYTES), _MOST_BYTES)
    n_parts = max(-(-total // part_bytes), 1)
    # An even number of parts, of equal size if they are of one file, so that no worker waits long for another.
    part_bytes = max(-(-total // (n_parts + n_parts % 2)), 1)
    parts = [portable_part(part) for each in inputs for part in each.cut(part_bytes, rules.cut_rules)]
    for number, done in run_on(executor, partial(count_part, rules=rules), parts):
        report(done.n_read)
        yield number, done
