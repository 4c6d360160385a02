"""What training continues from, if not from the bytes: a vocabulary, and words to which its merges were applied."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Start(NamedTuple):
    """A vocabulary as numbered symbols, and words of these. Symbols 0 to 255 are the bytes, whatever ids these have.

    tokens        : the bytes of each symbol
    order         : int32[n_symbols]    if ties are broken by ids, the symbol with the smaller number here comes first
    symbols       : int32[*]            the symbols of all words, one after another
    symbol_starts : int64[n_words + 1]  where each word's symbols start in `symbols`
    unmade        : tokens of the vocabulary that its merges do not make; a merge that makes one of them adds no token
    """

    tokens: list[bytes]
    order: NDArray[np.int32]
    symbols: NDArray[np.int32]
    symbol_starts: NDArray[np.int64]
    unmade: frozenset[bytes] = frozenset()

    def lengths(self) -> NDArray[np.int32]:
        """The bytes of each symbol, int32[n_symbols]."""
        return np.fromiter(map(len, self.tokens), dtype=np.int32, count=len(self.tokens))
