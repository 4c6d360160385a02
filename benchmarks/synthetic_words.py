"""Distinct words with counts, made from a seed: input for the merge loop alone, in any size."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

LONGEST = 28  # bytes: a space, six syllables of up to four letters, and three to spare
# Parts of syllables, the frequent ones first.
ONSETS = "t s w h b m d c n l r p f g st th tr pr sh ch br cl gr pl sp fr k j v y str dr fl cr sl wh bl qu gl sn sw z"
VOWELS = "e a i o u ea ou ee ai oo y ie io ia oa ei"
CODAS = "n r s t l d m ng st ck nt nd p rs ll ss g th ct rt k b c f v sh ns ts x"
SYLLABLES_IN_WORD = (0.05, 0.45, 0.35, 0.11, 0.03, 0.01)  # shares of words with 1, 2, ... syllables
ZIPF_OFFSET = 2.7
N_OCCURRENCES = 2e9  # of all words together, approximately
# More draws than words, as some words are drawn twice.
DRAWS_PER_WORD = 2.0


def make_words(n_words: int, seed: int = 0) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Return text, starts and counts of `n_words` distinct words, the most frequent first.

    A word is a space and one to six syllables; syllables of English letters are drawn by about Zipf's law, so pairs of
    letters have frequencies as in a language. Counts fall as 1 / (rank + 2.7), down to 1.

    text : uint8[n_bytes]; starts : int64[n_words + 1]; counts : int64[n_words]
    """
    random = np.random.default_rng(seed)
    table = _draw_words(int(DRAWS_PER_WORD * n_words) + 1000, random)
    _, first = np.unique(table.view(f"S{LONGEST}").ravel(), return_index=True)
    if len(first) < n_words:
        raise ValueError(f"only {len(first):,} of {n_words:,} words are distinct")
    table = table[np.sort(first)[:n_words]]  # in the order of drawing, where frequent syllables come early
    used = table != 0
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)
    shares = 1 / (np.arange(n_words) + 1 + ZIPF_OFFSET)
    counts = np.maximum(1, N_OCCURRENCES * shares / shares.sum()).astype(np.int64)
    return table[used], starts, counts


def _draw_words(n: int, random: np.random.Generator) -> NDArray[np.uint8]:
    """uint8[n, LONGEST]: a word in each row, with zeros after it; words may come more than once."""
    choices = [part.split() for part in (ONSETS, VOWELS, CODAS)]
    choices[0].append("")
    choices[2].insert(0, "")
    parts = list(itertools.product(*choices))
    ranks = np.array([[choice.index(part) + 1 for choice, part in zip(choices, row, strict=True)] for row in parts])
    weights = 1 / ranks.prod(axis=1)
    spelled = ["".join(part)[:4] for part in parts]
    syllables = np.array(spelled, dtype="S4").view(np.uint8).reshape(len(parts), 4)
    lengths = np.array([len(syllable) for syllable in spelled])
    n_syllables = random.choice(len(SYLLABLES_IN_WORD), size=n, p=SYLLABLES_IN_WORD) + 1
    table = np.zeros((n, LONGEST), dtype=np.uint8)
    table[:, 0] = ord(" ")
    ends = np.ones(n, dtype=np.int64)
    for number in range(len(SYLLABLES_IN_WORD)):
        rows = np.flatnonzero(n_syllables > number)
        drawn = random.choice(len(parts), size=len(rows), p=weights / weights.sum())
        for letter in range(4):
            table[rows, ends[rows] + letter] = syllables[drawn, letter]
        ends[rows] += lengths[drawn]
    return table
