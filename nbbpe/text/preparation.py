"""The preparation of a text before it is split, for tokenizers that need more than one normal form.

The order is that of tokenizers (Hugging Face's): special tokens are found in the original text, and each may take the
whitespace beside it, or must be a separate word; the stretches between them are normalized; tokens of normalized text are
found there; and each stretch between all of these gets a space in front if the tokenizer says so.

Most of it is Python. A tokenizer without preparation never uses it. If a tokenizer has only normal forms, rules for tokens
and spaces, most texts need no preparation (see `Preparation.leaves`). Most windows are normalized many stretches at once,
and large ones cut so by kernels (see pattern_cutter.py); the rest is done a stretch at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import regex
from numpy.typing import NDArray

from ..system.lazy import lazy
from .byte_fallback import SIGN, ByteFallback, without_signs
from .cutting import MATCHES, Cutter
from .lacking_byte import LackingByte
from .normal_characters import FORMS, Form
from .normalization import normalized
from .normalizer import KEEPING_WHITESPACE, Normalizer, PrefixSpace
from .ruled_tokens import Row, Rule, as_rows, character_before, ruled
from .special_search import Sought, between, find_breaks
from .unicode_sets import WHITESPACE
from .utf8 import inserted, padded, to_bytes, to_text
from .windows import CUT, SEPARATOR, Window

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from .pattern_cutter import PatternCutter

_ASCII_SPACE = b" \t\n\r\x0b\x0c"
_SPACE = 0x20
_NEAR = 1 << 12  # bytes before a space in which the beginning of its run of whitespace is looked for
_TOGETHER = 1 << 15  # bytes of short stretches that are normalized together: each step makes a copy of them
_LEAST_CUT = 1 << 12  # bytes of a window that kernels cut in less time than Python
_PAYS = 1 << 19  # bytes of text that Python cuts in as much time as the automaton takes to compile


@dataclass
class TextState:
    """What is passed from one part of a text to the next.

    begun    : the steps of the normalizer that have got text of the current stretch
    prefixed : whether the current stretch between tokens of both turns has its space in front, or begins with one
    n_bytes  : how many bytes of the current document come before the next part
    """

    begun: set[int] = field(default_factory=set)
    prefixed: bool = False
    n_bytes: int = 0


@dataclass(frozen=True)
class Preparation:
    """How a tokenizer prepares a text before it is split.

    chain        : the normalizer
    rules        : the rules of special tokens, by id
    prefix_space : whether each stretch gets a space in front, unless it begins with one; "first": only the
        one that a text begins with
    always_space : whether it gets one even then
    lacking      : the bytes that the vocabulary lacks
    cutter       : what cuts each stretch before the split pattern does; then `prefix_space` applies to each part
    seeks_spaces : whether a token that is looked for in normalized text has whitespace
    fallback     : for a vocabulary of characters, what cuts those that it lacks into their bytes, at last; else None
    """

    chain: Normalizer
    rules: Mapping[int, Rule]
    prefix_space: PrefixSpace
    always_space: bool
    lacking: bytes
    cutter: Cutter | None
    seeks_spaces: bool
    fallback: ByteFallback | None

    @lazy
    def forms(self) -> list[Form] | None:
        """The normal forms that texts are put into, if nothing else is done to them apart from rules of tokens and a space
        in front; else None."""
        kinds: list[Any] = self.chain.kinds
        return None if self.cutter or self.fallback or not set(kinds).issubset(FORMS) else kinds

    @lazy
    def checks(self) -> list[Callable[[str | bytes], bool]] | None:
        """For each change that may be made to a text, a test whether the text needs none; apart from rules of tokens and a
        space in front. None if a change has no such test."""
        checks = None if self.cutter else self.chain.checks
        return checks if checks is None or self.fallback is None else [*checks, self.fallback.leaves]

    @lazy
    def marks(self) -> dict[int, int]:
        """For the id of each token that takes whitespace, a mark to add to it for kernels/pieces/token_whitespace.py.

        Empty if a kernel cannot apply all rules: if there are others, or if a space is put behind tokens.
        """
        from ..kernels.pieces.token_whitespace import AFTER, BEFORE

        if self.forms is None or self.prefix_space or any(rule.single_word for rule in self.rules.values()):
            return {}
        return {token_id: BEFORE * rule.lstrip + AFTER * rule.rstrip for token_id, rule in self.rules.items()}

    def marked(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The ids of tokens, or of breaks, with their marks."""
        return np.array([token_id + self.marks.get(token_id, 0) for token_id in ids.tolist()], dtype=np.int64)

    def leaves(self, text: str | bytes) -> bool:
        """Whether a text stays as it is, if it has no token with a rule; a space in front does not count.

        A str must have no byte that the vocabulary lacks.
        """
        has_all = isinstance(text, str) or self.has_all(text)
        return self.checks is not None and has_all and all(check(text) for check in self.checks)

    def prepared(
        self, text: bytes, rows: NDArray[np.int64], later: SpecialTokens, state: TextState
    ) -> tuple[bytes, NDArray[np.int64]]:
        """Prepare a part of a text for splitting; returns it with its breaks.

        rows  : int64[n, 3], the special tokens found in the original text, and the breaks between documents
        later : the tokens to look for in normalized text
        """
        if (at_once := self._at_once(text, rows, later, state)) is not None:  # as most parts, in less time
            return at_once
        is_begun = state.n_bytes > 0
        data, found = self._normalized(text, ruled(self.rules, text, as_rows(rows, text)), state)
        borders = {row.end for row in found if row.is_border}
        if later.longest:
            window = padded(data)
            new = find_breaks(window, 0, len(data), len(data), later)
            first = [row._replace(is_border=True) for row in found]
            found = ruled(self.rules, data, sorted([*first, *as_rows(new, data)]))
        breaks = np.array([row[:3] for row in found], dtype=np.int64).reshape(-1, 3)
        if self.cutter is not None:
            return self._cut(data, breaks)
        return self._finished(data, breaks, state, np.array([not is_begun, *(row.end in borders for row in found)]))

    def _at_once(
        self, text: bytes, rows: NDArray[np.int64], later: SpecialTokens, state: TextState
    ) -> tuple[bytes, NDArray[np.int64]] | None:
        """As `prepared`, if all stretches can be prepared at once; None for other parts, and for a byte without a token."""
        steps: Sequence[int] = range(len(self.chain.kinds))
        cutter = None
        if self.cutter is not None:
            self._seen[0] += len(text)
            pays = self._seen[0] >= _PAYS or not self.cutter.regexes  # regexes take long to compile
            cutter = self._pattern_cutter if len(text) >= _LEAST_CUT and pays else None
            # Only then does whitespace not matter: it is dropped, and no token is looked for in it before.
            if cutter and cutter.drops_whitespace and not (later.longest and self.seeks_spaces):
                steps = self.chain.steps_that_matter
        has_rule = self._has_rule(rows)
        if (has_rule and (later.longest or not self.marks)) or (later.longest and self.prefix_space == "first"):
            return None
        is_separator = np.frombuffer(text, dtype=np.uint8)[rows[:, 0]] == SEPARATOR[0]
        if self._n_lacking(text) > (np.count_nonzero(is_separator) if SEPARATOR in self.lacking else 0):
            return None
        data, breaks = text, self._with_whitespace(text, rows, is_separator) if has_rule else rows
        while steps:  # first those that change little of most texts
            if (kind := self.chain.kinds[steps[0]]) in FORMS:
                data, breaks = normalized(data, breaks, kind)
            elif (replaced := self.chain.replaced[steps[0]]) is None or replaced in data:
                break
            steps = steps[1:]
        begun = state.begun.copy()
        if steps:
            rewritten = self._rewritten(data, breaks, begun, steps)
            if rewritten is None:
                return None
            data, breaks = rewritten
        if later.longest:
            found = find_breaks(padded(data), 0, len(data), len(data), later)
            breaks = np.concatenate([breaks, found])
            breaks = breaks[np.argsort(breaks[:, 0])]
            # Tokens of the first turn take precedence over those that overlap them.
            if (breaks[1:, 0] < breaks[:-1, 1]).any() or self._has_rule(found):
                return None
        if self.cutter:
            cut = cutter.cut(data, breaks) if cutter else self._cut(data, breaks)
            if cut is None:
                return None
            data, breaks = cut
        state.begun = begun
        is_border = is_separator | (rows[:, 2] < 0)
        begins, borders = np.append(state.n_bytes == 0, is_border), rows[is_border]
        state.n_bytes = len(text) - int(borders[-1, 1]) if len(borders) else state.n_bytes + len(text)
        return (data, breaks) if self.cutter else self._finished(data, breaks, state, begins)

    def _finished(
        self, data: bytes, breaks: NDArray[np.int64], state: TextState, begins: NDArray[np.bool_]
    ) -> tuple[bytes, NDArray[np.int64]]:
        """Put spaces in front; with a vocabulary of characters, also replace ▁ and cut unknown characters.

        begins : for each stretch, whether a text begins with it; needed only for the prefix_space "first"
        """
        if self.fallback:
            data, breaks = without_signs(data, breaks)
        if self.prefix_space:
            may_have = begins if self.prefix_space == "first" else None
            data, breaks = _with_spaces(data, breaks, state, self.always_space, may_have)
        return self.fallback.cut(data, breaks) if self.fallback else (data, breaks)

    def _rewritten(
        self, data: bytes, breaks: NDArray[np.int64], begun: set[int], steps: Sequence[int]
    ) -> tuple[bytes, NDArray[np.int64]] | None:
        """A text after some steps of the normalizer, with a separator in the place of each break, and the breaks.

        begun : see TextState; changed

        Returns None if breaks overlap, if the text has all characters that may be barriers, or if a step makes the one.
        """
        if (breaks[1:, 0] < breaks[:-1, 1]).any():
            return None
        break_ends = breaks[:, 1].copy()  # or each search would make a copy
        starts, ends = [0, *break_ends.tolist()], [*breaks[:, 0].tolist(), len(data)]
        stretches = [data[start:end] for start, end in zip(starts, ends, strict=True)]
        parts: list[bytes] = []
        moved = breaks.copy()
        first = n_bytes = 0
        while first < len(stretches):
            last = int(np.searchsorted(break_ends, starts[first] + _TOGETHER)) + 1
            found = self._of_stretches(stretches[first:last], begun, steps)
            if found is None:
                return None
            part, places = found
            moved[first : last - 1, 0] = places + n_bytes
            n_bytes += len(part)
            parts.append(part)
            if last < len(starts):
                moved[last - 1, 0] = n_bytes
                n_bytes += 1
                begun.clear()
            first = last
        moved[:, 1] = moved[:, 0] + 1
        return SEPARATOR.join(parts), moved

    def _of_stretches(
        self, stretches: list[bytes], begun: set[int], steps: Sequence[int]
    ) -> tuple[bytes, NDArray[np.intp]] | None:
        """See `_rewritten`: the text of some stretches with separators between them, and the places of these."""
        if len(stretches) == 1:
            new = self.chain.apply(to_text(stretches[0]), begun, steps)
            return new.encode(errors="surrogateescape"), np.empty(0, dtype=np.intp)
        for barrier in self.chain.at_once:
            byte = barrier.encode(errors="surrogateescape")
            text = byte.join(stretches)
            if text.count(byte) == len(stretches) - 1:
                new = self.chain.apply_to_all(to_text(text), barrier, begun, steps)
                data = new.encode(errors="surrogateescape")
                places = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == byte[0])
                return (data.replace(byte, SEPARATOR), places) if len(places) == len(stretches) - 1 else None
        return None

    @lazy
    def _seen(self) -> list[int]:
        """The number of bytes that were prepared so far; not exact, as threads add to it without a lock."""
        return [0]

    @lazy
    def _pattern_cutter(self) -> PatternCutter | None:
        """A cutter of windows by kernels, if it gives exactly what `cutter` does; else None."""
        if self.cutter is None:
            return None
        from .pattern_cutter import PatternCutter

        found = PatternCutter(self.cutter, bool(self.prefix_space))
        return found if found.is_exact else None

    @lazy
    def ignores_whitespace(self) -> bool:
        """Whether all whitespace is certainly dropped: then a text can be cut before whitespace that follows another
        character, and prepared in parts. Compiles the regexes of the cutter."""
        kinds = {self.chain.kinds[number] for number in self.chain.steps_that_matter}
        if self.cutter is None or self.cutter.keeps != MATCHES or self.seeks_spaces or not kinds <= KEEPING_WHITESPACE:
            return False
        return self._pattern_cutter is not None and self._pattern_cutter.drops_whitespace

    def _with_whitespace(self, text: bytes, rows: NDArray[np.int64], is_separator: NDArray[np.bool_]) -> NDArray[np.int64]:
        """As `ruled`, by a kernel; for rules that have `marks`."""
        from ..kernels.pieces.token_whitespace import with_whitespace

        breaks = rows.copy()
        breaks[~is_separator, 2] = self.marked(rows[~is_separator, 2])
        return breaks[: with_whitespace(np.frombuffer(text, dtype=np.uint8).ctypes.data, len(text), breaks)]

    def _has_rule(self, rows: NDArray[np.int64]) -> bool:
        return not self.rules.keys().isdisjoint(rows[:, 2].tolist())

    def _normalized(self, text: bytes, rows: list[Row], state: TextState) -> tuple[bytes, list[Row]]:
        """Normalize the stretches between rows; one byte replaces the text of each row."""
        parts: list[bytes] = []
        found: list[Row] = []
        done = n_bytes = of_document = 0
        for row in [*rows, Row(len(text), len(text), 0, False)]:
            if row.start > done:
                stretch = text[done : row.start]
                self._check(stretch, state.n_bytes + done - of_document)
                parts.append(self.chain.apply(to_text(stretch), state.begun).encode(errors="surrogateescape"))
                n_bytes += len(parts[-1])
            done = row.end
            if len(found) < len(rows):
                parts.append(SEPARATOR)
                found.append(row._replace(start=n_bytes, end=n_bytes + 1))
                n_bytes += 1
                state.begun.clear()
                if row.is_border:
                    of_document, state.n_bytes = row.end, 0
        state.n_bytes += len(text) - of_document
        return b"".join(parts), found

    def stretches(self, text: str | bytes, first: Sought, later: Sought) -> list[tuple[bytes | None, int | None]]:
        """The stretches of a text between its tokens, prepared, each with the id of the token behind it, see `between`.

        This gives what `prepared` does, without arrays, which would take most of the time for a short text. A stretch that
        is cut has separators between its parts; it is None if the parts have such a byte, too, as invalid UTF-8 may.
        """
        found: list[tuple[bytes | None, int | None]] = []
        for original, token_id in self._between(to_bytes(text), first):
            stretch = self.chain.apply(to_text(original), set())
            if later.specials.longest:
                *inner, (last, _) = self._between(stretch.encode(errors="surrogateescape"), later)
                for each, inner_id in inner:
                    found.append((self._ready(to_text(each), bool(found)), inner_id))
                stretch = to_text(last)
            found.append((self._ready(stretch, bool(found)), token_id))
        return found

    def _between(self, text: bytes, sought: Sought) -> list[tuple[bytes, int | None]]:
        return between(text, ruled(self.rules, text, as_rows(sought.found_in(text), text)))

    def _ready(self, stretch: str, is_later: bool) -> bytes | None:
        """A normalized stretch, cut and with its spaces in front, see `stretches`.

        is_later : whether another stretch comes before it
        """
        if self.cutter is None:
            if self.fallback is not None:
                stretch = stretch.replace(SIGN, " ")
            spaced = stretch if is_later and self.prefix_space == "first" else self.spaced(stretch, " ")
            data = spaced.encode(errors="surrogateescape")
            if self.fallback is None or data.isascii():
                return data
            return SEPARATOR.join(self.fallback.parts(data)) if SEPARATOR not in data else None
        parts = self._parts(stretch)
        joined = _joined(parts)
        return joined if joined.count(SEPARATOR) == max(len(parts) - 1, 0) else None

    def spaced(self, text: Any, space: Any) -> Any:
        """A stretch with a space in front, if it gets one; both str, or both bytes."""
        if not self.prefix_space or not text or (not self.always_space and text.startswith(space)):
            return text
        return space + text

    def _parts(self, stretch: str) -> list[str]:
        """What the cutter leaves of a stretch, each part with a space in front if the tokenizer says so."""
        parts = [] if self.cutter is None else self.cutter.parts(stretch)
        return [part if part.startswith(" ") else " " + part for part in parts] if self.prefix_space else parts

    def _cut(self, data: bytes, breaks: NDArray[np.int64]) -> tuple[bytes, NDArray[np.int64]]:
        """Cut each stretch with the cutter; returns its parts, with a separator and a break after each, and all breaks.

        So there is a break at the end of the data, too: text that was dropped there keeps the next text apart.
        """
        stretches: list[bytes] = []
        parts: list[list[str]] = []
        tokens: list[list[int]] = []
        done = n_bytes = 0
        for start, end, token_id in [*breaks.tolist(), (len(data), len(data), 0)]:
            found = self._parts(to_text(data[done:start])) if start > done else []
            parts.append(found)
            stretches.append(_joined([*found, ""]))
            n_bytes += len(stretches[-1])
            done = end
            if len(tokens) < len(breaks):
                stretches.append(data[start:end])
                tokens.append([n_bytes, n_bytes + end - start, token_id])
                n_bytes += end - start
        joined = b"".join(stretches)
        moved = np.array(tokens, dtype=np.int64).reshape(-1, 3)
        ends = _ends(joined, parts, moved)
        breaks = np.concatenate([moved, np.stack([ends, ends + 1, np.full(len(ends), CUT)], axis=1)])
        return joined, breaks[np.argsort(breaks[:, 0])]

    def has_all(self, text: bytes) -> bool:
        """Whether the vocabulary has all bytes of a text."""
        return self._n_lacking(text) == 0

    def _n_lacking(self, text: bytes) -> int:
        """How many bytes of a text the vocabulary lacks."""
        return 0 if not self.lacking or text.isascii() else len(text) - len(text.translate(None, self.lacking))

    def _check(self, stretch: bytes, place: int) -> None:
        """Raise LackingByte for a byte that the vocabulary lacks."""
        if self.has_all(stretch):
            return
        at = next(at for at, byte in enumerate(stretch) if byte in self.lacking)
        raise LackingByte(
            f"byte {place + at:,} of the text is 0x{stretch[at]:02x}, which is invalid UTF-8, and this tokenizer's "
            "vocabulary has no token for it; decode the text with errors='replace' first"
        )


