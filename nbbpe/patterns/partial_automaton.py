"""Partial automata: for a regex that has no automaton, an automaton of what can be decided.

It differs from an Automaton in three ways. The state in which a run starts depends on the class of the character before, so
look-behind at one character is decided. A state may ask whether a look-ahead at several characters matches from here on;
each look-ahead has its own automaton (look_automaton.py). And a run may be *undecided*, if it comes to an atomic group, for
example, and could go on by the next character. A text in which no run is undecided is split as `regex` splits it; any other
is left to `regex`.

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
_END = -1  # as a class: the end of a text, which has the last column of `tells`


@dataclass(frozen=True, eq=False)
class PartialAutomaton(Partition):
    """What a split regex matches, or that this is undecided; its classes are uint8.

    next_state : uint16[n_states, n_classes]       the state after a character of a class; DEAD ends the run. A run starts
                 in state START in a text, and after a character in the state that row DEAD has for it
    tells      : uint8[n_states, n_classes + 1]    before a class, or (last) the end: NO_MATCH, MATCH_ENDS, UNDECIDED or
                 ASKS. ASKS leads to a state that asks for a look-ahead: before the end it tells ASKS + the number of the
                 look-ahead. The same character follows; the next state is that of class 0 if the look-ahead matches, else
                 that of the last class
    looks      : the automata of the look-aheads
    """

    next_state: NDArray[np.uint16]
    tells: NDArray[np.uint8]
    looks: tuple[LookAutomaton, ...] = ()

    @property
    def n_states(self) -> int:
        return len(self.next_state)


def compile_partly(tree: Node) -> PartialAutomaton:
    """The partial automaton of a regex's tree. Raises Unsupported if it is too large, or takes too long."""
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
    """The automaton of `compile_partly` without the automata of its look-aheads."""
    following, tells, _, symbols = determined(places, tree, most_seconds)
    starts = following[DEAD].copy()
    tells = tells[:, :-1]  # without the column of the end of a piece that text follows
    following[DEAD] = DEAD
    following = without_dead_ends(following, tells != NO_MATCH)
    following[DEAD] = starts
    # A last column keeps other states from being merged with the dead one, whose row means something else.
    is_dead = np.arange(len(tells)) == DEAD
    edges, class_of_edge, next_state, tells = numbered(following, np.column_stack([tells, is_dead]), symbols)
    return PartialAutomaton(edges, class_of_edge, next_state, tells[:, :-1])


def as_partial(automaton: Automaton) -> PartialAutomaton:
    """An Automaton as a partial one, in which nothing is undecided."""
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
    """The end of the match that begins at `start` of a text; `start` if none does. Raises _Undecided.

    classes : of the characters of the text and of its end
    looks   : for each look-ahead, where it matches
    """
    state = int(automaton.next_state[DEAD, classes[start - 1]]) if start else START
    end = start
    for position in range(start, len(classes)):
        while state != DEAD and automaton.tells[state, classes[position]] == ASKS:
            asking = automaton.next_state[state, classes[position]]
            matches = looks[automaton.tells[asking, -1] - ASKS][position]
            state = int(automaton.next_state[asking, 0 if matches else -1])
        if state == DEAD:
            break
        tells = automaton.tells[state, classes[position]]
        if tells == UNDECIDED:
            raise _Undecided
        if tells == MATCH_ENDS:
            end = position
        state = int(automaton.next_state[state, classes[position]])
    return end
