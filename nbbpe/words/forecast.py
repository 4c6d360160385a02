"""Estimates the time and memory of a run from a sample of its text, and gives the actual figures afterwards."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from typing import NamedTuple

from ..counting.counters import WordRules, make_counter
from ..counting.parallel_counting import warm_up, workers_that_pay
from ..counting.word_counts import WordCounts
from ..counting.word_table import add_up
from ..sources import Input, Part
from ..training.merges import n_bytes_needed

MIN_BYTES = 1 << 30  # of text: shorter runs are over before a forecast is of use
_N_PLACES = 8  # at which the text is sampled
_PLACE_BYTES = 4 << 20  # read at each of them
_MERGE_SECONDS = 90e-9  # for each byte of the distinct words, as measured on 1 to 10 MB of them
_ENTRY_BYTES = 100  # of a word in the table of a worker
_PROCESS_BYTES = 64 << 20  # that a process needs in addition to words


class Forecast(NamedTuple):
    """The estimate for a run.

    n_bytes  : bytes of text
    n_words  : distinct words
    seconds  : for counting words and learning merges
    n_memory : bytes of memory of all processes together
    """

    n_bytes: int
    n_words: int
    seconds: float
    n_memory: int

    def followed_by(self, other: Forecast) -> Forecast:
        """The estimate for this run and, after it, another one over the same text."""
        return self._replace(seconds=self.seconds + other.seconds, n_memory=max(self.n_memory, other.n_memory))

    def __str__(self) -> str:
        n_words = round(self.n_words, 1 - int(math.log10(max(self.n_words, 1))))
        return (
            f"{gigabytes(self.n_bytes)} of text will take about {duration(self.seconds)} and "
            f"{gigabytes(self.n_memory)} of memory, and have about {n_words:,} distinct words (guessed from a sample)"
        )


def forecast(
    inputs: Sequence[Input], rules: WordRules, n_workers: int, n_tokens: int | None, most_bytes: int | None
) -> Forecast | None:
    """The estimate for counting inputs and learning `n_tokens` tokens; None for a short run, or if a size is not known.

    n_tokens   : None if nothing is learned
    most_bytes : the limit of memory, None for no limit

    Counts some megabytes at places all over the text. The number of distinct words grows as a power of the size of the
    text (Heaps' law); the exponent follows from the numbers in each half of the sample and in both together.
    """
    sizes = [each.size() for each in inputs]
    n_bytes = sum(size or 0 for size in sizes)
    if n_bytes < MIN_BYTES or None in sizes or any(each.path() is None for each in inputs):
        return None
    parts = [part for each in inputs for part in each.cut(n_bytes // (8 * _N_PLACES), rules.cut_rules)]
    n_places = min(_N_PLACES, len(parts))
    if n_places < 2:
        return None
    places = [parts[i * len(parts) // n_places] for i in range(n_places)]
    warm_up(rules)  # so that the time of the sample has no compiling in it
    began = time.process_time()
    halves, bytes_of_halves = zip(*[_sampled(places[first::2], rules) for first in (0, 1)], strict=True)
    seconds = time.process_time() - began
    both = add_up(halves)
    of_half = sum(len(half.counts) for half in halves) / 2
    if not of_half:
        return None
    times = n_bytes / sum(bytes_of_halves)
    n_words = int(len(both.counts) * times ** math.log2(len(both.counts) / of_half))
    word_bytes = int(both.starts[-1]) / len(both.counts)
    n_workers = workers_that_pay(inputs, n_workers)
    seconds *= times / n_workers
    own = _PROCESS_BYTES * n_workers
    memory = own + n_words * _ENTRY_BYTES * (n_workers + 1)
    if n_tokens is not None:
        seconds += _MERGE_SECONDS * n_words * word_bytes
        memory = max(memory, own + n_bytes_needed(n_words, int(n_words * word_bytes), n_tokens))
    return Forecast(n_bytes, n_words, seconds, memory if most_bytes is None else min(memory, most_bytes))


def _sampled(places: Sequence[Part], rules: WordRules) -> tuple[WordCounts, int]:
    """The words at the beginnings of some parts, and how many bytes were read."""
    counter = make_counter(rules._replace(on_error="skip"))
    n_sampled = 0
    for part in places:
        n_read = 0
        with closing(counter.run(part)) as results:  # type: ignore[type-var]
            for result in results:
                n_read += result if isinstance(result, int) else 0
                if n_read >= _PLACE_BYTES:
                    break
        n_sampled += n_read
    return counter.finish(), n_sampled


def duration(seconds: float) -> str:
    """A time as a person would say it."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def gigabytes(n_bytes: int) -> str:
    """A size in gigabytes."""
    return f"{n_bytes / 1e9:,.1f} GB"


def outcome(seconds: float, n_words: int) -> str:
    """The actual figures of a run: its time, and the largest memory of this process."""
    memory = ""
    try:
        import resource
    except ImportError:  # not on this system
        pass
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        memory = f", with at most {gigabytes(peak)} in this process"
    return f"it took {duration(seconds)}{memory}, and has {n_words:,} distinct words"
