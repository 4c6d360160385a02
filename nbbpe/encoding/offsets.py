"""The places of tokens in many texts, in characters, as tokenizers (Hugging Face's) counts them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.byte_alphabet import byte_characters
from ..model.model import Model
from ..model.packed_vocab import PackedVocab
from ..model.post_processor import Trimming
from ..text.unicode_sets import WHITESPACE
from .decoder import Decoder
from .tokens import in_characters

Offsets = list[tuple[int, int]]

_BEGINS = bytes(byte & 0xC0 != 0x80 for byte in range(256))  # whether a character begins with each byte
_FEW = 1024  # bytes; a loop over their tokens takes a tenth to a half of the time that NumPy takes


class _Spaces(NamedTuple):
    """The spaces that each token begins and ends with, int64[highest id + 1] each."""

    leading: NDArray[np.int64]
    trailing: NDArray[np.int64]

    @classmethod
    def of(cls, vocab: PackedVocab, special: Mapping[str, int]) -> _Spaces:
        spaces = cls(*(np.zeros(int(vocab.ids[-1]) + 1, dtype=np.int64) for _ in cls._fields))
        for token_id, token in vocab.as_dict().items():
            if token.startswith(b" ") or token.endswith(b" "):
                spaces.leading[token_id] = len(token) - len(token.lstrip(b" "))
                spaces.trailing[token_id] = len(token) - len(token.rstrip(b" "))
        spelled = WHITESPACE + byte_characters()[ord(" ")]  # tokenizers looks at the characters of a special token, too
        for name, token_id in special.items():
            spaces.leading[token_id] = len(name) - len(name.lstrip(spelled))
            spaces.trailing[token_id] = len(name) - len(name.rstrip(spelled))
        return spaces


class Found(NamedTuple):
    """The ids of texts, one text after another, and where each token starts and ends in its text, int64[n]."""

    ids: NDArray[Any]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class FewFound(NamedTuple):
    """The same in lists, for texts of at most _FEW bytes together."""

    ids: list[int]
    pairs: Offsets


class OffsetFinder:
    """Finds the offsets of a tokenizer that changes no text, or only text that is not in a normal form.

    trimming : how spaces are trimmed
    """

    def __init__(self, model: Model, trimming: Trimming) -> None:
        assert not model.normalizer.does_more  # else it would change other texts, too
        self._packed, self._vocab = model.packed, model.vocab
        self._decoder = Decoder(model.vocab)
        # Special tokens that take the whitespace before or after them.
        self._stripping = {model.special[token] for token in model.extras.stripping}
        self._trimming = trimming
        self._form = model.normalizer.form
        self._spaces = _Spaces.of(model.packed, model.special) if trimming.trims else None

    def find(
        self, texts: list[str], ids_of_texts: list[int] | NDArray[Any], starts_of_texts: list[int] | NDArray[np.int64]
    ) -> Found | FewFound | None:
        """Where each token is in its text.

        texts           : without surrogates
        ids_of_texts    : the ids of all texts, one after another
        starts_of_texts : where the ids of each text start in `ids_of_texts`, and where the last ones end

        Returns None if a text is not in the normal form, if the tokens do not spell exactly the texts, or if one of them
        takes whitespace. Cost: 0.1 us a token, and 20 us unless there are few.
        """
        text = "".join(texts)
        data = text.encode()
        # Each part of a text in a normal form is in it, too, and stays as it is.
        if self._form is not None and not (text.isascii() or unicodedata.is_normalized(self._form, text)):
            return None
        if len(data) <= _FEW and isinstance(ids_of_texts, list) and isinstance(starts_of_texts, list):
            return self._find_few(texts, data, ids_of_texts, starts_of_texts)
        if self._decoder.decode(ids_of_texts) != data:
            return None
        ids = np.array(ids_of_texts, dtype=np.int64) if isinstance(ids_of_texts, list) else ids_of_texts
        # Whitespace beside a token that takes it may also be a token itself.
        if self._stripping and np.isin(ids, list(self._stripping)).any():
            return None
        starts_of_ids = np.array(starts_of_texts, dtype=np.int64)
        counts = starts_of_ids[1:] - starts_of_ids[:-1]
        sizes = np.array(list(map(len, texts)), dtype=np.int64)
        if not np.array_equal(counts == 0, sizes == 0):
            return None
        lengths = self._packed.lengths_of(ids)
        ends = np.cumsum(lengths)
        starts, ends = in_characters(text, ends - lengths, ends)
        firsts = np.cumsum(counts) - counts
        of_text = np.repeat(np.cumsum(sizes) - sizes, counts)
        starts, ends = starts - of_text, ends - of_text
        return None if starts[firsts[counts > 0]].any() else Found(ids, starts, ends)

    def _find_few(self, texts: list[str], data: bytes, ids: list[int], starts_of_texts: list[int]) -> FewFound | None:
        """As `find`, without NumPy. `data` are the texts, one after another."""
        tokens = list(map(self._vocab.__getitem__, ids))
        if b"".join(tokens) != data or not self._stripping.isdisjoint(ids):
            return None
        places = list(accumulate(map(len, tokens), initial=0))  # in bytes
        if data.isascii():
            pairs = list(pairwise(places))
        else:
            begins = data.translate(_BEGINS)
            begun = list(accumulate(begins, initial=0))  # how many characters begin before each byte
            numbers = list(accumulate(begins[1:], initial=0))  # the number of each byte's character
            pairs = list(zip(map(numbers.__getitem__, places[:-1]), map(begun.__getitem__, places[1:]), strict=True))
        offset = 0  # of a text, in characters, among all texts
        for each, (first, last) in zip(texts, pairwise(starts_of_texts), strict=True) if len(texts) > 1 else ():
            if (first < last) != bool(each) or (each and pairs[first][0] != offset):
                return None
            if offset:
                pairs[first:last] = [(start - offset, end - offset) for start, end in pairs[first:last]]
            offset += len(each)
        return FewFound(ids, pairs)

    def offsets(self, found: Found | FewFound, places: list[tuple[int, int]]) -> list[Offsets]:
        """The start and the end of each token, for stretches of tokens; `places` are where these start and end in all ids.

        Cost: 0.1 us a token, most of it for Python's tuples.
        """
        if isinstance(found, FewFound):
            return [self._of_few(found.ids[first:last], found.pairs[first:last]) for first, last in places]
        begins, stops = np.array(places, dtype=np.int64).reshape(-1, 2).T
        counts = stops - begins
        firsts = np.cumsum(counts) - counts
        chosen = np.repeat(begins - firsts, counts) + np.arange(counts.sum())
        ids, starts, ends = (each[chosen] for each in found)
        if self._spaces is not None:
            # The first token of a stretch is treated as that of a text.
            is_first = starts == 0
            is_first[firsts[counts > 0]] = True
            starts, ends = _trimmed(starts, ends, self._spaces, ids, is_first & self._trimming.keeps_first)
        pairs = list(zip(starts.tolist(), ends.tolist(), strict=True))
        return [pairs[first:last] for first, last in pairwise([*firsts.tolist(), len(pairs)])]

    def _of_few(self, ids: list[int], pairs: Offsets) -> Offsets:
        """The offsets of a stretch, trimmed."""
        if self._spaces is None:
            return pairs
        leading_of, trailing_of = self._spaces.leading.item, self._spaces.trailing.item
        trimmed = []
        for number, (token_id, (start, end)) in enumerate(zip(ids, pairs, strict=True)):
            leading = leading_of(token_id)
            if leading == 1 and self._trimming.keeps_first and (start == 0 or number == 0):
                leading = 0
            start += leading
            trimmed.append((start, max(end - trailing_of(token_id), start)))
        return trimmed


def _trimmed(
    starts: NDArray[np.int64], ends: NDArray[np.int64], spaces: _Spaces, ids: NDArray[np.int64], keeps: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The offsets without the spaces at both ends of each token, as in tokenizers.

    keeps : bool[n], whether a token keeps a single space in front, as one that was added
    """
    leading, trailing = spaces.leading[ids], spaces.trailing[ids]
    leading[(leading == 1) & keeps] = 0
    starts = starts + leading
    return starts, np.maximum(ends - trailing, starts)
