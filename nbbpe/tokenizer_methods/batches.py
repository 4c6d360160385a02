"""A Tokenizer's methods that turn many texts into ids in one call."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..encoding.batches import FlatBatch, encode_batch_flat, encode_segments
from ..encoding.id_lists import lists_of
from ..encoding.id_types import check_dtype
from ..encoding.padding import Padded, Side, as_rows, check_padding, find_pad
from ..encoding.special_choice import ALL, NONE, Choice
from ..text.utf8 import Text
from .encoding import TokenizerEncoding


class TokenizerBatches(TokenizerEncoding):
    """Encodes several texts to ids: a batch, its segments, an Arrow column, or rows that are padded."""

    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        allowed_special: Choice = ALL,
        disallowed_special: Choice = NONE,
        num_threads: int | None = None,
        dropout: float = 0.0,
        seed: int | None = None,
    ) -> list[list[int]]:
        """The ids of each text, a list of lists of int, as `encode` returns; large batches use several threads.

        texts : an iterable of texts in memory, as `encode` takes them
        num_threads : the most threads to use; None for as many as pay off
        allowed_special, disallowed_special, dropout, seed : as in `encode`

        Raises TypeError that names an item that is not a text, ValueError that names one with a disallowed special token,
        and ValueError for `num_threads` below 1.

        >>> tok.encode_batch(["the cat", "", "the"])
        [[258, 261], [], [258]]
        """
        ids, starts = self.encode_batch_flat(
            texts,
            allowed_special=allowed_special,
            disallowed_special=disallowed_special,
            num_threads=num_threads,
            dropout=dropout,
            seed=seed,
        )
        return lists_of(ids, starts)

    def encode_batch_arrays(
        self,
        texts: Iterable[Text],
        *,
        allowed_special: Choice = ALL,
        disallowed_special: Choice = NONE,
        dtype: DTypeLike | None = None,
        num_threads: int | None = None,
        dropout: float = 0.0,
        seed: int | None = None,
    ) -> list[NDArray[Any]]:
        """The ids of each text, as a list of 1-D arrays.

        texts, allowed_special, disallowed_special, num_threads, dropout, seed : as in `encode_batch`, and so are the errors
        dtype : of the arrays, such as "int64" for torch, as in `encode_array`; None for the tokenizer's own

        >>> tok.encode_batch_arrays(["the cat", "the"])
        [array([258, 261], dtype=uint16), array([258], dtype=uint16)]
        """
        ids, starts = self.encode_batch_flat(
            texts,
            allowed_special=allowed_special,
            disallowed_special=disallowed_special,
            dtype=dtype,
            num_threads=num_threads,
            dropout=dropout,
            seed=seed,
        )
        return [ids[start:end].copy() for start, end in pairwise(starts.tolist())]

    def encode_batch_flat(
        self,
        texts: Iterable[Text],
        *,
        allowed_special: Choice = ALL,
        disallowed_special: Choice = NONE,
        dtype: DTypeLike | None = None,
        num_threads: int | None = None,
        dropout: float = 0.0,
        seed: int | None = None,
    ) -> FlatBatch:
        """The ids of all texts in one array, which is faster than an array for each of many short texts.

        texts, allowed_special, disallowed_special, num_threads, dropout, seed : as in `encode_batch`, and so are the errors
        dtype : of the ids, such as "int64" for torch, as in `encode_array`; None for the tokenizer's own

        Returns (ids, starts): ids is a 1-D array, starts is int64[n + 1]; the ids of text i are
        ids[starts[i]:starts[i + 1]]. `decode_batch` takes both as they are returned.

        >>> ids, starts = tok.encode_batch_flat(["the cat", "", "the"])
        >>> ids, starts
        (array([258, 261, 258], dtype=uint16), array([0, 2, 2, 3]))
        """
        wanted = None if dtype is None else check_dtype(dtype, self._model.size)
        chosen = self._choices.of(allowed_special, disallowed_special)
        if (with_dropout := self._dropout_encoder(dropout, seed)) is not None:
            ids, starts = with_dropout.encode_batch_flat(texts, chosen, num_threads)
        else:
            ids, starts = encode_batch_flat(self._encoder, texts, chosen, num_threads)
        return FlatBatch(ids if wanted is None else ids.astype(wanted, copy=False), starts)

    def encode_segments(self, segments: Iterable[tuple[Text, bool]]) -> list[int]:
        """The ids of several texts in one list; special tokens are recognised only in those that are trusted.

        segments : pairs of a text and whether it is trusted. Special tokens in an untrusted text stay plain text, and no
            pretoken and no special token spans two segments

        Raises TypeError for an item that is not such a pair.

        >>> len(tok.encode_segments([("the<|endoftext|>", True), ("<|endoftext|>", False)]))
        15
        """
        return encode_segments(segments, self.encode, self.encode_ordinary)

    def encode_arrow(
        self, data: Any, *, field: str = "text", allowed_special: Choice = ALL, num_threads: int | None = None
    ) -> Any:
        """The ids of an Arrow column of strings or binary, as an Arrow array of lists of `dtype`; nulls stay null.

        data  : a column, table or stream of any library that speaks Arrow's C interface: pyarrow, polars, pandas, duckdb.
            Strings may be of any of Arrow's kinds, such as large ones, views, dictionaries or runs
        field : of a table or a stream of record batches the column that holds the text
        allowed_special : as in `encode`: by default all special tokens in the text become their ids
        num_threads : as in `encode_batch`

        Returns a pyarrow.Array if `data` is one, else a ChunkedArray. Needs pyarrow (extra `data`). Raises ValueError if
        the column is missing or of another type, and for `num_threads` below 1.

        >>> import pyarrow as pa
        >>> tok.encode_arrow(pa.array(["the cat", None, "the"])).to_pylist()
        [[258, 261], None, [258]]
        """
        from ..encoding.arrow import encode_arrow

        return encode_arrow(self._encoder, data, self._sought(allowed_special), field, num_threads)

    def encode_padded(
        self,
        texts: Iterable[Text],
        max_length: int | None = None,
        *,
        pad_token: str | None = None,
        pad_id: int | None = None,
        padding: Literal["longest", "max_length"] = "longest",
        padding_side: Side = "right",
        truncation_side: Side = "right",
        pad_to_multiple_of: int | None = None,
        dtype: DTypeLike = np.int64,
        allowed_special: Choice = ALL,
        disallowed_special: Choice = NONE,
        num_threads: int | None = None,
        dropout: float = 0.0,
        seed: int | None = None,
    ) -> Padded:
        """The ids of texts as the rows of one array, and a mask: (ids, mask).

        max_length      : texts with more tokens are truncated to it, at the `truncation_side`; None truncates none
        pad_token, pad_id : the token to pad with, by name or by id; give one of the two, and it must be in the vocabulary
        padding         : "longest" makes rows as long as the longest text (after truncation), "max_length" as `max_length`
        padding_side    : where shorter texts are padded; models that generate want "left"
        pad_to_multiple_of : rows are as long as the next multiple of this number, 8 or 64 for some hardware
        dtype           : of the ids; int64 is what models take
        allowed_special, disallowed_special, num_threads, dropout, seed : as in `encode_batch`

        Returns ids, dtype[n_texts, width], and mask, bool[n_texts, width], which is False for padding. Raises TypeError or
        ValueError for invalid arguments, before any text is encoded.

        >>> ids, mask = tok.encode_padded(["the cat", "the"], pad_token="<|endoftext|>")
        >>> ids
        array([[258, 261],
               [258, 263]])
        >>> mask
        array([[ True,  True],
               [ True, False]])
        """
        rows = check_padding(max_length, padding, padding_side, truncation_side, pad_to_multiple_of)
        pad = find_pad(self._model, self.token_to_id, pad_token, pad_id)
        wanted = check_dtype(dtype, self._model.size)
        ids, starts = self.encode_batch_flat(
            texts,
            allowed_special=allowed_special,
            disallowed_special=disallowed_special,
            num_threads=num_threads,
            dropout=dropout,
            seed=seed,
        )
        return as_rows(ids, starts, rows, pad, wanted)
