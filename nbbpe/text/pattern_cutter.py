"""A cutter whose first step keeps the matches of a regex and drops what is between them: by kernels, a window at once.

The regex is compiled to an automaton, which finds matches and the text between them. Windows are cut so if it is certain
that whitespace is in no match, and changes none beside it: then a newline in the place of each token keeps documents apart.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from ..patterns.automaton import Automaton
from ..patterns.boundaries import always_left, certain_pairs
from ..patterns.pattern import Pattern
from ..system.lazy import lazy
from ..system.stretches import gathered
from .cutting import Cutter
from .text_splitter import TextSplitter
from .unicode_sets import WHITESPACE
from .utf8 import is_utf8, padded
from .windows import CUT, SEPARATOR

_NEWLINE, _SPACE = ord("\n"), ord(" ")
# So many bytes are cut together, with those before the next whitespace: arrays of numbers take many times as much memory.
_AT_ONCE = 1 << 20
_WHITESPACE = re.compile(b"[ \n]")


class PatternCutter:
    """Cuts windows as a Cutter does, if `is_exact`."""

    def __init__(self, cutter: Cutter) -> None:
        self._regexes = cutter.regexes
        self._has_suffix = cutter.suffix is not None

    @lazy
    def _pattern(self) -> Pattern:
        return Pattern(None, self._regexes[0], self._regexes[1:])

    @lazy
    def _keeping(self) -> Automaton:
        """The automaton of the regex whose matches are kept."""
        return self._pattern.automata[0]

    @lazy
    def _is_between(self) -> NDArray[np.bool_]:
        """By code point, whether what begins with that character is between matches, bool[0x110000]."""
        found: NDArray[np.bool_] = always_left(self._keeping)[self._keeping.classes()]
        return found

    @lazy
    def is_exact(self) -> bool:
        """Whether it cuts all windows of valid UTF-8 as the Cutter does. Compiles the regexes."""
        if not self._regexes or not self._pattern.is_compiled:
            return False
        automaton, never = self._keeping, always_left(self._keeping)
        whitespace = automaton.classes_of(WHITESPACE)
        # Two characters with a certain boundary between them are not both left between matches. So what may stand before
        # whitespace, which is left, begins a match or is in none: a first character tells a match from what is between.
        is_cut = certain_pairs(automaton)[:, whitespace].all(axis=1)
        return bool(never[whitespace].all() and (is_cut | never).all())

    def cut(self, data: bytes, breaks: NDArray[np.int64]) -> tuple[bytes, NDArray[np.int64]] | None:
        """The parts of a text, with a separator and a break after each, and a byte for each break between them.

        None if the text is not valid UTF-8, or a break has no bytes.
        """
        text = padded(data)
        lengths = breaks[:, 1] - breaks[:, 0]
        if not lengths.all():
            return None
        before = np.cumsum(lengths) - lengths
        text[np.repeat(breaks[:, 0] - before, lengths) + np.arange(lengths.sum())] = _NEWLINE
        replaced = text[: len(data)].tobytes()
        if not is_utf8(replaced):
            return None
        out: list[bytes] = []
        rows: list[NDArray[np.int64]] = []
        start = n_bytes = 0
        while start < len(data):
            found = _WHITESPACE.search(replaced, start + _AT_ONCE)
            end = found.start() if found else len(data)
            first, last = np.searchsorted(breaks[:, 0], [start, end])
            of_stretch, of_parts = self._cut_stretch(text, start, end, breaks[first:last])
            out.append(of_stretch)
            rows.append(of_parts + np.array([n_bytes, n_bytes, 0]))
            n_bytes += len(of_stretch)
            start = end
        return b"".join(out), np.concatenate([np.empty((0, 3), dtype=np.int64), *rows])

    def _cut_stretch(
        self, text: NDArray[np.uint8], start: int, end: int, breaks: NDArray[np.int64]
    ) -> tuple[bytes, NDArray[np.int64]]:
        """See `cut`: of text[start:end], which has newlines in the place of breaks."""
        splitter = TextSplitter(self._pattern)
        starts = np.concatenate([*(each[:-1].copy() for each in splitter.starts(text, start, end)), [end]])
        is_part = ~self._is_between[_code_points(text, starts[:-1])]
        begins = np.concatenate([starts[:-1][is_part], breaks[:, 0]])
        order = np.argsort(begins, kind="stable")
        n_parts = len(begins) - len(breaks)
        n_added = 1 + self._has_suffix
        sizes = np.concatenate([np.diff(starts)[is_part] + n_added, np.ones(len(breaks), dtype=np.int64)])[order]
        ends = np.cumsum(sizes)
        out = gathered(text, begins[order], sizes)
        out[ends - 1] = SEPARATOR[0]
        if self._has_suffix:
            out[ends[order < n_parts] - 2] = _SPACE
        rows = np.empty((len(ends), 3), dtype=np.int64)
        rows[:, 0], rows[:, 1] = ends - 1, ends
        rows[:, 2] = np.concatenate([np.full(n_parts, CUT), breaks[:, 2]])[order]
        return out.tobytes(), rows


def _code_points(text: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The code points of the characters at some places of valid UTF-8 with padding behind, int64[n]."""
    found = text[places].astype(np.int64)
    if (is_long := found >= 0x80).any():
        at = places[is_long]
        first, second, third, fourth = (text[at + i].astype(np.int64) for i in range(4))
        two = (first & 0x1F) << 6 | second & 0x3F
        three = (first & 0x0F) << 12 | (second & 0x3F) << 6 | third & 0x3F
        four = (first & 0x07) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | fourth & 0x3F
        found[is_long] = np.where(first < 0xE0, two, np.where(first < 0xF0, three, four))
    return found
