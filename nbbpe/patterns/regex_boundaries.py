"""Derives certain boundaries of a regex that has no automaton, so that `regex` splits distinct pieces, not the whole text.

They are derived from what a backtracking engine can ask about a place of the text: whether the character after it is in a
set, and whether an assertion holds there (a look-ahead, a look-behind, `$`). Let a text be uv, where u ends with a
character of class a and v begins with one of class b. There is a certain boundary between a and b if

1. whatever a run that starts in u can ask at the place has the same answer in u alone: no set has b, as none has the end,
   and look-aheads say the same of b and of the end;
2. whatever a run that starts at the place can ask about the character before has the same answer at the start of v, and a
   and b are not beside each other in what a look-behind at several characters looks for;
3. and not both a and b can be left between two matches.

*Sound.* An engine goes by these answers alone, whatever it prefers: greedy, lazy, possessive or atomic. So by 1, every run
that starts in u does the same, and finds the same, as in u alone, and by 2 those that start in v do so. By 3, no stretch
between matches goes over the place. *Not necessary.* Whether a run comes to a question at all is not examined, nor what it
does with the answer, unless nothing can follow from it: no character, no match, and no end of an atomic group, which drops
the other branches of the group. The boundaries of an automaton are exact, see boundaries.py.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .code_points import Edges, Partition, union
from .determiniser import NEWLINE, Symbols, reached
from .partial_automaton import PartialAutomaton
from .pattern_parser import (
    Characters,
    Choice,
    Concatenation,
    End,
    LongLookAhead,
    LongLookBehind,
    LookAhead,
    LookBehind,
    Node,
    Repeat,
    Unsupported,
)
from .places import MOST_PLACES, can_be_empty, last_of, neighbours_in

_NEWLINE: Edges = (NEWLINE, NEWLINE + 1)


@dataclass(frozen=True, eq=False)
class RegexBoundaries(Partition):
    """The certain boundaries of a regex that `regex` splits by, over as few classes as they need.

    pairs       : bool[n_classes, n_classes]    whether there is a certain boundary between two classes
    transparent : bool[n_classes, n_classes]    whether two classes are always left between matches, and 1 and 2 hold: a
        cut between them changes nothing at this level
    automaton   : splits the pieces in which it decides all; None if there is none
    """

    pairs: NDArray[np.bool_]
    transparent: NDArray[np.bool_]
    automaton: PartialAutomaton | None = None


def no_boundaries() -> RegexBoundaries:
    """The boundaries of a regex about which nothing is known: there are none, and all characters are of one class."""
    nowhere = np.zeros((1, 1), dtype=bool)
    return RegexBoundaries(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), nowhere, nowhere)


def regex_boundaries(tree: Node) -> RegexBoundaries:
    """The certain boundaries of a regex, from its tree.

    Raises Unsupported for a regex that can match the empty text, after which `regex` goes on in ways of its own, and for
    one that is too large.
    """
    places = _Places()
    try:
        if can_be_empty(tree):
            raise Unsupported("what matches the empty text")
        start = places.add(tree, places.found)
        spanned = [each for pair in places.spanned for each in pair]
        symbols = Symbols.of([*places.sets, *spanned, _alone(tree), _NEWLINE])
    except RecursionError:
        raise Unsupported("groups nested too deeply") from None
    *in_sets, never_left, is_newline = symbols.in_set
    in_sets, in_spanned = in_sets[: len(places.sets)], in_sets[len(places.sets) :]
    questions = _Questions(places.of, np.array(in_sets))
    uncertain = questions.about_next() | questions.about_previous(start)
    for before, after in zip(in_spanned[::2], in_spanned[1::2], strict=True):
        uncertain |= before[:, None] & after
    if places.has_dollar:
        # `$` holds before a newline that ends u, but not if v follows.
        uncertain[is_newline] = True
    pairs = ~uncertain & (never_left[:, None] | never_left)
    in_no_match = ~questions.takes.any(axis=0)
    transparent = ~uncertain & in_no_match[:, None] & in_no_match
    # Classes with the same boundaries are one.
    class_of_edge, members = symbols.merged(np.concatenate([pairs, pairs.T, transparent, transparent.T], axis=1))
    of_members = np.ix_(members, members)
    return RegexBoundaries(symbols.edges, class_of_edge, pairs[of_members], transparent[of_members])


_TAKE, _FORK, _AHEAD, _BEHIND, _END, _FOUND = range(6)
_Place = tuple[int, int, bool, tuple[int, ...]]  # kind, a set, whether the text's end or start is like it, what follows


class _Places:
    """The places of a regex as in places.py, but a repeat takes its part any number of times, so that there are few; and
    no branch is preferred. To match a look-ahead, or an atomic group, is to come to `found`, too.

    has_dollar : whether some place asks for the last newline of the text
    spanned    : pairs of sets: characters that are next to each other in what a look-behind looks for
    """

    def __init__(self) -> None:
        self.of: list[_Place] = []
        self.sets: dict[Edges, int] = {}
        self.has_dollar = False
        self.spanned: list[tuple[Edges, Edges]] = []
        self.found = self._new(_FOUND)

    def _new(self, kind: int, following: Iterable[int] = (), members: Edges = (), or_edge: bool = False) -> int:
        if len(self.of) >= MOST_PLACES:
            raise Unsupported(f"a regex of more than {MOST_PLACES:,} places")
        self.of.append((kind, self.sets.setdefault(members, len(self.sets)), or_edge, tuple(following)))
        return len(self.of) - 1

    def add(self, node: Node, following: int) -> int:
        """Add the places of a node that is followed by the place `following`. Returns the place where the node begins."""
        if isinstance(node, Characters):
            return self._new(_TAKE, [following], node.members)
        if isinstance(node, Concatenation):
            for each in reversed(node.parts):
                following = self.add(each, following)
            return following
        if isinstance(node, Choice):
            return self._new(_FORK, [self.add(option, following) for option in node.options])
        if isinstance(node, LookAhead):
            return self._new(_AHEAD, [following], node.members, node.or_end)
        if isinstance(node, LookBehind):
            return self._new(_BEHIND, [following], node.members, node.or_start)
        if isinstance(node, LongLookBehind):
            self.spanned += neighbours_in(node.part)
            return self._new(_BEHIND, [following], last_of(node.part))
        if isinstance(node, LongLookAhead):
            return self._new(_FORK, [self.add(node.part, self.found), following])
        if isinstance(node, End):
            self.has_dollar |= node.or_newline
            return self._new(_END, [following], or_edge=True)
        if node.most == 0:
            return following
        if node.mode == "possessive" and not isinstance(node.part, Characters):  # of one set, nothing depends on the branch
            following = self._new(_FORK, [self.found, following])
        if node.most == 1:
            part = self.add(node.part, following)
            return part if node.least == 1 else self._new(_FORK, [part, following])
        again = self._new(_FORK)
        part = self.add(node.part, again)
        self.of[again] = (*self.of[again][:3], (part, following))
        return again if node.least == 0 else part


class _Questions:
    """The questions that places of a regex can ask at the boundary between two classes.

    in_set : bool[n_sets, n_classes]
    takes  : bool[n_places, n_classes]    whether a place takes the next character
    """

    def __init__(self, places: list[_Place], in_set: NDArray[np.bool_]) -> None:
        self._places = places
        self._in_set = in_set
        kinds, sets = (np.array([place[i] for place in places]) for i in (0, 1))
        self.takes = in_set[sets] & (kinds == _TAKE)[:, None]
        self._goes_on = self.takes | (kinds == _FOUND)[:, None]  # or has found something without the next character

    def _at(self, place: int) -> list[int]:
        """The places that a run comes to from one place without another character, including this place."""
        return list(reached([place], lambda each: () if self._places[each][0] == _TAKE else self._places[each][3]))

    def _matters(self, place: int) -> NDArray[np.bool_]:
        """Whether the answer that a place gets can matter, by the class of the next character, bool[n_classes]."""
        return np.asarray(self._goes_on[self._at(self._places[place][3][0])].any(axis=0))

    def _differs(self, place: int) -> NDArray[np.bool_]:
        """Whether the question of a place has another answer before a class than at the text's end, bool[n_classes]."""
        kind, which, or_edge, _ = self._places[place]
        if kind in (_AHEAD, _END):
            return (self._in_set[which] != or_edge) & self._matters(place)
        return np.asarray(self.takes[place])

    def about_next(self) -> NDArray[np.bool_]:
        """Whether a run that has taken a character of one class can tell one of another class after it from the end of the
        text, bool[n_classes, n_classes]."""
        differs = np.array([self._differs(place) for place in range(len(self._places))])
        differs_from = functools.cache(lambda place: differs[self._at(place)].any(axis=0))
        after_set = np.zeros_like(self._in_set)
        for kind, which, _, following in self._places:
            if kind == _TAKE:
                after_set[which] |= differs_from(following[0])
        # As floats, whose products are many times as fast: a list of Chinese words may have a thousand classes.
        return np.asarray(self._in_set.T.astype(np.float32) @ after_set > 0)

    def about_previous(self, start: int) -> NDArray[np.bool_]:
        """Whether a run that starts before a character of the second class can tell one of the first class before it from
        the start of the text, bool[n_classes, n_classes]."""
        found = np.zeros((self._in_set.shape[1],) * 2, dtype=bool)
        for place in self._at(start):
            kind, which, or_edge, _ = self._places[place]
            if kind == _BEHIND:
                found |= (self._in_set[which] != or_edge)[:, None] & self._matters(place)
        return found


