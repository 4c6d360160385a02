"""Certain boundaries, derived from a pattern's automaton: places where a text can be cut before it is split.

Let R(a) be the states that a run can be in after a character of class a. There is a certain boundary between classes a and
b exactly when, for every state q in R(a),

1. b leads to the dead state,
2. a match ends before b exactly where it would end before the end of the text, and
3. not both a and b can be left between two matches.

*Sound.* A run that starts before the place ends alike whether b or nothing follows. So, by induction over the starts of
runs, the text before the place is split as it would be alone; by 1 no match goes beyond the place, and by 3 no stretch
between matches does. A run starts at the place, as no run depends on the text before it. *Necessary.* Every string of
classes is some text, so for a pair that is not certain there is a text that is split otherwise.

It is not enough that no match straddles the place: of "\\n\\nThe", GPT-2's pattern makes "\\n", "\\n", "The"; of
"\\n\\n" alone, one pretoken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .automaton import DEAD, START, Automaton

Relation = NDArray[np.bool_]  # [n_classes, n_classes] or one more: before, after, and what follows


def states_after(automaton: Automaton) -> NDArray[np.bool_]:
    """R: whether a run can be in a state after a class, bool[n_classes, n_states]; the dead state is not counted.

    Every state is reached from the start by some text, as the automaton has no others.
    """
    after = np.zeros((automaton.n_classes, automaton.n_states), dtype=bool)
    after[np.arange(automaton.n_classes), automaton.next_state[START:]] = True
    after[:, DEAD] = False
    return after


def can_fail(automaton: Automaton) -> NDArray[np.bool_]:
    """Whether some text leads from a state to no further match, bool[n_states]."""
    fails = np.zeros(automaton.n_states, dtype=bool)
    fails[DEAD] = True
    while True:
        following = np.concatenate([fails[automaton.next_state], np.ones((automaton.n_states, 1), dtype=bool)], axis=1)
        grown = fails | (~automaton.tells & following).any(axis=1)
        if (grown == fails).all():
            return fails
        fails = grown


def can_be_left(automaton: Automaton) -> NDArray[np.bool_]:
    """Whether a character of a class can be left between matches, bool[n_classes]: no match need begin with it."""
    return can_fail(automaton)[automaton.next_state[START]]


def certain_pairs(automaton: Automaton) -> Relation:
    """Whether there is a certain boundary between two classes, bool[n_classes, n_classes]."""
    tells, next_state = automaton.tells, automaton.next_state
    as_at_end = (next_state == DEAD) & (tells[:, :-1] == tells[:, -1:])  # [state, class]: 1 and 2
    left = can_be_left(automaton)
    return _for_all_states(states_after(automaton), as_at_end) & ~(left[:, None] & left)


def _for_all_states(after: NDArray[np.bool_], holds: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether `holds`, whose first index is the state, is True for all states after a class: [class, its other indices]."""
    shape = after.shape[0], *holds.shape[1:]
    return (after.astype(np.int64) @ ~holds.reshape(len(holds), -1) == 0).reshape(shape)


def certain_triples(automaton: Automaton) -> Relation:
    """Whether there is a certain boundary between two classes before a third, bool[n_classes, n_classes, n_classes].

    A run may go on over the second character, if it then dies before the third without a match beyond the place.
    """
    tells, next_state = automaton.tells, automaton.next_state
    ends_alike = tells[:, :-1] == tells[:, -1:]  # [state, b]
    dies = (next_state == DEAD) & ~tells[:, :-1]  # [state, c]: and no match ends before c
    dies[DEAD] = True
    holds = ends_alike[:, :, None] & dies[next_state]  # [state, b, c]
    left = can_be_left(automaton)
    return _for_all_states(states_after(automaton), holds) & ~(left[:, None] & left)[:, :, None]


def always_left(automaton: Automaton) -> NDArray[np.bool_]:
    """Whether no match has a character of a class, bool[n_classes]."""
    return (automaton.next_state == DEAD).all(axis=0)


def ends_text(automaton: Automaton) -> NDArray[np.bool_]:
    """Whether a character of a class is in no match, and every match ends before it as before the end of the text,
    bool[n_classes]: then what is between two such characters is matched as if it were alone."""
    return always_left(automaton) & (automaton.tells[:, :-1] == automaton.tells[:, -1:]).all(axis=0)


def transparent_pairs(automaton: Automaton) -> Relation:
    """Whether two classes are always left between matches, so that cutting between them changes nothing at this level."""
    never = always_left(automaton)
    return never[:, None] & never
