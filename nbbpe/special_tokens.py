"""Special tokens as a user gives them: what may be one, which ids they get in a vocabulary, which a text may hold."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from .corpus import SEPARATOR, Data, first_special, to_bytes, to_text
from .excerpt import shown

if TYPE_CHECKING:
    from .kernels.special import SpecialTokens as PackedTokens

SpecialTokens = Sequence[str] | Mapping[str, int]
Choice = Literal["all"] | Collection[str]  # of the special tokens that a tokenizer has
ALL: Literal["all"] = "all"
NONE: tuple[str, ...] = ()
MAX_ID = 2**31 - 2
_SHORT = 1 << 12  # bytes of a text that is sooner looked through by Python than put where a kernel can read it
_CALLER = 4  # frames from `choose` to who calls a method of the tokenizer


def check_special_tokens(special_tokens: Sequence[str] | None) -> list[str]:
    """The special tokens as a list. Raises TypeError or ValueError for what is no str, is empty, or comes twice."""
    if special_tokens is None:
        return []
    if isinstance(special_tokens, (str, bytes, Set, Mapping)):
        raise TypeError(f"special_tokens must be a list of str, not one {type(special_tokens).__name__}")
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
        try:
            token.encode()
        except UnicodeEncodeError:
            raise ValueError(f"special token {shown(token)} holds a lone surrogate, which has no UTF-8") from None
    return tokens


def check_choice(allowed_special: object, disallowed_special: object) -> None:
    """Raise TypeError for what does not say which special tokens are allowed, or disallowed, in a text.

    A str would be looked through letter by letter, and "none" would allow none by chance.
    """
    for name, choice in ("allowed_special", allowed_special), ("disallowed_special", disallowed_special):
        if choice is None or (isinstance(choice, (str, bytes)) and choice != "all"):
            raise TypeError(f'{name} must be "all" or a set of special tokens, and is {choice!r}')


def allowed_in(has_records: bool, allowed: Choice | None) -> Choice:
    """The special tokens that are allowed in a source; None allows all in plain text, and none in records.

    In a file of plain text special tokens separate documents. A record is one document, whoever wrote it: a special token
    that it spells would make two of it.
    """
    if allowed is None:
        return NONE if has_records else ALL
    return allowed


def tokens_of_merges(merges: Collection[tuple[bytes, bytes]]) -> set[bytes]:
    """The tokens that encoding needs: the bytes, and the sides and results of merges."""
    tokens = {bytes([byte]) for byte in range(256)}
    tokens.update(itertools.chain.from_iterable(merges))
    tokens.update(itertools.starmap(operator.add, merges))
    return tokens


def place_special_tokens(wanted: SpecialTokens | None, vocab: Mapping[int, bytes], needed: Set[bytes]) -> dict[str, int]:
    """The id of each special token in a vocabulary that it is to be added to.

    Parameters
    ----------
    wanted : a list, whose tokens have the ids of their bytes in the vocab, or else the next after its highest; or a dict
        from token to id, which is taken as it is
    needed : tokens that stay what they are: a special token of the same bytes is another, with an id of its own

    Raises TypeError or ValueError for what cannot be a special token, or have its id.
    """
    if isinstance(wanted, Mapping):
        return _check_ids(wanted, vocab, needed)
    tokens = check_special_tokens(wanted)
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


def _check_ids(wanted: Mapping[str, int], vocab: Mapping[int, bytes], needed: Set[bytes]) -> dict[str, int]:
    """A dict from special token to id, if it fits the vocabulary."""
    check_special_tokens(list(wanted))
    for token, token_id in wanted.items():
        if isinstance(token_id, bool) or not isinstance(token_id, int):
            raise TypeError(f"the id of special token {shown(token)} must be an integer, not {shown(token_id)}")
        if not 0 <= token_id <= MAX_ID:
            raise ValueError(f"special token {shown(token)} has the id {shown(token_id)}; ids must be from 0 to {MAX_ID:,}")
        if vocab.get(token_id, token.encode()) != token.encode():
            raise ValueError(
                f"special token {shown(token)} has the id {token_id}, which in the vocab is {shown(vocab[token_id])}"
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
    return dict(wanted)


def check_distinct_ids(special: Mapping[str, int]) -> None:
    """Raise ValueError where two special tokens have one id."""
    owners: dict[int, str] = {}
    for token, token_id in special.items():
        if owners.setdefault(token_id, token) != token:
            raise ValueError(f"special tokens {shown(owners[token_id])} and {shown(token)} both have the id {token_id}")


def place_beside_ranks(wanted: SpecialTokens, vocab: Mapping[int, bytes]) -> dict[str, int]:
    """The id of each special token beside a vocabulary that holds none of them, as tiktoken's ranks do.

    A list gets the next ids after the highest, a dict those that it says: two may share one, as some encodings of
    tiktoken's have it. No token of the vocab becomes special, so none of their ids may be among the vocab's.

    Raises TypeError or ValueError for what cannot be a special token, or an id that is none or that a token has.
    """
    if not isinstance(wanted, Mapping):
        return place_special_tokens(wanted, vocab, set(vocab.values()))
    check_special_tokens(list(wanted))
    for token, token_id in wanted.items():
        if isinstance(token_id, bool) or not isinstance(token_id, int) or not 0 <= token_id <= MAX_ID:
            raise ValueError(
                f"special token {shown(token)} has the id {shown(token_id)}; ids are integers from 0 to {MAX_ID:,}"
            )
        if token_id in vocab:
            raise ValueError(f"special token {shown(token)} has the id {token_id}, as {shown(vocab[token_id])} has")
    return dict(wanted)


def add_special_tokens(
    wanted: SpecialTokens, special: Mapping[str, int], vocab: Mapping[int, bytes], needed: Set[bytes]
) -> tuple[dict[str, int], dict[int, bytes]]:
    """Special tokens and vocabulary with more special tokens; those that there are keep their ids.

    `wanted` and `needed` are as in `place_special_tokens`. Raises ValueError where a dict would give another id to a
    special token that there is.
    """
    if isinstance(wanted, Mapping):
        for token, token_id in wanted.items():
            if special.get(token, token_id) != token_id:
                raise ValueError(
                    f"special token {shown(token)} is given the id {shown(token_id)}, but has {special[token]} already"
                )
        new: SpecialTokens = {token: token_id for token, token_id in wanted.items() if token not in special}
    else:
        new = [token for token in check_special_tokens(wanted) if token not in special]
    placed = place_special_tokens(new, vocab, needed)
    return {**special, **placed}, {**vocab, **{token_id: token.encode() for token, token_id in placed.items()}}


class Chosen(NamedTuple):
    """What a choice of special tokens means for texts.

    tokens     : those that become their ids, with them
    recognised : the same as the kernels look for them; None for none, so that all is plain text
    disallowed : those that must not be in a text, as `recognised`; None where there are none
    harmless   : the bytes that none of these ends with
    """

    tokens: Mapping[str, int]
    recognised: PackedTokens | None
    disallowed: PackedTokens | None
    harmless: bytes

    def check(self, text: Data, what: str = "the text") -> None:
        """Raise ValueError where a text holds a special token that is disallowed; `what` is what the text is called."""
        if self.disallowed is None:
            return
        if len(text) <= _SHORT and not bytes(text).translate(None, self.harmless):  # most short texts, in less time
            return
        if found := first_special(text, self.disallowed):
            token = found.decode(errors="surrogateescape")
            raise ValueError(
                f"{what} holds the special token {token!r}, which is disallowed: pass allowed_special={{{token!r}}} to "
                "make it its id, or leave it out of disallowed_special to encode it as plain text"
            )


def choose(special: Mapping[str, int], everything: PackedTokens, allowed: Choice, disallowed: Choice) -> Chosen:
    """What a choice means with a tokenizer's special tokens; `everything` is all of them.

    `allowed` and `disallowed` mean what tiktoken's `allowed_special` and `disallowed_special` do: "all" or a collection of
    special tokens. Disallowed wins: "all" disallows every token that `allowed` does not name one by one. Warns of one that
    is allowed and that the tokenizer does not have, as such a text would be plain text. Raises TypeError or ValueError for
    what is no choice.
    """
    all_allowed = isinstance(allowed, str)
    if isinstance(disallowed, str):
        disallowed = set(special).difference(() if all_allowed else allowed)
    for token in disallowed:
        if not isinstance(token, str) or not token:
            raise ValueError(f'disallowed_special must be "all" or a set of special tokens, and has {token!r}')
    spelled = {to_bytes(token) for token in disallowed}
    refused = pack(spelled, [0] * len(spelled)) if spelled else None
    harmless = bytes({*range(256)}.difference(token[-1] for token in spelled))
    if all_allowed:
        return Chosen(special, everything if special else None, refused, harmless)
    unknown = [token for token in allowed if token not in special]
    if unknown:
        known = ", ".join(map(repr, special)) or "none"
        warnings.warn(
            f"allowed_special has {unknown[0]!r}, which is none of the tokenizer's special tokens: {known:.300}",
            stacklevel=_CALLER,
        )
    tokens = {token: token_id for token, token_id in special.items() if token in allowed}
    packed = everything if len(tokens) == len(special) else pack_special_tokens(tokens)
    return Chosen(tokens, packed if tokens else None, refused, harmless)


def pack_special_tokens(tokens: Mapping[str, int]) -> PackedTokens:
    """Special tokens with their ids as the kernels look for them."""
    return pack((token.encode() for token in tokens), list(tokens.values()))


def find_overlap(first: Sequence[str], later: Sequence[str]) -> tuple[str, str] | None:
    """A token of `first` and one of `later` that it lies within, or whose end it can begin with in a text; or None.

    No token is in both. Cost: linear in their bytes.
    """
    from .kernels.special import FALLBACK, FIRST, TOKEN, beginning_node

    if not first or not later:
        return None
    # A token of valid UTF-8 has no separator; others are refused elsewhere.
    within = first_special(SEPARATOR.join(map(to_bytes, later)), pack(map(to_bytes, first), [0] * len(first)))
    if within is not None:
        return to_text(within), next(token for token in later if within in to_bytes(token))
    endings = pack(map(to_bytes, later), list(range(len(later))))
    for token in first:
        spelled = np.frombuffer(to_bytes(token), dtype=np.uint8)
        node = int(beginning_node(spelled.ctypes.data, 0, len(spelled), endings))
        # Of a token of `later` that is the end of no other, all would be the beginning: that is no overlap.
        while node and endings.nodes[node, FIRST] == endings.nodes[node + 1, FIRST]:
            node = int(endings.nodes[node, FALLBACK])
        if node:
            while endings.nodes[node, FIRST] < endings.nodes[node + 1, FIRST]:
                node = int(endings.nodes[node, FIRST])
            return token, later[endings.tokens[endings.nodes[node, TOKEN], 1]]
    return None


def pack(tokens: Iterable[bytes], ids: list[int]) -> PackedTokens:
    from .kernels.special import new_special_tokens

    return new_special_tokens(list(tokens), ids)