def _with_spaces(
    data: bytes, breaks: NDArray[np.int64], state: TextState, always: bool, may_have: NDArray[np.bool_] | None
) -> tuple[bytes, NDArray[np.int64]]:
    """Put a space in front of each stretch between breaks, unless it begins with one, or `always`.

    may_have : which stretches may get one, bool[n]; None for all
    """
    text = np.frombuffer(data, dtype=np.uint8)
    starts, ends = np.append(0, breaks[:, 1]), np.append(breaks[:, 0], len(data))
    is_empty = starts == ends
    needs_space = ~is_empty
    if not always:
        needs_space[~is_empty] = text[starts[~is_empty]] != _SPACE
    needs_space[0] &= not state.prefixed
    if may_have is not None:
        needs_space &= may_have
    state.prefixed = not is_empty[-1] or (state.prefixed and not len(breaks))
    places = starts[needs_space]
    moved = breaks.copy()
    moved[:, :2] += np.searchsorted(places, breaks[:, 0], "right")[:, np.newaxis]
    return inserted(data, places, b" "), moved


def _joined(parts: list[str]) -> bytes:
    return to_text(SEPARATOR).join(parts).encode(errors="surrogateescape")


def _ends(joined: bytes, parts: list[list[str]], tokens: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each part of some stretches ends: each part is followed by a separator, and each stretch but the last by a
    token."""
    ends = np.flatnonzero(np.frombuffer(joined, dtype=np.uint8) == SEPARATOR[0])
    is_token = np.zeros(len(joined), dtype=np.bool_)
    is_token[tokens[:, 0]] = True
    ends = ends[~is_token[ends]]
    if len(ends) == sum(map(len, parts)):
        return ends
    # Invalid UTF-8 in the text has separators, too, so add up lengths.
    starts = [0, *tokens[:, 1].tolist()]
    lengths = [[len(part.encode(errors="surrogateescape")) + 1 for part in found] for found in parts]
    return np.concatenate([np.cumsum([start, *of_parts])[1:] - 1 for start, of_parts in zip(starts, lengths, strict=True)])


def can_be_cut(chain: Normalizer, later: Iterable[str]) -> bool:
    """Whether a text can be prepared in parts, cut before whitespace that follows another character.

    later : the tokens that are looked for in normalized text, normalized: none may reach across such a place
    """
    later = list(later)
    kinds = set(chain.kinds)
    if later and kinds - {*FORMS, "Lowercase", "StripAccents"}:
        return False
    if "StripAccents" in kinds and any(regex.search(r"\s\s", token) for token in later):  # an accent may be before the cut
        return False
    return chain.can_be_cut and not any(regex.search(r"\S\s", token) for token in later)


def last_cut(window: Window, rules: Mapping[int, Rule]) -> int:
    """The last place up to a window's limit between a character and whitespace, where no token ends that takes whitespace.

    If there is none, the end of the last token, unless a rule looks behind tokens; else the window's start.
    """
    data = window.data[window.start : window.limit].tobytes()
    ends = window.breaks[:, 1] - window.start
    stop = len(data)
    places = dict.fromkeys((b" ", b"\n"), stop)  # the last of each before `stop`, so that none is searched for twice
    while stop > 0:
        for character, place in places.items():
            if place >= stop:
                places[character] = data.rfind(character, 0, stop)
        space = max(places.values())
        if space < 0:
            break
        near = max(space - _NEAR, 0)
        stop = near + len(data[near : space + 1].rstrip(_ASCII_SPACE))
        before = character_before(data, stop, 0)
        if stop > near and before and before not in WHITESPACE:
            # The first break that does not end before `stop` must not start before it.
            row = int(np.searchsorted(ends, stop))
            if row == len(ends) or window.breaks[row, 0] - window.start >= stop:
                return window.start + stop
            if ends[row] == stop and not rules.get(int(window.breaks[row, 2]), Rule()).rstrip:
                return window.start + stop
    if any(rule.single_word or rule.rstrip for rule in rules.values()):
        return window.start
    return max(window.breaks[-1:, 1].tolist(), default=window.start)
