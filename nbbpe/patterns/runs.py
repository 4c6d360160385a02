"""Derives where runs of a partial automaton may start and what states they may come to, for seams.py.

A text is split by one run after another: each starts where the last match ended, or, if there was none, a character after
the last start. A run that asks for a look-ahead may go on in two ways: which texts have which answer is not examined.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.pieces.pattern_tables import ASKS, MATCH_ENDS, UNDECIDED
from .automaton import DEAD, START
from .partial_automaton import PartialAutomaton
from .pattern_parser import Unsupported

_MOST_WAYS = 16


class Runs:
    """The runs of a partial automaton. Raises Unsupported if something is undecided, or runs go on in too many ways.

    next_state : [n_ways, n_states, n_classes]    the state after a character of a class, whatever was asked before it
    matches    : bool, of the same shape          whether a match ends before the character
    ends       : bool[n_states]                   whether a match ends before the end of the text
    asks       : bool[n_states, n_classes]        whether something is asked before a character of a class
    starts     : int64[n_classes + 1]             where a run starts after a character of each class, and in a text
    begun      : bool[n_classes + 1, n_classes]   whether a run may start between two classes, or (last) in a text
    after      : bool[n_classes, n_states]        whether a run may be in a state, not the dead one, after a class
    fails      : bool[n_states]                   whether some text leads from a state to no further match
    left       : bool[n_classes]                  whether a run that starts before a class may find no match
    """

    def __init__(self, automaton: PartialAutomaton) -> None:
        self._find_moves(automaton)
        self.starts = np.append(automaton.next_state[DEAD], START).astype(np.int64)
        self.fails = self._which_fail()
        self._find_begun()

    def _find_moves(self, automaton: PartialAutomaton) -> None:
        """Find the next states, and what the states tell."""
        if (automaton.tells == UNDECIDED).any():
            raise Unsupported("what is undecided")
        next_state, tells = automaton.next_state.copy(), automaton.tells[:, :-1]
        next_state[DEAD] = DEAD  # not where runs start
        is_asking = automaton.tells[:, -1] >= ASKS
        self.ends = automaton.tells[:, -1] == MATCH_ENDS
        self.asks = (tells == ASKS) & ~is_asking[:, None]
        n_states, n_classes = tells.shape
        classes = np.arange(n_classes)
        # The states in which the next characters are consumed: at first those before any look-ahead is answered.
        ways = [np.repeat(np.where(is_asking, DEAD, np.arange(n_states))[:, None], n_classes, axis=1)]
        found = []
        while ways:
            states = ways.pop()
            asks = tells[states, classes] == ASKS
            if not asks.any():
                found.append(states)
                continue
            asking = next_state[states, classes]
            ways += [np.where(asks, next_state[asking, answer], states) for answer in (0, -1)]
            if len(found) + len(ways) > _MOST_WAYS:
                raise Unsupported("too many look-aheads at one place")
        self.next_state = np.stack([next_state[states, classes] for states in found])
        self.matches = np.stack([tells[states, classes] == MATCH_ENDS for states in found])

    def _which_fail(self) -> NDArray[np.bool_]:
        fails: NDArray[np.bool_] = ~self.ends
        while True:
            grown = fails | (~self.matches & fails[self.next_state]).any(axis=(0, 2))
            if (grown == fails).all():
                return fails
            fails = grown

    def _find_begun(self) -> None:
        """Find where runs start, and the states that they come to.

        Each round finds all states that the runs known so far come to, however long they are, and then where more runs may
        start. So each state is followed once, and long runs do not need more rounds.
        """
        _, n_states, n_classes = self.next_state.shape
        classes = np.arange(n_classes)
        self.begun = np.zeros((n_classes + 1, n_classes), dtype=bool)
        self.begun[-1] = True
        self.after = np.zeros((n_classes, n_states), dtype=bool)
        first = self.next_state[:, self.starts]  # [n_ways, n_classes + 1, n_classes]: states after a first character
        # Whether a match may end there that no later one overrules, [n_states, n_classes].
        matches_there = (self.matches & self.fails[self.next_state]).any(axis=0)
        alive: NDArray[np.bool_] = np.zeros(n_states, dtype=bool)
        n_before, n_begun = 0, n_classes
        while n_begun > n_before:
            n_before = n_begun
            before, at = np.nonzero(self.begun)
            self.after[at, first[:, before, at]] = True
            new = self.after.any(axis=0) & ~alive
            while new.any():
                alive |= new
                following = self.next_state[:, new]
                self.after[classes, following] = True
                found = np.zeros_like(alive)
                found[following] = True
                new = found & ~alive
            self.after[:, DEAD] = False
            self.left = (self.begun & self.fails[first]).any(axis=(0, 1))
            self.begun[:-1] |= self.left[:, None]
            self.begun[:-1] |= np.stack([matches_there[states].any(axis=0) for states in self.after])
            n_begun = int(self.begun.sum())

    def states_after(self, states: NDArray[np.bool_], classes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a run that is in one of some states may be in a state after a character of one of some classes."""
        found = np.zeros_like(states)
        found[self.next_state[:, states][:, :, classes]] = True
        found[DEAD] = False
        return found

    def begun_by(self, classes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a run that starts before a character of one of some classes may be in a state after it."""
        found = np.zeros_like(self.ends)
        before, at = np.nonzero(self.begun[:, classes])
        found[self.next_state[:, self.starts[before], classes[at]]] = True
        found[DEAD] = False
        return found
