"""Finds regexes of one set of characters, whose matches are each character of the set, or each run of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .code_points import N_CODE_POINTS, Edges, ranges_of
from .pattern_parser import NO_LIMIT, Characters, Node, Repeat, Unsupported, parse


class SetRegex(NamedTuple):
    """The matches of a regex of one set.

    members : the set
    is_run  : whether a match is a run of characters, as long as possible, not a single character
    """

    members: Edges
    is_run: bool

    def is_member(self) -> NDArray[np.bool_]:
        """Whether each code point is in the set, bool[0x110000]."""
        found = np.zeros(N_CODE_POINTS, dtype=np.bool_)
        for first, end in ranges_of(self.members):
            found[first:end] = True
        return found


def set_regex(pattern: str) -> SetRegex | None:
    r"""The matches of a regex if it is of one set of characters; else None.

    >>> set_regex(r"[0-9]+"), set_regex("[0-9]"), set_regex(r"\d\d")
    (SetRegex(members=(48, 58), is_run=True), SetRegex(members=(48, 58), is_run=False), None)
    """
    try:
        tree: Node = parse(pattern)
    except Unsupported:
        return None
    is_run = isinstance(tree, Repeat) and (tree.least, tree.most) == (1, NO_LIMIT) and tree.mode != "lazy"
    one = tree.part if isinstance(tree, Repeat) and is_run else tree
    return SetRegex(one.members, is_run) if isinstance(one, Characters) else None
