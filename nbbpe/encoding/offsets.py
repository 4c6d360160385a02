"""Where the tokens of many texts are, in characters, as tokenizers (Hugging Face's) counts them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.byte_alphabet import byte_characters
from ..model.packed_vocab import PackedVocab
from ..model.post_processor import Trimming
from ..text.unicode_sets import WHITESPACE
from .decoder import Decoder
from .tokens import in_characters

Offsets = list[tuple[int, int]]


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
    """The ids of texts, one text after another, and where the token of each is in its text, int64[n]."""

    ids: NDArray[Any]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class OffsetFinder:
    """Finds the offsets of a tokenizer that changes no text.

    vocab, special : all tokens, and the special ones, which are among them
    stripping      : special tokens that take the whitespace before or after them
    decoder        : of the same tokens
    trimming       : how spaces are trimmed
    """

    def __init__(
        self,
        vocab: PackedVocab,
        special: Mapping[str, int],
        stripping: Iterable[str],
        decoder: Decoder,
        trimming: Trimming,
    ) -> None:
        self._vocab = vocab
        self._stripping = [special[token] for token in stripping]
        self._decoder = decoder
        self._trimming = trimming
        self._spaces = _Spaces.of(vocab, special) if trimming.trims else None

    def find(
        self, texts: list[str], ids_of_texts: list[int] | NDArray[Any], starts_of_texts: list[int] | NDArray[np.int64]
    ) -> Found | None:
        """Where each token is in its text.

        texts           : without surrogates
        ids_of_texts    : the ids of all texts, one after another
        starts_of_texts : where those of each text start in it, and where the last ones end

        None if the tokens are not just the texts, or one of them takes whitespace. Cost: 0.1 us a token.
        """
        ids = np.array(ids_of_texts, dtype=np.int64) if isinstance(ids_of_texts, list) else ids_of_texts
        starts_of_ids = np.array(starts_of_texts, dtype=np.int64)
        counts = starts_of_ids[1:] - starts_of_ids[:-1]
        sizes = np.array(list(map(len, texts)), dtype=np.int64)
        text = "".join(texts)
        data = text.encode()
        if self._decoder.decode(ids) != data or not np.array_equal(counts == 0, sizes == 0):
            return None
        if self._stripping and np.isin(ids, self._stripping).any():  # whitespace after it may be a token of its own, too
            return None
        lengths = self._vocab.lengths_of(ids)
        ends = np.cumsum(lengths)
        starts, ends = in_characters(text, ends - lengths, ends)
        firsts = np.cumsum(counts) - counts
        of_text = np.repeat(np.cumsum(sizes) - sizes, counts)
        starts, ends = starts - of_text, ends - of_text
        return None if starts[firsts[counts > 0]].any() else Found(ids, starts, ends)

    def offsets(self, found: Found, places: list[tuple[int, int]]) -> list[Offsets]:
        """The start and the end of each token, for stretches of tokens; `places` are where each starts and ends in all ids.

        Cost: 0.1 us a token, most of it for Python's tuples.
        """
        begins, stops = np.array(places, dtype=np.int64).reshape(-1, 2).T
        counts = stops - begins
        firsts = np.cumsum(counts) - counts
        chosen = np.repeat(begins - firsts, counts) + np.arange(counts.sum())
        ids, starts, ends = (each[chosen] for each in found)
        if self._spaces is not None:
            # A stretch begins with a first token, too.
            is_first = starts == 0
            is_first[firsts[counts > 0]] = True
            starts, ends = _trimmed(starts, ends, self._spaces, ids, is_first & self._trimming.keeps_first)
        pairs = list(zip(starts.tolist(), ends.tolist(), strict=True))
        return [pairs[first:last] for first, last in pairwise([*firsts.tolist(), len(pairs)])]


def _trimmed(
    starts: NDArray[np.int64], ends: NDArray[np.int64], spaces: _Spaces, ids: NDArray[np.int64], keeps: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The offsets without the spaces of each token, as those of tokenizers.

    keeps : whether a token keeps a single space, as if it had been put there
    """
    leading, trailing = spaces.leading[ids], spaces.trailing[ids]
    leading[(leading == 1) & keeps] = 0
    starts = starts + leading
    return starts, np.maximum(ends - trailing, starts)
