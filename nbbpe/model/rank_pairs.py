"""Turn merging by rank into a list of merges: all pairs of tokens that merge to a token, in the order of their results.

For vocabularies of ranks that are not equivalent to a shorter list (see model/rank_vocab.py), in formats that have lists
and in which a pretoken that equals a token becomes that token.

By rank, of several pairs that merge to one token the leftmost merges first, whichever it is; by a list, all places of the
pair that comes first do. That is the same where pairs of one result never overlap in a text, or overlap only as the list
has them: x y z with x+y = y+z. Merging x+y+z alone by lower ranks shows whether three such tokens are ever adjacent: tokens
that are adjacent in a longer text were merged there as they would be alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..system.excerpt import shown
from .rank_vocab import merging_pairs

Pair = tuple[int, int]


def pairs_by_result(vocab: Mapping[int, bytes]) -> dict[int, list[Pair]]:
    """The pairs of ids that merge to each token, by ascending id; the shortest left side first."""
    ordered = [token_id for token_id in sorted(vocab) if vocab[token_id]]
    columns = merging_pairs([vocab[token_id] for token_id in ordered], np.array(ordered, dtype=np.int32))
    found: dict[int, list[Pair]] = {}
    for left, right, result in zip(*(column.tolist() for column in columns), strict=True):
        found.setdefault(result, []).append((left, right))
    return found


def ordered_pairs(vocab: Mapping[int, bytes]) -> list[Pair]:
    """The pairs of a vocabulary of ranks as a list of merges that gives the same ids.

    Raises ValueError that names a token that no such order makes.
    """
    found = pairs_by_result(vocab)
    _check_sides(vocab, found)
    ranks = {token: token_id for token_id, token in vocab.items()}
    listed: list[Pair] = []
    for result, pairs in found.items():
        before = _overlaps(vocab, ranks, result, pairs)
        while pairs:
            free = next(
                (pair for pair in pairs if not any(later == pair and first in pairs for first, later in before)), None
            )
            if free is None:
                raise ValueError(
                    f"the pairs that merge to {shown(vocab[result])} (id {result}) overlap in texts in every order, so "
                    "that no list of merges gives the same ids"
                )
            listed.append(free)
            pairs = [pair for pair in pairs if pair != free]
    return listed


def check_pairs(vocab: Mapping[int, bytes], merges: NDArray[np.int32]) -> None:
    """Raise ValueError unless a list of merges gives the same ids as merging by rank, where ids are ranks.

    merges : int32[n, 3], the ids of left, right and result of each, in order
    """
    if len(set(vocab.values())) < len(vocab):
        raise ValueError("two ids have the same token, and a token can have only one rank")
    found = pairs_by_result(vocab)
    _check_sides(vocab, found)
    places = {(left, right): place for place, (left, right, _) in enumerate(merges.tolist())}
    if (np.diff(merges[:, 2]) < 0).any() or set(places) != set(itertools.chain.from_iterable(found.values())):
        raise ValueError(
            "the list of merges does not hold exactly the pairs of tokens that merge to a token, in the order of these"
        )
    ranks = {token: token_id for token_id, token in vocab.items()}
    for result, pairs in found.items():
        for first, later in _overlaps(vocab, ranks, result, pairs):
            if places[first] > places[later]:
                raise ValueError(
                    f"by rank, another pair of those that merge to {shown(vocab[result])} (id {result}) would merge first"
                )


def _check_sides(vocab: Mapping[int, bytes], found: Mapping[int, list[Pair]]) -> None:
    """Raise ValueError where a token of several pairs is a side of one of lower rank: which merges first then matters."""
    for result, pairs in found.items():
        for side in (side for pair in pairs for side in pair):
            if side > result and len(found.get(side, ())) > 1:
                raise ValueError(
                    f"{shown(vocab[side])} (id {side}) merges to {shown(vocab[result])}, whose id {result} is lower, so "
                    "that no list of merges gives the same ids"
                )


def _overlaps(
    vocab: Mapping[int, bytes], ranks: Mapping[bytes, int], result: int, pairs: list[Pair]
) -> list[tuple[Pair, Pair]]:
    """Two pairs of one result that can overlap in a text: the right side of the first is the left side of the second."""
    by_left = dict(pairs)
    found = []
    for pair in pairs:
        left, middle = pair
        if len(pairs) > 1 and middle in by_left and (middle, by_left[middle]) != pair:
            parts = [left, middle, by_left[middle]]
            if merged_below(b"".join(vocab[part] for part in parts), ranks, result) == parts:
                found.append((pair, (middle, by_left[middle])))
    return found


def merged_below(text: bytes, ranks: Mapping[bytes, int], limit: int) -> list[int]:
    """The tokens that a text becomes when it is merged by ranks below a limit, one merge after another."""
    parts = [text[at : at + 1] for at in range(len(text))]
    while True:
        merged = [ranks.get(left + right, limit) for left, right in itertools.pairwise(parts)]
        lowest = min(merged, default=limit)
        if lowest >= limit:
            return [ranks[part] for part in parts]
        at = merged.index(lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
