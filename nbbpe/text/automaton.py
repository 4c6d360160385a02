"""A split regex as a small deterministic automaton with leftmost-first semantics, as backtracking engines have.

*Places*. The tree of a regex becomes places, as in Thompson's construction: one consumes a character of a set, one forks
in an order of preference, one looks at the next character, one is the match. A backtracking engine prefers the earlier
branch of each fork. Running all branches in step, as an ordered list of places, gives the same matches without backtracking
(Pike; RE2 and Rust's regex do so): of two branches that match, that of the earlier place wins, however long the other is.

*States*. A state is such a list, right after a character was consumed. Which forks are open is decided when the next
character, or the end, is known, so that a look at one character is exact. For the next class of characters a state tells
whether a match ends before that character, and which state follows; branches after one that matches are cut off. The last
match that is reported before the dead state is the match.

*Canonical*. A match that a later one always overrules is not reported (`_overruled`); states that lead to no
match are dead; equal states, and classes that all states treat alike, are one. The result depends only on what matches, so
two regexes match the same in every text exactly when their automata are equal.

*Pieces*. A text is cut into pieces, and all but the last are known to have text after them: `$` cannot match at their ends.
A regex in which that matters has another automaton for these pieces. GPT-4's ends with
"\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s": if the end of a piece were always the text's, no place in an indentation would be a
certain boundary (see boundaries.py).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .code_points import N_CODE_POINTS, Edges, Partition, complement, membership
from .pattern_parser import (
    NO_LIMIT,
    Characters,
    Choice,
    Concatenation,
    End,
    LongLookAhead,
    LookAhead,
    LookBehind,
    Node,
    Repeat,
    Unsupported,
)

DEAD = 0  # the state that leads to no match
START = 1
MOST_PLACES = 5_000
MOST_STATES = 2_000  # before equal ones are merged
MOST_CLASSES = 64
MOST_SECONDS = 5.0  # of compiling

NEWLINE = 10
UNDECODABLE = 0xDC80, 0xDCFF  # what `surrogateescape` makes of bytes that are not UTF-8

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Automaton(Partition):
    """What a split regex matches; its classes are uint8.

    next_state : uint8 or uint16[n_states, n_classes]    the state after a character of a class; DEAD ends the run
    tells  : bool[n_states, n_classes + 1]    whether a match ends before a character of a class, or (last) before the end
    in_pieces : the automaton of pieces that text follows, whose end is the end of a piece; None if it is this one
    tells_text_end : bool[n_states]           of such an automaton, whether a match ends before the end of the text

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


# Places: the kind of each and what follows it, as plain tuples, as there may be thousands.
_SET, _FORK, _LOOK, _END, _MATCH = range(5)


