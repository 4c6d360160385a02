"""Makes a split pattern for tokenizers that have none: it cuts a text wherever no token of the vocabulary can go across.

Without it, all of a text is one pretoken, and a word is merged each time it occurs. But the tokens of a vocabulary join
characters of few kinds: rarely a letter and a comma, for example. So this notes which classes of characters are next to
each other, in which order, within tokens, and cuts a text between all others. Nothing would be merged across such a place,
so the ids are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..system.lazy import imported_on_use

regex: Any = imported_on_use("regex")  # few tokenizers need it

# Each character is in one of these.
_CLASSES = (
    "[ ]",
    r"[^\S ]",
    r"\p{Lo}",
    r"[\p{Lu}\p{Ll}\p{Lt}\p{Lm}\p{M}]",
    r"\p{N}",
    r"[^\s\p{L}\p{M}\p{N}]",
)
SPACE = 0  # the index of the space's class
_BEGINS, _ENDS = "(?:", ")*(?s:.)"

Joins = NDArray[np.bool_]  # bool[n, n]: whether a character of one class may come before one of another within a token


def class_joins(tokens: Sequence[str]) -> Joins:
    """The classes that are next to each other within tokens."""
    codes = np.frombuffer("".join(tokens).encode("utf-32-le"), dtype="<u4")
    classes = _class_of_each(codes)[codes]
    is_inside = np.ones(len(codes) + 1, dtype=np.bool_)  # whether a character and the one before are in the same token
    is_inside[np.cumsum([0, *map(len, tokens)])] = False
    inside = np.flatnonzero(is_inside)
    joins = np.zeros((len(_CLASSES), len(_CLASSES)), dtype=np.bool_)
    joins[classes[inside - 1], classes[inside]] = True
    return joins


def _class_of_each(codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """The class of each code point that is among `codes`, by code point; for other code points it is undefined."""
    text = "".join(map(chr, np.flatnonzero(np.bincount(codes))))
    found = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.uint8)
    for number, members in enumerate(_CLASSES):
        found[[ord(each) for each in regex.findall(members, text)]] = number
    return found


def class_pattern(joins: Joins) -> str | None:
    """The regex that cuts a text between two characters unless their classes join; None if all classes do.

    >>> class_pattern(class_joins(["...", ",-"]))
    '(?:[^\\\\s\\\\p{L}\\\\p{M}\\\\p{N}](?=[^\\\\s\\\\p{L}\\\\p{M}\\\\p{N}]))*(?s:.)'
    """
    if joins.all():
        return None
    going_on = [
        f"{members}(?={'|'.join([_CLASSES[after] for after in np.flatnonzero(joins[before])])})"
        for before, members in enumerate(_CLASSES)
        if joins[before].any()
    ]
    return f"{_BEGINS}{'|'.join(going_on)}{_ENDS}" if going_on else "(?s:.)"


def joins_of(regexes: Sequence[str]) -> Joins | None:
    """The joins from which `class_pattern` made a pattern; None if it did not make the pattern."""
    joins = np.zeros((len(_CLASSES), len(_CLASSES)), dtype=np.bool_)
    if not regexes:
        return ~joins
    text = regexes[0]
    if text.startswith(_BEGINS) and text.endswith(_ENDS):
        for part in text[len(_BEGINS) : -len(_ENDS)].removesuffix(")").split(")|"):
            before, _, after = part.partition("(?=")
            for members in after.split("|"):
                if before not in _CLASSES or members not in _CLASSES:
                    return None
                joins[_CLASSES.index(before), _CLASSES.index(members)] = True
    return joins if list(regexes) == [class_pattern(joins)] else None
