"""A split regex as a small deterministic automaton with leftmost-first semantics, as backtracking engines have.

*Places*. The tree of a regex becomes places (places.py). A backtracking engine prefers the earlier branch of each fork.
Running all branches in step, as an ordered list of places, gives the same matches without backtracking (Pike; RE2 and
Rust's regex do so): of two branches that match, that of the earlier place wins, however long the other is.

*States*. A state is such a list (determiniser.py). For the next class of characters it tells whether a match ends before
that character, and which state follows; branches after one that matches are cut off. The last match that is reported before
the dead state is the match. A run does not know what is before it: a regex for which that matters has no automaton.

*Canonical*. A match that a later one always overrules is not reported (`_overruled`); states that lead to no match are
dead; equal states are merged, and so are classes that all states treat alike. The result depends only on what matches, so
two regexes match the same in every text exactly when their automata are equal.

*Pieces*. A text is cut into pieces, and all but the last are known to have text after them: `$` cannot match at their ends.
A regex in which that matters has another automaton for these pieces. GPT-4's ends with
"\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s": if the end of a piece were always the text's, no place in an indentation would be a
certain boundary (see boundaries.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..kernels.pieces.pattern_tables import MATCH_ENDS
from .code_points import Partition
from .determiniser import MOST_STATES, Symbols, determined, reached, row_numbers
from .pattern_parser import Node, Unsupported
from .places import Places

DEAD = 0  # the state that leads to no match
START = 1
MOST_CLASSES = 64
_MOST_SECONDS = 5.0  # for compiling: processor time of this thread, so that other load does not decide what compiles

Told = TypeVar("Told", np.bool_, np.uint8)


@dataclass(frozen=True, eq=False)
class Automaton(Partition):
    """What a split regex matches; its classes are uint8.

    next_state : uint8 or uint16[n_states, n_classes]    the state after a character of a class; DEAD ends the run
    tells  : bool[n_states, n_classes + 1]    whether a match ends before a character of a class, or (last) before the end
    in_pieces : the automaton for pieces that text follows, whose end is the end of a piece; None if it is this one
    tells_text_end : bool[n_states]           only in `in_pieces`: whether a match ends before the end of the text

    State 0 is dead, 1 the start. `tells` of the start is False: no match is empty.
    """

    next_state: NDArray[np.uint16]
    tells: NDArray[np.bool_]
    in_pieces: Automaton | None = None
    tells_text_end: NDArray[np.bool_] | None = None

    @property
    def n_states(self) -> int:
        return len(self.next_state)

    def __eq__(self, other: object) -> bool:
        """Whether both match the same in every text."""
        if not isinstance(other, Automaton):
            return NotImplemented
        names = "edges", "class_of_edge", "next_state", "tells"
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        return hash((self.next_state.tobytes(), self.edges.tobytes()))

    def digest(self) -> str:
        """16 hex digits, the same for equal automata; equal for two others with a chance of 1 in 10**19."""
        whole = hashlib.sha256(repr(self.next_state.shape).encode())
        for part in self.edges, self.class_of_edge, self.next_state, self.tells:
            whole.update(part.astype("<i8").tobytes())
        return whole.hexdigest()[:16]


def compile_automaton(tree: Node) -> Automaton:
    """The automaton of a regex's tree. Raises Unsupported if there is none, if it is too large, or takes too long."""
    next_state, outcomes, same_at_end, symbols = determined(Places(), tree, _MOST_SECONDS)
    if not same_at_end:
        raise Unsupported("$ where a newline that ends the text matters")
    tells = outcomes == MATCH_ENDS
    if tells[START].any():
        raise Unsupported("what matches the empty text")
    next_state = without_dead_ends(next_state, tells)
    if not without_dead_ends(next_state, tells[:, :-1])[START].any():  # in a text: a piece may end where $ fails
        raise Unsupported("what matches nothing")
    automaton = _canonical(next_state, tells[:, :-1], symbols)
    if np.array_equal(tells[:, -1], tells[:, -2]):
        return automaton
    try:
        of_both_ends = _canonical(next_state, tells, symbols)
    except Unsupported:  # too many classes: all pieces are then split as texts
        return automaton
    tells = of_both_ends.tells
    in_pieces = replace(of_both_ends, tells=np.delete(tells, -2, axis=1), tells_text_end=tells[:, -2])
    return replace(automaton, in_pieces=in_pieces)


