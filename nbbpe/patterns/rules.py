"""Makes the rules by which kernels find boundaries: sets of classes that cover the certain boundaries of a pattern.

For their layout see kernels/pieces/pattern_tables.py. There is room for only a few; to miss a boundary only costs time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..kernels.pieces import pattern_tables as layout
from .boundaries import Relation
from .levels import Levels

_MOST_TRIED = 40  # places that a rule is grown from


def put_rules(levels: Levels, of_ascii: NDArray[np.uint8], data: NDArray[np.uint8], numbers: NDArray[np.int64]) -> None:
    """Write the rules that find boundaries; `of_ascii` has the class of each ASCII character."""
    pairs, all_triples = levels.pairs, levels.triples
    is_ascii = np.zeros(levels.n_classes, dtype=bool)
    is_ascii[of_ascii] = True
    # The character in the middle has one byte.
    triples = all_triples & ~pairs[:, :, None] & is_ascii[:, None]
    # Rules that hold within ASCII come first: mostly there is room for these in the first parts. (A rule for three may
    # repeat what rules for two say.)
    two_of_ascii, three_of_ascii = _product([is_ascii] * 2), _product([is_ascii] * 3)
    for_two = cover(pairs & two_of_ascii, 2 * layout.RULES, pairs, two_of_ascii)
    for_three = cover(triples & three_of_ascii, layout.RULES, all_triples, three_of_ascii)
    n_of_ascii = len(for_two)
    for_two += cover(pairs & ~_union(for_two, pairs), 2 * layout.RULES - len(for_two), pairs)
    room = layout.RULES - n_of_ascii - len(for_three)
    for_three += cover(triples & ~_union(for_three, triples), room, all_triples)
    while True:
        rules = _packed(for_two, for_three, levels.n_classes)
        of_kinds, kinds = np.unique(rules[:, of_ascii], axis=1, return_inverse=True)
        n_kinds = of_kinds.shape[1]
        if n_kinds <= layout.MOST_KINDS:
            break
        (for_three or for_two).pop()
    n_first = min(len(for_two), layout.RULES - len(for_three))
    numbers[layout.PAIR_RULES] = (1 << n_first) - 1
    if n_first < len(for_two):
        numbers[layout.MORE_RULES] = layout.OUTSIDE_ASCII if n_of_ascii <= n_first else layout.ALSO_IN_ASCII
    data[layout.ASCII_RULES : layout.ASCII_CLASSES] = rules[:, of_ascii].reshape(-1)
    of_classes = data[layout.CLASS_RULES : layout.ASCII_KINDS].reshape(layout.N_PARTS, 64)
    of_classes[:, : levels.n_classes] = rules
    data[layout.ASCII_KINDS :][:128] = kinds.reshape(-1)
    of_each_kind = data[layout.ASCII_KINDS + 128 :][: layout.N_PARTS * layout.MOST_KINDS]
    of_each_kind.reshape(layout.N_PARTS, -1)[:, :n_kinds] = of_kinds


def _packed(
    for_two: list[list[NDArray[np.bool_]]], for_three: list[list[NDArray[np.bool_]]], n_classes: int
) -> NDArray[np.uint8]:
    """The rules of each class, uint8[5, n_classes]: the first parts have the rules for three classes, and as many of those
    for two as there is room for."""
    rules = np.zeros((layout.N_PARTS, n_classes, layout.RULES), dtype=bool)
    n_first = min(len(for_two), layout.RULES - len(for_three))
    for rule, parts in enumerate(for_two[:n_first] + for_three):
        for part, members in enumerate(parts):
            rules[part, :, rule] = members
    for rule, parts in enumerate(for_two[n_first:][: layout.RULES]):
        for part, members in enumerate(parts):
            rules[3 + part, :, rule] = members
    return np.packbits(rules, axis=2, bitorder="little")[:, :, 0]


def cover(wanted: Relation, most: int, allowed: Relation, first: Relation | None = None) -> list[list[NDArray[np.bool_]]]:
    """Cover a relation by at most `most` products of sets of classes, as far as possible. A product is a list of a set for
    each index of the relation.

    allowed : the relation that products must lie in
    first   : a part of it; products are also tried that grow within this part first, and then in all that is allowed

    Each product is grown from the remaining place that makes it cover the most.
    """
    left = wanted.copy()
    found: list[list[NDArray[np.bool_]]] = []
    while left.any() and len(found) < most:
        places = np.argwhere(left)
        tried = [_of_place(allowed, place) for place in places[:: 1 + len(places) // _MOST_TRIED]]
        grown = [_grown(allowed, parts) for parts in tried]
        if first is not None:
            grown += [_grown(allowed, _grown(allowed & first, parts)) for parts in tried]
        best = max(grown, key=lambda parts: int((left & _product(parts)).sum()))
        found.append(best)
        left &= ~_product(best)
    return found


def _product(parts: Sequence[NDArray[np.bool_]]) -> Relation:
    result = np.array(True)
    for part in parts:
        result = result[..., None] & part
    return result


def _union(products: Sequence[Sequence[NDArray[np.bool_]]], like: Relation) -> Relation:
    """The relation that products cover, in the shape of another one."""
    found: Relation = np.zeros(like.shape, dtype=bool)
    for parts in products:
        found |= _product(parts)
    return found


def _of_place(like: Relation, place: NDArray[np.int64]) -> list[NDArray[np.bool_]]:
    """The product of one place of a relation."""
    return [np.arange(n) == at for n, at in zip(like.shape, place, strict=True)]


def _grown(allowed: Relation, parts: list[NDArray[np.bool_]]) -> list[NDArray[np.bool_]]:
    """A product that is allowed, grown along one index after the other, from the last one."""
    parts = list(parts)
    for index in reversed(range(len(parts))):
        rows = np.moveaxis(allowed, index, 0)
        others = _product([part for i, part in enumerate(parts) if i != index])
        parts[index] = np.asarray((rows | ~others).reshape(len(rows), -1).all(axis=1))
    return parts
