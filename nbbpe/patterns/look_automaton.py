"""Where a look-ahead at several characters matches: found for all places of a text at once, from its end to its start.

Asked place by place, a look-ahead such as (?=(?:\\d{3})*\\b) runs over all digits each time, and the time grows with the
square of their number. Read backwards, each character is read once. The state at a place of the text is which places of the
regex (see places.py) lead to a match from there on. It follows from the character there and the state behind it, whatever
branch is preferred, and decides the look-aheads within one, too. For look-behind, a state has an answer for each kind of
character before.
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
    """Where a look-ahead matches; its classes are uint8. State 0 is that at the end of a text.

    next_state : uint16[n_states, n_classes]      the state before a character of a class
    matches    : bool[n_states, n_classes + 1]    whether it matches at a place with a state, after a character of a class
                 or (last) at the start of a text
    """

    next_state: NDArray[np.uint16]
    matches: NDArray[np.bool_]

    @property
    def n_states(self) -> int:
        return len(self.next_state)

    def places(self, text: str) -> list[bool]:
        """Whether it matches before each character of a text, and at its end."""
        state, found = 0, []
        for before in reversed(self.classes_of(text).tolist()):
            found.append(bool(self.matches[state, before]))
            state = int(self.next_state[state, before])
        return [bool(self.matches[state, -1]), *reversed(found)]


_ONE_CLASS = np.zeros(1, dtype=np.int64)
# That of what is nowhere.
NEVER = LookAutomaton(_ONE_CLASS, _ONE_CLASS, np.zeros((1, 1), dtype=np.uint16), np.zeros((1, 2), dtype=bool))


def compile_look(part: Node, most_seconds: float) -> LookAutomaton:
    """The automaton of what a look-ahead looks for.

    Raises Unsupported where this is undecided, as by an atomic group, where it is too large, or takes too long.
    """
    places = Places(partial=True)
    try:
        return _Reader(places, places.add(part, places.match), most_seconds).run()
    except RecursionError:
        raise Unsupported("groups nested too deeply") from None


# Of each kind of character before, the places that lead to a match; and whether this is at the end of the text.
_State = tuple[tuple[frozenset[int], ...], bool]


class _Reader:
    """Makes states of places, from the end of a text on."""

    def __init__(self, places: Places, start: int, most_seconds: float) -> None:
        if any(kind == UNKNOWN for kind, _, _ in places.of):
            raise Unsupported("a look-ahead with a part that is undecided")
        self._places, self._start = places.of, start
        self._symbols = Symbols.of([*places.sets, (NEWLINE, NEWLINE + 1)])
        self._in_set = self._symbols.in_set.tolist()
        self._newline = int(self._symbols.classes_of("\n")[0])
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
        """Classes that all states treat alike are one."""
        class_of_edge, members = self._symbols.merged(np.concatenate([next_state, matches[:, :-1]]).T)
        return LookAutomaton(self._symbols.edges, class_of_edge, next_state[:, members], matches[:, [*members, -1]])

    def _kinds_before(self) -> tuple[list[int], list[dict[int, bool]]]:
        """The kind of each class of characters before a place, and of the start of a text; and what places that ask for
        the character before are told of each kind."""
        asking = [(place, what) for place, (kind, what, _) in enumerate(self._places) if kind == BEHIND]
        told = [{place: self._in_set[what >> 1][c] for place, what in asking} for c in range(self._symbols.n_classes)]
        told.append({place: bool(what & 1) for place, what in asking})
        kinds = [each for i, each in enumerate(told) if each not in told[:i]]
        return [kinds.index(each) for each in told], kinds

    def _state(self, symbol: int | None, behind: _State | None) -> _State:
        """The state before a symbol with a state behind it; None and None at the end of the text."""
        return tuple(self._leading(told, symbol, behind) for told in self._kinds), behind is None

    def _leading(self, told: dict[int, bool], symbol: int | None, behind: _State | None) -> frozenset[int]:
        """The places, of those that matter behind another character, that lead to a match.

        told : what those are told that ask for the character before
        """
        known: dict[int, bool] = {}

        def leads(place: int) -> bool:
            if place not in known:
                known[place] = found(place, *self._places[place])
            return known[place]

        def found(place: int, kind: int, what: int, following: tuple[int, ...]) -> bool:
            if kind in (FORK, MATCH):
                return kind == MATCH or any(map(leads, following))
            if kind == SET:
                if symbol is None or behind is None or not self._in_set[what >> 1][symbol]:
                    return False
                return following[0] in behind[0][self._kind_of[symbol]]
            if kind == AHEAD:
                holds = bool(what & 1) if symbol is None else self._in_set[what >> 1][symbol]
            elif kind == LONG_AHEAD:
                holds = leads(following[0]) != bool(what)
            elif kind == BEHIND:
                holds = told[place]
            else:  # END, perhaps before a newline that is the last character
                holds = behind is None or (bool(what) and symbol == self._newline and behind[1])
            return holds and leads(following[-1])

        return frozenset(filter(leads, self._kept))
