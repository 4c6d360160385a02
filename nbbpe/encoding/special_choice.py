"""Which special tokens a text may contain, and which are encoded as their ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..model.special_tokens import pack
from ..system.arguments import argument
from ..system.excerpt import shown
from ..system.user_warnings import warn_user
from ..system.wrong_argument import WrongArgument
from ..text.text_windows import first_special
from ..text.utf8 import Data, to_bytes
from ..text.windows import NO_ID

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens as PackedTokens

Choice = Literal["all"] | Collection[str]  # of the special tokens that a tokenizer has
ALL: Literal["all"] = "all"
NONE: tuple[str, ...] = ()
_MAX_CHOICES = 100  # cached ones: callers that make a set for each text mostly choose the same few
_SHORT = 1 << 12  # bytes of a text that Python searches in less time than a copy for a kernel takes


def allowed_in(has_records: bool, allowed: Choice | None) -> Choice:
    """The special tokens that are allowed in a source; None allows all in plain text, and none in records.

    In a file of plain text special tokens separate documents. A record is one document, whoever wrote it: a special token
    in its text would split it in two.
    """
    if allowed is None:
        return NONE if has_records else ALL
    return allowed


class Chosen(NamedTuple):
    """A choice of special tokens in the form in which it is applied to texts.

    tokens     : the special tokens that are recognised, with their ids
    recognised : the same in the form that kernels take; None for none, so that all text is plain
    disallowed : those that must not occur in a text, in the same form; None for none
    harmless   : the bytes that no disallowed token ends with
    ascii_ends : the ASCII characters that disallowed tokens end with
    """

    tokens: Mapping[str, int]
    recognised: PackedTokens | None
    disallowed: PackedTokens | None
    harmless: bytes
    ascii_ends: str

    def check_each(self, texts: Iterable[str | Data]) -> None:
        """As `check`, for the texts of a batch."""
        for number, text in enumerate(texts if self.disallowed is not None else ()):
            self.check(text, f"text {number:,} (from 0)")

    def check(self, text: str | Data, name: str = "the text") -> None:
        """Raise ValueError if a text contains a disallowed special token; the message calls the text `name`."""
        if self.disallowed is None:
            return
        if len(text) <= _SHORT:  # most short texts, in less time
            if type(text) is str and text.isascii():
                for end in self.ascii_ends:
                    if end in text:
                        break
                else:
                    return
            elif not to_bytes(text).translate(None, self.harmless):
                return
        if found := first_special(text, self.disallowed):
            token = found.decode(errors="surrogateescape")
            raise ValueError(
                f"{name} contains the special token {token!r}, which is disallowed: pass "
                f"{argument('allowed_special', {token})} to encode it as its id, or remove it from "
                "disallowed_special to encode it as plain text"
            )


def choose(
    special: Mapping[str, int], everything: PackedTokens, allowed: Choice, disallowed: Choice, always: Collection[str]
) -> Chosen:
    """Turn a choice of a tokenizer's special tokens into the form in which it is applied.

    special, everything : all special tokens, with their ids and as kernels take them
    always : tokens that are found in any text, and need not be allowed

    `allowed` and `disallowed` have the meaning of tiktoken's `allowed_special` and `disallowed_special`: "all" or a
    collection of special tokens. Disallowed wins; "all" disallows every token that `allowed` does not name one by one.
    Warns about an allowed token that the tokenizer does not have, as it would be encoded as plain text. Raises TypeError or
    ValueError for an invalid choice.
    """
    all_allowed = isinstance(allowed, str)
    if isinstance(disallowed, str):
        disallowed = set(special).difference(() if all_allowed else allowed)
    for token in disallowed:
        if not isinstance(token, str) or not token:
            raise ValueError(f'disallowed_special must be "all" or a set of special tokens, and contains {shown(token)}')
    spelled = {to_bytes(token) for token in disallowed}
    refused = pack(spelled, [0] * len(spelled)) if spelled else None
    ends = {token[-1] for token in spelled}
    search = refused, bytes({*range(256)} - ends), "".join(chr(end) for end in sorted(ends) if end < 0x80)
    if all_allowed:
        return Chosen(special, everything if special else None, *search)
    unknown = [token for token in allowed if token not in special and token not in always]
    if unknown:
        known = ", ".join(map(repr, special)) or "none"
        warn_user(
            f"{argument('allowed_special')} contains {shown(unknown[0])}, which is not a special token of the "
            f"tokenizer: {known:.300}"
        )
    tokens = {token: token_id for token, token_id in special.items() if token in allowed}
    packed = everything if len(tokens) == len(special) else pack_special_tokens(tokens)
    return Chosen(tokens, packed if tokens else None, *search)


class Choices:
    """The choices of a tokenizer's special tokens that callers make, cached.

    special, everything, always : see `choose`
    """

    def __init__(self, special: Mapping[str, int], everything: PackedTokens, always: Collection[str]) -> None:
        self._special, self._everything, self._always = special, everything, always
        self._known: dict[tuple[Choice, Choice], Chosen] = {}

    def of(self, allowed: Choice, disallowed: Choice = NONE) -> Chosen:
        """See `choose`. Raises TypeError or ValueError for an invalid choice."""
        if type(allowed) is set:  # which is usual, but cannot be hashed
            allowed = frozenset(allowed)
        try:
            return self._known[allowed, disallowed]
        except (KeyError, TypeError):
            pass
        key = reusable(allowed, disallowed)
        chosen = self._known.get(key)
        if chosen is None:
            chosen = choose(self._special, self._everything, *key, self._always)
            if len(self._known) >= _MAX_CHOICES:
                self._known.clear()
            self._known[key] = chosen
        return chosen


def reusable(allowed_special: Choice, disallowed_special: Choice) -> tuple[Choice, Choice]:
    """Both parts of a choice, in a form that can be hashed and read several times, unlike an iterator.

    Raises TypeError for anything but "all" and collections: the letters of another str, such as "none", would be taken for
    tokens.
    """
    return _reusable("allowed_special", allowed_special), _reusable("disallowed_special", disallowed_special)


def _reusable(name: str, choice: Choice) -> Choice:
    if choice is NONE or (isinstance(choice, str) and choice == ALL):
        return choice
    reason: TypeError | None = None
    if hasattr(choice, "__iter__") and not isinstance(choice, (str, bytes)):
        try:
            return frozenset(choice)
        except TypeError as error:  # as for a list of lists
            reason = error
    why = f": {reason}" if reason else ""
    raise TypeError(f'{name} must be "all" or a set of special tokens, not {shown(choice)}{why}') from reason


def pack_special_tokens(tokens: Mapping[str, int]) -> PackedTokens:
    """Special tokens with their ids in the form that kernels take."""
    return pack((token.encode() for token in tokens), list(tokens.values()))


def find_separator(special_tokens: Mapping[str, int], separator: str | None, first: bool = False) -> int:
    """The id to write after each document, or with `first` in front of it.

    Raises TypeError or ValueError for anything that is not a special token, and for `first` without a separator.
    """
    if separator is None:
        if first:
            raise WrongArgument(
                f"{argument('separator_first', True)} needs {argument('separator', ...)}, the special token "
                "to write in front of each document"
            )
        return NO_ID
    if not isinstance(separator, str):
        raise TypeError(f"separator must be a special token or None, not {shown(separator)}")
    if separator not in special_tokens:
        known = ", ".join(map(repr, special_tokens)) or "none"
        raise ValueError(f"separator {separator!r} is not a special token of the tokenizer; those are: {known}")
    return special_tokens[separator]
