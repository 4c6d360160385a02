"""An automaton of what can be decided of a regex that has none.

An atomic group, look-ahead at more than one character that the next one does not settle: where a run comes to one of these,
and may go on by the next character, it is *undecided*. A text in which no run is undecided is split as `regex` splits it;
any other is left to `regex`. In most patterns these are few: for `\\d{1,3}(?=(?:\\d{3})*\\b)|\\p{L}+|...`, those with a
number of two digits or more.

A text is a piece here, or a part of one that other regexes have made. What is before a match is known in it, so look-behind
at one character is decided: a run starts in a state of its own after each class of characters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels.pieces.pattern_tables import MATCH_ENDS, NO_MATCH, UNDECIDED
from .automaton import DEAD, START, Automaton, numbered, without_dead_ends
from .code_points import Partition
from .determiniser import determined
from .pattern_parser import Node, Unsupported
from .places import Places

_MOST_SECONDS = 1.0  # of compiling


@dataclass(frozen=True, eq=False)
class PartialAutomaton(Partition):
    """What a split regex matches, or that this is undecided; its classes are uint8.

    next_state : uint16[n_states, n_classes]       the state after a character of a class; DEAD ends the run. Row DEAD is
                 where a run starts after a character, row START of a text
    tells      : uint8[n_states, n_classes + 1]    of a class, or (last) of the end: MATCH_ENDS before it, UNDECIDED, or 0
    """

    next_state: NDArray[np.uint16]
    tells: NDArray[np.uint8]

    @property
    def n_states(self) -> int:
        return len(self.next_state)


def compile_partly(tree: Node) -> PartialAutomaton:
    """The partial automaton of a regex's tree. Raises Unsupported where it is too large, or takes too long."""
    following, tells, _, symbols = determined(Places(partial=True), tree, _MOST_SECONDS)
    starts = following[DEAD].copy()
    tells = tells[:, :-1]  # not of the end of a piece that text follows
    if (tells[[START, *starts]] == MATCH_ENDS).any():
        raise Unsupported("what matches the empty text")
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
    classes = automaton.classes_of(text).tolist()
    parts, gap, at = [], 0, 0
    while at < len(text):
        end = _match_end(automaton, classes, at)
        if end is None:
            return None
        if end == at:
            at += 1
            continue
        parts += [text[gap:at], text[at:end]]
        gap = at = end
    return [part for part in [*parts, text[gap:]] if part]


def _match_end(automaton: PartialAutomaton, classes: list[int], start: int) -> int | None:
    """Where the match ends that begins at `start` of a text, given by its classes; `start` where none does, None where that
    is undecided."""
    state, end = int(automaton.next_state[DEAD, classes[start - 1]]) if start else START, start
    for position, following in enumerate([*classes[start:], -1], start):
        tells = automaton.tells[state, following]
        if tells == UNDECIDED:
            return None
        if tells == MATCH_ENDS:
            end = position
        state = int(automaton.next_state[state, following]) if following >= 0 else DEAD
        if state == DEAD:
            break
    return end
