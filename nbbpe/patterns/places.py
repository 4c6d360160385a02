"""Turns the tree of a regex into places, as in Thompson's construction, of which an automaton is made.

A place consumes a character of a set, forks in an order of preference, asks what is before or after it, or is the match. A
run is at a place, and goes on to what follows it.
"""

from __future__ import annotations

from .code_points import Edges, complement, union
from .pattern_parser import (
    NO_LIMIT,
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

MOST_PLACES = 5_000
_MOST_LOOKS = 8  # long look-aheads that may be asked for

SET, FORK, AHEAD, LONG_AHEAD, BEHIND, END, UNKNOWN, MATCH = range(8)
Place = tuple[int, int, tuple[int, ...]]  # kind, operand (a set or a flag), what follows; plain, as there are thousands


class Places:
    """The places of a regex, numbered; made from its end to its beginning, as each refers to what follows it.

    partial : whether a node that cannot be compiled becomes an UNKNOWN place, followed by all that may be next; else it
              raises Unsupported
    asks    : whether states may ask for a long look-ahead that the next character does not settle; else it is unknown
    sets    : the number of each set
    looks   : the number of each part that a long look-ahead looks for
    look_of : the number of that part, by place
    syntax  : how places that may be undecided are written, for messages
    """

    def __init__(self, partial: bool = False, asks: bool = False) -> None:
        self.partial, self.asks = partial, asks
        self.looks: dict[Node, int] = {}
        self.look_of: dict[int, int] = {}
        self.sets: dict[Edges, int] = {}
        self.syntax: dict[int, str] = {}
        self.of: list[Place] = []
        self.match = self._new(MATCH, 0, ())

    def _new(self, kind: int, operand: int, following: tuple[int, ...]) -> int:
        if len(self.of) >= MOST_PLACES:
            raise Unsupported(f"a regex of more than {MOST_PLACES:,} places (bounded repeats are written out)")
        self.of.append((kind, operand, following))
        return len(self.of) - 1

    def _set(self, members: Edges, or_edge: bool = False) -> int:
        """The number of a set, and whether the end or start of the text is like its members, in one number."""
        return self.sets.setdefault(members, len(self.sets)) << 1 | or_edge

    def add(self, node: Node, following: int) -> int:
        """Add the places of a node that is followed by the place `following`. Returns the place where the node begins."""
        if isinstance(node, Characters):
            return self._new(SET, self._set(node.members), (following,))
        if isinstance(node, Concatenation):
            for part in reversed(node.parts):
                following = self.add(part, following)
            return following
        if isinstance(node, Choice):
            return self._new(FORK, 0, tuple(self.add(option, following) for option in node.options))
        if isinstance(node, LookAhead):
            return self._new(AHEAD, self._set(node.members, node.or_end), (following,))
        if isinstance(node, End):
            return self._new(END, node.or_newline, (following,))
        if isinstance(node, LookBehind):
            place = self._new(BEHIND, self._set(node.members, node.or_start), (following,))
            self.syntax[place] = node.syntax
            return place
        if isinstance(node, LongLookAhead):
            place = self._new(LONG_AHEAD, node.negative, (self.add(node.part, self.match), following))
            self.syntax[place] = "a look-ahead at more than one character"
            self.look_of[place] = self.looks.setdefault(node.part, len(self.looks))
            if self.asks and len(self.looks) > _MOST_LOOKS:
                raise Unsupported(f"more than {_MOST_LOOKS} look-aheads at more than one character")
            return place
        if isinstance(node, LongLookBehind):
            return self._add_look_behind(node, following)
        return self._add_repeat(node, following)

    def _add_look_behind(self, node: LongLookBehind, following: int) -> int:
        """The place of a look-behind that is undecided if the last character is one that may end what it looks for."""
        self._not_compiled(node.syntax)
        last = last_of(node.part)
        unknown = self._new(UNKNOWN, 0, (following,))
        undecided = self._new(BEHIND, self._set(last), (unknown,))
        self.syntax[undecided] = node.syntax
        if not node.negative:
            return undecided
        holds = self._new(BEHIND, self._set(complement(last), True), (following,))
        self.syntax[holds] = node.syntax
        return self._new(FORK, 0, (holds, undecided))

    def _not_compiled(self, syntax: str) -> None:
        if not self.partial:
            raise Unsupported(syntax)

    def _unknown_repeat(self, node: Repeat, following: int) -> int:
        """The place of a repeat that is undecided once it has begun."""
        begun = self._new(UNKNOWN, 0, (self.add(node.part, following),))
        return begun if node.least else self._new(FORK, 0, (begun, following))

    def _add_repeat(self, node: Repeat, following: int) -> int:
        part, least, most = node.part, node.least, node.most
        if most != NO_LIMIT and most < least:
            raise Unsupported(f"a repeat from {least} to {most} times")
        done = following
        if node.mode == "possessive":
            # It never gives back characters. For one set this is a repeat that only ends before a character outside the
            # set; but after the greatest number of repeats, any character may follow.
            if not isinstance(part, Characters):
                self._not_compiled("a possessive repeat of more than one set, or an atomic group")
                return self._unknown_repeat(node, following)
            done = self._new(AHEAD, self._set(complement(part.members), True), (following,))
        if most not in (0, 1) and can_be_empty(part):  # engines end the repeat when the part takes nothing
            self._not_compiled("a repeat of something that can be empty")
            return self._unknown_repeat(node, following)
        if most == NO_LIMIT:
            loop = self._new(FORK, 0, ())  # filled when the repeated node is made
            self.of[loop] = FORK, 0, _preferred(self.add(part, loop), done, node.mode)
            following = loop
        else:
            for _ in range(most - least):
                following = self._new(FORK, 0, _preferred(self.add(part, following), done, node.mode))
        for _ in range(least):
            following = self.add(part, following)
        return following


def _preferred(again: int, done: int, mode: str) -> tuple[int, int]:
    return (done, again) if mode == "lazy" else (again, done)


def can_be_empty(node: Node) -> bool:
    """Whether a node matches the empty text somewhere."""
    if isinstance(node, Characters):
        return False
    if isinstance(node, Concatenation):
        return all(map(can_be_empty, node.parts))
    if isinstance(node, Choice):
        return any(map(can_be_empty, node.options))
    if isinstance(node, Repeat):
        return node.least == 0 or can_be_empty(node.part)
    return True


def last_of(part: Node) -> Edges:
    r"""The characters that may be the last one of a match of a part that a look-behind looks for.

    >>> from nbbpe.patterns.pattern_parser import parse
    >>> last_of(parse("ab?"))
    (97, 99)
    """
    if can_be_empty(part):
        raise Unsupported("a look-behind at what can be empty")
    return _edge(part, -1)


def neighbours_in(part: Node) -> list[tuple[Edges, Edges]]:
    """Pairs of sets. Any two adjacent characters in a match of a part are in the first and the second set of some pair."""
    if isinstance(part, Repeat):
        again = [] if part.most in (0, 1) else [(_edge(part.part, -1), _edge(part.part, 0))]
        return again + neighbours_in(part.part)
    if isinstance(part, Choice):
        return [pair for option in part.options for pair in neighbours_in(option)]
    if isinstance(part, Concatenation):
        parts = part.parts
        between = [(_edge(each, -1), _edge(Concatenation(parts[i:]), 0)) for i, each in enumerate(parts[:-1], 1)]
        return between + [pair for each in parts for pair in neighbours_in(each)]
    return []


def _edge(part: Node, end: int) -> Edges:
    """The characters that may be the first one (`end` 0) or the last one (-1) of a match of a part."""
    if isinstance(part, Characters):
        return part.members
    if isinstance(part, Repeat):
        return _edge(part.part, end)
    if isinstance(part, Choice):
        return union([_edge(option, end) for option in part.options])
    assert isinstance(part, Concatenation)
    found: list[Edges] = []
    for each in part.parts if end == 0 else reversed(part.parts):
        found.append(_edge(each, end))
        if not can_be_empty(each):
            break
    return union(found)