def _canonical(next_state: NDArray[np.int64], tells: NDArray[np.bool_], symbols: Symbols) -> Automaton:
    """The automaton of some states; `tells` has a column for each class, and for one or two ends."""
    tells = tells & ~_overruled(next_state, tells)
    return Automaton(*numbered(next_state, tells, symbols))


def without_dead_ends(next_state: NDArray[np.int64], tells: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The next states, with DEAD in place of states that lead to no match."""
    alive: NDArray[np.bool_] = np.asarray(tells.any(axis=1))
    while True:
        grown = alive | alive[next_state].any(axis=1)
        if (grown == alive).all():
            return np.where(alive[next_state], next_state, DEAD)
        alive = grown


def _overruled(next_state: NDArray[np.int64], tells: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether a match that a state reports is overruled by a later one, whatever follows; in the shape of `tells`."""
    certain: NDArray[np.bool_] = np.ones(len(tells), dtype=bool)  # states from which a match is reported, whatever follows
    certain[DEAD] = False
    while True:
        at_ends = np.zeros((len(tells), tells.shape[1] - next_state.shape[1]), dtype=bool)
        reaches = np.concatenate([certain[next_state], at_ends], axis=1)
        shrunk = certain & (tells | reaches).all(axis=1)
        if (shrunk == certain).all():
            return reaches
        certain = shrunk


def _merged(next_state: NDArray[np.int64], tells: NDArray[Told]) -> NDArray[np.int64]:
    """The number of the block of equal states that each state is in (Moore's refinement)."""
    block = row_numbers(tells)
    while True:
        refined = row_numbers(np.column_stack([block, block[next_state]]))
        if refined.max() == block.max():
            return block
        block = refined


def numbered(
    next_state: NDArray[np.int64], tells: NDArray[Told], symbols: Symbols
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint16], NDArray[Told]]:
    """The first fields of an Automaton, with equal states and classes merged and numbered in a canonical order: classes as
    code points first have them, states as they are first reached.

    tells : a column for each class, and for one or two ends
    """
    n_classes: int = next_state.shape[1]
    block = _merged(next_state, tells)
    # Merge classes that all states treat alike.
    columns = np.concatenate([block[next_state], tells[:, :n_classes]]).T
    representatives: NDArray[np.int64]  # an old class for each new one
    class_of_edge, representatives = symbols.merged(columns)
    changes = np.flatnonzero(np.diff(class_of_edge, prepend=-1))

    _, member = np.unique(block, return_index=True)  # a state for each block
    following = block[next_state[np.ix_(member, representatives)]]
    order = list(reached(block[[DEAD, START]].tolist(), lambda each: following[each].tolist()))
    if len(order) > MOST_STATES or len(representatives) > MOST_CLASSES:
        raise Unsupported(f"an automaton of {len(order):,} states and {len(representatives):,} classes")
    number = np.zeros(len(member), dtype=np.uint16)
    number[order] = np.arange(len(order))
    columns_told = [*representatives.tolist(), *range(n_classes, tells.shape[1])]
    return (
        symbols.edges[changes],
        class_of_edge[changes].astype(np.uint8),
        number[following[order]],
        tells[np.ix_(member[order], columns_told)],
    )


def match_end(automaton: Automaton, classes: NDArray[np.uint8], start: int) -> int:
    """The end of the match that begins at `start`; `start` if none does. `classes` has the class of each character."""
    state, end = START, start
    for position in range(start, len(classes)):
        if automaton.tells[state, classes[position]]:
            end = position
        state = int(automaton.next_state[state, classes[position]])
        if state == DEAD:
            return end
    return len(classes) if automaton.tells[state, -1] else end


def split(automaton: Automaton, text: str) -> list[str]:
    """The matches in a text and the text between them, in order. Slow: this defines what kernels must find."""
    classes = automaton.classes_of(text)
    return split_at_matches(text, lambda start: match_end(automaton, classes, start))


def split_at_matches(text: str, end_of_match: Callable[[int], int]) -> list[str]:
    """The matches in a text and the text between them; `end_of_match` is called with a start, and returns it for none."""
    parts, gap, at = [], 0, 0
    while at < len(text):
        end = end_of_match(at)
        if end == at:
            at += 1
            continue
        parts += [text[gap:at], text[at:end]]
        gap = at = end
    return [part for part in [*parts, text[gap:]] if part]
