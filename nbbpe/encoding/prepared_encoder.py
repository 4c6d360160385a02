"""Encode for tokenizers that change a text by more than one normal form before they split it (see text/preparation.py).

Prepared windows are passed to another encoder, so that a tokenizer without preparation pays nothing for it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..model.model import Model
from ..model.special_tokens import find_overlap, pack
from ..text.byte_fallback import ByteFallback
from ..text.normal_check import ascii_parts
from ..text.preparation import Preparation, TextState, can_be_cut, last_cut
from ..text.rewriting import Rewrite, RewritingReader, rewritten_window
from ..text.ruled_tokens import Rule
from ..text.special_search import Sought
from ..text.text_windows import first_special
from ..text.unicode_sets import WHITESPACE
from ..text.utf8 import Data, has_surrogates, to_bytes
from ..text.windows import CUT, SEPARATOR, Window, Windows, concatenated
from .encoder import SHORT, Encoder, RewritingEncoder
from .special_choice import pack_special_tokens

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens

_SPACE: dict[type, Any] = {str: " ", bytes: b" "}
_FEW_WITH_RULE = 16  # tokens with a rule: to look for more would take longer than to prepare a text
_MOST_KEPT = 100  # choices of special tokens that are cached, see `_turns_of`


class _Turns(NamedTuple):
    """The tokens to look for in each turn, for one choice of special tokens.

    first  : in the original text
    later  : in the normalized text
    both   : in a text that is normal already, where both are found at once; None if tokens of the two may overlap
    marked : in a text that is normal already, with the whitespace that they take; None if the kernel that encodes cannot
        do so
    """

    first: Sought
    later: Sought
    both: SpecialTokens | None
    marked: SpecialTokens | None


class PreparedEncoder(RewritingEncoder):
    """Prepares text as a model requires, and passes it to another encoder."""

    def __init__(self, encoder: Encoder, model: Model) -> None:
        super().__init__(encoder)
        chain, extras = model.normalizer, model.extras
        rule_of = {flags: Rule(*(rule in flags for rule in Rule._fields)) for flags in set(extras.ruled.values())}
        rules = {model.special[token]: rule_of[of_token] for token, of_token in extras.ruled.items()}
        self._special = model.special
        self._shares_ids = len(set(model.special.values())) < len(model.special)  # as some of tiktoken's do
        self._always = {model.special[token] for token in extras.text_tokens}
        self._later = {
            token: token if "literal" in extras.flags[token] else chain.apply(token, set()) for token in model.later
        }
        seeks_spaces = not set(WHITESPACE).isdisjoint("".join(self._later.values()))
        fallback = ByteFallback(model.characters) if extras.byte_fallback else None
        always_space = not model.later and extras.cutter is None and not extras.prefix_space and chain.ends_with_space
        if always_space:  # that step concerns the same stretches; put there at the end, the space needs no step
            chain = chain.without_last()
        prefix_space = extras.prefix_space or always_space
        self._preparation = Preparation(
            chain, rules, prefix_space, always_space, model.lacking, extras.cutter, seeks_spaces, fallback
        )
        alone = any("single_word" in of_token and token[:1].isspace() for token, of_token in extras.flags.items())
        ruled = not extras.ruled.keys().isdisjoint(model.later)
        is_cut = can_be_cut(chain, self._later.values())
        if extras.cutter is not None:  # the cutter must find the whitespace at a cut, to drop it
            is_cut = is_cut and extras.cutter.can_be_cut and chain.keeps_whitespace
        self._needs_all = encoder.at_once or alone or ruled
        self._is_cut = is_cut
        # The tokens with a rule, as they are in normalized text: all tokens, if a space is put behind each of them.
        with_rule = [self._later.get(token, token) for token in (model.special if prefix_space else extras.ruled)]
        self._with_rule: dict[type, list[Any]] = {str: with_rule, bytes: [token.encode() for token in with_rule]}
        replaced = [each for each in chain.replaced if each is not None]
        sought_in_bytes = b"".join([*replaced, *self._with_rule[bytes]])
        self._longest = max(map(len, [*with_rule, *replaced]), default=0)
        # Whether surrogates may stand for bytes of these texts. (A fallback never leaves a text with surrogates as it is.)
        self._sees_surrogates = fallback is None and not sought_in_bytes.isascii()
        self._looks_first = self._preparation.checks is not None and len(with_rule) <= _FEW_WITH_RULE
        self._has_all = not model.lacking
        self._separator = pack([SEPARATOR], [CUT]) if extras.cutter or fallback else None
        self._kept: dict[bytes, _Turns] = {}
        self._allowed = self._turns_of(None)
        self._latest: tuple[SpecialTokens | None, _Turns] = None, self._allowed

    @property
    def at_once(self) -> bool:
        return self._needs_all or not (self._is_cut or self._preparation.ignores_whitespace)

    def _turns(self, specials: SpecialTokens | None) -> _Turns:
        """The tokens to look for if `specials` are chosen."""
        of, turns = self._latest
        if of is not specials:  # most calls choose the same as the last one
            turns = self._turns_of(specials)
            self._latest = specials, turns
        return turns

    def _turns_of(self, specials: SpecialTokens | None) -> _Turns:
        key = b""
        if specials is not None:  # a set of many tokens would take longer to make than a text to encode
            key = (specials.nodes if self._shares_ids else specials.tokens[:, 1]).tobytes()
        found = self._kept.get(key)
        if found is None:
            found = self._new_turns(self._chosen(specials))
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = found
        return found

    def _chosen(self, specials: SpecialTokens | None) -> dict[str, int]:
        """The tokens to look for, with their ids: those of `specials`, and those that are parts of ordinary text."""
        ids = self._always.union(() if specials is None else specials.tokens[:, 1].tolist())
        chosen = {token: token_id for token, token_id in self._special.items() if token_id in ids}
        if specials is None or not self._shares_ids:
            return chosen
        return {  # of two tokens with one id, `specials` may have only one
            token: token_id
            for token, token_id in chosen.items()
            if token_id in self._always or first_special(token, specials) == token.encode()
        }

    def _new_turns(self, chosen: Mapping[str, int]) -> _Turns:
        """Divide the chosen tokens, with their ids, into turns."""
        first = {token: token_id for token, token_id in chosen.items() if token not in self._later}
        later: dict[str, int] = {}  # of tokens that are equal once normalized, the first; tokenizers takes any of them
        for token, token_id in chosen.items():
            if self._later.get(token):
                later.setdefault(self._later[token], token_id)
        of_first, marked = pack_special_tokens(first), None
        both: SpecialTokens | None = of_first
        if later:
            both = None if find_overlap(list(first), list(later)) else pack_special_tokens(first | later)
        elif self._preparation.marks:
            lengths, ids = of_first.tokens.T
            marked = of_first._replace(tokens=np.stack([lengths, self._preparation.marked(ids)], axis=1))
        return _Turns(Sought.of(of_first), Sought.of(pack_special_tokens(later)), both, marked)

    def allowing(self, specials: SpecialTokens) -> tuple[PreparedEncoder, SpecialTokens]:
        other = copy.copy(self)
        other._allowed = self._turns(specials)
        return other, other._allowed.first.specials

    def encode_short(self, text: object, specials: SpecialTokens | None, form: type) -> Any:
        """See Encoder. All vocabularies have the bytes of ASCII."""
        if (type(text) is str and (text.isascii() or (self._has_all and len(text) <= SHORT))) or (
            type(text) is bytes and len(text) <= SHORT and self._preparation.has_all(text)
        ):
            turns = self._turns(specials)
            if turns.marked is not None and self._preparation.leaves(text):
                return self._encoder.encode_short(text, turns.marked, form)
            spaced = self._spaced(text)
            sought = self._found_as_is(spaced, turns)
            if sought is not None:
                return self._encoder.encode_short(spaced, sought, form)
            if len(text) <= SHORT:
                return self._encode_stretches(
                    self._preparation.stretches(text, turns.first, turns.later), self._separator, form
                )
        return None

    def _spaced(self, text: Any) -> Any:
        """A str or bytes with a space in front, if the tokenizer puts one there. (A token may begin with it.)"""
        return self._preparation.spaced(text, _SPACE[type(text)])

    def _found_as_is(self, text: str | bytes, turns: _Turns) -> SpecialTokens | None:
        """The tokens to find in a text that needs no preparation but the space in front that it has; None if it needs more.

        A str must have no byte that the vocabulary lacks.
        """
        if not self._looks_first:
            return None
        if isinstance(text, bytes) or text.isascii() or len(text) <= SHORT:
            stays = self._stays(text)
        else:  # in parts, as bytes: a str with characters beyond U+00FF is searched slowly
            stays = all(map(self._stays, _overlapping(text, self._longest)))
        return turns.both if stays else None

    def _stays(self, text: str | bytes) -> bool:
        """Whether a text has no token with a rule, and stays as it is but for a space in front."""
        if any(map(text.__contains__, self._with_rule[type(text)])):
            return False
        if isinstance(text, str) and self._sees_surrogates and has_surrogates(text):
            return False
        return self._preparation.leaves(text)

    def for_text(
        self, text: str | Data, specials: SpecialTokens | None
    ) -> tuple[Encoder, str | Data, SpecialTokens | None]:
        data = text if isinstance(text, str) and self._has_all else to_bytes(text)
        spaced = self._spaced(data)
        sought = self._found_as_is(spaced, self._turns(specials))
        return (self, data, specials) if sought is None else (self._encoder, spaced, sought)

    def reading(self, reader: Windows) -> Windows:
        """See Encoder. The tokens of the first turn are found already; those of the second turn are as in `allowing`."""
        return RewritingReader(reader, partial(last_cut, rules=self._preparation.rules), self._rewrite(self._allowed))

    def window_of(self, document: bytes, specials: SpecialTokens | None) -> Window:
        turns = self._turns(specials)
        return rewritten_window(concatenated([document], turns.first.specials), self._rewrite(turns))

    def _rewrite(self, turns: _Turns) -> Rewrite:
        """A function that prepares a text part by part, once the tokens of the first turn are found."""
        return partial(self._preparation.prepared, later=turns.later.specials, state=TextState())


def _overlapping(text: str, longest: int) -> Iterator[str | bytes]:
    """Yield a text in parts, as bytes, and what is around each border of two parts: so any text of up to `longest`
    characters, and anything that a normal form changes, lies within one of these."""
    last = ""
    for part in ascii_parts(text):
        if last and longest > 1:
            yield to_bytes(last[1 - longest :] + part[: longest - 1])
        yield to_bytes(part)
        last = part
