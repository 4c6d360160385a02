"""Sorts words by their bytes, in memory and in files: sorted runs, which are merged as streams.

A run is a file of sorted, distinct words, block after block. To merge runs, one block of each is in memory. No word up to
the smallest of the blocks' last words can follow in a later block, so these words are sorted together, and come next in the
result.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.machine.intrinsics import PADDING
from ..kernels.training import sort_words
from ..system.kernel_threads import interruptible
from ..system.read_numbers import read_numbers
from ..system.stretches import starts_of
from .word_counts import WordCounts, empty_words

_BLOCK_BYTES = 1 << 18  # of a block of a run, unless one word has more
MOST_RUNS = 64  # that are merged at a time: more are merged in several steps
_WORD_BYTES = 16  # that a word takes in addition to its text: in starts and counts
_END = np.zeros(1, dtype=np.int64)


class Run(NamedTuple):
    """A file of sorted words. It can be sent to another process.

    longest : the bytes of the longest word
    total   : the sum of all counts
    n_text  : the bytes of all words, each as often as it was counted
    factor  : what each count is multiplied by when the run is read
    """

    path: str
    n_words: int
    longest: int
    total: int
    n_text: int
    factor: int = 1


def n_bytes_of(words: WordCounts) -> int:
    """The memory that words take."""
    return int(words.starts[-1]) + _WORD_BYTES * len(words.counts)


def total_of(counts: NDArray[np.int64]) -> int:
    """The sum of counts >= 0, exactly, however large."""
    if int(counts.max(initial=0)) * len(counts) < 2**63:  # nearly always
        return int(counts.sum())
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())


def n_text_of(words: WordCounts) -> int:
    """The bytes of all words, each as often as it was counted, exactly."""
    lengths, counts = np.diff(words.starts), words.counts
    return (int(lengths @ (counts >> 32)) << 32) + int(lengths @ (counts & 0xFFFFFFFF))


def concatenate(parts: Sequence[WordCounts]) -> WordCounts:
    """The words of all parts, one part after another; equal words of different parts are not added up."""
    if len(parts) == 1:
        return parts[0]
    places = starts_of([int(part.starts[-1] - part.starts[0]) for part in parts]).tolist()
    text = np.zeros(places[-1] + PADDING, dtype=np.uint8)
    starts = [_END]
    for part, (start, end) in zip(parts, itertools.pairwise(places), strict=True):
        text[start:end] = part.text[part.starts[0] : part.starts[-1]]
        starts.append(part.starts[1:] + (start - part.starts[0]))
    counts = np.concatenate([part.counts for part in parts]) if parts else _END[:0]
    return WordCounts(text, np.concatenate(starts), counts)


def sorted_words(words: WordCounts) -> WordCounts:
    """Words sorted by their bytes, each once, with the counts of equal ones added up (their sums must fit in int64)."""
    return interruptible(lambda: _sorted(words)) if len(words.counts) > 1 << 16 else _sorted(words)


def _sorted(words: WordCounts) -> WordCounts:
    text, starts, counts = words
    prefixes = np.empty(len(counts), dtype=np.uint64)
    sort_words.fill_prefixes(text, starts, prefixes)
    order = np.argsort(prefixes)
    sort_words.order_equal_prefixes(text, starts, prefixes, order)
    del prefixes
    made = empty_words(len(counts), int(starts[-1] - starts[0]))
    n_words = sort_words.gather_words(*words, order, *made)
    return WordCounts(made.text, made.starts[: n_words + 1], made.counts[:n_words])


def words_between(words: WordCounts, first: int, end: int) -> WordCounts:
    """The words from `first` to `end`, without a copy of their text."""
    return WordCounts(words.text, words.starts[first : end + 1], words.counts[first:end])


def in_blocks(words: WordCounts, n_bytes: int) -> Iterator[WordCounts]:
    """Words in blocks of at most `n_bytes` bytes of memory; a longer word is a block by itself."""
    first, n_words = 0, len(words.counts)
    taken = words.starts + _WORD_BYTES * np.arange(n_words + 1)
    while first < n_words:
        end = int(np.searchsorted(taken, taken[first] + n_bytes, side="right")) - 1
        end = max(end, first + 1)
        yield words_between(words, first, end)
        first = end


def write_run(path: str, batches: Iterable[WordCounts]) -> Run:
    """Write sorted words, batch after batch, as a run. Raises OSError that names the folder and how to choose another."""
    n_words = longest = total = n_text = 0
    with _naming_folder(path), open(path, "wb") as file:
        for batch in batches:
            for block in in_blocks(batch, _BLOCK_BYTES):
                start, end = int(block.starts[0]), int(block.starts[-1])
                # Not by `tofile`, whose error does not say that the disk is full.
                file.write(np.array([len(block.counts), end - start], dtype=np.int64).data)
                file.write(np.ascontiguousarray(block.counts).data)
                file.write((block.starts - start).data)
                file.write(block.text[start:end].data)
                n_words += len(block.counts)
                longest = max(longest, int(np.diff(block.starts).max(initial=0)))
                total += total_of(block.counts)
                n_text += n_text_of(block)
    return Run(path, n_words, longest, total, n_text)


@contextmanager
def _naming_folder(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        folder = os.path.dirname(os.path.dirname(path))
        reason = f"{error.strerror} (while counted words were written to temporary files; TMPDIR names another folder)"
        raise type(error)(error.errno, reason, folder) from error


def read_run(run: Run) -> Iterator[WordCounts]:
    """The blocks of a run. The file is open only while it is read: there may be more runs than files can be open."""
    at = n_read = 0
    while n_read < run.n_words:
        with open(run.path, "rb") as file:
            file.seek(at)
            n_words, n_bytes = _numbers(file, np.int64, 2).tolist()
            counts = _numbers(file, np.int64, n_words)
            starts = _numbers(file, np.int64, n_words + 1)
            text = np.zeros(n_bytes + PADDING, dtype=np.uint8)
            text[:n_bytes] = _numbers(file, np.uint8, n_bytes)
            at = file.tell()
        n_read += n_words
        yield WordCounts(text, starts, counts if run.factor == 1 else counts * run.factor)


def _numbers(file: BinaryIO, dtype: Any, n: int) -> NDArray[Any]:
    """The next `n` numbers of a run."""
    found = read_numbers(file, dtype, n)
    if len(found) < n:
        raise OSError(f"{file.name!r}, a temporary file of counted words, has been cut: no other program may change it")
    return found


def merged(runs: Sequence[Iterable[WordCounts]]) -> Iterator[WordCounts]:
    """The words of sorted streams as one sorted stream, in batches, with the counts of equal words added up.

    runs : streams of blocks; no block is empty
    """
    blocks = [next_block for next_block in map(_Blocks, runs) if next_block.advance()]
    while blocks:
        bound = min(block.last for block in blocks)
        yield sorted_words(concatenate([block.take_to(bound) for block in blocks]))
        blocks = [block for block in blocks if not block.is_taken() or block.advance()]


class _Blocks:
    """The current block of a sorted stream, some words of which may be taken already."""

    def __init__(self, stream: Iterable[WordCounts]) -> None:
        self._stream = iter(stream)
        self._words: WordCounts
        self._first: int
        self.last: bytes  # the last word of the block

    def advance(self) -> bool:
        """Go on to the next block. Returns False if there is none."""
        words = next(self._stream, None)
        if words is None:
            return False
        self._words, self._first = words, 0
        self.last = self._word(len(words.counts) - 1)
        return True

    def is_taken(self) -> bool:
        """Whether no word of the block is left."""
        return self._first == len(self._words.counts)

    def take_to(self, bound: bytes) -> WordCounts:
        """Take the next words, up to `bound` inclusively."""
        low, high = self._first, len(self._words.counts)
        while low < high:
            middle = (low + high) // 2
            if self._word(middle) <= bound:
                low = middle + 1
            else:
                high = middle
        taken = words_between(self._words, self._first, low)
        self._first = low
        return taken

    def _word(self, number: int) -> bytes:
        start, end = self._words.starts[number : number + 2].tolist()
        return self._words.text[start:end].tobytes()


class RunFolder:
    """Writes runs into a folder, under names that no other process uses; it can be sent to another process."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._n_written = 0

    def write(self, batches: Iterable[WordCounts]) -> Run:
        """Write sorted words as a run."""
        self._n_written += 1
        return write_run(os.path.join(self.folder, f"{os.getpid()}-{self._n_written}-{id(self)}.run"), batches)

    def write_parts(self, parts: list[WordCounts]) -> Run:
        """Write the words of all parts, which may have words in common, as a run. Empties the list to free memory early."""
        words = concatenate(parts)
        parts.clear()
        return self.write([sorted_words(words)])

    def merge(self, runs: Sequence[Run]) -> Iterator[WordCounts]:
        """The words of runs as one sorted stream; the runs are removed as they are merged."""
        runs = list(runs)
        while len(runs) > MOST_RUNS:
            runs = [*runs[MOST_RUNS:], self.write(_removing(runs[:MOST_RUNS]))]
        return _removing(runs)


def _removing(runs: Sequence[Run]) -> Iterator[WordCounts]:
    yield from merged([read_run(run) for run in runs])
    for run in runs:
        os.remove(run.path)
