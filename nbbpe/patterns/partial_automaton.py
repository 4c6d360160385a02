"""An automaton of what can be decided of a regex that has none.

It differs from another in three ways. What is before a match is known, so look-behind at one character is decided: a
run starts in a state of its own after each class of characters. A state may ask whether a look-ahead at several
characters matches from here on; that has an automaton of its own (look_automaton.py). And it may be *undecided*, where a
run comes to an atomic group or the like and could go on by the next character. A text in which no run is undecided is split
as `regex` splits it; any other is left to `regex`.

A text is a piece here, or a part of one that other regexes have made.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..kernels.pieces.pattern_tables import ASKS, MATCH_ENDS, NO_MATCH, UNDECIDED
from .automaton import DEAD, START, Automaton, numbered, split_at_matches, without_dead_ends
from .code_points import Partition
from .determiniser import determined
from .look_automaton import NEVER, LookAutomaton, compile_look
from .pattern_parser import Node, Unsupported
from .places import Places

_MOST_SECONDS = 1.0  # of this thread's processor time for compiling, look-aheads included
_END = -1  # among classes: the end, which has the last column of what states tell


@dataclass(frozen=True, eq=False)
class PartialAutomaton(Partition):
    """What a split regex matches, or that this is undecided; its classes are uint8.

    next_state : uint16[n_states, n_classes]       the state after a character of a class; DEAD ends the run. Row DEAD is
                 where a run starts after a character, row START of a text
    tells      : uint8[n_states, n_classes + 1]    of a class, or (last) of the end: MATCH_ENDS before it, UNDECIDED, or 0.
                 If ASKS, the next state is one that asks: it tells ASKS + the number of a look-ahead of the end, and is
                 followed, before the same character, by its next state of class 0 if that matches, else of the last class
    looks      : of what is looked for
    """

    next_state: NDArray[np.uint16]
    tells: NDArray[np.uint8]
    looks: tuple[LookAutomaton, ...] = ()

    @property
    def n_states(self) -> int:
        return len(self.next_state)


def compile_partly(tree: Node) -> PartialAutomaton:
    """The partial automaton of a regex's tree. Raises Unsupported where it is too large, or takes too long."""
    places = Places(partial=True, asks=True)
    deadline = time.thread_time() + _MOST_SECONDS
    automaton = _compiled(places, tree, _MOST_SECONDS)
    if (automaton.tells[[START, *automaton.next_state[DEAD]]] == MATCH_ENDS).any():
        raise Unsupported("what matches the empty text")
    tells, looks = automaton.tells.copy(), []
    is_asking = tells[:, -1] >= ASKS
    for number, part in enumerate(places.looks):
        try:
            looks.append(compile_look(part, deadline - time.thread_time()))
        except Unsupported:
            looks.append(NEVER)
            asks_it = (tells[:, -1] == ASKS + number)[automaton.next_state] & ~is_asking[:, None]
            tells[:, :-1][asks_it & (tells[:, :-1] == ASKS)] = UNDECIDED
    return replace(automaton, tells=tells, looks=tuple(looks))


def _compiled(places: Places, tree: Node, most_seconds: float) -> PartialAutomaton:
    """See `compile_partly`, without look-aheads."""
    following, tells, _, symbols = determined(places, tree, most_seconds)
    starts = following[DEAD].copy()
    tells = tells[:, :-1]  # not of the end of a piece that text follows
    following[DEAD] = DEAD
    following = without_dead_ends(following, tells != NO_MATCH)
    following[DEAD] = starts
    # No state is equal to the dead one, which has a row of another kind.
    is_dead = np.arange(len(tells)) == DEAD
    edges, class_of_edge, next_state, tells = numbered(following, np.column_stack([tells, is_dead]), symbols)
    return PartialAutomaton(edges, class_of_edge, next_state, tells[:, :-1])


def as_partial(automaton: Automaton) -> PartialAutomaton:
    """An automaton, in which nothing is undecided."""
    next_state = automaton.next_state.astype(np.uint16)
    next_state[DEAD] = START
    return PartialAutomaton(automaton.edges, automaton.class_of_edge, next_state, automaton.tells.astype(np.uint8))


def split_if_decided(automaton: PartialAutomaton, text: str) -> list[str] | None:
    """As automaton.split; None if a run is undecided."""
    classes = [*automaton.classes_of(text).tolist(), _END]
    looks = [look.places(text) for look in automaton.looks]
    try:
        return split_at_matches(text, lambda start: _match_end(automaton, classes, looks, start))
    except _Undecided:
        return None


class _Undecided(Exception):
    """A run came to something that is undecided."""


def _match_end(automaton: PartialAutomaton, classes: list[int], looks: list[list[bool]], start: int) -> int:
    """Where the match ends that begins at `start` of a text; `start` where none does.

    classes : of the text and its end; looks : where each look-ahead matches
    """
    state = int(automaton.next_state[DEAD, classes[start - 1]]) if start else START
    end = start
    for position in range(start, len(classes)):
        while state != DEAD and automaton.tells[state, classes[position]] == ASKS:
            asking = automaton.next_state[state, classes[position]]
            is_so = looks[automaton.tells[asking, -1] - ASKS][position]
            state = int(automaton.next_state[asking, 0 if is_so else -1])
        if state == DEAD:
            break
        tells = automaton.tells[state, classes[position]]
        if tells == UNDECIDED:
            raise _Undecided
        if tells == MATCH_ENDS:
            end = position
        state = int(automaton.next_state[state, classes[position]])
    return end
