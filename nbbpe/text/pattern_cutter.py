"""Cut windows by kernels, where the first step of a Cutter keeps the matches of a regex, the text between them, or both.

The regex is compiled to an automaton, which finds matches and the text between them. If some character certainly ends all
matches as the end of a text does, it is put in the place of each token, and keeps documents apart: so a window is cut at
once. Otherwise, documents are cut one by one. The first character of a part must tell whether it is a match.

Metaspace as the last step, or the only one, writes its signs in all parts at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..patterns.automaton import Automaton
from ..patterns.boundaries import always_left, can_be_left, ends_text
from ..patterns.pattern import Pattern
from ..patterns.pattern_parser import only_looks
from ..system.lazy import lazy
from ..system.stretches import gathered, in_order
from .cutting import BETWEEN, BOTH, JOINED, MATCHES, Cutter
from .text_splitter import TextSplitter
from .unicode_sets import WHITESPACE
from .utf8 import is_utf8, padded, to_text
from .windows import CUT, SEPARATOR

_NEWLINE, _SPACE = ord("\n"), ord(" ")
_AT_ONCE = 1 << 18  # bytes, about, that are cut together: the arrays for them take many times as much memory
_WHITESPACE = re.compile(b"[ \n]")
_SHORT = 1 << 11  # bytes of a document; for a shorter one, a list of places takes less time than arrays


class PatternCutter:
    """Cuts windows as a Cutter does, if `is_exact`.

    prefix_space : whether each part gets a space in front, unless it begins with one
    """

    def __init__(self, cutter: Cutter, prefix_space: bool = False) -> None:
        self._regexes = cutter.regexes
        self._keeps = cutter.keeps
        self._inverts = cutter.inverts
        self._has_suffix = cutter.suffix is not None
        self._sign = (cutter.sign or "").encode()
        self._only_signs = cutter.sign is not None and len(cutter.kinds) == 1
        self._prepends_sign = cutter.prepends_sign
        self._prefix_space = prefix_space

    @lazy
    def _pattern(self) -> Pattern:
        return Pattern(None, self._regexes[0], self._regexes[1:])

    @lazy
    def _first(self) -> Automaton:
        """The automaton of the regex of the first step."""
        return self._pattern.automata[0]

    @lazy
    def _is_between(self) -> NDArray[np.bool_]:
        """For each code point, whether a part that begins with it is text between matches, bool[0x110000]."""
        return always_left(self._first)[self._first.classes()]

    @lazy
    def is_exact(self) -> bool:
        """Whether it cuts all windows of valid UTF-8 as the Cutter does. Compiles the regexes."""
        if self._sign and self._prefix_space:  # the space would come before the sign
            return False
        if self._only_signs:
            return True
        if not self._regexes or not self._pattern.is_compiled:
            return False
        if self._keeps == BOTH:
            return True
        # The first character must tell a match from the text between. (An empty match is text between for the automaton.)
        is_decided = (always_left(self._first) | ~can_be_left(self._first)).all()
        return bool(is_decided) and not only_looks(self._regexes[0])

    @lazy
    def drops_whitespace(self) -> bool:
        """Whether it is exact, all whitespace is dropped, and text is cut before whitespace as before the end."""
        return self._keeps == MATCHES and self.is_exact and self._ends_text(WHITESPACE)

    def _ends_text(self, characters: str) -> bool:
        classes = self._first.classes_of(characters)
        return self._first.in_pieces is None and bool(ends_text(self._first)[classes].all())

    @lazy
    def _barrier(self) -> int | None:
        """A byte that may be put in the place of tokens; None if no byte keeps documents apart."""
        if self.drops_whitespace:
            return _NEWLINE
        # The separator would be text between matches, in which a later regex would find it.
        is_last = len(self._regexes) == 1
        return SEPARATOR[0] if is_last and self._ends_text(to_text(SEPARATOR)) else None

    def cut(self, data: bytes, breaks: NDArray[np.int64]) -> tuple[bytes, NDArray[np.int64]] | None:
        """Cut a text: returns the parts, with a separator and a break after each, and a byte for each break between them.

        None if the text is not valid UTF-8, or a break has no bytes.
        """
        if not self._sign:
            return self._cut_by_regexes(data, breaks)
        found = _with_separators(data, breaks) if self._only_signs else self._cut_by_regexes(data, breaks)
        return None if found is None else self._with_signs(*found)

    def _with_signs(self, data: bytes, breaks: NDArray[np.int64]) -> tuple[bytes, NDArray[np.int64]]:
        """Apply Metaspace to the parts of a text; each break is a separator byte, and there are no others."""
        if self._prepends_sign:
            data = self._needs_sign.sub(lambda _: SEPARATOR + self._sign, SEPARATOR + data)[1:]
        data = data.replace(b" ", self._sign)
        moved = breaks.copy()
        moved[:, 0] = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == SEPARATOR[0])
        moved[:, 1] = moved[:, 0] + 1
        return data, moved

    @lazy
    def _needs_sign(self) -> re.Pattern[bytes]:
        """Finds each separator before a part that gets a sign."""
        return re.compile(SEPARATOR + b"(?!%b| |%b|\\Z)" % (SEPARATOR, re.escape(self._sign)))

    def _cut_by_regexes(self, data: bytes, breaks: NDArray[np.int64]) -> tuple[bytes, NDArray[np.int64]] | None:
        """See `cut`; without a sign."""
        text = padded(data)
        lengths = breaks[:, 1] - breaks[:, 0]
        if not lengths.all():
            return None
        before = np.cumsum(lengths) - lengths
        of_breaks = np.repeat(breaks[:, 0] - before, lengths) + np.arange(lengths.sum())
        text[of_breaks] = _NEWLINE
        replaced = text[: len(data)].tobytes()
        if not is_utf8(replaced):
            return None
        text[of_breaks] = self._barrier or _NEWLINE
        out: list[bytes] = []
        rows: list[NDArray[np.int64]] = []
        begins_and_ends = breaks[:, :2].T.copy()  # or each search would make a copy
        start = n_bytes = 0
        while start < len(data):
            end = self._end_of_stretch(replaced, start + _AT_ONCE, begins_and_ends[1])
            first, last = np.searchsorted(begins_and_ends[0], [start, end])
            of_stretch, of_parts = self._cut_stretch(text, start, end, breaks[first:last])
            out.append(of_stretch)
            rows.append(of_parts + np.array([n_bytes, n_bytes, 0]))
            n_bytes += len(of_stretch)
            start = end
        return b"".join(out), np.concatenate([np.empty((0, 3), dtype=np.int64), *rows])

    def _end_of_stretch(self, replaced: bytes, at_least: int, ends: NDArray[np.int64]) -> int:
        """Where a stretch ends: before whitespace (such as a newline in the place of a token), or behind a token.

        ends : int64[n], of tokens
        """
        if self.drops_whitespace:
            found = _WHITESPACE.search(replaced, at_least)
            return found.start() if found else len(replaced)
        row = int(np.searchsorted(ends, at_least))
        return int(ends[row]) if row < len(ends) else len(replaced)

    def _cut_stretch(
        self, text: NDArray[np.uint8], start: int, end: int, breaks: NDArray[np.int64]
    ) -> tuple[bytes, NDArray[np.int64]]:
        """See `cut`: of text[start:end], which has the barrier in the place of breaks."""
        begins, ends = self._parts(text, start, end, breaks)
        if self._keeps != BOTH:
            is_between = self._is_between[_code_points(text, begins)]
            if self._keeps in JOINED:
                joins = _joins(is_between == self._inverts, self._keeps) & (begins[1:] == ends[:-1])
                begins, ends = begins[np.append(True, ~joins)[: len(begins)]], ends[np.append(~joins, True)[: len(ends)]]
            else:
                is_kept = is_between == (self._keeps == BETWEEN)
                begins, ends = begins[is_kept], ends[is_kept]
        n_parts = len(begins)
        n_before = (text[begins] != _SPACE).astype(np.int64) if self._prefix_space else np.zeros(n_parts, dtype=np.int64)
        n_added = 1 + self._has_suffix
        order = np.argsort(np.concatenate([begins, breaks[:, 0]]), kind="stable")
        sizes = np.concatenate([n_before + ends - begins + n_added, np.ones(len(breaks), dtype=np.int64)])[order]
        ends_in_out = np.cumsum(sizes)
        is_part = order < n_parts
        out = gathered(text, np.concatenate([begins - n_before, breaks[:, 0]])[order], sizes)
        if self._prefix_space:
            out[(ends_in_out - sizes)[is_part]] = _SPACE  # a part that begins with one keeps it
        out[ends_in_out - 1] = SEPARATOR[0]
        if self._has_suffix:
            out[ends_in_out[is_part] - 2] = _SPACE
        rows = np.empty((len(sizes), 3), dtype=np.int64)
        rows[:, 0], rows[:, 1] = ends_in_out - 1, ends_in_out
        rows[:, 2] = np.concatenate([np.full(n_parts, CUT), breaks[:, 2]])[order]
        return out.tobytes(), rows

    def _parts(
        self, text: NDArray[np.uint8], start: int, end: int, breaks: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the matches in a stretch, and the texts between them, begin and end, in order."""
        splitter = TextSplitter(self._pattern)
        if self._barrier is not None:
            starts = _joined(splitter.starts(text, start, end), end)
            if self._barrier == _NEWLINE:  # newlines are text between matches, which is not kept
                return starts[:-1], starts[1:]
            starts = in_order(np.concatenate([starts, breaks[:, :2].ravel()]))
            is_part = text[starts[:-1]] != self._barrier
            return starts[:-1][is_part], starts[1:][is_part]
        borders = np.concatenate([[start], breaks[:, :2].ravel(), [end]]).reshape(-1, 2).tolist()
        found = [_of_document(splitter, text, first, last) for first, last in borders]
        none = [np.empty(0, dtype=np.int64)]
        return np.concatenate(none + [each[:-1] for each in found]), np.concatenate(none + [each[1:] for each in found])


