"""The automata of a pattern, which split in turn, over common classes of characters; their certain boundaries together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels.pieces.pattern_tables import MOST_CLASSES
from .automaton import Automaton, row_numbers
from .boundaries import Relation, certain_pairs, certain_triples, transparent_pairs
from .code_points import N_CODE_POINTS, Edges, Partition, membership
from .pattern_parser import Unsupported


@dataclass(frozen=True, eq=False)
class Levels(Partition):
    """Automata that split in turn, over classes that all of them respect.

    automata : one a level
    class_at : int64[n_levels, n_classes]    the class of each class in each automaton
    """

    automata: Sequence[Automaton]
    class_at: NDArray[np.int64]

    def certain(self, relation_of: str) -> Relation:
        """Certain boundaries of all levels together, of "pairs" or "triples" of classes.

        There is one if one level proves it, and the levels before are cut there anyway or leave both sides between matches.
        For three, they must leave the third character there, too: else a part of theirs may end before it.
        """
        n_indices = 2 if relation_of == "pairs" else 3
        found = np.zeros((self.n_classes,) * n_indices, dtype=bool)
        passes = np.ones((self.n_classes,) * 2, dtype=bool)
        one_part = passes.copy()  # whether the levels before leave two adjacent characters in one part
        for automaton, class_at in zip(self.automata, self.class_at, strict=True):
            relation = certain_pairs(automaton) if relation_of == "pairs" else certain_triples(automaton)
            lifted = relation[np.ix_(*[class_at] * n_indices)]
            found |= lifted & (passes if n_indices == 2 else passes[:, :, None] & one_part)
            pairs = np.ix_(class_at, class_at)
            transparent = transparent_pairs(automaton)[pairs]
            passes &= certain_pairs(automaton)[pairs] | transparent
            one_part &= transparent
        return found


def join_levels(automata: Sequence[Automaton], also: Sequence[Edges] = ()) -> Levels:
    """Automata over common classes, which also respect some more sets. Raises Unsupported for too many classes."""
    edges = np.unique(np.concatenate([*(automaton.edges for automaton in automata), *map(np.array, also)]))
    edges = edges[edges < N_CODE_POINTS].astype(np.int64)
    rows = [automaton.classes_at(edges) for automaton in automata] + [membership(each, edges) for each in also]
    classes = np.stack(rows).astype(np.int64)
    class_of_edge = row_numbers(classes.T)
    _, firsts = np.unique(class_of_edge, return_index=True)
    if len(firsts) > MOST_CLASSES:
        raise Unsupported(f"more than {MOST_CLASSES} classes of characters ({len(firsts)})")
    return Levels(edges, class_of_edge, automata, classes[: len(automata), firsts])
