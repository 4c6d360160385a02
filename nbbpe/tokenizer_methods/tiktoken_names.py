"""tiktoken's names for the methods of a Tokenizer."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..encoding.batches import rows_of_batch
from ..encoding.decoder import Ids, check_in_order
from ..encoding.special_choice import ALL, NONE, Choice
from ..encoding.threads import check_threads
from ..system.excerpt import shown
from ..system.lazy import lazy
from ..text.utf8 import Text, to_bytes
from .batches import TokenizerBatches
from .decoding import TokenizerDecoding

_END = "<|endoftext|>"


class _NoEndOfText(KeyError, AttributeError):
    """No token <|endoftext|>: a KeyError as in tiktoken, and what `hasattr` and `inspect` expect of a missing attribute."""


class TiktokenNames(TokenizerBatches, TokenizerDecoding):
    """Methods and properties of tiktoken's Encoding, for a Tokenizer. `num_threads` is the maximum number of threads."""

    @property
    def n_vocab(self) -> int:
        """One more than the highest id, as `vocab_size`."""
        return self._model.size

    @property
    def max_token_value(self) -> int:
        """The highest id."""
        return self._model.size - 1

    @property
    def eot_token(self) -> int:
        """The id of <|endoftext|>. Raises KeyError if the encoding does not have it."""
        if _END not in self._model.special:
            raise _NoEndOfText(_END)
        return self._model.special[_END]

    @property
    def special_tokens_set(self) -> set[str]:
        """The special tokens."""
        return set(self._model.special)

    def is_special_token(self, token: int) -> bool:
        """Whether an id is that of a special token. Raises TypeError for what is not an integer.

        >>> tok.is_special_token(263), tok.is_special_token(258)
        (True, False)
        """
        try:
            return operator.index(token) in self._special_ids
        except TypeError:
            raise TypeError(
                f"token must be an id, an integer, not {shown(token)} (special_tokens_set has the tokens themselves)"
            ) from None

    @lazy
    def _special_ids(self) -> frozenset[int]:
        return frozenset(self._model.special.values())

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all tokens that are not special, sorted.

        >>> tok.token_byte_values()[-3:]
        [b'\\xfd', b'\\xfe', b'\\xff']
        """
        return list(self._sorted_tokens)

    @lazy
    def _sorted_tokens(self) -> list[bytes]:
        return sorted(self._model.ordinary.values())

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of a text that is one token or special token. Raises KeyError for any other text.

        >>> tok.encode_single_token("the")
        258
        """
        data = to_bytes(text_or_bytes)
        found = self.token_to_id(data)  # given bytes, it returns the lowest id of equal tokens, not first a special one
        if found is None:
            raise KeyError(data)
        return found

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one token. Raises KeyError for an unknown id, TypeError for what is not an integer.

        >>> tok.decode_single_token_bytes(258)
        b'the'
        """
        return self._model.vocab[operator.index(token)]

    def decode_tokens_bytes(self, tokens: Ids) -> list[bytes]:
        """The bytes of each id. Raises KeyError for an unknown id, TypeError for what is not an integer.

        >>> tok.decode_tokens_bytes([258, 261])
        [b'the', b' cat']
        """
        check_in_order(tokens)
        return [self._model.vocab[operator.index(token)] for token in tokens]

    def encode_ordinary_batch(self, texts: Iterable[Text], *, num_threads: int | None = None) -> list[list[int]]:
        """The ids of each text, as lists; special tokens are plain text.

        >>> tok.encode_ordinary_batch(["the cat", "the"])
        [[258, 261], [258]]
        """
        return self.encode_batch(texts, allowed_special=(), num_threads=num_threads)

    def encode_to_numpy(self, text: Text, *, allowed_special: Choice = ALL, disallowed_special: Choice = NONE) -> Any:
        """The ids of a text, uint32[n_ids]. Arguments and errors are those of `encode`.

        >>> tok.encode_to_numpy("the cat")
        array([258, 261], dtype=uint32)
        """
        ids = self.encode_array(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        return ids.astype(np.uint32)

    def decode_bytes_batch(self, batch: Iterable[Ids], *, num_threads: int | None = None) -> list[bytes]:
        """The bytes of each list of ids; `batch` as in `decode_batch`.

        >>> tok.decode_bytes_batch([[258, 261], [258]])
        [b'the cat', b'the']
        """
        check_threads(num_threads)
        return [self.decode_bytes(ids) for ids in rows_of_batch(batch)]
