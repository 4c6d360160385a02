"""Makes vocabularies smaller: keeps only the first merges, or drops the tokens that a text uses least, or given tokens."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..model.model import Model
from ..model.post_processor import renumbered
from ..system.choices import check_bool
from ..system.excerpt import shown
from ..system.integers import check_integer
from ..system.user_warnings import warn_user
from .frequencies import check_gaps

Pair = tuple[int, int]


def check_smaller_size(model: Model, n: object) -> int:
    """The number of tokens to drop for a vocabulary of size `n`. Raises TypeError or ValueError for an invalid one."""
    size = check_integer("the size", n)
    if size > model.size:
        raise ValueError(f"a size of {size:,} is above the {model.size:,} of the tokenizer; `extend` makes a larger one")
    return model.size - size


def truncate(model: Model, n: int, renumber: bool = True) -> tuple[Model, NDArray[np.int64]]:
    """See Tokenizer.truncate."""
    n_dropped = check_smaller_size(model, n)
    made = first_made(model)
    _check_enough(model, n_dropped, len(made), "bytes, special tokens, or not made by a merge")
    dropped = made[len(made) - n_dropped :]
    n_merges = None
    if dropped and model.merge_ids is not None:
        # The merges before the first one that makes a dropped token.
        n_merges = int(np.flatnonzero(model.merge_ids[:, 2] == dropped[0])[0])
    return without(model, dropped, renumber, n_merges)


def prune(model: Model, counts: NDArray[np.int64], n: int, renumber: bool = True) -> tuple[Model, NDArray[np.int64]]:
    """See Tokenizer.prune; `counts` is how often each id is in a text, int64[size of the model]."""
    n_dropped = check_smaller_size(model, n)
    free = _free(model)
    _check_enough(model, n_dropped, len(free), "bytes or special tokens")
    pairs = {token_id: (of_token[0], set().union(*of_token)) for token_id, of_token in _pairs_of(model).items()}
    used = {token_id: int(counts[token_id]) for token_id in model.ordinary}
    if n_dropped and not any(used.values()):
        warn_user(
            "the source has no text, or nothing but special tokens, and so uses no token: those with the highest ids are "
            "dropped"
        )
    n_uses = Counter(side for _, sides in pairs.values() for side in sides)  # how many kept tokens are made of each id
    waiting = [(used[token_id], -token_id) for token_id in free if not n_uses[token_id]]
    heapq.heapify(waiting)
    dropped: list[int] = []
    while len(dropped) < n_dropped:
        count, negative = heapq.heappop(waiting)
        dropped.append(-negative)
        parts, sides = pairs.get(-negative, ((), set()))
        for side in parts:
            used[side] += count  # text now has the two parts in place of the token
        for side in sides:
            n_uses[side] -= 1
            if not n_uses[side] and side in free:
                heapq.heappush(waiting, (used[side], -side))
    return without(model, dropped, renumber)


def _free(model: Model) -> set[int]:
    """The ids of the tokens that may be dropped: all but bytes, which any text needs, and special tokens."""
    shared = {model.special[token] for token in model.extras.shared}
    has_ends = model.extras.suffix is not None  # then each byte needs a token with a space behind it
    return {
        token_id
        for token_id, token in model.ordinary.items()
        if len(token) != 1 and token_id not in shared and not (has_ends and len(token) == 2 and token[1:] == b" ")
    }


def drop(model: Model, ids: Iterable[int], renumber: bool = True) -> tuple[Model, NDArray[np.int64]]:
    """See Tokenizer.drop."""
    if not isinstance(ids, Iterable):
        raise TypeError(f"ids must be a list or an array of integers, not {ids!r:.100}")
    ordinary = model.ordinary
    gone: set[int] = set()
    for index, item in enumerate(ids):
        token_id = check_integer(f"the id at index {index}", item)
        token = ordinary.get(token_id)
        if token is None:
            kind = "a special token" if token_id in model.vocab else "not in the vocabulary"
            raise ValueError(f"id {token_id} is {kind}, so it cannot be dropped")
        if len(token) == 1:
            raise ValueError(f"id {token_id} is the byte {token!r}, which cannot be dropped")
        gone.add(token_id)
    pairs = _pairs_of(model)
    for token_id in sorted(pairs, key=lambda token_id: len(ordinary[token_id])):  # parts come before what is made of them
        if all(left in gone or right in gone for left, right in pairs[token_id]):
            gone.add(token_id)
    return without(model, gone, renumber)


def _check_enough(model: Model, n_dropped: int, n_free: int, others: str) -> None:
    """Raise ValueError if more tokens are to be dropped than may be; `others` describes those that may not."""
    if n_dropped > n_free:
        raise ValueError(
            f"a size of {model.size - n_dropped:,} is too small: {len(model.vocab) - n_free:,} of the "
            f"{len(model.vocab):,} tokens are {others}, so that the smallest size is {model.size - n_free:,}"
        )


def without(
    model: Model, dropped: Collection[int], renumber: bool, n_merges: int | None = None
) -> tuple[Model, NDArray[np.int64]]:
    """The model without some tokens, and without the merges that have one of them.

    renumber : whether ids move down by the number of dropped ids below them; else they stay, and leave gaps
    n_merges : only so many of the first merges are kept; None for no limit

    Returns (model, old_to_new). old_to_new is int64[size of the old model], the new id of each old id; -1 for a token that
    was dropped, and for an id without a token.
    """
    check_bool("renumber", renumber)
    gone = np.zeros(check_gaps(model), dtype=bool)
    gone[np.fromiter(dropped, dtype=np.int64, count=len(dropped))] = True
    for token in model.extras.shared:
        if gone[model.special[token]]:
            raise ValueError(f"{shown(token)} (id {model.special[token]}) is an added token, too, so it cannot be dropped")
    ids = np.full(model.size, -1, dtype=np.int64)
    kept = np.array([token_id for token_id in model.vocab if not gone[token_id]], dtype=np.int64)
    ids[kept] = (np.arange(model.size) - np.cumsum(gone))[kept] if renumber else kept
    if not len(dropped):
        return model, ids
    merges = model.merge_ids
    if merges is not None:
        rows = merges.reshape(-1, 3)[:n_merges]
        merges = ids[rows[~gone[rows].any(axis=1)]].astype(np.int32)
    vocab = {int(ids[token_id]): token for token_id, token in model.vocab.items() if not gone[token_id]}
    special = {token: int(ids[token_id]) for token, token_id in model.special.items()}
    fallback = tuple(int(ids[token_id]) if token_id >= 0 else -1 for token_id in model.extras.byte_fallback)
    extras = replace(model.extras, post_processor=renumbered(model.extras.post_processor, ids), byte_fallback=fallback)
    origin = {**model.provenance, "reduced_from": {"fingerprint": model.fingerprint, "vocab_size": model.size}}
    smaller = model.with_tokens(vocab, merges, special, origin, extras)
    # As when a file is read: if merging gives every token that is left, the fingerprint is that of merging alone.
    smaller.whole = smaller.whole and len(smaller.merge_table().whole) > 0
    return smaller, ids


def first_made(model: Model) -> list[int]:
    """The ids that merges make, in the order in which they are first made; if tokens merge by rank, by rank."""
    ordinary = model.ordinary
    if model.merge_ids is None:
        return [token_id for token_id in sorted(ordinary) if len(ordinary[token_id]) > 1]
    return list(dict.fromkeys(model.merge_ids[:, 2].tolist()))


def _pairs_of(model: Model) -> Mapping[int, list[Pair]]:
    """The pairs of ids that merge to each token. The first pair is the one that most often makes it, as a guess."""
    if model.merge_ids is None:
        from ..model.rank_pairs import pairs_by_result

        # By rank, the pair whose later side has the lowest rank can merge first.
        return {result: sorted(pairs, key=max) for result, pairs in pairs_by_result(model.ordinary).items()}
    found: dict[int, list[Pair]] = {}
    for left, right, result in model.merge_ids.tolist():
        found.setdefault(result, []).append((left, right))
    return found
