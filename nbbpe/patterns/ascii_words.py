"""Words of ASCII that an automaton is known to match as a whole, so that a kernel can find their end without a walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .automaton import DEAD, START


@dataclass(frozen=True)
class AsciiWords:
    """Words: perhaps one character of a class of `leads`, then `least` ASCII letters or more.

    any_case : whether capitals may stand anywhere; else only the first letter may be one
    leads    : classes, of which no character that is an ASCII letter counts
    ends     : classes. If a character of one, or the end of the text, follows a word, the match that begins where the
               word does is the word
    """

    least: int
    any_case: bool
    leads: set[int]
    ends: set[int]


def ascii_words(next_state: NDArray[Any], tells: NDArray[np.bool_], small: set[int], large: set[int]) -> AsciiWords | None:
    """The words that an automaton matches, or None.

    next_state, tells : as of Automaton
    small, large      : the classes of small letters and of capitals

    Why it is so: a lead takes a walk to a state that letters leave as they leave the start. After `least` letters the walk
    is in one state, the same for all words, and remains there while letters follow. At a character of `ends` this state
    reports a match and the walk is dead; at the end of the text it reports one. The last match that is reported counts, and
    this is the last.
    """
    letters = np.array(sorted(small | large))
    after_first = next_state[START, letters]
    for any_case, run in (True, letters), (False, np.array(sorted(small))):
        after_second = next_state[np.ix_(after_first, run)]
        word = int(after_second.flat[0])
        if word != DEAD and (after_second == word).all() and (next_state[word, run] == word).all() and tells[word, -1]:
            like_start = (next_state[:, letters] == after_first).all(axis=1)
            return AsciiWords(
                least=1 if (after_first == word).all() else 2,
                any_case=any_case,
                leads=set(np.flatnonzero(like_start[next_state[START]]).tolist()),
                ends=set(np.flatnonzero((next_state[word] == DEAD) & tells[word, :-1]).tolist()),
            )
    return None
