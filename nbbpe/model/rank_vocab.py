"""Vocabularies of ranks, like tiktoken's: find the equal list of merges, or make a table if no list gives the same ids."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..kernels.encoding import merge_pretoken, merge_table, rank_tables
from ..kernels.machine import secret
from ..system.excerpt import shown
from ..text.utf8 import padded
from .long_merges import interruptible_if_long
from .packed_vocab import PackedVocab
from .token_table import table_of


class _Tokens:
    """A vocabulary as kernels take it: without an empty token, which takes part in nothing, and padded.

    text   : uint8[* + PADDING]   the tokens' bytes, one after another
    starts : int64[n + 1]         where each starts in text
    ranks  : int32[n]             their ranks, ascending, which are their ids
    """

    def __init__(self, vocab: PackedVocab) -> None:
        filled = np.flatnonzero(vocab.lengths)
        self.vocab = vocab if len(filled) == len(vocab.ids) else vocab.at(filled)
        self.text = padded(self.vocab.text.data)
        self.starts = self.vocab.starts
        self.ranks = self.vocab.ids

    def scratch(self, merges: merge_table.Merges) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        """Room for merging the longest of them, and for its ids."""
        longest = int(np.diff(self.starts).max())
        return merge_pretoken.new_scratch(longest, merges), np.empty(longest, dtype=np.uint32)


def recovered_merges(vocab: PackedVocab) -> tuple[NDArray[np.int32], int | None]:
    """The list of merges that is equal to a vocabulary of ranks.

    vocab : tokens by rank, which is the id; all single bytes are in it, except some that no valid UTF-8 has, and no token
        twice (where one is, its second rank is that of a token without two sides, and no list of merges is found)

    Returns (merges, None): for each merge in order the ids of left, right and result, int32[n, 3]. Where no such
    list exists, because a token's bytes do not end as exactly two tokens when they are merged by ranks below its own (see
    kernels/encoding/rank_tables.py), returns (the merges of the tokens before it, the rank of the first such token).
    """
    tokens = _Tokens(vocab)
    n = len(tokens.ranks)
    # Symbols are the bytes, also those that are not tokens, and then the longer tokens by rank.
    is_byte = np.diff(tokens.starts) == 1
    symbols = np.where(is_byte, tokens.text[tokens.starts[:-1]], 255 + np.cumsum(~is_byte))
    id_of_symbol = np.full(256 + int((~is_byte).sum()), -1, dtype=np.int32)
    id_of_symbol[symbols] = tokens.ranks
    sides = np.empty((n, 2), dtype=np.int64)
    numbers = secret.of_process()
    done = -1
    while done < 0:
        merges = merge_table.empty_merges(n, symbols, np.arange(len(id_of_symbol)), numbers)
        find = partial(rank_tables.find_sides, tokens.text, tokens.starts, merges, *tokens.scratch(merges), sides)
        done = interruptible_if_long(lambda: int(find()), len(tokens.text))  # noqa: B023
        numbers = secret.fresh()
    merged = np.flatnonzero(~is_byte[:done])
    found = np.column_stack([id_of_symbol[sides[merged]], tokens.ranks[merged]])
    without_id = np.flatnonzero((found < 0).any(axis=1))  # a side is a byte that is not a token
    if len(without_id):
        done = int(merged[without_id[0]])
        found = found[: without_id[0]]
    return np.ascontiguousarray(found), int(tokens.ranks[done]) if done < n else None


def merges_by_rank(vocab: PackedVocab) -> merge_table.Merges:
    """The table that merges the pair whose concatenated bytes have the lowest rank; `vocab` as for recovered_merges."""
    tokens = _Tokens(vocab)
    lefts, rights, results = merging_pairs(tokens.vocab.tokens(), tokens.ranks)
    # Ranks may leave gaps; a table numbers them without.
    dense_ranks = np.searchsorted(tokens.ranks, results).astype(np.int32)
    merges = merge_table.new_merges(lefts, rights, dense_ranks, results, vocab.byte_ids())
    return with_whole_tokens(vocab, merges)


def merging_pairs(tokens: list[bytes], ids: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """The ids of left, right and result of all pairs of tokens whose concatenation is a token, three int32[n_pairs].

    tokens : distinct
    ids    : int32[len(tokens)]

    They come in the order of their results, and of one result the shortest left first. Cost: n log n in the bytes of all
    tokens, as sides are not looked up, which would read them whole for each split.
    """
    lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    at_length = np.full(int(lengths.max(initial=0)) + 1, -1, dtype=np.int32)
    chains = _longest_prefixes(tokens), _longest_prefixes([token[::-1] for token in tokens])
    columns = [np.empty(0, dtype=np.int32)] * 3
    for _ in range(2):  # count, then fill
        n_pairs = rank_tables.find_pairs(lengths, *chains, ids, at_length, *columns)
        if len(columns[0]) < n_pairs:
            columns = [np.empty(n_pairs, dtype=np.int32) for _ in range(3)]
    return columns


def _longest_prefixes(tokens: list[bytes]) -> NDArray[np.int32]:
    """For each of some distinct tokens, the number of the longest other one that it begins with, or -1: int32[n]."""
    prefixes = np.full(len(tokens), -1, dtype=np.int32)
    # Sorted, a token comes after those that it begins with, and between them stand only others that begin with them too.
    open_prefixes: list[int] = []
    for number in sorted(range(len(tokens)), key=tokens.__getitem__):
        while open_prefixes and not tokens[number].startswith(tokens[open_prefixes[-1]]):
            open_prefixes.pop()
        if open_prefixes:
            prefixes[number] = open_prefixes[-1]
        open_prefixes.append(number)
    return prefixes


def with_whole_tokens(vocab: PackedVocab, merges: merge_table.Merges) -> merge_table.Merges:
    """The table, with the tokens that merging does not give: a pretoken that is one of them becomes it nevertheless."""
    tokens = _Tokens(vocab)
    is_unmerged = np.empty(len(tokens.ranks), dtype=np.bool_)
    room = tokens.scratch(merges)
    mark = partial(rank_tables.mark_unmerged, tokens.text, tokens.starts, merges, *room, is_unmerged)
    interruptible_if_long(mark, len(tokens.text))
    if not is_unmerged.any():
        return merges
    # Such a token is the result for a complete pretoken, never for a part of one.
    whole = table_of(tokens.text, tokens.starts, tokens.ranks, is_unmerged)
    return merges._replace(whole=merge_table.pack_whole(whole), joins=merges.joins[:0])


def check_ranks(vocab: dict[int, bytes], merges: NDArray[np.int32]) -> None:
    """Raise ValueError unless merging by the rank of concatenated bytes, where ids are ranks, is the same as the merges.

    vocab  : from id to bytes, without special tokens
    merges : int32[n, 3], the ids of left, right and result of each, in order

    It is the same if every token is regular (see kernels/encoding/rank_tables.py), with sides that the list has, and the
    list is in the order of its results: then at each step the first pair of the list is the pair of lowest rank.
    """
    ids: dict[bytes, int] = {}
    for token_id, token in sorted(vocab.items()):
        if ids.setdefault(token, token_id) != token_id:
            raise ValueError(f"ids {ids[token]} and {token_id} are both {shown(token)}, and a token can have only one rank")
    falls = np.flatnonzero(np.diff(merges[:, 2]) < 0)
    if len(falls):
        before, after = merges[falls[0] : falls[0] + 2, 2].tolist()
        raise ValueError(
            f"the merges are not in the order of their tokens' ids, which would be the ranks: {shown(vocab[before])} "
            f"(id {before}) comes before {shown(vocab[after])} (id {after})"
        )
    recovered, irregular = recovered_merges(PackedVocab.of(vocab))
    if irregular is not None:
        raise ValueError(
            f"the token {shown(vocab[irregular])} (id {irregular}) is not made of two tokens of lower ids, so that "
            "merging by rank would give other ids"
        )
    known = set(map(tuple, merges[:, :2].tolist()))
    for left, right, result in recovered.tolist():
        if (left, right) not in known:
            raise ValueError(
                f"by ranks {shown(vocab[left])} and {shown(vocab[right])} would merge to {shown(vocab[result])} "
                f"(id {result}), and the list of merges does not have that"
            )
