"""Splits text by `regex` itself, within a limit of time: a pattern may come from an attacker, and backtrack without end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import regex

from ..system.excerpt import shown
from ..system.lazy import lazy
from .given_regex import seconds_for

AT_ONCE = 1 << 14  # parts in a list
_MATCHES_AT_ONCE = 256
_PIECE = 32  # characters: a text that is not longer is mostly one pretoken
_GAP = 3  # characters between two matches of a run
_GROUP = "nbbpe_match"

# Not regex.ASCII: within another regex, `regex` reads \h, and letters whose case is ignored, as if it were not set.
_ALLOWED_FLAGS = regex.UNICODE | regex.VERSION0 | regex.IGNORECASE | regex.MULTILINE | regex.DOTALL
# Fuzzy matching: braces that neither count nor name a property or character.
_FUZZY = regex.compile(r"(?<!\\[pPN])\{(?!\d*+,?\d*+\})")
# Syntax that means something else, or may do so, inside another regex: references to groups and calls of them, conditions,
# \G, \K, verbs, and fuzzy matching.
_NOT_WITHIN = regex.compile(rf"\\[1-9gGKL]|\(\?(?:[R&(]|[-+]?\d|P[=>&])|\(\*|{_FUZZY.pattern}")
# A group that is called, by number or name.
CALLS = regex.compile(r"\(\?(?:R|[+-]?\d|&|P>)")


class RegexSplitter:
    """Splits text by one regex."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    @lazy
    def compiled(self) -> Any:
        """The compiled regex, a regex.Pattern."""
        return regex.compile(self._pattern)

    @lazy
    def _runs(self) -> Any:
        """A regex that matches runs of matches, each of which a group captures; None if there is no such regex.

        With a limit, `regex` asks for the time before each match, which takes as long as matching a word, or several times
        as long. Before each run it costs next to nothing.
        """
        if self.compiled.flags & ~_ALLOWED_FLAGS or _NOT_WITHIN.search(self._pattern) or _GROUP in self._pattern:
            return None
        # Atomic and possessive: a match that is found is kept, as when matches are looked for one by one. The gap between
        # two matches is lazy: a place is skipped only if no match starts there.
        one = f"(?P<{_GROUP}>(?>{self._pattern}))"
        try:
            return regex.compile(f"{one}(?:(?s:.){{0,{_GAP}}}?{one}){{0,{_MATCHES_AT_ONCE - 1}}}+")
        except regex.error:
            return None

    def split(self, text: str) -> list[str]:
        """The matches and the text between them, in order, none of them empty; concatenated, they are the text.

        Raises ValueError if that takes longer than any pattern should.
        """
        return [part for parts in self.stream(text) for part in parts]

    def stream(self, text: str) -> Iterator[list[str]]:
        """As `split`, in lists of about AT_ONCE parts: a part takes ten times the memory of its text."""
        return self._stream_of_calls(text) if self._calls else self._stream(text)

    @lazy
    def _calls(self) -> bool:
        """Whether a group is called."""
        return CALLS.search(self._pattern) is not None

    @lazy
    def _is_fuzzy(self) -> bool:
        """Whether it may match text with errors. A search takes no match that begins with an inserted character, and so
        may begin later than a match at the start of the text."""
        return _FUZZY.search(self._pattern) is not None

    def _stream_of_calls(self, text: str) -> Iterator[list[str]]:
        """`_stream`, for a pattern that may call itself until `regex` gives up, at 600 MB."""
        try:
            yield from self._stream(text)
        except MemoryError:
            raise ValueError(
                f"pattern {shown(self._pattern)} calls itself without end, or more often than `regex` has memory for, in "
                f"a text of {len(text):,} characters: {shown(text)}. A call should come after something that is matched"
            ) from None

    def _stream(self, text: str) -> Iterator[list[str]]:
        limit = seconds_for(text)
        if len(text) <= _PIECE and not self._is_fuzzy and self._is_one(text, limit):
            yield [text]
            return
        done = 0
        if self._runs is not None:
            try:
                for parts, end in self._stream_by_runs(text, limit):
                    done = end
                    yield parts
                if done == len(text):  # or `regex` would ask for the time once more
                    return
            except TimeoutError:
                self.__dict__["_runs"] = None  # `regex` may have a faster way for the pattern alone
        parts = []
        try:
            for match in self.compiled.finditer(text, done, timeout=limit):
                _append(parts, text, done, match.span())
                done = match.end()
                if len(parts) >= AT_ONCE:
                    yield parts
                    parts = []
        except TimeoutError:
            raise self._takes_too_long(text, done) from None
        _append(parts, text, done, (len(text), len(text)))
        if parts:
            yield parts

    def _is_one(self, text: str, limit: float) -> bool:
        """Whether one match is all of a text. This takes half of the time that the general way takes for a word.

        Most of the time goes into asking for the time, 2 us a call. Without a limit, even a short text may take for ever.
        """
        try:
            match = self.compiled.match(text, timeout=limit)
        except TimeoutError:
            raise self._takes_too_long(text, 0) from None
        return match is not None and match.span() == (0, len(text)) and text != ""  # \K may start a match later

    def _stream_by_runs(self, text: str, limit: float) -> Iterator[tuple[list[str], int]]:
        """`stream` by runs of matches, each list with the place that it reaches. Stops before the first run with an empty
        match, or after the last run.

        After an empty match, `regex` searches in another way within a run than from match to match.
        """
        parts: list[str] = []
        done = 0
        for run in self._runs.finditer(text, timeout=limit):
            matches = run.captures(_GROUP)
            if "" in matches:
                break
            start, end = run.span()
            if start == done and sum(map(len, matches)) == end - start:
                parts += matches
            else:
                for span in run.spans(_GROUP):
                    _append(parts, text, done, span)
                    done = span[1]
            done = end
            if done == len(text):
                break
            if len(parts) >= AT_ONCE:
                yield parts, done
                parts = []
        if parts:
            yield parts, done

    def _takes_too_long(self, text: str, done: int) -> ValueError:
        return ValueError(
            f"pattern {shown(self._pattern)} takes too long: it tries more and more ways to match (backtracking), and was "
            f"given up in a text of {len(text):,} characters, after character {done:,}: {shown(text[done:])}. Give it "
            "fewer ways to match the same, with ++ in place of +, for example"
        )


def _append(parts: list[str], text: str, done: int, match: tuple[int, int]) -> None:
    """Append the text between `done` and a match, and the match, unless empty."""
    start, end = match
    if start > done:
        parts.append(text[done:start])
    if end > start:
        parts.append(text[start:end])
