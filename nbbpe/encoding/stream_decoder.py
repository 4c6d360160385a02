"""Decode ids to text as they arrive: a model's answer, token by token."""

from __future__ import annotations

import codecs
from typing import Protocol

from ..system.choices import check_bool
from ..system.excerpt import shown
from .decoder import Decoder, Ids, check_errors


class Decodes(Protocol):
    """An object that decodes ids to bytes, such as a Tokenizer."""

    def id_to_token(self, token_id: int) -> bytes | None:
        """The bytes of a token, or None if no token has this id."""

    def _decoder_for(self, skip_special_tokens: bool) -> Decoder:
        """What decodes ids. Raises ValueError that names an id outside the vocabulary."""


class StreamDecoder:
    """Decodes ids one after another, and returns complete characters only.

    The concatenation of all that `push`, `feed` and finally `finish` return is `tokenizer.decode` of all ids.

        decoder = tok.stream_decoder()
        for token_id in model:
            print(decoder.push(token_id), end="", flush=True)
        print(decoder.finish())

    errors : what to do with invalid UTF-8, as in bytes.decode. With "strict", a UnicodeDecodeError leaves the decoder
        unchanged by that call
    skip_special_tokens : whether to skip the ids of special tokens, as `tokenizer.decode` does

    >>> import nbbpe
    >>> tok = nbbpe.train("corpus.txt", 260, ["<|endoftext|>"])
    >>> decoder = nbbpe.StreamDecoder(tok)
    >>> [decoder.push(token_id) for token_id in [258, 0xC3, 0xA9]]
    ['the', '', 'é']
    """

    def __init__(self, tokenizer: Decodes, errors: str = "replace", *, skip_special_tokens: bool = False) -> None:
        if not hasattr(tokenizer, "id_to_token"):
            raise TypeError(f"tokenizer must be a Tokenizer (see nbbpe.load), not {shown(tokenizer)}")
        check_errors(errors)
        check_bool("skip_special_tokens", skip_special_tokens)
        codecs.lookup_error(errors)
        self._token_of = tokenizer.id_to_token
        decoder = tokenizer._decoder_for(skip_special_tokens)
        self._decode = decoder.decode_part
        self._drops_space = decoder.drops_space
        self._may_drop = self._drops_space  # a space at the beginning
        self._skips = skip_special_tokens
        self._errors = errors
        self._left = b""  # the first bytes of a character that is not complete yet

    def __repr__(self) -> str:
        return f"StreamDecoder(errors={self._errors!r}, incomplete={self._left!r})"

    def push(self, token_id: int) -> str:
        """The text that one more id completes, often empty. Raises ValueError for an unknown id, and then changes nothing.

        >>> decoder.push(258)
        'the'
        """
        # For a plain int, one look-up is faster than `feed`, which handles all other types, and special tokens to skip.
        token = self._token_of(token_id) if type(token_id) is int and not self._skips else None
        if token is not None:
            return self._completed(token)
        if isinstance(token_id, (list, tuple)) or getattr(token_id, "ndim", 0) > 0:
            raise ValueError(f"push takes one id, not {shown(token_id)}; feed takes several")
        return self.feed((token_id,))

    def feed(self, ids: Ids) -> str:
        """The text that more ids complete. Raises ValueError for an unknown id, and then takes none of them.

        >>> decoder.feed([258, 32, 258])
        'the the'
        """
        return self._completed(self._decode(ids))

    def finish(self) -> str:
        """The text of an incomplete character at the end (U+FFFD with "replace"); after that the decoder can be used again.

        >>> decoder.push(0xC3), decoder.finish()
        ('', '\\ufffd')
        """
        data, self._left = self._left, b""
        self._may_drop = self._drops_space
        return data.decode(errors=self._errors)

    def _completed(self, data: bytes) -> str:
        """The text that more bytes complete."""
        # This is what codecs.IncrementalDecoder does, a class in Python that takes twice as long.
        data = self._left + data
        text, n_bytes = codecs.utf_8_decode(data, self._errors, False)
        self._left = data[n_bytes:]
        if self._may_drop and data:
            self._may_drop = False
            return text.removeprefix(" ")
        return text
