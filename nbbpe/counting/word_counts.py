"""Distinct words with their counts as arrays: the result of counting, and what merges are learned from."""

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
_LONG = 1 << 28  # bytes of words: a digest of more takes 0.3 s or longer, so Ctrl-C must be able to interrupt it


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
    """Words from a list of their bytes, and one of their counts."""
    return WordCounts(padded(b"".join(words)), starts_of(list(map(len, words))), np.array(counts, dtype=np.int64))


def words_from_dict(counts: dict[bytes, int]) -> WordCounts:
    """Words from a dict from word to count."""
    return words_from_lists(list(counts), list(counts.values()))


def words_from_texts(counts: dict[str, int]) -> WordCounts:
    """As `words_from_dict`, for words as str, in which surrogates stand for invalid bytes."""
    return words_from_dict({word.encode(errors="surrogateescape"): n for word, n in counts.items()})


def empty_words(n_words: int, n_bytes: int) -> WordCounts:
    """Room for words (memory is touched only where it is filled)."""
    return WordCounts(zeros_of(np.uint8, n_bytes + PADDING), zeros_of(np.int64, n_words + 1), zeros_of(np.int64, n_words))


def corpus_fingerprint(words: WordCounts, n_threads: int = 1) -> str:
    """A digest (16 hex digits) of the distinct words and their counts, whatever their order: of all that training uses.

    It does not depend on the number of workers, the order of files or documents, or whether the text came from a file or an
    iterable. It depends on the pattern and the special tokens, which decide what the words are. At most `n_threads` threads
    compute it.
    """
    n_words = len(words.counts)
    n_parts = max(min(n_threads, n_words // _WORDS_PER_THREAD), 1)
    cuts = pairwise([n_words * i // n_parts for i in range(n_parts + 1)])
    calls = [partial(digest_words, words.text, words.starts[at : end + 1], words.counts[at:end]) for at, end in cuts]
    digest = sum(run_together(calls, are_long=len(words.text) > _LONG)) & 0xFFFF_FFFF_FFFF_FFFF
    return f"{digest:016x}"
