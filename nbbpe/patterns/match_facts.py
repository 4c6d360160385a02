"""Facts about all matches of a pattern's automata that save kernels work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .automaton import DEAD, START, Automaton
from .boundaries import can_fail
from .determiniser import reached
from .pattern_parser import Unsupported


def needs_memo(automaton: Automaton) -> bool:
    """Whether several walks may go over the same text in one state and then fail (see kernels/pieces/pretokens.py).

    That requires a state in which a walk stays without reporting a match, and from which it can fail. And another walk,
    which begins inside the text of the first, or before it without a match between, must reach the same state. Raises
    Unsupported if walks could cycle through several such states.
    """
    n = automaton.n_states
    steps = np.zeros((n, n), dtype=bool)  # from one state to another without a match that ends before
    for state in range(START, n):
        steps[state, automaton.next_state[state][~automaton.tells[state, :-1]]] = True
    steps &= can_fail(automaton)  # the state stepped to, and so the one before, too
    loops = np.flatnonzero(np.diagonal(steps)).tolist()
    np.fill_diagonal(steps, False)
    n_next = steps.sum(axis=1)  # how many states follow each state that may be on a cycle
    on_none = np.flatnonzero(n_next == 0).tolist()
    for state in on_none:
        before = steps[:, state]
        n_next -= before
        on_none += np.flatnonzero(before & (n_next == 0)).tolist()
    if len(on_none) < n:
        raise Unsupported("a match that could be searched for again and again without success")
    first = np.flatnonzero(steps[loops].any(axis=0)).tolist()
    after_loops = set(reached(first, lambda state: np.flatnonzero(steps[state]).tolist()))
    return any(_comes_again(automaton, state) or state in after_loops for state in loops)


def _comes_again(automaton: Automaton, loop: int) -> bool:
    """Whether a walk reaches a state by those characters that keep another walk in it."""
    classes = np.flatnonzero((automaton.next_state[loop] == loop) & ~automaton.tells[loop, :-1])
    return loop in reached([START], lambda state: automaton.next_state[state, classes].tolist())


def has_stable_pretokens(automata: Sequence[Automaton]) -> bool:
    """Whether each pretoken, split as a text, is known to be one pretoken again.

    For one automaton it is enough that a match that ends before some character would also end if the text ended there, and
    that no run that finds nothing would find a match if the text ended sooner. Of several automata, all but the last must
    also keep a part of a match whole: they see such a part if a pretoken of a later automaton is split as a text.
    """
    for level, automaton in enumerate(automata):
        tells, fails = automaton.tells, can_fail(automaton)
        if (tells[:, :-1] & ~tells[:, -1:]).any():
            return False
        if any(tells[state, -1] and fails[state] for state in _states_without_match(automaton)):
            return False
        if level < len(automata) - 1 and not _matches_parts_of_matches(automaton):
            return False
    return True


def _states_without_match(automaton: Automaton) -> Iterator[int]:
    """The states that a run can be in before any match is reported."""
    next_state, tells = automaton.next_state, automaton.tells
    return reached([START], lambda state: next_state[state][~tells[state, :-1]].tolist())


def _matches_parts_of_matches(automaton: Automaton) -> bool:
    """Whether each part of a match is known to be one match as a separate text."""

    def following(states: tuple[int, int]) -> list[tuple[int, int]]:
        """The states after each character of a run through a match (the first) and of one that begins within the match."""
        outer, inner = automaton.next_state[list(states)].tolist()
        return [pair for pair in zip(outer, inner, strict=True) if pair[0] != DEAD]

    first = [pair for state in range(START, automaton.n_states) for pair in following((state, START))]
    return all(automaton.tells[inner, -1] for _, inner in reached(first, following))  # False for the dead state
