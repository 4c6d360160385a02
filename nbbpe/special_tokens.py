"""Special tokens as a user gives them: what may be one, which ids they get in a vocabulary, which a text may hold."""

from __future__ import annotations

import itertools
import operator
import re
import warnings
from collections.abc import Collection, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Literal, NamedTuple

from .corpus import Data, to_bytes
from .excerpt import shown

if TYPE_CHECKING:
    from .kernels.special import SpecialTokens as PackedTokens

SpecialTokens = Sequence[str] | Mapping[str, int]
Choice = Literal["all"] | Collection[str]  # of the special tokens that a tokenizer has
ALL: Literal["all"] = "all"
NONE: tuple[str, ...] = ()
MAX_ID = 2**31 - 2
_CALLER = 4  # frames from `choose` to who calls a method of the tokenizer


def check_special_tokens(special_tokens: Sequence[str] | None) -> list[str]:
    """The special tokens as a list. Raises TypeError or ValueError for what is no str, is empty, or comes twice."""
    if special_tokens is None:
        return []
    if isinstance(special_tokens, (str, bytes, Set, Mapping)):
        raise TypeError(f"special_tokens must be a list of str, not one {type(special_tokens).__name__}")
    tokens = list(special_tokens)
    for i, token in enumerate(tokens):
        if not isinstance(token, str):
            raise TypeError(f"special token {i} must be str, not {type(token).__name__}: {shown(token)}")
        if not token:
            raise ValueError(f"special token {i} is the empty string")
        if token in tokens[:i]:
            raise ValueError(f"special token {shown(token)} is given twice")
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
    disallowed : finds those that must not be in a text; None where there are none
    """

    tokens: Mapping[str, int]
    recognised: PackedTokens | None
    disallowed: re.Pattern[bytes] | None

    def check(self, text: Data, what: str = "the text") -> None:
        """Raise ValueError where a text holds a special token that is disallowed; `what` is what the text is called."""
        if self.disallowed is not None and (found := self.disallowed.search(text)):
            token = found.group().decode(errors="surrogateescape")
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
    # Of several at one place the longest is named.
    spelled = sorted((to_bytes(token) for token in disallowed), key=len, reverse=True)
    pattern = re.compile(b"|".join(map(re.escape, spelled))) if spelled else None
    if all_allowed:
        return Chosen(special, everything if special else None, pattern)
    unknown = [token for token in allowed if token not in special]
    if unknown:
        known = ", ".join(map(repr, special)) or "none"
        warnings.warn(
            f"allowed_special has {unknown[0]!r}, which is none of the tokenizer's special tokens: {known:.300}",
            stacklevel=_CALLER,
        )
    tokens = {token: token_id for token, token_id in special.items() if token in allowed}
    packed = everything if len(tokens) == len(special) else pack_special_tokens(tokens)
    return Chosen(tokens, packed if tokens else None, pattern)


def pack_special_tokens(tokens: Mapping[str, int]) -> PackedTokens:
    """Special tokens with their ids as the kernels look for them."""
    from .kernels.special import new_special_tokens

    return new_special_tokens([token.encode() for token in tokens], list(tokens.values()))
