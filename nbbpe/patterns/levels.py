"""The levels of a pattern, which split in turn: their common classes of characters, and their certain boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels.pieces.pattern_tables import MOST_CLASSES
from ..system.lazy import lazy
from .automaton import Automaton
from .boundaries import Relation, certain_pairs, certain_triples, transparent_pairs
from .code_points import N_CODE_POINTS, Edges, Partition, membership
from .determiniser import row_numbers
from .pattern_parser import Unsupported
from .regex_boundaries import RegexBoundaries

Level = Automaton | RegexBoundaries


@dataclass(frozen=True, eq=False)
class Levels(Partition):
    """Levels that split in turn, over common classes: each lies within one class of every level.

    levels   : the automaton of each, or only the boundaries of a regex that has none
    class_at : int64[n_levels, n_classes]    the class of each common class in each level
    """

    levels: Sequence[Level]
    class_at: NDArray[np.int64]

    @property
    def automata(self) -> list[Automaton]:
        """The automata of the levels that have one."""
        return [level for level in self.levels if isinstance(level, Automaton)]

    @lazy
    def pairs(self) -> Relation:
        """Whether all levels together have a certain boundary between two classes."""
        return self._certain(2)

    @lazy
    def triples(self) -> Relation:
        """Whether all levels together have a certain boundary between two classes before a third."""
        return self._certain(3)

    def _certain(self, n_indices: int) -> Relation:
        """The certain boundaries between two classes, or between two classes before a third.

        There is one if one level proves it, and each level before cuts there, too, or leaves both sides between matches.
        For three classes, each level before must also leave the second and the third character between matches: else one
        of its parts may end before the third.
        """
        found = np.zeros((self.n_classes,) * n_indices, dtype=bool)
        passes = np.ones((self.n_classes,) * 2, dtype=bool)
        one_part = passes.copy()  # whether the levels before leave two adjacent characters in one part
        for level, class_at in zip(self.levels, self.class_at, strict=True):
            relation = _pairs(level) if n_indices == 2 else _triples(level)
            lifted = relation[np.ix_(*[class_at] * n_indices)]
            found |= lifted & (passes if n_indices == 2 else passes[:, :, None] & one_part)
            pairs = np.ix_(class_at, class_at)
            transparent = _transparent(level)[pairs]
            passes &= _pairs(level)[pairs] | transparent
            one_part &= transparent
        return found

    def class_in(self, partition: Partition) -> NDArray[np.int64]:
        """The class of each common class in a partition, int64[n_classes]; it must lie within one class of that."""
        _, firsts = np.unique(self.class_of_edge, return_index=True)
        return partition.classes_at(self.edges[firsts]).astype(np.int64)


def _pairs(level: Level) -> Relation:
    return level.pairs if isinstance(level, RegexBoundaries) else certain_pairs(level)


def _triples(level: Level) -> Relation:
    if isinstance(level, RegexBoundaries):
        return np.repeat(level.pairs[:, :, None], level.n_classes, axis=2)
    return certain_triples(level)


def _transparent(level: Level) -> Relation:
    return level.transparent if isinstance(level, RegexBoundaries) else transparent_pairs(level)


def join_levels(levels: Sequence[Level], also: Sequence[Edges] = (), classes_of: Sequence[Partition] = ()) -> Levels:
    """Levels over common classes. Each class is also within or outside each set of `also`, and within one class of each
    partition in `classes_of`. Raises Unsupported for too many classes.
    """
    edges = np.unique(np.concatenate([*(each.edges for each in (*levels, *classes_of)), *map(np.array, also)]))
    edges = edges[edges < N_CODE_POINTS].astype(np.int64)
    rows = [each.classes_at(edges) for each in (*levels, *classes_of)] + [membership(each, edges) for each in also]
    classes = np.stack(rows).astype(np.int64)
    class_of_edge = row_numbers(classes.T)
    _, firsts = np.unique(class_of_edge, return_index=True)
    if len(firsts) > MOST_CLASSES:
        raise Unsupported(f"more than {MOST_CLASSES} classes of characters ({len(firsts)})")
    return Levels(edges, class_of_edge, levels, classes[: len(levels), firsts])
