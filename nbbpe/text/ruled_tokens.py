"""Apply the rules of special tokens in a text: some take the whitespace beside them, others must be separate words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from .unicode_sets import WHITESPACE, WORD
from .utf8 import LONGEST_CHARACTER, to_text
from .windows import SEPARATOR

_WORD = regex.compile(f"[{WORD}]")


class Rule(NamedTuple):
    """How a special token is found.

    lstrip, rstrip : whether it takes the whitespace before it, and after it
    single_word    : whether it is found only if no letter, digit or the like is beside it
    """

    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False


class Row(NamedTuple):
    """A token in a text, or (`is_border`) a border that no rule looks across, such as what separates two documents."""

    start: int
    end: int
    token_id: int
    is_border: bool


def as_rows(rows: NDArray[np.int64], text: bytes) -> list[Row]:
    """Breaks in a text, int64[n, 3], as rows."""
    # Documents may also be separated by a special token; its rules apply only where the text itself has it.
    separator = SEPARATOR[0]
    return [Row(start, end, token_id, token_id < 0 or text[start] == separator) for start, end, token_id in rows.tolist()]


def ruled(rules: Mapping[int, Rule], text: bytes, rows: list[Row]) -> list[Row]:
    """Apply the rules of tokens: returns the rows that remain, with the text that they take, which do not overlap."""
    if not rules or not any(row.token_id in rules for row in rows):
        return rows
    limits = [row.start for row in rows if row.is_border] + [len(text)]
    n_borders = floor = done = 0
    spaces = range(0)  # the whitespace found behind a token: one that ends in it takes as far, without another search
    found: list[Row] = []
    for row in rows:
        start, end = row.start, row.end
        if row.is_border:
            floor = done = end
            spaces = range(0)
            n_borders += 1
        else:
            rule = rules.get(row.token_id, Rule())
            limit = limits[n_borders]
            if rule.single_word and (
                _WORD.match(character_before(text, start, floor)) or _WORD.match(_character_at(text, end, limit))
            ):
                continue
            if rule.lstrip:
                start = max(_space_before(text, start, max(floor, done)), done)
            if rule.rstrip:
                if end not in spaces:
                    spaces = range(end, _space_after(text, end, limit) + 1)
                end = spaces[-1]
            if start >= end:  # the token is whitespace, all of which the one before took
                continue
            done = end
        if found and found[-1].end > start:  # the token before took the text of this one
            found[-1] = found[-1]._replace(end=start)
        found.append(row._replace(start=start, end=end))
    return found


def character_before(text: bytes, place: int, floor: int) -> str:
    """The character that ends at a place; "" where there is none."""
    start = place - 1
    while start > floor and place - start < LONGEST_CHARACTER and text[start] & 0xC0 == 0x80:
        start -= 1
    return to_text(text[max(start, floor) : place])[-1:]


def _character_at(text: bytes, place: int, limit: int) -> str:
    return to_text(text[place : min(place + LONGEST_CHARACTER, limit)])[:1]


def _space_before(text: bytes, place: int, floor: int) -> int:
    """Where the whitespace starts that ends at a place."""
    while (character := character_before(text, place, floor)) and character in WHITESPACE:
        place -= len(character.encode())
    return place


def _space_after(text: bytes, place: int, limit: int) -> int:
    """Where the whitespace ends that starts at a place."""
    while (character := _character_at(text, place, limit)) and character in WHITESPACE:
        place += len(character.encode())
    return place
