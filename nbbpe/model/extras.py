"""The settings of a tokenizer.json besides vocabulary, merges, special tokens, pattern and normalizer.

How each added token is found, whether a text gets a space in front, and the tokens that are put around a text on request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ..system.lazy import lazy
from ..text.byte_fallback import SIGN
from ..text.cutting import Cutter
from ..text.normalizer import Normalizer, PrefixSpace
from .post_processor import respelled
from .special_tokens import find_overlap

# How an added token differs from an ordinary special token, which has none of these flags.
#   lstrip, rstrip : it takes the whitespace before it, and after it
#   single_word    : it is found only if no letter, digit or the like is beside it
#   normalized     : it is looked for in normalized text, and its content is normalized
#   literal        : as normalized, but its content stays as it is, as symbols of the user in sentencepiece
#   plain          : it is not special: `decode(skip_special_tokens=True)` keeps it
#   shared         : it has the id of an ordinary token of the same bytes (see `bytes_of`), which merges need
RULES = ("lstrip", "rstrip", "single_word")
FLAGS = (*RULES, "normalized", "literal", "plain", "shared")

Flags = tuple[str, ...]


@dataclass(frozen=True)
class Extras:
    """Settings that most tokenizers do not have.

    flags : from added token to its flags, of FLAGS, in their order; without tokens that have no flags
    prefix_space : whether each stretch of text between special tokens gets a space in front, unless it begins with one;
        "first" for the one that a text begins with
    cutter : what cuts each stretch before the split pattern does; then a space goes in front of each part
    post_processor : that of a tokenizer.json, unchanged; None for none
    byte_fallback : the ids of the tokens <0x00> to <0xFF> of a vocabulary of characters, see
        formats/tokenizer_json/characters.py, -1 where an ASCII character that is a token needs none; else empty
    """

    flags: Mapping[str, Flags] = field(default_factory=dict)
    prefix_space: PrefixSpace = False
    post_processor: Mapping[str, Any] | None = None
    cutter: Cutter | None = None
    byte_fallback: tuple[int, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """The state for another process or a copy: the settings, without anything that was computed."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def suffix(self) -> str | None:
        """How the end of a word is spelled in the vocabulary; None where words have none."""
        return None if self.cutter is None else self.cutter.suffix

    @lazy
    def ruled(self) -> dict[str, Flags]:
        """The tokens with a rule that says how they are found."""
        return {token: flags for token, flags in self.flags.items() if set(RULES).intersection(flags)}

    @lazy
    def stripping(self) -> list[str]:
        """The tokens that take the whitespace before them, or after them."""
        return [token for token, flags in self.flags.items() if {"lstrip", "rstrip"}.intersection(flags)]

    @lazy
    def text_tokens(self) -> list[str]:
        """The added tokens that are parts of ordinary text, as GPT-NeoX's runs of spaces: they are always found.

        They are plain and normalized, and nothing but whitespace.
        """
        return [token for token, flags in self.flags.items() if {"plain", "normalized"} <= set(flags) and token.isspace()]

    @lazy
    def shared(self) -> list[str]:
        """The added tokens that have the id of an ordinary token, too."""
        return [token for token, flags in self.flags.items() if "shared" in flags]

    def bytes_of(self, token: str) -> bytes:
        """The bytes of the ordinary token that an added token shares its id with."""
        return (token.replace(SIGN, " ") if self.byte_fallback else token).encode()

    def sharing(self, tokens: Iterable[str]) -> Extras:
        """A copy in which these tokens share the ids of ordinary tokens."""
        return replace(self, flags={**self.flags, **{token: (*self.flags.get(token, ()), "shared") for token in tokens}})

    def with_tokens(self, tokens: Iterable[str]) -> Extras:
        """A copy with the flags of these tokens only."""
        kept = set(tokens)
        return replace(self, flags={token: flags for token, flags in self.flags.items() if token in kept})

    def renamed(self, names: Mapping[str, str]) -> Extras:
        """A copy in which tokens have other names."""
        flags = {names.get(token, token): flags for token, flags in self.flags.items()}
        return replace(self, flags=flags, post_processor=respelled(self.post_processor, names))


NO_EXTRAS = Extras()


def later_tokens(special: Iterable[str], extras: Extras, normalizer: Normalizer) -> list[str]:
    """The tokens that must be looked for in normalized text, in a second turn; none where one turn finds the same.

    One turn is enough if normalized tokens are in the original text exactly where they are in the normalized text, if none
    of them can overlap one of the others, and if no rule of one turn affects what the other turn finds.
    """
    special = list(special)
    normalized = [token for token in special if "normalized" in extras.flags.get(token, ())]
    first = [token for token in special if "normalized" not in extras.flags.get(token, ())]
    if not normalized or not (first or normalizer.kinds):
        return []
    # Where a token is not found because it is no separate word, tokens of the other turn may be found.
    alone = any("single_word" in extras.flags.get(token, ()) for token in special)

    def may_take(tokens: Iterable[str], others: Iterable[str]) -> bool:
        """Whether one of the tokens takes whitespace, and one of the others has some."""
        strips = not set(extras.stripping).isdisjoint(tokens)
        return strips and any(any(map(str.isspace, token)) for token in others)

    if first and (alone or may_take(first, normalized) or may_take(normalized, first) or find_overlap(first, normalized)):
        return normalized
    if not normalizer.keeps_neighbours and not extras.ruled.keys().isdisjoint(normalized):
        return normalized
    return [] if normalizer.keeps_all(normalized) else normalized
