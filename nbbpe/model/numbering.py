"""The tokens of a vocabulary numbered without gaps, for tables that have an entry for each.

Ids may leave gaps, and one id of 2^31 - 2 must not cost tables of 2^31 entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .packed_vocab import PackedVocab

_MOST_GAPS = 16  # ids for each token, in the vocabularies whose tables are by id


def has_few_gaps(vocab: Mapping[int, bytes]) -> bool:
    """Whether a table by id is not much larger than the vocabulary."""
    return max(vocab) < _MOST_GAPS * len(vocab)


def without_far_ids(vocab: dict[int, bytes]) -> dict[int, bytes]:
    """The tokens whose ids are so low that a table by id is not much larger than the vocabulary."""
    if has_few_gaps(vocab):
        return vocab
    return {token_id: token for token_id, token in vocab.items() if token_id < _MOST_GAPS * len(vocab)}


class Numbering:
    """The tokens of a vocabulary, numbered from 0 by ascending id.

    ids     : int64[n], the id of each
    lengths : int64[n], the number of its bytes
    """

    def __init__(self, vocab: PackedVocab) -> None:
        self.ids = vocab.ids.astype(np.int64)
        self.lengths = vocab.lengths
        self._table: NDArray[np.int64] | None = None
        n, highest = len(self.ids), int(self.ids[-1])
        self._has_gaps = highest >= n
        if self._has_gaps and highest < _MOST_GAPS * n:  # a look-up takes a tenth of the time of a search
            self._table = np.zeros(highest + 1, dtype=np.int64)
            self._table[self.ids] = np.arange(n)

    def of(self, ids: NDArray[Any]) -> NDArray[Any]:
        """The numbers of ids that the vocabulary has (unchecked), integers[n]; `ids` itself where there are no gaps."""
        if not self._has_gaps:
            return ids
        return np.searchsorted(self.ids, ids) if self._table is None else self._table[ids]

    def lengths_of(self, ids: NDArray[Any]) -> NDArray[np.int64]:
        """The number of bytes of each of some ids, int64[n]."""
        return self.lengths[self.of(ids)]

    def count(self, ids: NDArray[Any]) -> NDArray[np.int64]:
        """How often each token is among some ids, int64[number of tokens]."""
        return np.bincount(self.of(ids), minlength=len(self.ids))
