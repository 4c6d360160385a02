"""The data of a Tokenizer, on which all of its methods work."""

from __future__ import annotations

import copy
import operator
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.model import Model
from ..model.vocab_checks import Merge
from ..system.excerpt import shown
from ..system.lazy import lazy
from ..text.utf8 import to_bytes

if TYPE_CHECKING:
    from typing_extensions import Self

_MAX_UINT16_VOCAB = 1 << 16


class TokenizerData:
    """The data of a Tokenizer as properties, and look-ups of its tokens."""

    _model: Model
    name = "nbbpe"  # as tiktoken's Encoding has one

    @classmethod
    def _of(cls, model: Model) -> Self:
        """A tokenizer from a checked model."""
        self = cls.__new__(cls)
        self._model = model
        return self

    def _with_model(self, model: Model) -> Self:
        """A copy with another model."""
        other = copy.copy(self)
        other._model = model
        return other

    @property
    def vocab(self) -> Mapping[int, bytes]:
        """The vocabulary, from id to bytes, with the special tokens. It is read-only; dict(tok.vocab) is a copy."""
        return MappingProxyType(self._model.vocab)

    @property
    def merges(self) -> list[Merge]:
        """A copy of the merges, in rank order.

        Raises ValueError for a vocabulary of ranks that is not equal to any list of merges (see `from_tiktoken`).
        """
        return list(self._model.listed_merges())

    @property
    def special_tokens(self) -> dict[str, int]:
        """A copy of the special tokens with their ids."""
        return dict(self._model.special)

    @property
    def vocab_size(self) -> int:
        """One more than the highest id: the number of tokens if ids have no gaps."""
        return self._model.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned type that holds every id: uint16 for up to 65,536 tokens, else uint32."""
        return np.dtype(np.uint16 if self.vocab_size <= _MAX_UINT16_VOCAB else np.uint32)

    @property
    def pattern(self) -> str | list[str] | None:
        """The name or the regex of the split pattern, or a list of these that split in turn; None for no splitting."""
        return self._model.pattern.spelling

    @property
    def normalizer(self) -> str | list[str | dict[str, Any]] | None:
        """The Unicode normal form that text is put into before it is split, such as "NFC"; None if text is not changed.

        A list if there are several steps, or other ones: names of normal forms, "Lowercase", "StripAccents", and objects
        as a tokenizer.json has them, such as {"type": "Prepend", "prepend": " "}.
        """
        return self._model.normalizer.spelling

    @property
    def fingerprint(self) -> str:
        """A digest of vocabulary, merges, special tokens, pattern and normalizer, 16 hex digits.

        It is the same for the same tokenizer, however it was made, in every process and on every platform.
        """
        return self._model.fingerprint

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the tokenizer comes from, as a copy of plain dicts; `save` writes it and `nbbpe.load` restores it.

        pattern            the name or the regex of the split pattern, or a list of these
        character_classes  digest of the classes that `regex` gave each code point then; None without a pattern
        versions           of nbbpe, numba, numpy and regex in the process that trained it, or first loaded it
        training           only if nbbpe trained or extended it: `vocab_size` as given, `tie_break`, `min_frequency`,
                           `max_token_length`, and of the `corpus` the numbers of `words` and `distinct_words` and a
                           `fingerprint`, a digest of the words with their counts (it does not depend on the order of the
                           texts or the number of workers); `rules`, `superwords`, `mixture`, `left_out` (what
                           `min_word_count` skipped; `superwords` has that of the second stage), `interrupted`,
                           `start` (what was extended) and `earlier_starts` (a list of what that was extended from in turn,
                           the latest first), if there are any
        reduced_from       only after `truncate`, `prune` or `drop`: the `fingerprint` and `vocab_size` before
        """
        return self._model.provenance

    def token_to_id(self, token: str | bytes) -> int | None:
        """The id of a token (a str means its UTF-8 bytes), or None if it is not in the vocabulary.

        Raises TypeError for anything else.

        >>> tok.token_to_id("the"), tok.token_to_id(b"\\xff"), tok.token_to_id("dog")
        (258, 255, None)
        """
        if isinstance(token, str) and token in self._model.special:
            return self._model.special[token]
        try:
            return self._ids.get(to_bytes(token))
        except TypeError:
            raise TypeError(
                f"token must be one token as str or bytes, not {shown(token)} (id_to_token takes ids)"
            ) from None

    def id_to_token(self, token_id: int) -> bytes | None:
        """The bytes of a token, special tokens included, or None if no token has this id.

        Raises TypeError for what is not an integer.

        >>> tok.id_to_token(258), tok.id_to_token(1000)
        (b'the', None)
        """
        try:
            number = operator.index(token_id)
        except TypeError:
            raise TypeError(f"token_id must be an integer, not {shown(token_id)} (token_to_id takes tokens)") from None
        return self._model.vocab.get(number)

    def __len__(self) -> int:
        return len(self._model.vocab)

    @lazy
    def _ids(self) -> dict[bytes, int]:
        """From the bytes of a token to its id: the lowest of equal ones, but that of a character, not of its byte token."""
        model = self._model
        special = {token.encode(): token_id for token, token_id in model.special.items()}  # two of them may share an id
        ids = special | {token: token_id for token_id, token in sorted(model.vocab.items(), reverse=True)}
        if model.extras.byte_fallback:
            ids.update((bytes([byte]), token_id) for byte, token_id in enumerate(model.byte_ids.tolist()))
        return ids
