"""Derives the seams of a pattern from its automata: places where a long word may be cut before it is merged.

See kernels/pieces/unmergeable_boundaries.py. *Sound.* Let a text be uv, where u ends with a seam letter and v begins with
one, b. Back from the place between them, through letters and characters that keep harm, there is one that does no harm, or
the start of the text. In all states that a run may then be in at the place,

1. b leads to the dead state, and a match ends before b exactly where it would end before the end of the text; or a match
   ends before the end of the text, and b leads to the same state as from the start of a text;
2. nothing is asked before b, and no look-ahead that was asked before can tell b from the end of the text;
3. a run that starts at the place comes to the same state as one that starts a text;
4. and no letter is left between two matches, unless no match has any.

So u is split as it is in uv, except for a match that goes over the place: its first part is a match in u by 1, and its
other part is one in v, as both runs are in the same state after b, and find a match by 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .automaton import DEAD, START
from .code_points import Edges, membership
from .levels import Levels
from .look_automaton import LookAutomaton
from .partial_automaton import PartialAutomaton
from .pattern_parser import Unsupported
from .runs import Runs


def seam_classes(
    levels: Levels, automata: Sequence[PartialAutomaton], caseless: Edges
) -> tuple[set[int], set[int], set[int]]:
    """The classes that are seam letters, that do harm, and that keep it (see kernels/pieces/unmergeable_boundaries.py).

    automata : one for each level; each common class lies within one class of the automaton, and of each of its look-aheads
    """
    nothing: tuple[set[int], set[int], set[int]] = (set(), set(), set())
    is_caseless = membership(caseless, levels.edges)
    everywhere = set(levels.class_of_edge[is_caseless].tolist()) - set(levels.class_of_edge[~is_caseless].tolist())
    try:
        known = [_Level(levels, automaton) for automaton in automata]
    except Unsupported:
        return nothing
    letters = {c for c in everywhere if _seams_of(known, {c}) is not None}
    while letters:
        found = _seams_of(known, letters)
        if found is not None:
            return letters, *found
        # Classes with few code points are given up first.
        sizes = np.bincount(levels.classes())
        letters.remove(min(letters, key=lambda c: int(sizes[c])))
    return nothing


class _Level:
    """One level: the runs of its automaton, its look-aheads, and the class of each common class in these."""

    def __init__(self, levels: Levels, automaton: PartialAutomaton) -> None:
        self.class_at = levels.class_in(automaton)
        self.runs = Runs(automaton)
        self.looks = [(levels.class_in(look), look) for look in automaton.looks]


def _seams_of(known: Sequence[_Level], letters: set[int]) -> tuple[set[int], set[int]] | None:
    """The classes that do harm, and that keep it, for seams between some letters; None if there can be no seams."""
    harm: set[int] = set()
    keep: set[int] = set()
    for level in known:
        if not all(_settles(look, _own(letters, class_at)) for class_at, look in level.looks):
            return None
        found = _harm_of(level.runs, _own(letters, level.class_at))
        if found is None:
            return None
        for classes, of_levels in zip(found, (harm, keep), strict=True):
            of_levels |= {c for c, own in enumerate(level.class_at.tolist()) if own in classes} - letters
    return harm, keep - harm


def _own(letters: set[int], class_at: NDArray[np.int64]) -> NDArray[np.int64]:
    """The classes of some letters in an automaton."""
    return np.unique(class_at[sorted(letters)])


def _settles(look: LookAutomaton, letters: NDArray[np.int64]) -> bool:
    """Whether a look-ahead that has come to a letter cannot tell another one after it from the end of the text."""
    before_letters = np.unique(look.next_state[:, letters])
    return bool((look.next_state[np.ix_(before_letters, letters)] == look.next_state[0, letters]).all())


def _harm_of(runs: Runs, letters: NDArray[np.int64]) -> tuple[set[int], set[int]] | None:
    """As `_seams_of`, for the runs of one automaton, in its own classes."""
    is_used = (runs.next_state != DEAD).any(axis=(0, 1))
    if (runs.left & is_used)[letters].any():  # 4
        return None
    # If nothing is asked, all ways are the same.
    following, asks = runs.next_state[0][:, letters], runs.asks[:, letters]
    starts = runs.starts[letters]
    differs = asks[starts] | (following[starts] != following[START])
    if asks[START].any() or (differs & runs.begun[np.ix_(letters, letters)]).any():  # 3
        return None
    ends = runs.ends[:, None]
    is_cut = np.where(following == DEAD, runs.matches[0][:, letters] == ends, ends & (following == following[START]))
    is_safe = (is_cut & ~asks).all(axis=1)  # 1 and 2

    def leads_to_harm(states: NDArray[np.bool_], through: NDArray[np.int64]) -> bool:
        """Whether a letter leads from some states to one that is not safe, perhaps after characters of `through`."""
        seen = np.zeros_like(states)
        while states.any():
            if (runs.states_after(states, letters) & ~is_safe).any():
                return True
            seen |= states
            states = runs.states_after(states, through) & ~seen
        return False

    classes = np.arange(len(is_used))[:, None]  # an array for each class
    begun_by_letters = runs.begun_by(letters)
    begun_by = [runs.begun_by(each) for each in classes]
    alive: NDArray[np.bool_] = np.asarray(runs.after.any(axis=0))
    after = [runs.states_after(alive, each) for each in classes]
    keep: set[int] = set()
    while True:
        through = np.union1d(letters, np.array(sorted(keep), dtype=np.int64))
        if (begun_by_letters & ~is_safe).any() or leads_to_harm(begun_by_letters, through):
            return None
        others = set(range(len(is_used))).difference(letters.tolist())
        harm = {c for c in others if leads_to_harm(begun_by[c], through)}
        kept = {c for c in others - harm if leads_to_harm(after[c], through)}
        if kept <= keep:
            break
        keep |= kept
    # A class of this automaton with seam letters may have other characters, too: these keep harm as the letters do.
    return harm, keep.union(letters.tolist()) if harm else keep
