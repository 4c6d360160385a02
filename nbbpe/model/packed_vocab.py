"""A vocabulary as arrays: a large one is read, checked and given to kernels without a Python object for each token."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from ..system.stretches import gathered


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
        tokens = [vocab[token_id] for token_id in ids]
        starts = np.array([0, *accumulate(map(len, tokens))], dtype=np.int64)
        return cls(np.frombuffer(b"".join(tokens), dtype=np.uint8), starts, np.array(ids, dtype=np.int32))

    @property
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
        """Which of some ids are among those of the vocabulary, bool[n]."""
        if not len(self.ids):
            return np.zeros(len(ids), dtype=np.bool_)
        found: NDArray[np.bool_] = self.ids[self.numbers_of(ids).clip(max=len(self.ids) - 1)] == ids
        return found

    def numbers_of(self, ids: NDArray[np.integer]) -> NDArray[np.integer]:
        """The place of each of some ids, integers[n]; of ids that the vocabulary has not, any number from 0 up."""
        # Before the first gap an id is its own place: special tokens behind a gap must not have all others searched for.
        n_dense = np.count_nonzero(self.ids == np.arange(len(self.ids)))
        numbers = ids.clip(min=0)
        is_other = numbers >= n_dense
        if is_other.any():
            numbers[is_other] = np.searchsorted(self.ids, numbers[is_other])
        return numbers

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
        return PackedVocab(text, np.concatenate([[0], np.cumsum(lengths)]), self.ids[numbers])

    def among(self, tokens: Set[bytes]) -> dict[int, bytes]:
        """Those that are some tokens, from id to bytes."""
        same_length = np.isin(self.lengths, list(set(map(len, tokens))))
        found = self.at(np.flatnonzero(same_length)).as_dict()
        return {token_id: token for token_id, token in found.items() if token in tokens}

    def with_tokens(self, others: Mapping[int, bytes]) -> PackedVocab:
        """With more tokens, of ids that are not there."""
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
        """Without the tokens of some ids."""
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