def _with_separators(data: bytes, breaks: NDArray[np.int64]) -> tuple[bytes, NDArray[np.int64]] | None:
    """Put a separator in the place of each break; returns the text and the breaks, of which only the ids are still right.
    None if the text between them has a separator, which is invalid UTF-8."""
    starts, ends = [0, *breaks[:, 1].tolist()], [*breaks[:, 0].tolist(), len(data)]
    joined = SEPARATOR.join([data[start:end] for start, end in zip(starts, ends, strict=True)])
    return (joined, breaks) if joined.count(SEPARATOR) == len(breaks) else None


def _joins(is_match: NDArray[np.bool_], behavior: str) -> NDArray[np.bool_]:
    """Whether a Split joins each part with the next one, bool[n - 1], if these are in one text."""
    this, following = is_match[:-1], is_match[1:]
    if behavior == "Contiguous":
        return this == following
    return ~this & following if behavior == "MergedWithPrevious" else this & ~following


def _joined(starts: Iterator[NDArray[np.int64]], end: int) -> NDArray[np.int64]:
    """Where pretokens start, and where the last one ends."""
    return np.concatenate([*(each[:-1].copy() for each in starts), [end]])


def _of_document(splitter: TextSplitter, text: NDArray[np.uint8], start: int, end: int) -> NDArray[np.int64]:
    """Where the pretokens of a document start, and where the last one ends."""
    if end - start > _SHORT:
        return _joined(splitter.starts(text, start, end), end)
    return start + np.array(splitter.starts_of_short(text[start:end].tobytes()), dtype=np.int64)


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
