"""Encode by a pattern without certain boundaries: `regex` splits documents, and kernels merge the distinct pretokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.encoding.merge_table import Merges
from ..kernels.pieces.special_tokens import SpecialTokens
from ..patterns.pattern import Pattern
from ..system.stretches import gathered, starts_of
from ..text.text_windows import first_special
from ..text.utf8 import Data, has_surrogates, to_bytes, to_text
from ..text.windows import NO_ID, Window, Windows
from .encoder import Encoder
from .pretoken_ids import ids_of_each

_AT_ONCE = 1 << 20  # bytes of memory, about, that the pretokens which are merged together take
_PRETOKEN = 64  # bytes of memory, about, that a pretoken takes besides its text


class RegexEncoder(Encoder):
    """The encoder of a pattern of which no certain boundaries are known. It caches nothing between texts."""

    at_once = False
    in_python = True

    def __init__(self, merges: Merges, pattern: Pattern, dtype: np.dtype[Any]) -> None:
        super().__init__(dtype)
        self.merges = merges
        self._pattern = pattern

    def encode_text(self, text: str | Data, specials: SpecialTokens | None) -> NDArray[Any]:
        return np.concatenate([np.empty(0, dtype=self.dtype), *self._encode_parts(text, specials)])

    def count_given(self, text: str | Data, specials: SpecialTokens | None) -> int:
        return sum(map(len, self._encode_parts(text, specials)))

    def _encode_parts(self, text: str | Data, specials: SpecialTokens | None) -> Iterator[NDArray[Any]]:
        """Yield the ids of a text in parts."""
        if specials is None or first_special(text, specials) is None:  # the text need not be copied
            if not isinstance(text, str):
                text = to_text(text)
            elif has_surrogates(text):
                text = to_text(to_bytes(text))
            parts = self._encode([text], [])
        else:
            parts = self._encode_whole(self.window_of(to_bytes(text), specials))
        yield from (ids for ids, _ in parts)

    def encode_window(self, window: Window) -> NDArray[Any]:
        return np.concatenate([np.empty(0, dtype=self.dtype), *(ids for ids, _ in self._encode_whole(window))])

    def encode_all(self, reader: Windows) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        taken = 0
        while (window := reader.advance(taken)) is not None:
            window = window.of_whole_documents()
            taken = window.end
            yield from self._encode_whole(window)

    def _encode_whole(self, window: Window) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """As `encode_all`, of all of a window."""
        return self._encode((document for document, _ in window.texts()), window.breaks[:, 2].tolist())

    def _encode(
        self, documents: Iterable[str], break_ids: Sequence[int]
    ) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """The ids of documents, without special tokens, and of the breaks between them, as `encode_all` gives them.

        Of each part, each distinct pretoken is merged once.
        """
        numbers: dict[str, int] = {}  # each distinct pretoken with a number
        pretokens: list[int] = []  # the number of each pretoken
        breaks: list[tuple[int, int]] = []  # for each break, how many pretokens are before it, and its id
        n_bytes = 0
        for document, break_id in zip_longest(documents, break_ids):
            for found in self._pattern.stream(document):
                pretokens += [numbers.setdefault(pretoken, len(numbers)) for pretoken in found]
                n_bytes += sum(map(len, found)) + _PRETOKEN * len(found)
                if n_bytes >= _AT_ONCE:
                    yield self._merge(numbers, pretokens, breaks)
                    numbers, pretokens, breaks, n_bytes = {}, [], [], 0
            if break_id is not None:  # it is None after the last document
                breaks.append((len(pretokens), break_id))
        yield self._merge(numbers, pretokens, breaks)

    def _merge(
        self, numbers: dict[str, int], pretokens: list[int], breaks: list[tuple[int, int]]
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The ids of one part, as `_encode` yields it."""
        distinct = [pretoken.encode(errors="surrogateescape") for pretoken in numbers]
        ids, starts = ids_of_each(distinct, self.merges, self.dtype)
        # The ids of every occurrence: ids[starts[k]:starts[k + 1]] for pretoken k.
        chosen = np.array(pretokens, dtype=np.int64)
        lengths = np.diff(starts)[chosen]
        ids = gathered(ids, starts[chosen], lengths)
        if not breaks:  # as in most texts, in less time
            return ids, np.empty(0, dtype=np.int64)
        places, break_ids = np.array(breaks, dtype=np.int64).reshape(-1, 2).T
        n_before = starts_of(lengths)[places]  # ids, without those of breaks
        has_id = break_ids >= 0
        ends = (n_before + np.cumsum(has_id))[break_ids == NO_ID]
        return np.insert(ids, n_before[has_id], break_ids[has_id]), ends
