"""A vocabulary as arrays: a large one is read, checked and given to kernels without a Python object for each token."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..system.lazy import lazy
from ..system.stretches import gathered, starts_of

# The most ids per token in a vocabulary whose tables are by id: one id of 2^31 - 2 must not cost tables of 2^31 entries.
_MOST_GAPS = 16


def has_few_gaps(vocab: Mapping[int, bytes]) -> bool:
    """Whether a table by id is not much larger than the vocabulary."""
    return max(vocab) < _MOST_GAPS * len(vocab)


def without_far_ids(vocab: dict[int, bytes]) -> dict[int, bytes]:
    """The tokens whose ids are so low that a table by id is not much larger than the vocabulary."""
    if has_few_gaps(vocab):
        return vocab
    return {token_id: token for token_id, token in vocab.items() if token_id < _MOST_GAPS * len(vocab)}


@dataclass(frozen=True, eq=False)
class PackedVocab:
    """Tokens by ascending id.

    text   : uint8[*]        their bytes, one after another
    starts : int64[n + 1]    where each starts in text
    ids    : int32[n]        their ids, ascending
    """

    text: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ids: NDArray[np.int32]

    @classmethod
    def of(cls, vocab: Mapping[int, bytes]) -> PackedVocab:
        """From a dict from id to bytes."""
        ids = sorted(vocab)
        return replace(cls.of_list([vocab[token_id] for token_id in ids]), ids=np.array(ids, dtype=np.int32))

    @classmethod
    def of_list(cls, tokens: Sequence[bytes]) -> PackedVocab:
        """From tokens whose ids are their places."""
        n = len(tokens)
        starts = starts_of(np.fromiter(map(len, tokens), dtype=np.int64, count=n))
        return cls(np.frombuffer(b"".join(tokens), dtype=np.uint8), starts, np.arange(n, dtype=np.int32))

    @classmethod
    def of_merges(cls, merges: NDArray[np.int32]) -> PackedVocab:
        """The 256 bytes and the tokens that merges make; merges as int32[n, 2], of which merge i makes id 256 + i."""
        from ..kernels.training.spelling import spell_tokens

        merges = np.ascontiguousarray(merges)
        starts = np.arange(257 + len(merges))
        text = np.empty(spell_tokens(merges, starts, np.empty(0, dtype=np.uint8)), dtype=np.uint8)
        text[:256] = np.arange(256)
        spell_tokens(merges, starts, text)
        return cls(text, starts, np.arange(256 + len(merges), dtype=np.int32))

    def __reduce__(self) -> tuple[Any, ...]:
        return PackedVocab, (self.text, self.starts, self.ids)  # another process computes the rest again

    @lazy
    def lengths(self) -> NDArray[np.int64]:
        """The number of bytes of each token."""
        return np.diff(self.starts)

    def tokens(self) -> list[bytes]:
        """The bytes of each token."""
        text = self.text.tobytes()
        return [text[start:end] for start, end in pairwise(self.starts.tolist())]

    def as_dict(self) -> dict[int, bytes]:
        """From id to bytes, in the order of ids."""
        return dict(zip(self.ids.tolist(), self.tokens(), strict=True))

    def has(self, ids: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which of some ids the vocabulary has, bool[n]."""
        if not len(self.ids):
            return np.zeros(len(ids), dtype=np.bool_)
        return self.ids[self.numbers_of(ids.clip(0, int(self.ids[-1])))] == ids

    @lazy
    def _table(self) -> NDArray[np.int64] | None:
        """The place of each id, or None if ids have no gaps, or too many. A look-up takes a tenth of a search's time."""
        n, highest = len(self.ids), int(self.ids[-1])
        if not n <= highest < _MOST_GAPS * n:
            return None
        table = np.zeros(highest + 1, dtype=np.int64)
        table[self.ids] = np.arange(n)
        return table

    def numbers_of(self, ids: NDArray[Any]) -> NDArray[Any]:
        """The places of ids that the vocabulary has (unchecked), integers[n]; `ids` itself where they have no gaps."""
        if (self.ids[-1:] < len(self.ids)).all():
            return ids
        return np.searchsorted(self.ids, ids) if self._table is None else self._table[ids]

    def lengths_of(self, ids: NDArray[Any]) -> NDArray[np.int64]:
        """The number of bytes of each of some ids, int64[n]."""
        return self.lengths[self.numbers_of(ids)]

    def count(self, ids: NDArray[Any]) -> NDArray[np.int64]:
        """How often each token is among some ids, int64[number of tokens]."""
        return np.bincount(self.numbers_of(ids), minlength=len(self.ids))

    def gather(self, numbers: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The lengths of the tokens at some places, int64[n], and their bytes one after another, uint8[*]."""
        if len(numbers) and (np.diff(numbers) == 1).all():
            first, last = int(numbers[0]), int(numbers[-1])
            return np.diff(self.starts[first : last + 2]), self.text[self.starts[first] : self.starts[last + 1]]
        starts = self.starts[numbers]
        lengths = self.starts[1:][numbers] - starts
        return lengths, gathered(self.text, starts, lengths)

    def at(self, numbers: NDArray[np.integer]) -> PackedVocab:
        """The tokens at some places, of ascending ids."""
        lengths, text = self.gather(numbers)
        return PackedVocab(text, starts_of(lengths), self.ids[numbers])

    def among(self, tokens: Set[bytes]) -> dict[int, bytes]:
        """The tokens of the vocabulary that are in `tokens`, from id to bytes."""
        # Few other tokens have the length and the last byte of one of these, so few become bytes objects here.
        last_bytes = np.append(self.text, 0)[self.starts[1:] - 1]  # the zero is for a text without bytes
        keys = self.lengths << 8 | last_bytes
        may_be_one = np.isin(keys, [len(token) << 8 | token[-1] for token in tokens if token]) | (self.lengths == 0)
        found = self.at(np.flatnonzero(may_be_one)).as_dict()
        return {token_id: token for token_id, token in found.items() if token in tokens}

    def with_tokens(self, others: Mapping[int, bytes]) -> PackedVocab:
        """The vocabulary with more tokens, whose ids are new."""
        if not others:
            return self
        more = PackedVocab.of(others)
        both = PackedVocab(
            np.concatenate([self.text, more.text]),
            np.concatenate([self.starts, more.starts[1:] + self.starts[-1]]),
            np.concatenate([self.ids, more.ids]),
        )
        is_ascending = not len(self.ids) or more.ids[0] > self.ids[-1]
        return both if is_ascending else both.at(np.argsort(both.ids))

    def without(self, ids: Collection[int]) -> PackedVocab:
        """The vocabulary without the tokens of some ids, if it has them."""
        gone = np.array(list(ids), dtype=np.int64)
        gone = gone[self.has(gone)]
        if not len(gone):
            return self
        stays = np.ones(len(self.ids), dtype=np.bool_)
        stays[self.numbers_of(gone)] = False
        return self.at(np.flatnonzero(stays))

    def byte_ids(self) -> NDArray[np.int32]:
        """The lowest id of each single byte, int32[256], or -1."""
        single = np.flatnonzero(self.lengths == 1)[::-1]  # if a place is written twice, the last value stays
        byte_ids = np.full(256, -1, dtype=np.int32)
        byte_ids[self.text[self.starts[single]]] = self.ids[single]
        return byte_ids
