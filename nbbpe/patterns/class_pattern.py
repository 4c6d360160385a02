"""The split pattern that cuts a text wherever no token could be across, for tokenizers that split by no pattern.

Without one, all of a text is one pretoken, and its words are merged each time they come. But the tokens of a vocabulary
join characters of few kinds: rarely a letter and a comma, say. So it is noted of which class of characters one comes right
before one of which other class within a token, and a text is cut between all others. Nothing would be merged across such a
place, so the ids are the same.
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
SPACE = 0  # the place of its class in these
_BEGINS, _ENDS = "(?:", ")*(?s:.)"

Joins = NDArray[np.bool_]  # bool[n, n]: whether a character of one class may come before one of another within a token


def class_joins(tokens: Sequence[str]) -> Joins:
    """Which classes are next to each other within tokens."""
    codes = np.frombuffer("".join(tokens).encode("utf-32-le"), dtype="<u4")
    classes = _class_of_each(codes)[codes]
    is_inside = np.ones(len(codes) + 1, dtype=np.bool_)  # of a token: so is what comes before it
    is_inside[np.cumsum([0, *map(len, tokens)])] = False
    inside = np.flatnonzero(is_inside)
    joins = np.zeros((len(_CLASSES), len(_CLASSES)), dtype=np.bool_)
    joins[classes[inside - 1], classes[inside]] = True
    return joins


def _class_of_each(codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """By code point, the number of the class of each character in a text; the rest is undefined."""
    text = "".join(map(chr, np.flatnonzero(np.bincount(codes))))
    found = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.uint8)
    for number, members in enumerate(_CLASSES):
        found[[ord(each) for each in regex.findall(members, text)]] = number
    return found


def class_pattern(joins: Joins) -> str | None:
    """The regex that cuts a text between characters of all other classes; None if there are no others.

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
    """What `class_pattern` made the regex of a pattern of; None for another pattern."""
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
