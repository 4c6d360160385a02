"""A Tokenizer's methods that turn ids back into text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MappingView
from typing import Any

import numpy as np

from ..encoding import threads
from ..encoding.batches import rows_of_batch
from ..encoding.decoder import Decoder, DecoderWithoutSpace, Ids, as_array, check_errors
from ..encoding.stream_decoder import StreamDecoder
from ..encoding.tokens import in_characters
from ..system.choices import check_bool
from ..system.excerpt import shown
from ..system.lazy import lazy
from ..text.item_checks import check_items
from .data import TokenizerData


class TokenizerDecoding(TokenizerData):
    """Decodes ids to text or bytes: one text, a batch, an Arrow column, or ids as they arrive."""

    def decode_bytes(self, ids: Ids, *, skip_special_tokens: bool = False) -> bytes:
        """The bytes that ids stand for.

        Ids are integers of any type but bool; an array of them has one dimension. `skip_special_tokens` skips the ids of
        special tokens. If encoding puts a space in front of each text, as with the vocabularies of Llama 2 and Mistral 7B,
        a space at the beginning is dropped. Raises ValueError that names an id outside the vocabulary, and TypeError for
        what holds no ids in an order, such as bytes or a dict.

        >>> tok.decode_bytes([258, 255])
        b'the\\xff'
        """
        return self._decoder_for(skip_special_tokens).decode(ids)

    def decode(self, ids: Ids, errors: str = "replace", *, skip_special_tokens: bool = False) -> str:
        """The text that ids stand for; `errors` says what to do with invalid UTF-8, as in bytes.decode.

        `skip_special_tokens` skips the ids of special tokens. Raises ValueError as `decode_bytes` does, and
        UnicodeDecodeError with errors="strict".

        >>> tok.decode([258, 261, 263])
        'the cat<|endoftext|>'
        >>> tok.decode([258, 261, 263], skip_special_tokens=True)
        'the cat'
        """
        check_errors(errors)
        return self._decoder_for(skip_special_tokens).decode(ids, errors)

    def decode_arrow(self, data: Any, errors: str = "replace") -> Any:
        """The text of each list of an Arrow column of lists of ids, as `encode_arrow` gives one; nulls stay null.

        The lists may be of any of Arrow's kinds, such as lists of a fixed size or views.

        Returns a pyarrow.Array of large strings for an Array, else a ChunkedArray. `errors` says what to do with invalid
        UTF-8, as in bytes.decode. Raises ValueError for a column of another type, and for an id outside the vocabulary.

        >>> import pyarrow as pa
        >>> tok.decode_arrow(pa.array([[258, 261], None])).to_pylist()
        ['the cat', None]
        """
        from ..encoding.arrow import decode_arrow

        check_errors(errors)
        return decode_arrow(self._decoder, self._model.packed, data, errors)

    def decode_batch(
        self,
        batch: Iterable[Ids],
        errors: str = "replace",
        *,
        skip_special_tokens: bool = False,
        num_threads: int | None = None,
    ) -> list[str]:
        """The text of each list or array of ids, or of each row of a 2-D array. Other arguments as in `decode`.

        batch : the lists, or what `encode_batch_flat` returns
        num_threads : at least 1, and without effect: one thread decodes. For compatibility with tiktoken

        >>> tok.decode_batch([[258, 261], []])
        ['the cat', '']
        """
        threads.check_threads(num_threads)
        check_items(batch, "batch", "lists of ids")
        texts: list[str] = []
        for ids in rows_of_batch(batch):
            try:
                texts.append(self.decode(ids, errors, skip_special_tokens=skip_special_tokens))
            except UnicodeDecodeError:
                raise
            except (TypeError, ValueError) as error:
                at = f"batch[{len(texts)}]"
                if isinstance(ids, int) or getattr(ids, "ndim", 1) == 0:
                    advice = "decode takes the ids of one text"
                    raise TypeError(f"batch must hold lists of ids, and {at} is {shown(ids)}: {advice}") from None
                if isinstance(error, TypeError):
                    raise
                raise ValueError(f"{at}: {error}") from error
        return texts

    def decode_with_offsets(self, ids: Ids) -> tuple[str, list[int]]:
        """The text that ids stand for, and for each token the index of the character in which it starts.

        Like tiktoken's method of this name; `tokenize` gives offsets from a text. Raises UnicodeDecodeError if the bytes
        are invalid UTF-8.

        >>> tok.decode_with_offsets([258, 261])
        ('the cat', [0, 3])
        """
        if isinstance(ids, (Iterator, MappingView)):
            ids = list(ids)  # to read them twice
        text = self.decode(ids, errors="strict")
        if self._decoder.drops_space:
            text = self._decoder.decode_part(ids, "strict")  # with the space that was dropped
        lengths = self._model.packed.lengths_of(as_array(ids).astype(np.int64))
        ends = np.cumsum(lengths)
        filled = np.flatnonzero(lengths)
        starts, _ = in_characters(text, (ends - lengths)[filled], ends[filled])
        # An empty token, as a vocabulary of ranks may have one, starts where the next other token does.
        starts = np.append(starts, len(text))[np.searchsorted(filled, np.arange(len(lengths)))]
        if self._decoder.drops_space and text.startswith(" "):
            text, starts = text[1:], (starts - 1).clip(0)
        return text, starts.tolist()

    def stream_decoder(self, errors: str = "replace", *, skip_special_tokens: bool = False) -> StreamDecoder:
        """A decoder for ids that arrive one by one, which gives complete characters only (see StreamDecoder).

        errors, skip_special_tokens : as in `decode`

        >>> decoder = tok.stream_decoder()
        >>> decoder.push(258) + decoder.push(261) + decoder.finish()
        'the cat'
        """
        return StreamDecoder(self, errors, skip_special_tokens=skip_special_tokens)

    @lazy
    def _decoder(self) -> Decoder:
        return self._new_decoder(self._model.vocab)

    @lazy
    def _decoder_of_text(self) -> Decoder:
        """A decoder that skips special tokens."""
        skipped = self._model.skipped.values()
        return self._new_decoder({**self._model.vocab, **dict.fromkeys(skipped, b"")}) if skipped else self._decoder

    def _new_decoder(self, vocab: dict[int, bytes]) -> Decoder:
        return DecoderWithoutSpace(vocab) if self._model.adds_space else Decoder(vocab)

    def _decoder_for(self, skip_special_tokens: bool) -> Decoder:
        if skip_special_tokens is False:  # as in most calls
            return self._decoder
        return self._decoder_of_text if check_bool("skip_special_tokens", skip_special_tokens) else self._decoder
