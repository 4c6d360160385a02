"""Check special tokens as a user gives them, and find the ids that they get in a vocabulary."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

import numpy as np

from ..system.arguments import argument
from ..system.excerpt import shown
from ..text.text_windows import first_special
from ..text.utf8 import to_bytes, to_text
from ..text.windows import SEPARATOR
from .packed_vocab import PackedVocab

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens as PackedTokens


SpecialTokens = Sequence[str] | Mapping[str, int]
MAX_ID = 2**31 - 2


def check_special_tokens(special_tokens: Sequence[str] | None) -> list[str]:
    """The special tokens as a list of str, none of a derived type, as members of an Enum are: pickles would need that type.

    Raises TypeError or ValueError for one that is not a str, is empty, or occurs twice.
    """
    if special_tokens is None:
        return []
    if isinstance(special_tokens, (str, bytes, Set, Mapping)) or not hasattr(special_tokens, "__iter__"):
        raise TypeError(f"{argument('special_tokens')} must be a list of str, not one {type(special_tokens).__name__}")
    tokens = list(special_tokens)
    known: set[str] = set()
    for i, token in enumerate(tokens):
        if not isinstance(token, str):
            raise TypeError(f"special token {i} must be str, not {type(token).__name__}: {shown(token)}")
        if not token:
            raise ValueError(f"special token {i} is the empty string")
        if token in known:
            raise ValueError(f"special token {shown(token)} is given twice")
        known.add(token)
        tokens[i] = str.__str__(token)
        try:
            token.encode()
        except UnicodeEncodeError:
            raise ValueError(f"special token {shown(token)} holds a lone surrogate, which has no UTF-8") from None
    return tokens


def check_given(wanted: SpecialTokens | None) -> list[str] | dict[str, int]:
    """Special tokens as a list, or as a dict with ids: integers of any type as int, and anything else as it is.

    Raises what `check_special_tokens` does.
    """
    tokens = check_special_tokens(list(wanted) if isinstance(wanted, Mapping) else wanted)
    if not isinstance(wanted, Mapping):
        return tokens
    ids = wanted.values()
    plain = [int(each) if isinstance(each, (int, np.integer)) and not isinstance(each, bool) else each for each in ids]
    return dict(zip(tokens, plain, strict=True))


def tokens_of_merges(merges: Collection[tuple[bytes, bytes]]) -> set[bytes]:
    """The tokens that encoding needs: the bytes, and the sides and results of merges."""
    tokens = {bytes([byte]) for byte in range(256)}
    tokens.update(itertools.chain.from_iterable(merges))
    tokens.update(itertools.starmap(operator.add, merges))
    return tokens


def place_special_tokens(wanted: SpecialTokens | None, vocab: Mapping[int, bytes], needed: Set[bytes]) -> dict[str, int]:
    """The id that each special token gets in a vocabulary.

    Parameters
    ----------
    wanted : a list, whose tokens have the ids of their bytes in the vocab, or else the next after its highest; or a dict
        from token to id, which is taken as it is
    needed : tokens that must stay ordinary: a special token of the same bytes gets another id

    Raises TypeError or ValueError for an invalid special token, or one that cannot have its id.
    """
    tokens = check_given(wanted)
    if isinstance(tokens, dict):
        _check_ids(tokens, vocab, needed)
        return tokens
    spelled = {token.encode() for token in tokens}
    known = {vocab[token_id]: token_id for token_id in sorted(vocab, reverse=True) if vocab[token_id] in spelled}
    following = max(vocab) + 1
    placed: dict[str, int] = {}
    for token in tokens:
        token_id = None if token.encode() in needed else known.get(token.encode())
        if token_id is None:
            if following > MAX_ID:
                raise ValueError(
                    f"special token {shown(token)} would have the id {following}; ids must be from 0 to {MAX_ID:,}"
                )
            token_id = following
            following += 1
        placed[token] = token_id
    return placed


def _check_ids(wanted: Mapping[str, int], vocab: Mapping[int, bytes], needed: Set[bytes]) -> None:
    """Raise TypeError or ValueError for special tokens whose ids do not fit the vocabulary."""
    for token, token_id in wanted.items():
        if isinstance(token_id, bool) or not isinstance(token_id, int):
            raise TypeError(f"the id of special token {shown(token)} must be an integer, not {shown(token_id)}")
        if not 0 <= token_id <= MAX_ID:
            raise ValueError(f"special token {shown(token)} has the id {shown(token_id)}; ids must be from 0 to {MAX_ID:,}")
        if vocab.get(token_id, token.encode()) != token.encode():
            raise ValueError(
                f"special token {shown(token)} has the id {token_id}, which in the vocab is {shown(vocab[token_id])}: give "
                "it an id that is free"
            )
    check_distinct_ids(wanted)
    taken = set(wanted.values())
    ordinary = {spelled for token_id, spelled in vocab.items() if token_id not in taken}
    for token, token_id in wanted.items():
        if token.encode() in needed and token.encode() not in ordinary:
            raise ValueError(
                f"special token {shown(token)} has the id {token_id}, which ordinary text needs for "
                f"{shown(token.encode())}: give it an id that is free"
            )


def tokens_for_placing(wanted: list[str] | dict[str, int], vocab: PackedVocab) -> dict[int, bytes]:
    """The tokens of a vocabulary on which the ids of special tokens depend: those with the same bytes, those with the
    wanted ids, and the one with the highest id."""
    names = {token.encode() for token in wanted}
    chosen = wanted.values() if isinstance(wanted, dict) else ()
    ids = np.array([token_id for token_id in chosen if type(token_id) is int and 0 <= token_id <= MAX_ID], dtype=np.int64)
    numbers = {len(vocab.ids) - 1, *vocab.numbers_of(ids[vocab.has(ids)]).tolist()}
    return vocab.among(names) | vocab.at(np.array(sorted(numbers))).as_dict()


def check_distinct_ids(special: Mapping[str, int], why: str = "") -> None:
    """Raise ValueError if two special tokens have the same id; `why` is the end of its message."""
    owners: dict[int, str] = {}
    for token, token_id in special.items():
        if owners.setdefault(token_id, token) != token:
            raise ValueError(
                f"special tokens {shown(owners[token_id])} and {shown(token)} both have the id {token_id}{why}"
            )


def place_beside_ranks(wanted: SpecialTokens, vocab: PackedVocab) -> dict[str, int]:
    """The id of each special token beside a vocabulary that holds none of them, as tiktoken's ranks do.

    A list gets the next ids after the highest, a dict those that it says: two may share one, as some encodings of
    tiktoken's have it. No token of the vocab becomes special, so none of their ids may be among the vocab's.

    Raises TypeError or ValueError for an invalid special token, or an id that is invalid or taken by another token.
    """
    tokens = check_given(wanted)
    relevant = tokens_for_placing(tokens, vocab)
    if isinstance(tokens, list):
        return place_special_tokens(tokens, relevant, set(relevant.values()))
    for token, token_id in tokens.items():
        if isinstance(token_id, bool) or not isinstance(token_id, int) or not 0 <= token_id <= MAX_ID:
            raise ValueError(
                f"special token {shown(token)} has the id {shown(token_id)}; ids are integers from 0 to {MAX_ID:,}"
            )
        if token_id in relevant:
            raise ValueError(f"special token {shown(token)} has the id {token_id}, as {shown(relevant[token_id])} has")
    return tokens


def add_special_tokens(
    wanted: SpecialTokens, special: Mapping[str, int], vocab: Mapping[int, bytes], needed: Set[bytes]
) -> dict[str, int]:
    """The id of each special token after some are added to a vocabulary; present ones keep their ids.

    `wanted` and `needed` are as in `place_special_tokens`. Raises ValueError if a dict gives another id to a present one.
    """
    if isinstance(wanted, Mapping):
        owners = {token_id: token for token, token_id in special.items()}
        for token, token_id in wanted.items():
            if special.get(token, token_id) != token_id:
                raise ValueError(
                    f"special token {shown(token)} is given the id {shown(token_id)}, but has {special[token]} already"
                )
            if token not in special and isinstance(token_id, int) and token_id in owners:
                raise ValueError(
                    f"special token {shown(token)} is given the id {token_id}, which {shown(owners[token_id])} has; "
                    "rename_special_tokens gives that one another name"
                )
        new: SpecialTokens = {token: token_id for token, token_id in wanted.items() if token not in special}
    else:
        new = [token for token in check_special_tokens(wanted) if token not in special]
    return {**special, **place_special_tokens(new, vocab, needed)}


def rename(special: Mapping[str, int], names: object) -> dict[str, int]:
    """Rename some special tokens, which keep their ids; `names` is a dict from old to new names.

    Raises TypeError or ValueError for an old name that no special token has, and for a new one that is invalid or taken.
    """
    if not isinstance(names, Mapping):
        raise TypeError(f"names must be a dict from special tokens to their new names, not {shown(names)}")
    renamed = dict(zip(names, check_special_tokens(list(names.values())), strict=True))
    for old, new in renamed.items():
        if old not in special:
            raise ValueError(f"{shown(old)} is not a special token of the tokenizer, so it cannot be renamed")
        if new in special and new not in names:
            raise ValueError(
                f"special token {shown(old)} cannot be renamed to {shown(new)}, which is another special token"
            )
    return {renamed.get(token, token): token_id for token, token_id in special.items()}


def find_overlap(first: Sequence[str], later: Sequence[str]) -> tuple[str, str] | None:
    """A token of `first` that lies within a token of `later`, or ends with the beginning of one: returns both, or None.

    A token that is in both lies within itself. Cost: linear in their bytes.
    """
    from ..kernels.pieces.special_tokens import FALLBACK, FIRST, TOKEN, beginning_node

    if not first or not later:
        return None
    # A token of valid UTF-8 has no separator; others are refused elsewhere.
    within = first_special(SEPARATOR.join(map(to_bytes, later)), pack(map(to_bytes, first), [0] * len(first)))
    if within is not None:
        return to_text(within), next(token for token in later if within in to_bytes(token))
    endings = pack(map(to_bytes, later), list(range(len(later))))
    for token in first:
        spelled = np.frombuffer(to_bytes(token), dtype=np.uint8)
        node = int(beginning_node(spelled.ctypes.data, len(spelled), endings))
        # A leaf is all of a token of `later`: that is not just a beginning, so go on with a shorter one.
        while node and endings.nodes[node, FIRST] == endings.nodes[node + 1, FIRST]:
            node = int(endings.nodes[node, FALLBACK])
        if node:
            while endings.nodes[node, FIRST] < endings.nodes[node + 1, FIRST]:
                node = int(endings.nodes[node, FIRST])
            return token, later[endings.tokens[endings.nodes[node, TOKEN], 1]]
    return None


def pack(tokens: Iterable[bytes], ids: list[int]) -> PackedTokens:
    """Special tokens with their ids in the form that kernels take."""
    from ..kernels.pieces.special_tokens import new_special_tokens

    return new_special_tokens(list(tokens), ids)
