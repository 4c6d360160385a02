"""Turn merging by rank into a list of merges: all pairs of tokens that merge to a token, in the order of their results.

For vocabularies of ranks that are not equivalent to a shorter list (see model/rank_vocab.py), in formats that have lists
and in which a pretoken that equals a token becomes that token.

By rank, of several pairs that merge to one token the leftmost merges first, whichever it is; by a list, all places of the
pair that comes first do. That is the same, as of the pairs of one token a single one ever merges: tokens that stand side by
side in a text were merged from their bytes as these would be alone, one merge after another; and the bytes of a token,
merged alone, are two tokens at one moment at most. So the order of the pairs of one result does not matter either.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .rank_vocab import merging_pairs

Pair = tuple[int, int]


def ordered_pairs(vocab: Mapping[int, bytes]) -> NDArray[np.int32]:
    """The pairs of a vocabulary of ranks as a list of merges that gives the same ids: int32[n, 3], left, right and result.

    By ascending id of the result, and of one result the shortest left side first.
    """
    filled = [token_id for token_id in sorted(vocab) if vocab[token_id]]
    columns = merging_pairs([vocab[token_id] for token_id in filled], np.array(filled, dtype=np.int32))
    return np.column_stack(columns)


def pairs_by_result(vocab: Mapping[int, bytes]) -> dict[int, list[Pair]]:
    """The same pairs, of each token."""
    found: dict[int, list[Pair]] = {}
    for left, right, result in ordered_pairs(vocab).tolist():
        found.setdefault(result, []).append((left, right))
    return found


def check_pairs(vocab: Mapping[int, bytes], merges: NDArray[np.int32]) -> None:
    """Raise ValueError unless a list of merges gives the same ids as merging by rank, where ids are ranks.

    merges : int32[n, 3], the ids of left, right and result of each, in order
    """
    if len(set(vocab.values())) < len(vocab):
        raise ValueError("two ids have the same token, and a token can have only one rank")
    listed = set(map(tuple, merges.tolist()))
    if (np.diff(merges[:, 2]) < 0).any() or listed != set(map(tuple, ordered_pairs(vocab).tolist())):
        raise ValueError(
            "the list of merges does not hold exactly the pairs of tokens that merge to a token, in the order of these"
        )
