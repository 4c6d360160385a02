"""Seams of a pattern, derived from its automata: where a long word may be cut before it is merged.

See kernels/pieces/unmergeable_boundaries.py.
"""

from __future__ import annotations

import numpy as np

from .automaton import DEAD, START, Automaton
from .boundaries import can_be_left
from .code_points import Edges, membership
from .levels import Levels


def seam_classes(levels: Levels, caseless: Edges) -> tuple[set[int], set[int], set[int]]:
    """Which classes are seam letters, do harm, and keep it (see kernels/pieces/unmergeable_boundaries.py)."""
    is_caseless = membership(caseless, levels.edges)
    everywhere = set(levels.class_of_edge[is_caseless].tolist()) - set(levels.class_of_edge[~is_caseless].tolist())
    letters = {c for c in everywhere if _seams_of(levels, {c}) is not None}
    while letters:
        found = _seams_of(levels, letters)
        if found is not None:
            return letters, *found
        # Those with the most code points remain.
        sizes = np.bincount(levels.classes())
        letters.remove(min(letters, key=lambda c: int(sizes[c])))
    return set(), set(), set()


def _seams_of(levels: Levels, letters: set[int]) -> tuple[set[int], set[int]] | None:
    """Which classes do harm, and keep it, for seams between some letters; None if there can be no seams."""
    harm: set[int] = set()
    keep: set[int] = set()
    for automaton, class_at in zip(levels.automata, levels.class_at, strict=True):
        own = {int(class_at[c]) for c in letters}
        found = _harm_of(automaton, own)
        if found is None:
            return None
        for classes, ours in zip(found, (harm, keep), strict=True):
            ours |= {c for c in range(levels.n_classes) if int(class_at[c]) in classes} - letters
    return harm, keep - harm


def _harm_of(automaton: Automaton, letters: set[int]) -> tuple[set[int], set[int]] | None:
    """As `_seams_of`, of one automaton and its classes."""
    next_state, tells = automaton.next_state, automaton.tells
    is_used = (next_state != DEAD).any(axis=0)
    if (can_be_left(automaton) & is_used)[sorted(letters)].any():
        return None
    alive = set(range(START, automaton.n_states))

    def after(states: set[int], classes: set[int]) -> set[int]:
        return {int(next_state[q, c]) for q in states for c in classes} - {DEAD}

    def is_safe(q: int) -> bool:
        return all(
            tells[q, b] == tells[q, -1]  # what follows is cut off anyway
            if next_state[q, b] == DEAD
            else tells[q, -1] and next_state[q, b] == next_state[START, b]
            for b in letters
        )

    def leads_to_harm(states: set[int], through: set[int]) -> bool:
        """Whether letters that follow, or those that keep harm, lead from some states to one that is not safe."""
        seen: set[int] = set()
        while states:
            if not all(map(is_safe, after(states, letters))):
                return True
            seen |= states
            states = after(states, through) - seen
        return False

    others = set(range(automaton.n_classes)) - letters
    keep: set[int] = set()
    while True:
        through = letters | keep
        if leads_to_harm({START}, through):
            return None
        harm = {c for c in others if leads_to_harm(after({START}, {c}), through)}
        kept = {c for c in others - harm if leads_to_harm(after(alive, {c}), through)}
        if kept <= keep:
            break
        keep |= kept
    # Characters of these classes that are not seam letters keep harm as these do.
    return harm, keep | letters if harm else keep
