"""Find the places of the pretokens of whole texts: by kernels as far as the pattern is compiled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ..kernels.machine.intrinsics import PADDING
from ..kernels.pieces.boundaries import mark_cuts, new_classes
from ..kernels.pieces.marked_pretokens import MARK_BYTES
from ..kernels.pieces.pretokens import new_split_scratch
from ..kernels.pieces.split_text import split_text
from ..kernels.pieces.split_words import split_decided
from ..patterns.pattern import Pattern
from ..system.lazy import lazy
from ..system.stretches import in_order
from .utf8 import LONGEST_CHARACTER, padded, to_text

_AT_ONCE = 1 << 14  # pretokens, or bytes in which pieces are looked for
_SHORT = 1 << 11  # bytes of a text for which room is kept
_UNCERTAIN = 2 * LONGEST_CHARACTER  # bytes before a place where text is cut off: two characters make a boundary certain


class TextSplitter:
    """Splits texts by one pattern. Only one thread may use it.

    >>> from nbbpe.patterns.pattern_argument import get_pattern
    >>> from nbbpe.text.utf8 import padded
    >>> splitter = TextSplitter(get_pattern(r"\\b\\w+\\b|\\W"))
    >>> [starts.tolist() for starts in splitter.starts(padded(b"the cat."), 0, 8)]
    [[0, 3, 4, 7, 8]]
    """

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern

    def starts(self, text: NDArray[np.uint8], start: int, end: int) -> Iterator[NDArray[np.int64]]:
        """Yield where the pretokens of a text start, and where the last one ends, in arrays: the last number of one is the
        first of the next. An array is valid until the next one is requested.

        text       : uint8[>= end + PADDING]
        start, end : the text is text[start:end]

        Cost: 4 to 20 ns a byte, and 60 us for each text if the pattern is compiled in part; where `regex` splits, ten times
        as much.
        """
        if self._pattern.is_compiled:
            return self._by_automaton(text, start, end)
        return (self._in_pieces if self._pattern.is_partly_compiled else self._by_regex)(text, start, end)

    def starts_of_short(self, data: bytes) -> list[int]:
        """Where the pretokens of a text start, and where the last one ends; if the text is short, in a third of the time of
        `starts`, with arrays that are kept.

        >>> from nbbpe.patterns.pattern_argument import get_pattern
        >>> TextSplitter(get_pattern("gpt2")).starts_of_short(b"the cat")
        [0, 3, 7]
        """
        if len(data) > _SHORT or not self._pattern.is_compiled:
            found = (each for starts in self.starts(padded(data), 0, len(data)) for each in starts.tolist())
            return sorted({0, *found})
        text, copy, places = self._room
        copy[: len(data)] = data  # what is after a text does not matter
        n = split_text(text, 0, len(data), self._pattern.tables, self._scratch, True, places)
        return places[: n + 1].tolist()

    @lazy
    def _room(self) -> tuple[NDArray[np.uint8], memoryview, NDArray[np.int64]]:
        """An array for a short text, a view of it, and an array for the places of the pretokens."""
        text = np.empty(_SHORT + PADDING, dtype=np.uint8)
        return text, memoryview(text), np.empty(_SHORT + 1, dtype=np.int64)  # type: ignore[arg-type]

    @lazy
    def _scratch(self) -> NDArray[np.int64]:
        tables = self._pattern.tables
        assert tables is not None
        return new_split_scratch(tables)

    def _by_automaton(self, text: NDArray[np.uint8], start: int, end: int) -> Iterator[NDArray[np.int64]]:
        starts = np.empty(min(_AT_ONCE, end - start) + 1, dtype=np.int64)
        is_first = True
        while start < end:
            n = split_text(text, start, end, self._pattern.tables, self._scratch, is_first, starts)
            yield starts[: n + 1]
            start, is_first = int(starts[n]), False

    def _by_regex(self, text: NDArray[np.uint8], start: int, end: int) -> Iterator[NDArray[np.int64]]:
        for pretokens in self._pattern.stream(to_text(text[start:end].tobytes())):
            lengths = (len(pretoken.encode(errors="surrogateescape")) for pretoken in pretokens)
            starts = np.fromiter(accumulate(lengths, initial=start), dtype=np.int64, count=len(pretokens) + 1)
            yield starts
            start = int(starts[-1])

    def _in_pieces(self, text: NDArray[np.uint8], start: int, end: int) -> Iterator[NDArray[np.int64]]:
        """By partial automata; `regex` splits the pieces that these do not decide."""
        classes = new_classes()
        while start < end:
            pieces = self._pieces(text, start, end, classes)
            n = int(pieces[-1]) - start
            marks = np.empty(MARK_BYTES * int(np.diff(pieces).max()), dtype=np.uint8)
            starts, counts = np.empty(n + 1, dtype=np.int64), np.empty(n, dtype=np.int64)
            ones, undecided = np.ones(len(pieces) - 1, dtype=np.int64), np.empty(len(pieces) - 1, dtype=np.int64)
            n_found, n_undecided = split_decided(text, pieces, ones, self._pattern.tables, marks, starts, counts, undecided)
            found = [starts[: n_found + 1]]
            for i in undecided[:n_undecided].tolist():
                found += self._by_regex(text, int(pieces[i]), int(pieces[i + 1]))
            yield in_order(np.concatenate(found)) if n_undecided else found[0]
            start = int(pieces[-1])

    def _pieces(self, text: NDArray[np.uint8], start: int, end: int, classes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Where the next pieces start, and where the last of them ends; classes : scratch."""
        size = _AT_ONCE
        while True:
            n = min(size, end - start)
            is_cut = np.empty(n, dtype=np.uint8)
            mark_cuts(text[start : start + n + PADDING], n, self._pattern.tables, classes, is_cut)
            cuts = np.flatnonzero(is_cut)
            if start + n == end:
                return start + np.concatenate([[0], cuts, [n]])
            cuts = cuts[cuts <= n - _UNCERTAIN]
            if len(cuts):
                return start + np.concatenate([[0], cuts])
            size *= 2
