"""An automaton of what can be decided of a regex that has none.

It differs from another in three ways. What is before a match is known, so look-behind at one character is decided: a
run starts in a state of its own after each class of characters. A state may ask whether a look-ahead at several
characters matches from here on; that has an automaton of its own. And it may be *undecided*, where a run comes to an
atomic group or the like and could go on by the next character. A text in which no run is undecided is split as `regex`
splits it; any other is left to `regex`.

A text is a piece here, or a part of one that other regexes have made.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..kernels.pieces.pattern_tables import ASKS, MATCH_ENDS, NO_MATCH, UNDECIDED
from .automaton import DEAD, START, Automaton, numbered, without_dead_ends
from .code_points import Partition
from .determiniser import determined
from .pattern_parser import Node, Unsupported
from .places import Places

_MOST_SECONDS = 1.0  # of compiling, look-aheads included


@dataclass(frozen=True, eq=False)
class PartialAutomaton(Partition):
    """What a split regex matches, or that this is undecided; its classes are uint8.

    next_state : uint16[n_states, n_classes]       the state after a character of a class; DEAD ends the run. Row DEAD is
                 where a run starts after a character, row START of a text
    tells      : uint8[n_states, n_classes + 1]    of a class, or (last) of the end: MATCH_ENDS before it, UNDECIDED, or 0.
                 If ASKS, the next state is one that asks: it tells ASKS + the number of a look-ahead of the end, and is
                 followed, before the same character, by its next state of class 0 if that matches, else of the last class
    looks      : the automata of look-aheads, in which nothing is asked
    """

    next_state: NDArray[np.uint16]
    tells: NDArray[np.uint8]
    looks: tuple[PartialAutomaton, ...] = ()

    @property
    def n_states(self) -> int:
        return len(self.next_state)


def compile_partly(tree: Node) -> PartialAutomaton:
    """The partial automaton of a regex's tree. Raises Unsupported where it is too large, or takes too long."""
    places = Places(partial=True, asks=True)
    deadline = time.monotonic() + _MOST_SECONDS
    automaton = _compiled(places, tree, _MOST_SECONDS)
    if (automaton.tells[[START, *automaton.next_state[DEAD]]] == MATCH_ENDS).any():
        raise Unsupported("what matches the empty text")
    looks = [_compiled(Places(partial=True), part, deadline - time.monotonic()) for part in places.looks]
    return replace(automaton, looks=tuple(looks))


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
    parts, gap, at = [], 0, 0
    while at < len(text):
        end = _match_end(automaton, text, at)
        if end is None:
            return None
        if end == at:
            at += 1
            continue
        parts += [text[gap:at], text[at:end]]
        gap = at = end
    return [part for part in [*parts, text[gap:]] if part]


def _match_end(automaton: PartialAutomaton, text: str, start: int, is_look: bool = False) -> int | None:
    """Where the match ends that begins at `start` of a text; None where that is undecided. Where none does, `start`; or -1
    if `is_look`, and then any match will do."""
    classes = [*automaton.classes_of(text).tolist(), -1]
    state = int(automaton.next_state[DEAD, classes[start - 1]]) if start else START
    end = -1 if is_look else start
    for position in range(start, len(classes)):
        while state != DEAD and automaton.tells[state, classes[position]] == ASKS:
            asking = int(automaton.next_state[state, classes[position]])
            look = automaton.looks[automaton.tells[asking, -1] - ASKS]
            answer = _match_end(look, text, position, is_look=True)
            if answer is None:
                return None
            state = int(automaton.next_state[asking, 0 if answer >= 0 else -1])
        if state == DEAD:
            break
        tells = automaton.tells[state, classes[position]]
        if tells == UNDECIDED:
            return None
        if tells == MATCH_ENDS:
            end = position
            if is_look:
                break
        state = int(automaton.next_state[state, classes[position]])
    return end
