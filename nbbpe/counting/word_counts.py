"""Distinct words with their counts, as arrays: the result of counting, from which merges are learned."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.machine.intrinsics import PADDING
from ..kernels.machine.large_pages import zeros_of
from ..kernels.training.word_digest import digest_words
from ..system.kernel_threads import run_together
from ..system.stretches import starts_of
from ..text.utf8 import padded

_WORDS_PER_THREAD = 1 << 16  # for less, one more thread does not pay
_LONG = 1 << 28  # bytes of words, a digest of which takes 0.3 s and is to be interrupted by Ctrl-C


class WordCounts(NamedTuple):
    """Distinct words with their counts, in no particular order.

    text   : uint8[* + PADDING]  the bytes of all words, one after another
    starts : int64[n_words + 1]  where each word's bytes start in text
    counts : int64[n_words]      how often each word occurs, >= 1
    """

    text: NDArray[np.uint8]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]


def words_from_lists(words: list[bytes], counts: list[int]) -> WordCounts:
    """Words from their bytes, and as many counts."""
    return WordCounts(padded(b"".join(words)), starts_of(list(map(len, words))), np.array(counts, dtype=np.int64))


def words_from_dict(counts: dict[bytes, int]) -> WordCounts:
    """Words from a dict of counts by bytes."""
    return words_from_lists(list(counts), list(counts.values()))


def words_from_texts(counts: dict[str, int]) -> WordCounts:
    """As `words_from_dict`, for words as str, as `regex` gives them."""
    return words_from_dict({word.encode(errors="surrogateescape"): n for word, n in counts.items()})


def empty_words(n_words: int, n_bytes: int) -> WordCounts:
    """Room for words (memory is touched only where it is filled)."""
    return WordCounts(zeros_of(np.uint8, n_bytes + PADDING), zeros_of(np.int64, n_words + 1), zeros_of(np.int64, n_words))


def corpus_fingerprint(words: WordCounts, n_threads: int = 1) -> str:
    """A digest of the distinct words and their counts, in any order, which is all that training uses; 16 hex digits.

    So it is the same for any number of workers and any order of files or documents, and for the same text from a file or an
    iterable; another pattern or other special tokens give other words. At most `n_threads` threads compute it.
    """
    n_words = len(words.counts)
    n_parts = max(min(n_threads, n_words // _WORDS_PER_THREAD), 1)
    cuts = pairwise([n_words * i // n_parts for i in range(n_parts + 1)])
    calls = [partial(digest_words, words.text, words.starts[at : end + 1], words.counts[at:end]) for at, end in cuts]
    digest = sum(run_together(calls, are_long=len(words.text) > _LONG)) & 0xFFFF_FFFF_FFFF_FFFF
    return f"{digest:016x}"
