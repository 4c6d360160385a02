"""Check that a vocabulary and its merges, from a user or a file, are valid and fit together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain, starmap
from operator import add

import numpy as np
from numpy.typing import NDArray

from ..system.arguments import argument
from ..system.excerpt import shown
from ..system.wrong_argument import WrongArgument
from .packed_vocab import PackedVocab
from .special_tokens import MAX_ID

Vocab = dict[int, bytes]
Merge = tuple[bytes, bytes]
# Besides special tokens: kernels number tokens and merges with 21 bits (kernels/encoding/merge_table.py).
MOST_TOKENS, MOST_MERGES = 2_097_150, 2_097_151

# Bytes that are never in valid UTF-8: a vocabulary that was made for text alone may lack them.
NEVER = frozenset({0xC0, 0xC1, *range(0xF5, 0x100)})


def check_n_tokens(n_tokens: int, vocab_size: int) -> None:
    """Raise WrongArgument if a vocab_size asks for more tokens, without special ones, than a tokenizer can have."""
    if n_tokens > MOST_TOKENS:
        raise WrongArgument(
            f"{argument('vocab_size', vocab_size)} is too large: a tokenizer can have {MOST_TOKENS:,} tokens, not counting "
            "special ones"
        )


def check_merging(vocab: PackedVocab, merges: NDArray[np.int32] | None) -> None:
    """Raise ValueError if merging needs more tokens, or more merges, than the tables of kernels can hold.

    vocab  : without special tokens
    merges : the ids of left, right and result of each, int32[n, 3]; None where tokens merge by rank
    """
    n_merges = 0 if merges is None else len(merges)
    if len(vocab.ids) + 256 <= MOST_TOKENS and n_merges <= MOST_MERGES:
        return  # as nearly always
    if merges is None:
        n_tokens, needed = int(np.count_nonzero(vocab.lengths)), "ranks"
    else:  # other tokens, which no text gets, take no place in a table; each byte does, even if it is not a token
        is_used, byte_ids = vocab.count(merges.ravel()) > 0, vocab.byte_ids()
        is_used[vocab.numbers_of(byte_ids[byte_ids >= 0])] = False
        n_tokens, needed = 256 + int(is_used.sum()), "merges"
    if n_tokens > MOST_TOKENS or n_merges > MOST_MERGES:
        raise ValueError(
            f"a tokenizer can have {MOST_TOKENS:,} tokens, not counting special ones, and {MOST_MERGES:,} merges; here are "
            f"{n_tokens:,} tokens{f' and {n_merges:,} merges' if n_merges else ''}: leave out the last {needed}"
        )


def check_bytes(vocab: PackedVocab, optional: Collection[int] = NEVER) -> None:
    """Raise ValueError if a vocabulary lacks a single byte, unless that is optional."""
    missing = [bytes([byte]) for byte in np.flatnonzero(vocab.byte_ids() < 0).tolist() if byte not in optional]
    if missing:
        some = ", ".join(map(repr, missing[:5]))
        raise ValueError(f"vocab lacks {len(missing)} of the 256 single bytes, without which not all text has ids: {some}")


def check_vocab(vocab: Vocab, allows_empty: bool = False) -> None:
    """Raise TypeError or ValueError for an entry of a vocab that is invalid.

    allows_empty : whether it may have an empty token, which no text gets
    """
    if _is_plain_vocab(vocab) and (allows_empty or all(vocab.values())):
        return  # in a quarter of the time; the loop below finds an invalid entry
    for token_id, token in vocab.items():
        if isinstance(token_id, bool) or not isinstance(token_id, int) or not isinstance(token, bytes):
            raise TypeError(f"vocab must map int to bytes, and has {shown(token_id)}: {shown(token)}")
        if not 0 <= token_id <= MAX_ID:
            raise ValueError(f"vocab has the id {shown(token_id)} (for {shown(token)}); ids must be from 0 to {MAX_ID:,}")
        if not token and not allows_empty:
            raise ValueError(f"vocab has the empty token as id {token_id}")


def _is_plain_vocab(vocab: Vocab) -> bool:
    """Whether a vocab maps valid ids to bytes, none of them of a derived type."""
    if set(map(type, vocab)) != {int} or set(map(type, vocab.values())) != {bytes}:
        return False
    return min(vocab) >= 0 and max(vocab) <= MAX_ID


def _are_plain_pairs(merges: list[Merge]) -> bool:
    """Whether all merges are tuples or lists of two bytes objects, none of them of a derived type."""
    if not set(map(type, merges)) <= {tuple, list} or set(map(len, merges)) != {2}:
        return False
    return set(map(type, chain.from_iterable(merges))) == {bytes}


def check_merges(vocab: Vocab, merges: list[Merge]) -> None:
    """Raise TypeError or ValueError for merges that do not fit a vocab."""
    known = set(vocab.values())
    if _are_plain_pairs(merges) and known.issuperset(chain(chain.from_iterable(merges), starmap(add, merges))):
        return  # see check_vocab
    for rank, merge in enumerate(merges):
        if not isinstance(merge, Sequence) or len(merge) != 2 or not all(isinstance(token, bytes) for token in merge):
            raise TypeError(f"merge {rank} must be a pair of bytes, and is {shown(merge)}")
        for token in (*merge, merge[0] + merge[1]):
            if token not in known:
                raise ValueError(f"merge {rank} {shown(merge)} needs token {shown(token)}, which is not in the vocab")