class _Places:
    """The places of a regex, numbered; made from its end to its beginning, as each refers to what follows it."""

    def __init__(self) -> None:
        self.sets: dict[Edges, int] = {}
        self.of: list[tuple[int, int, tuple[int, ...]]] = []  # kind, a set or a flag, what follows
        self.match = self._new(_MATCH, 0, ())

    def _new(self, kind: int, what: int, following: tuple[int, ...]) -> int:
        if len(self.of) >= MOST_PLACES:
            raise Unsupported(f"a regex of more than {MOST_PLACES:,} places (bounded repeats are written out)")
        self.of.append((kind, what, following))
        return len(self.of) - 1

    def _set(self, members: Edges) -> int:
        return self.sets.setdefault(members, len(self.sets))

    def add(self, node: Node, following: int) -> int:
        """The place where a node begins that is followed by another place."""
        if isinstance(node, Characters):
            return self._new(_SET, self._set(node.members), (following,))
        if isinstance(node, Concatenation):
            for part in reversed(node.parts):
                following = self.add(part, following)
            return following
        if isinstance(node, Choice):
            return self._new(_FORK, 0, tuple(self.add(option, following) for option in node.options))
        if isinstance(node, LookAhead):
            return self._new(_LOOK, self._set(node.members) << 1 | node.or_end, (following,))
        if isinstance(node, End):
            return self._new(_END, node.or_newline, (following,))
        if isinstance(node, LookBehind):
            raise Unsupported(node.syntax)
        if isinstance(node, LongLookAhead):
            raise Unsupported("a look-ahead at more than one character")
        return self._add_repeat(node, following)

    def _add_repeat(self, node: Repeat, following: int) -> int:
        part, least, most = node.part, node.least, node.most
        if most != NO_LIMIT and most < least:
            raise Unsupported(f"a repeat from {least} to {most} times")
        done = following
        if node.mode == "possessive":
            # It never gives back characters. For one set this is a repeat that only ends before a character outside the
            # set; but after the greatest number of repeats, any character may follow.
            if not isinstance(part, Characters):
                raise Unsupported("a possessive repeat of more than one set, or an atomic group")
            done = self._new(_LOOK, self._set(complement(part.members)) << 1 | 1, (following,))
        if most not in (0, 1) and can_be_empty(part):  # engines end the repeat where it takes nothing
            raise Unsupported("a repeat of something that can be empty")
        if most == NO_LIMIT:
            loop = self._new(_FORK, 0, ())  # filled when the repeated node is made
            self.of[loop] = _FORK, 0, _preferred(self.add(part, loop), done, node.mode)
            following = loop
        else:
            for _ in range(most - least):
                following = self._new(_FORK, 0, _preferred(self.add(part, following), done, node.mode))
        for _ in range(least):
            following = self.add(part, following)
        return following


def _preferred(again: int, done: int, mode: str) -> tuple[int, int]:
    return (done, again) if mode == "lazy" else (again, done)


def can_be_empty(node: Node) -> bool:
    """Whether a node matches the empty text somewhere."""
    if isinstance(node, Characters):
        return False
    if isinstance(node, Concatenation):
        return all(map(can_be_empty, node.parts))
    if isinstance(node, Choice):
        return any(map(can_be_empty, node.options))
    if isinstance(node, Repeat):
        return node.least == 0 or can_be_empty(node.part)
    return True


@dataclass(frozen=True, eq=False)
class Symbols(Partition):
    """The symbols that may come next: a class of characters, the end, a newline that is the last character, or the end of a
    piece that text follows. The classes are those that all sets respect.

    in_set : bool[n_sets, n_classes]
    """

    in_set: NDArray[np.bool_]

    @classmethod
    def of(cls, sets: list[Edges]) -> Symbols:
        points = {0, NEWLINE, NEWLINE + 1, UNDECODABLE[0], UNDECODABLE[1] + 1}
        edges = np.array(sorted(points.union(*sets) - {N_CODE_POINTS}), dtype=np.int64)
        in_set = np.stack([membership(each, edges) for each in sets]) if sets else np.zeros((0, len(edges)), dtype=bool)
        class_of_edge = row_numbers(in_set.T)
        _, firsts = np.unique(class_of_edge, return_index=True)
        return cls(edges, class_of_edge, in_set[:, firsts])