def _alone(node: Node) -> Edges:
    """Characters each of which is a match of a node (not always the preferred one), whatever is around it.

    So no such character is left between two matches: an engine that goes back finds a match. A part may be possessive or
    atomic if only parts that can be empty follow it, as an engine then need not go back into it.
    """
    if isinstance(node, Characters):
        return node.members
    if isinstance(node, Choice):
        return union(map(_alone, node.options))
    if isinstance(node, Repeat):
        return _alone(node.part) if node.least <= 1 and node.most != 0 else ()
    if isinstance(node, Concatenation):
        parts = node.parts
        return union(
            _alone(part)
            for i, part in enumerate(parts)
            if all(_skips(each) and _gives_back(each) for each in parts[:i]) and all(map(_skips, parts[i + 1 :]))
        )
    return ()


def _skips(node: Node) -> bool:
    """Whether a node can match the empty text everywhere."""
    if isinstance(node, Concatenation):
        return all(map(_skips, node.parts))
    if isinstance(node, Choice):
        return any(map(_skips, node.options))
    return isinstance(node, Repeat) and (node.least == 0 or _skips(node.part))


def _gives_back(node: Node) -> bool:
    """Whether a node has no possessive or atomic part."""
    if isinstance(node, Concatenation):
        return all(map(_gives_back, node.parts))
    if isinstance(node, Choice):
        return all(map(_gives_back, node.options))
    return not isinstance(node, Repeat) or (node.mode != "possessive" and _gives_back(node.part))
