"""Finds the states of an automaton: ordered lists of places of a regex, by the subset construction.

A state is the list of places that the branches of a run are at right after a character was consumed, the most preferred
first. It also has that character, if a place asks for it. Which branches can go on is decided when the next character, or
the end, is known, so a look at one character is exact.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..kernels.pieces.pattern_tables import ASKS, MATCH_ENDS, NO_MATCH, UNDECIDED
from .code_points import N_CODE_POINTS, Edges, Partition, membership
from .pattern_parser import Node, Unsupported
from .places import AHEAD, BEHIND, END, LONG_AHEAD, MATCH, SET, UNKNOWN, Places

MOST_STATES = 2_000  # before equal ones are merged

NEWLINE = 10
UNDECODABLE = 0xDC80, 0xDCFF  # what `surrogateescape` makes of bytes that are not UTF-8

# What is before a state, if not a symbol: not known, as no place asks; the start of the text; the start or any character.
_NOT_ASKED, _TEXT_START, _ANYTHING = -1, -2, -3

# What is before the state; its places; the look-aheads that were asked for, and whether they match; and the number of the
# look-ahead that is asked for now, or _NONE.
State = tuple[int, tuple[int, ...], tuple[tuple[int, bool], ...], int]
_NONE = -1
_DEAD: State = (_NOT_ASKED, (), (), _NONE)

T = TypeVar("T")


def row_numbers(rows: NDArray[np.generic]) -> NDArray[np.int64]:
    """A number for each row, the same for equal rows, in the order in which they first come."""
    numbers: dict[bytes, int] = {}  # faster than np.unique, which sorts
    return np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows], dtype=np.int64)


def reached(start: Iterable[T], following: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """All that is reached from some states (or pairs of states), including these: each once, the nearest first."""
    waiting = list(dict.fromkeys(start))
    found = set(waiting)
    for each in waiting:
        yield each
        for other in following(each):
            if other not in found:
                found.add(other)
                waiting.append(other)


@dataclass(frozen=True, eq=False)
class Symbols(Partition):
    """The symbols that may come next: a class of characters, the end, a newline that is the last character, or the end of a
    piece that text follows. A class is in a set as a whole, or not at all.

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

    def merged(self, rows: NDArray[np.generic]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Merge classes with equal rows. Returns the new class of each edge, and one of the old classes for each new one.

        rows : one for each class
        """
        class_of_edge = row_numbers(row_numbers(rows)[self.class_of_edge])
        _, firsts = np.unique(class_of_edge, return_index=True)
        return class_of_edge, self.class_of_edge[firsts]


class Determined(NamedTuple):
    """The states of a regex: 0 is dead, 1 is where a run starts.

    next_state  : int64[n_states, n_classes]        for partial places, row 0 says where a run starts after a character
    tells       : uint8[n_states, n_classes + 2]    before each class, the end of the text, and the end of a piece:
                  NO_MATCH, MATCH_ENDS, UNDECIDED or ASKS. ASKS leads to a state that asks for a look-ahead. That one tells
                  ASKS, and before the end of the text ASKS + the number of the look-ahead; its next state is that of class
                  0 if the look-ahead matches, else that of any other class
    same_at_end : whether a newline at the end of the text is treated as any other; True for partial places
    """

    next_state: NDArray[np.int64]
    tells: NDArray[np.uint8]
    same_at_end: bool
    symbols: Symbols


def determined(places: Places, tree: Node, most_seconds: float) -> Determined:
    """The states of a regex's tree.

    places : empty. If they are partial, something may be undecided, and the state in which a run starts depends on the
             character before; else all runs start in one state

    Raises Unsupported for a regex that is too large or takes too long, or, unless places are partial, is undecided.
    """
    try:
        return _Determiniser(places, places.add(tree, places.match), most_seconds).run()
    except RecursionError:
        raise Unsupported("groups nested too deeply") from None


class _Determiniser:
    """Makes states of places, beginning with the place where runs start."""

    def __init__(self, places: Places, start: int, most_seconds: float) -> None:
        self._places = places.of
        self._partial = places.partial
        self._syntax = places.syntax
        self.symbols = Symbols.of(list(places.sets))
        self._newline = int(self.symbols.classes_of("\n")[0])
        n = self.symbols.n_classes
        self._end, self._last_newline, self._piece_end = n, n + 1, n + 2
        # The symbols of each set; the ends are in none, a last newline is a newline.
        in_set = self.symbols.in_set.tolist()
        self._in_set = [[*row, False, row[self._newline], False] for row in in_set]
        self._asking, self._asked_as = self._which_ask()
        self._look_of = places.look_of
        self._asks = places.asks and n > 1  # so that there is a class for each answer
        self._start = start
        # For a state in which a look-ahead was asked for: the symbols before which that happened. No others can come next.
        self._possible: dict[State, set[int]] = {}
        self._numbers = {_DEAD: 0, (_TEXT_START if self._partial else _ANYTHING, (start,), (), _NONE): 1}
        self._deadline = time.thread_time() + most_seconds

    def run(self) -> Determined:
        rows, rows_of_tells = [], []
        same_at_end = True
        waiting = list(self._numbers)
        for state in waiting:
            row, tells = [], []
            for symbol in range(self.symbols.n_classes):
                if time.thread_time() > self._deadline:  # here, as one state may take a second, with thousands of words
                    raise Unsupported("what takes too long to compile")
                if self._partial and state == _DEAD:
                    tell, following = NO_MATCH, self._behind(symbol, (self._start,))
                else:
                    tell, following = self._step_or_answer(state, symbol)
                tells.append(tell)
                if following not in self._numbers:
                    if len(self._numbers) >= MOST_STATES:
                        raise Unsupported(f"an automaton of more than {MOST_STATES:,} states")
                    self._numbers[following] = len(self._numbers)
                    waiting.append(following)
                row.append(self._numbers[following])
            rows.append(row)
            of_ends = (self._step_or_answer(state, end)[0] for end in (self._end, self._piece_end))
            rows_of_tells.append([*tells, *of_ends])
            if not self._partial and self._outcome(state, self._newline) != self._outcome(state, self._last_newline):
                same_at_end = False
        return Determined(
            np.array(rows, dtype=np.int64), np.array(rows_of_tells, dtype=np.uint8), same_at_end, self.symbols
        )

    def _step_or_answer(self, state: State, symbol: int) -> tuple[int, State]:
        """As `_step`, also for a state that asks. If the symbol cannot come, the run is dead."""
        before, places, answers, asking = state
        if asking != _NONE:
            following = before, places, (*answers, (asking, symbol == 0)), _NONE
            self._possible[following] = self._possible[state]
            return ASKS + asking * (symbol == self._end), following
        if symbol not in self._possible.get(state, (symbol,)):
            return NO_MATCH, _DEAD
        tell, following = self._step(state, symbol)
        if tell == ASKS:
            self._possible.setdefault(following, set()).add(symbol)
        return tell, following

    def _outcome(self, state: State, symbol: int) -> int:
        """How a run ends if the symbol is the text's last character: 2 if a match ends after it, 1 if before it, else 0."""
        tell, following = self._step(state, symbol)
        return 2 if self._step(following, self._end)[0] else int(tell)

    def _step(self, state: State, symbol: int) -> tuple[int, State]:
        """What a state that does not ask tells before a symbol, and the state after it."""
        before, places, answers, _ = state
        found: dict[int, None] = {}  # in order
        seen = set()
        # Each place with the undecided place before it, if there is one: whether a run comes to it depends on that.
        stack: list[tuple[int, int | None]] = [(place, None) for place in reversed(places)]
        tell = NO_MATCH
        while stack:
            place, doubt = stack.pop()
            if place in seen:
                continue
            seen.add(place)
            kind, _, following = self._places[place]
            holds = self._holds(place, state, symbol)
            if holds is False:
                continue
            if holds is None and doubt is None:
                doubt = place
            if kind not in (SET, MATCH):
                following = following[1:] if kind == LONG_AHEAD else following  # without the part to look for
                stack.extend([(each, doubt) for each in reversed(following)])
            elif doubt is not None:  # it matters, as the run could go on or match here
                if not self._partial:
                    raise Unsupported(self._syntax[doubt])
                if self._asks and symbol < self._end and self._places[doubt][0] == LONG_AHEAD:
                    return ASKS, (before, places, answers, self._look_of[doubt])
                return UNDECIDED, _DEAD
            elif kind == SET:
                found.setdefault(following[0])
            else:  # less preferred branches are cut off
                tell = MATCH_ENDS
                break
        return tell, self._behind(symbol, tuple(found))

    def _holds(self, place: int, state: State, symbol: int) -> bool | None:
        """Whether a run in a state can go through a place if a symbol comes next; None if that is undecided."""
        before, _, answers, _ = state
        kind, operand, following = self._places[place]
        if kind == SET:
            return self._in_set[operand >> 1][symbol]
        if kind == AHEAD:
            return self._in_set[operand >> 1][symbol] or bool(operand & 1 and symbol in (self._end, self._piece_end))
        if kind == LONG_AHEAD:
            matches = dict(answers).get(self._look_of[place])
            if matches is None:
                matches = self._is_ahead((before, following[:1], (), _NONE), symbol)
            return matches if matches is None else matches != bool(operand)
        if kind == BEHIND:
            return self._is_before(operand, before)
        if kind == END:
            if operand and self._partial and symbol == self._newline:
                return None  # it may be the last one
            return symbol == self._end or (operand != 0 and symbol == self._last_newline)
        return None if kind == UNKNOWN else True

    def _is_ahead(self, state: State, symbol: int) -> bool | None:
        """Whether a look-ahead, given as a state, matches from a symbol on; None if that depends on what follows."""
        tell, following = self._step(state, symbol)
        if tell == NO_MATCH:
            return False if following == _DEAD else None
        return True if tell == MATCH_ENDS else None

    def _behind(self, symbol: int, places: tuple[int, ...]) -> State:
        """The state after a symbol, in which a run is at `places`."""
        return _NOT_ASKED if self._asking.isdisjoint(places) else self._asked_as[symbol], places, (), _NONE

    def _is_before(self, operand: int, before: int) -> bool | None:
        """Whether what is before a state is in a set, or, if `operand` is odd, the start of the text; None if not known."""
        in_set, or_start = self._in_set[operand >> 1], bool(operand & 1)
        if before >= 0:
            return in_set[before]
        answers = {or_start}  # `before` is not _NOT_ASKED, as this is asked
        if before == _ANYTHING:
            answers.update(in_set[: self._end])
        return answers.pop() if len(answers) == 1 else None

    def _which_ask(self) -> tuple[set[int], list[int]]:
        """The places at which a run may ask what is before it, before it consumes a character. And for each symbol, the
        first symbol with the same answers to all such questions, which stands for it, so that there are fewer states."""
        asking = [place for place, (kind, _, _) in enumerate(self._places) if kind == BEHIND]
        before: dict[int, list[int]] = {}
        for place, (kind, _, following) in enumerate(self._places):
            for each in following if kind != SET else ():
                before.setdefault(each, []).append(place)
        sets = {self._places[place][1] >> 1 for place in asking}
        firsts: dict[tuple[bool, ...], int] = {}
        asked_as = [
            firsts.setdefault(tuple(self._in_set[each][symbol] for each in sets), symbol)
            for symbol in range(self._piece_end)
        ]
        return set(reached(asking, lambda place: before.get(place, ()))), asked_as
