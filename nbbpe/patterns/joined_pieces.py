"""Splits many pieces by `regex` in few calls, as a call takes several times as long as matching a word."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from .levels import join_levels
from .pattern import Pattern

_AT_ONCE = 1 << 12  # pieces, which are mostly words


def split_each(pattern: Pattern, pieces: Iterable[str]) -> Iterator[list[str]]:
    """The pretokens of each piece, which is split as a text by itself. No piece may be empty.

    Pieces are joined to longer texts if there is a certain boundary between one and the next, or between each of the two
    and a character that is put between them. Text on either side of such a boundary is split as it would be alone.
    """
    joints = _Joints(pattern)
    remaining = iter(pieces)
    while batch := list(islice(remaining, _AT_ONCE)):
        between = joints.between(batch)
        pretokens = (each for text in _texts(batch, between) for parts in pattern.stream(text) for each in parts)
        for piece, joint in zip(batch, [None, *between], strict=True):
            if joint:
                next(pretokens)  # the character between two pieces
            found: list[str] = []
            n = 0
            while n < len(piece):
                found.append(next(pretokens))
                n += len(found[-1])
            yield found


def _texts(pieces: Sequence[str], between: Sequence[str | None]) -> Iterator[str]:
    """Join pieces with what is between them; None begins another text."""
    text = [pieces[0]]
    for joint, piece in zip(between, pieces[1:], strict=True):
        if joint is None:
            yield "".join(text)
            text = [piece]
        else:
            text += joint, piece
    yield "".join(text)


class _Joints:
    """Finds what can be put between two pieces to join them."""

    def __init__(self, pattern: Pattern) -> None:
        self._levels = join_levels(pattern.levels)
        self._characters = dict(zip(self._levels.classes_of(string.printable).tolist(), string.printable, strict=True))
        self._known: dict[tuple[int, int], str | None] = {}

    def between(self, pieces: Sequence[str]) -> list[str | None]:
        """What to put between each piece and the next: a character, an empty str, or None if they cannot be joined."""
        lasts = self._levels.classes_of("".join([piece[-1] for piece in pieces[:-1]])).tolist()
        firsts = self._levels.classes_of("".join([piece[0] for piece in pieces[1:]])).tolist()
        known = self._known
        ends = list(zip(lasts, firsts, strict=True))
        known |= {each: self._joint(*each) for each in set(ends) - known.keys()}
        return [known[each] for each in ends]

    def _joint(self, last: int, first: int) -> str | None:
        if self._levels.pairs[last, first]:
            return ""
        for of_class, character in self._characters.items():
            if self._levels.pairs[last, of_class] and self._levels.pairs[of_class, first]:
                return character
        return None