class _Determiniser:
    """Ordered lists of places to states."""

    def __init__(self, places: _Places, start: int, most_seconds: float) -> None:
        self._places = places.of
        self.symbols = Symbols.of(list(places.sets))
        self._newline = int(self.symbols.classes_of("\n")[0])
        n = self.symbols.n_classes
        self._end, self._last_newline, self._piece_end = n, n + 1, n + 2
        # The symbols of each set; the ends are in none, a last newline is a newline.
        in_set = self.symbols.in_set.tolist()
        self._in_set = [[*row, False, row[self._newline], False] for row in in_set]
        self._numbers: dict[tuple[int, ...], int] = {(): DEAD, (start,): START}
        self._most_seconds = most_seconds
        self._deadline = time.monotonic() + most_seconds

    def run(self) -> tuple[NDArray[np.int64], NDArray[np.bool_], bool]:
        """Next states and what they tell, with the end of the text and that of a piece as the last symbols; whether a last
        newline is one like others."""
        rows, rows_of_tells = [], []
        same_at_end = True
        waiting = [(), *list(self._numbers)[1:]]
        for state in waiting:
            if time.monotonic() > self._deadline:
                raise Unsupported(f"what takes more than {self._most_seconds:g} s to compile")
            row, tells = [], []
            for symbol in range(self.symbols.n_classes):
                tell, following = self._step(state, symbol)
                tells.append(tell)
                if following not in self._numbers:
                    if len(self._numbers) >= MOST_STATES:
                        raise Unsupported(f"an automaton of more than {MOST_STATES:,} states")
                    self._numbers[following] = len(self._numbers)
                    waiting.append(following)
                row.append(self._numbers[following])
            rows.append(row)
            rows_of_tells.append([*tells, self._step(state, self._end)[0], self._step(state, self._piece_end)[0]])
            if self._outcome(state, self._newline) != self._outcome(state, self._last_newline):
                same_at_end = False
        return np.array(rows, dtype=np.int64), np.array(rows_of_tells, dtype=bool), same_at_end

    def _outcome(self, state: tuple[int, ...], symbol: int) -> int:
        """How a run ends before the text's last character: 2 it matches with it, 1 without it, 0 not here."""
        tell, following = self._step(state, symbol)
        return 2 if self._step(following, self._end)[0] else int(tell)

    def _step(self, state: tuple[int, ...], symbol: int) -> tuple[bool, tuple[int, ...]]:
        """Whether a match ends before a symbol, and the places behind it."""
        found: dict[int, None] = {}  # in order
        seen = set()
        stack = list(reversed(state))
        while stack:
            place = stack.pop()
            if place in seen:
                continue
            seen.add(place)
            kind, what, following = self._places[place]
            if kind == _SET:
                if self._in_set[what][symbol]:
                    found.setdefault(following[0])
            elif kind == _FORK:
                stack.extend(reversed(following))
            elif kind == _LOOK:
                if self._in_set[what >> 1][symbol] or (what & 1 and symbol in (self._end, self._piece_end)):
                    stack.extend(following)
            elif kind == _END:
                if symbol == self._end or (what and symbol == self._last_newline):
                    stack.extend(following)
            else:  # a match: less preferred branches are cut off
                return True, tuple(found)
        return False, tuple(found)


def compile_automaton(tree: Node, most_seconds: float = MOST_SECONDS) -> Automaton:
    """The automaton of a regex's tree. Raises Unsupported if there is none, if it is too large, or takes too long."""
    places = _Places()
    try:
        start = places.add(tree, places.match)
    except RecursionError:
        raise Unsupported("groups nested too deeply") from None
    determiniser = _Determiniser(places, start, most_seconds)
    next_state, tells, same_at_end = determiniser.run()
    if not same_at_end:
        raise Unsupported("$ where a newline that ends the text matters")
    if tells[START].any():
        raise Unsupported("what matches the empty text")
    next_state = _without_dead_ends(next_state, tells)
    if not next_state[START].any():
        raise Unsupported("what matches nothing")
    automaton = Automaton(*_numbered(next_state, tells[:, :-1], determiniser.symbols))
    if np.array_equal(tells[:, -1], tells[:, -2]):
        return automaton
    try:
        edges, class_of_edge, following, tells = _numbered(next_state, tells, determiniser.symbols)
    except Unsupported:  # too many classes: what is certain in all texts is certain in this one
        return automaton
    in_pieces = Automaton(edges, class_of_edge, following, np.delete(tells, -2, axis=1), tells_text_end=tells[:, -2])
    return replace(automaton, in_pieces=in_pieces)


