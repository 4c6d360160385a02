"""Encoding by a pattern without certain boundaries: `regex` splits documents, and kernels merge the distinct pretokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.encoding.merge_table import Merges
from ..kernels.pieces.special_tokens import SpecialTokens
from ..patterns.pattern import Pattern
from ..system.stretches import gathered
from ..text.text_windows import first_special
from ..text.utf8 import Data, has_surrogates, to_bytes, to_text
from ..text.windows import Window, Windows
from .encoder import Encoder
from .pretoken_ids import ids_of_each

_IDS_AT_ONCE = 1 << 16  # that are passed on together at least, unless there are fewer


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

    def count(self, text: str | Data, specials: SpecialTokens | None) -> int:
        return sum(map(len, self._encode_parts(text, specials)))

    def _encode_parts(self, text: str | Data, specials: SpecialTokens | None) -> Iterator[NDArray[Any]]:
        """The ids of a text in parts."""
        if specials is None or first_special(text, specials) is None:  # then the text need not be copied
            if not isinstance(text, str):
                text = to_text(text)
            elif has_surrogates(text):
                text = to_text(to_bytes(text))
            yield from self._encode_document(text)
        else:
            yield from (ids for ids, _ in self._encode_stretches(self.window_of(to_bytes(text), specials)))

    def encode_window(self, window: Window) -> NDArray[Any]:
        return np.concatenate([np.empty(0, dtype=self.dtype), *(ids for ids, _ in self._encode_stretches(window))])

    def encode_all(self, reader: Windows) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        taken = 0
        while (window := reader.advance(taken)) is not None:
            window = window.of_whole_documents()
            taken = window.end
            without_id = window.ends_document()
            parts = [np.empty(0, dtype=self.dtype)]
            counts = np.zeros(len(window.breaks) + 1, dtype=np.int64)  # of this part, in each stretch
            first = n_ids = 0  # the break that this part comes to first
            for ids, number in self._encode_stretches(window):
                if n_ids >= _IDS_AT_ONCE:
                    yield np.concatenate(parts), np.cumsum(counts[first:number])[without_id[first:number]]
                    parts, first, n_ids = [], number, 0
                    counts[number] = 0
                parts.append(ids)
                counts[number] += len(ids)
                n_ids += len(ids)
            yield np.concatenate(parts), np.cumsum(counts[first:-1])[without_id[first:]]

    def _encode_stretches(self, window: Window) -> Iterator[tuple[NDArray[Any], int]]:
        """The ids of a window in parts, each with the number of breaks before it."""
        for number, (document, break_id) in enumerate(window.texts()):
            for ids in self._encode_document(document):
                yield ids, number
            if break_id >= 0:
                yield np.array([break_id], dtype=self.dtype), number + 1

    def _encode_document(self, document: str) -> Iterator[NDArray[Any]]:
        """The ids of a document without special tokens, in parts. Of each part, each distinct pretoken is merged once."""
        for pretokens in self._pattern.stream(document):
            numbers: dict[str, int] = {}
            occurrences = np.array([numbers.setdefault(pretoken, len(numbers)) for pretoken in pretokens], dtype=np.int64)
            if not numbers:
                continue
            distinct = [pretoken.encode(errors="surrogateescape") for pretoken in numbers]
            ids, ends = ids_of_each(distinct, self.merges, self.dtype)
            # The ids of every occurrence: ids[ends[k]:ends[k + 1]] for pretoken k.
            yield gathered(ids, ends[occurrences], np.diff(ends)[occurrences])
