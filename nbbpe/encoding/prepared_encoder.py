"""Encoding where more is done to a text before it is split than one normal form (see text/preparation.py).

It stands around an Encoder, which sees prepared windows only; so a tokenizer that needs none of this pays nothing for it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..model.model import Model
from ..text.byte_source import Source
from ..text.normalization import FORMS, is_normal
from ..text.preparation import Preparation, PreparingReader, Rule, can_be_cut, prepared_window
from ..text.utf8 import Data
from ..text.windows import Reader, Window, Windows, join
from .special_choice import pack_special_tokens

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from .encoder import Encoder

_RULES = ("lstrip", "rstrip", "single_word")
_MOST_KEPT = 100  # choices of special tokens, see `_turns`


class PreparedEncoder:
    """As an Encoder, for a model whose texts are prepared first."""

    def __init__(self, encoder: Encoder, model: Model) -> None:
        self._encoder = encoder
        self.dtype = encoder.dtype
        self.in_python = True
        chain = model.chain
        flags = model.extras.flags
        rules = {
            model.special[token]: Rule(*(rule in of_token for rule in _RULES))
            for token, of_token in model.extras.ruled.items()
        }
        self._preparation = Preparation(chain, rules, model.extras.prefix_space, model.lacking)
        self._special = model.special
        self._always = {model.special[token] for token in model.extras.text_tokens}
        # As tokenizers finds them; of two that are one in normalized text, the first.
        self._later = {token: chain.apply(token, set()) for token in model.later}
        alone = any("single_word" in of_token and token[:1].isspace() for token, of_token in flags.items())
        ruled = any(token in model.extras.ruled for token in model.later)
        self.at_once = encoder.at_once or alone or ruled or not can_be_cut(chain, self._later.values())
        kinds = [step["type"] for step in chain.steps]
        # The normal forms of which a text that is in all of them is prepared as it is; None where no text is.
        plain = not (rules or model.extras.prefix_space or self._later) and all(kind in FORMS for kind in kinds)
        self._forms = kinds if plain else None
        self._kept: dict[tuple[int, ...], tuple[SpecialTokens, SpecialTokens]] = {}
        self._allowed = self._turns(None)

    def _turns(self, specials: SpecialTokens | None) -> tuple[SpecialTokens, SpecialTokens]:
        """The tokens to look for in a text as it is, and in what the normalizer makes of it."""
        chosen = self._always | (set() if specials is None else set(specials.tokens[:, 1].tolist()))
        key = tuple(sorted(chosen))
        found = self._kept.get(key)
        if found is None:
            of_choice = {token: token_id for token, token_id in self._special.items() if token_id in chosen}
            first = {token: token_id for token, token_id in of_choice.items() if token not in self._later}
            later: dict[str, int] = {}
            for token, token_id in of_choice.items():
                if self._later.get(token):
                    later.setdefault(self._later[token], token_id)
            found = pack_special_tokens(first), pack_special_tokens(later)
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = found
        return found

    def allowing(self, specials: SpecialTokens) -> tuple[PreparedEncoder, SpecialTokens]:
        """See Encoder."""
        other = copy.copy(self)
        other._allowed = self._turns(specials)
        return other, other._allowed[0]

    def _is_prepared(self, text: bytes) -> bool:
        """Whether nothing would be done to a text, but that special tokens are found."""
        if self._forms is None:
            return False
        lacking = self._preparation.lacking
        if text.isascii():
            return True
        has_all = not lacking or len(text.translate(None, lacking)) == len(text)
        return has_all and all(is_normal(text, form) for form in self._forms)

    def encode_short(self, text: object, specials: SpecialTokens | None, form: type) -> Any:
        """None: `encode_text` is to see every text."""
        return None

    def encode_text(self, text: Data, specials: SpecialTokens | None) -> NDArray[Any]:
        """See Encoder."""
        text = bytes(text)
        first, later = self._turns(specials)
        if self._is_prepared(text):
            return self._encoder.encode_text(text, first)
        return self._encoder.encode_window(prepared_window(join([text], first), self._preparation, later))

    def count(self, text: Data, specials: SpecialTokens | None) -> int:
        """See Encoder."""
        return len(self.encode_text(text, specials))

    def encode_source(self, source: Source, n_bytes: int | None, specials: SpecialTokens) -> NDArray[Any]:
        """See Encoder."""
        encoder, first = self.allowing(specials)
        reader = Reader(source, n_bytes, first, self.at_once)
        parts = [ids.copy() for ids, _ in encoder.encode_all(reader)]
        return np.concatenate([np.empty(0, dtype=self.dtype), *parts])

    def count_source(self, source: Source, specials: SpecialTokens) -> int:
        """See Encoder."""
        return len(self.encode_source(source, None, specials))

    def encode_documents(self, documents: list[bytes], specials: SpecialTokens) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """See Encoder."""
        first, later = self._turns(specials)
        window: Window = prepared_window(join(documents, first), self._preparation, later)
        marks = np.empty(len(window.breaks), dtype=np.int64)
        ids = self._encoder.encode_window(window, marks)
        return ids, np.concatenate([[0], marks[window.breaks[:, 2] < 0], [len(ids)]])

    def encode_all(self, reader: Windows) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """See Encoder. The tokens of the first turn are found already; of the second, those of `allowing`."""
        return self._encoder.encode_all(PreparingReader(reader, self._preparation, self._allowed[1]))