def _without_dead_ends(next_state: NDArray[np.int64], tells: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Next states, where those that lead to no match are DEAD."""
    alive: NDArray[np.bool_] = np.asarray(tells.any(axis=1))
    while True:
        grown = alive | alive[next_state].any(axis=1)
        if (grown == alive).all():
            return np.where(alive[next_state], next_state, DEAD)
        alive = grown


def _overruled(next_state: NDArray[np.int64], tells: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which matches are overruled by a later one, whatever follows: shape as of `tells`."""
    certain: NDArray[np.bool_] = np.ones(len(tells), dtype=bool)  # states from which a match is reported, whatever follows
    certain[DEAD] = False
    while True:
        at_ends = np.zeros((len(tells), tells.shape[1] - next_state.shape[1]), dtype=bool)
        reaches = np.concatenate([certain[next_state], at_ends], axis=1)
        shrunk = certain & (tells | reaches).all(axis=1)
        if (shrunk == certain).all():
            return reaches
        certain = shrunk


def _merged(next_state: NDArray[np.int64], tells: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The number of the block of equal states that each state is in (Moore's refinement)."""
    block = row_numbers(tells)
    while True:
        refined = row_numbers(np.column_stack([block, block[next_state]]))
        if refined.max() == block.max():
            return block
        block = refined


def row_numbers(rows: NDArray[np.generic]) -> NDArray[np.int64]:
    """A number for each row, the same for equal rows, in the order in which they first come."""
    numbers: dict[bytes, int] = {}  # faster than np.unique, which sorts
    return np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows], dtype=np.int64)


def _numbered(
    next_state: NDArray[np.int64], tells: NDArray[np.bool_], symbols: Symbols
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint16], NDArray[np.bool_]]:
    """The states that can be reached, in the one order that their classes and they have: the first parts of an Automaton.

    tells : of each class, and of one or two ends; matches that are overruled are removed
    """
    tells = tells & ~_overruled(next_state, tells)
    n_classes = next_state.shape[1]
    block = _merged(next_state, tells)
    # Classes that all states treat alike are one, numbered in the order of the code points.
    columns = np.concatenate([block[next_state], tells[:, :n_classes]]).T
    kind = row_numbers(columns)[symbols.class_of_edge]
    class_of_edge = row_numbers(kind)
    _, firsts = np.unique(class_of_edge, return_index=True)
    representatives = symbols.class_of_edge[firsts]  # an old class for each new one
    changes = np.flatnonzero(np.diff(class_of_edge, prepend=-1))

    _, member = np.unique(block, return_index=True)  # a state for each block
    following = block[next_state[np.ix_(member, representatives)]]
    order = list(reached([int(block[DEAD]), int(block[START])], lambda each: following[each].tolist()))
    if len(order) > MOST_STATES or len(firsts) > MOST_CLASSES:
        raise Unsupported(f"an automaton of {len(order):,} states and {len(firsts):,} classes")
    number = np.zeros(len(member), dtype=np.uint16)
    number[order] = np.arange(len(order))
    columns_told = [*representatives.tolist(), *range(n_classes, tells.shape[1])]
    return (
        symbols.edges[changes],
        class_of_edge[changes].astype(np.uint8),
        number[following[order]],
        tells[np.ix_(member[order], columns_told)],
    )


def reached(start: Iterable[T], following: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """What is reached from some states, or pairs of states, these included: each once, and the nearest first."""
    waiting = list(dict.fromkeys(start))
    found = set(waiting)
    for each in waiting:
        yield each
        for other in following(each):
            if other not in found:
                found.add(other)
                waiting.append(other)


def match_end(automaton: Automaton, classes: NDArray[np.uint8], start: int) -> int:
    """Where the match ends that begins at `start` of a text, given by its classes; `start` where none does."""
    state, end = START, start
    for position in range(start, len(classes)):
        if automaton.tells[state, classes[position]]:
            end = position
        state = int(automaton.next_state[state, classes[position]])
        if state == DEAD:
            return end
    return len(classes) if automaton.tells[state, -1] else end


def split(automaton: Automaton, text: str) -> list[str]:
    """The matches in a text and the text between them, in order: slow, and the definition."""
    classes = automaton.classes_of(text)
    parts, gap, at = [], 0, 0
    while at < len(text):
        end = match_end(automaton, classes, at)
        if end == at:
            at += 1
            continue
        parts += [text[gap:at], text[at:end]]
        gap = at = end
    return [part for part in [*parts, text[gap:]] if part]
