"""Sets of code points, such as those that `regex` has for a property, and partitions of all code points into classes.

A set is a tuple of code points at which membership changes: the first is in the set, the second is not, and so on. All
knowledge of Unicode is read from the installed `regex`, whatever version of Unicode it has.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

N_CODE_POINTS = 0x110000

Edges = tuple[int, ...]
EVERYTHING: Edges = (0, N_CODE_POINTS)


def from_ranges(ranges: Iterable[tuple[int, int]]) -> Edges:
    """The set of the code points in some ranges, each given by its first and last code point.

    >>> from_ranges([(48, 57), (56, 60)])
    (48, 61)
    """
    merged: list[int] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1]:
            merged[-1] = max(merged[-1], last + 1)
        else:
            merged += [first, last + 1]
    return tuple(merged)


def ranges_of(members: Edges) -> Iterator[tuple[int, int]]:
    """The ranges of a set: (first code point, the one after the last) of each.

    >>> list(ranges_of((48, 58, 97, 98)))
    [(48, 58), (97, 98)]
    """
    return zip(members[::2], members[1::2], strict=True)


def complement(members: Edges) -> Edges:
    """All code points that are not members."""
    edges = members[1:] if members[:1] == (0,) else (0, *members)
    return edges[:-1] if edges[-1:] == (N_CODE_POINTS,) else (*edges, N_CODE_POINTS)


def union(sets: Iterable[Edges]) -> Edges:
    """The code points that are in any of some sets."""
    wanted = list(sets)
    edges = np.array(sorted({0}.union(*wanted) - {N_CODE_POINTS}), dtype=np.int64)
    is_in = np.any([membership(each, edges) for each in wanted], axis=0) if wanted else np.zeros(1, dtype=np.bool_)
    result = edges[np.flatnonzero(np.diff(is_in, prepend=False))].tolist()
    return tuple(result if len(result) % 2 == 0 else [*result, N_CODE_POINTS])


def membership(members: Edges, code_points: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each of some code points is a member, bool[n]."""
    return np.searchsorted(np.array(members, dtype=np.int64), code_points, side="right") % 2 == 1


@dataclass(frozen=True, eq=False)
class Partition:
    """A partition of all code points into classes, which are numbered as they first come.

    edges         : int64[n]                where the class changes, ascending from 0
    class_of_edge : uint8 or int64[n]       the class from each edge to the next
    """

    edges: NDArray[np.int64]
    class_of_edge: NDArray[Any]

    @property
    def n_classes(self) -> int:
        return int(self.class_of_edge.max()) + 1

    def classes(self) -> NDArray[np.uint8]:
        """The class of every code point, uint8[0x110000]."""
        return np.repeat(self.class_of_edge.astype(np.uint8), np.diff(self.edges, append=N_CODE_POINTS))

    def classes_at(self, code_points: NDArray[np.int64]) -> NDArray[Any]:
        """The class of each of some code points."""
        return self.class_of_edge[np.searchsorted(self.edges, code_points, side="right") - 1]

    def classes_of(self, text: str) -> NDArray[Any]:
        """The class of each character of a text."""
        code_points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
        return self.classes_at(code_points)

    def ranges(self) -> Iterator[tuple[int, int, int]]:
        """(first code point, the one after the last, class) of each stretch of code points of one class."""
        ends = [*self.edges[1:].tolist(), N_CODE_POINTS]
        return zip(self.edges.tolist(), ends, self.class_of_edge.tolist(), strict=True)


@functools.cache
def read_off(item: str) -> Edges:
    """The code points that a regex of one character matches. Takes about 10 ms, once.

    Raises regex.error for an invalid regex.
    """
    matches = regex.compile(f"(?:{item})++").finditer(_every_character())
    return tuple(edge for match in matches for edge in match.span())


@functools.cache
def in_any_case(character: str) -> Edges:
    """The code points that a letter matches if case is ignored."""
    if not (character.isascii() and character.isalpha()):
        return read_off(f"(?i:{regex.escape(character)})")
    # The few code points that ASCII letters match. Each is tested, even for i and I: I matches one that i does not.
    of_all = read_off("(?i:[A-Za-z])")
    compiled = regex.compile(f"(?i:{character})")
    points = [point for first, end in ranges_of(of_all) for point in range(first, end)]
    return from_ranges((point, point) for point in points if compiled.fullmatch(chr(point)))


@functools.cache
def _every_character() -> str:
    """All code points in order, lone surrogates included."""
    return np.arange(N_CODE_POINTS, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
