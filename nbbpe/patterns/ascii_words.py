"""Finds words of ASCII that automata always match as a whole, so that a kernel can find their end without a walk."""

from __future__ import annotations

import string
from dataclasses import dataclass

import numpy as np

from .automaton import DEAD, START
from .determiniser import reached
from .levels import Levels


@dataclass(frozen=True)
class AsciiWords:
    """Words: an optional character of a class in `leads`, then `least` or more ASCII letters.

    any_case : whether capitals may be anywhere; else only the first letter may be one
    leads    : classes; an ASCII letter of one of them is not a lead
    ends     : classes. If a character of one of them, or the end of the text, follows a word, the match that begins with
               the word is exactly the word
    """

    least: int
    any_case: bool
    leads: set[int]
    ends: set[int]


def words_of_last(levels: Levels) -> AsciiWords | None:
    """The words that the last automaton matches, in the common classes of all levels; None if there are none.

    Why this is right: from the state after a lead, letters lead to the same states as from the start. After `least` letters
    a walk is in one state, the same for all words, and remains there while letters follow. Before a character of `ends`,
    this state reports a match and the walk dies; before the end of the text it reports a match. The last match that is
    reported counts, and this is the last.
    """
    automaton, class_at = levels.automata[-1], levels.class_at[-1]
    next_state, tells = automaton.next_state[:, class_at], automaton.tells[:, [*class_at, -1]]
    small, large = _ascii_letters(levels)
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


def has_plain_words(levels: Levels) -> bool:
    """Whether each plain word is one pretoken: an optional space, and ASCII letters, of which only the first may be a
    capital."""
    small, large = map(list, _ascii_letters(levels))
    space = levels.classes_of(" ").tolist()
    for automaton, class_at in zip(levels.automata, levels.class_at, strict=True):
        next_state = automaton.next_state[:, class_at]
        if (next_state[:, small + large + space] == DEAD).all():
            continue  # this level leaves the whole word between matches
        led = next_state[START, space].tolist()
        after_first = np.unique(next_state[np.ix_([START, *led], small + large)]).tolist()
        ends = list(reached(after_first, lambda state: next_state[state, small].tolist()))  # noqa: B023
        if DEAD in led or DEAD in ends or not automaton.tells[ends, -1].all():
            return False
    return True


def _ascii_letters(levels: Levels) -> tuple[set[int], set[int]]:
    """The classes of small letters of ASCII, and those of capitals."""
    small, large = levels.classes_of(string.ascii_lowercase), levels.classes_of(string.ascii_uppercase)
    return set(small.tolist()), set(large.tolist())
