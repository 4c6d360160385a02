"""Finds where a look-ahead at several characters matches: in all of a text at once, from its end to its start.

If a look-ahead such as (?=(?:\\d{3})*\\b) is tried at each place of the text, it runs over all digits each time, and the
time grows with the square of their number. Backwards, each character is read once. The state at a place of the text is the
set of places of the regex (see places.py) that lead to a match from there on. It follows from the character there and the
state after that, as it does not matter which branch is preferred; look-aheads within the look-ahead are decided, too. For
look-behind, a state has such a set for each kind of character before.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .code_points import Partition
from .determiniser import MOST_STATES, NEWLINE, Symbols
from .pattern_parser import Node, Unsupported
from .places import AHEAD, BEHIND, FORK, LONG_AHEAD, MATCH, SET, UNKNOWN, Places


@dataclass(frozen=True, eq=False)
class LookAutomaton(Partition):
    """The automaton of a look-ahead, which reads backwards; its classes are uint8. State 0 is that at the end of a text.

    next_state : uint16[n_states, n_classes]      the state before a character of a class
    matches    : bool[n_states, n_classes + 1]    whether the look-ahead matches in a state, if a character of a class or
                 (last) the start of the text is before
    """

    next_state: NDArray[np.uint16]
    matches: NDArray[np.bool_]

    @property
    def n_states(self) -> int:
        return len(self.next_state)

    def places(self, text: str) -> list[bool]:
        """Whether the look-ahead matches before each character of a text, and at its end."""
        state, found = 0, []
        for before in reversed(self.classes_of(text).tolist()):
            found.append(bool(self.matches[state, before]))
            state = int(self.next_state[state, before])
        return [bool(self.matches[state, -1]), *reversed(found)]


_ONE_CLASS = np.zeros(1, dtype=np.int64)
# The automaton of a look-ahead that never matches.
NEVER = LookAutomaton(_ONE_CLASS, _ONE_CLASS, np.zeros((1, 1), dtype=np.uint16), np.zeros((1, 2), dtype=bool))


def compile_look(part: Node, most_seconds: float) -> LookAutomaton:
    """The automaton of a look-ahead that looks for `part`.

    Raises Unsupported if it is undecided, for example by an atomic group, too large, or takes too long.
    """
    places = Places(partial=True)
    try:
        return _Reader(places, places.add(part, places.match), most_seconds).run()
    except RecursionError:
        raise Unsupported("groups nested too deeply") from None


# For each kind of character before, the places that lead to a match; and whether this is the state at the end of the text.
_State = tuple[tuple[frozenset[int], ...], bool]


class _Reader:
    """Makes states of places, beginning with the state at the end of a text."""

    def __init__(self, places: Places, start: int, most_seconds: float) -> None:
        if any(kind == UNKNOWN for kind, _, _ in places.of):
            raise Unsupported("a look-ahead with a part that is undecided")
        self._places, self._start = places.of, start
        self._symbols = Symbols.of([*places.sets, (NEWLINE, NEWLINE + 1)])
        self._in_set = self._symbols.in_set.tolist()
        self._newline = int(self._symbols.classes_of("\n")[0])
        # The places that a run is at between two characters: the others are not part of a state.
        self._kept = {start, *(following[0] for kind, _, following in places.of if kind == SET)}
        self._kind_of, self._kinds = self._kinds_before()
        self._deadline = time.thread_time() + most_seconds

    def run(self) -> LookAutomaton:
        numbers: dict[_State, int] = {self._state(None, None): 0}
        rows, matches = [], []
        waiting = list(numbers)
        for state in waiting:
            row = []
            for symbol in range(self._symbols.n_classes):
                if time.thread_time() > self._deadline:
                    raise Unsupported("what takes too long to compile")
                before = self._state(symbol, state)
                if before not in numbers:
                    if len(numbers) >= MOST_STATES:
                        raise Unsupported(f"a look-ahead of more than {MOST_STATES:,} states")
                    numbers[before] = len(numbers)
                    waiting.append(before)
                row.append(numbers[before])
            rows.append(row)
            matches.append([self._start in state[0][kind] for kind in self._kind_of])
        return self._with_few_classes(np.array(rows, dtype=np.uint16), np.array(matches))

    def _with_few_classes(self, next_state: NDArray[np.uint16], matches: NDArray[np.bool_]) -> LookAutomaton:
        """The automaton, with classes merged that all states treat alike."""
        class_of_edge, members = self._symbols.merged(np.concatenate([next_state, matches[:, :-1]]).T)
        return LookAutomaton(self._symbols.edges, class_of_edge, next_state[:, members], matches[:, [*members, -1]])

    def _kinds_before(self) -> tuple[list[int], list[dict[int, bool]]]:
        """The kind of each class of characters, and of the start of a text, if it is before a place; and for each kind, the
        answers to the places that ask for what is before."""
        asking = [(place, operand) for place, (kind, operand, _) in enumerate(self._places) if kind == BEHIND]
        classes = range(self._symbols.n_classes)
        answers = [{place: self._in_set[operand >> 1][c] for place, operand in asking} for c in classes]
        answers.append({place: bool(operand & 1) for place, operand in asking})
        kinds = [each for i, each in enumerate(answers) if each not in answers[:i]]
        return [kinds.index(each) for each in answers], kinds

    def _state(self, symbol: int | None, behind: _State | None) -> _State:
        """The state before a symbol that has the state `behind` after it; None and None for the end of the text."""
        return tuple(self._leading(answers, symbol, behind) for answers in self._kinds), behind is None

    def _leading(self, answers: dict[int, bool], symbol: int | None, behind: _State | None) -> frozenset[int]:
        """The places of `_kept` that lead to a match.

        answers : to the places that ask for what is before
        """
        known: dict[int, bool] = {}

        def leads(place: int) -> bool:
            if place not in known:
                known[place] = found(place, *self._places[place])
            return known[place]

        def found(place: int, kind: int, operand: int, following: tuple[int, ...]) -> bool:
            if kind in (FORK, MATCH):
                return kind == MATCH or any(map(leads, following))
            if kind == SET:
                if symbol is None or behind is None or not self._in_set[operand >> 1][symbol]:
                    return False
                return following[0] in behind[0][self._kind_of[symbol]]
            if kind == AHEAD:
                holds = bool(operand & 1) if symbol is None else self._in_set[operand >> 1][symbol]
            elif kind == LONG_AHEAD:
                holds = leads(following[0]) != bool(operand)
            elif kind == BEHIND:
                holds = answers[place]
            else:  # END, perhaps before a newline that is the last character
                holds = behind is None or (bool(operand) and symbol == self._newline and behind[1])
            return holds and leads(following[-1])

        return frozenset(filter(leads, self._kept))
