"""A Tokenizer's methods that turn text into ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeGuard

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .encoding import threads
from .encoding.batches import FlatBatch, encode_batch_flat, encode_segments
from .encoding.encoder import SHORT, Encoder
from .encoding.id_lists import list_of, lists_of
from .encoding.id_types import check_dtype
from .encoding.padding import Padded, Side, as_rows, check_padding, find_pad
from .encoding.special_choice import ALL, NONE, Choice, Choices, allowed_in, pack_special_tokens, reusable
from .encoding.token_display import show
from .encoding.tokens import Tokens
from .model.model import Model
from .model.post_processor import Templates, read_templates
from .system.choices import check_bool
from .system.excerpt import shown
from .system.lazy import lazy
from .text.byte_source import Source, as_source, bytes_left
from .text.item_checks import check_items
from .text.utf8 import Data, Lent, Text, to_bytes, to_data, to_text
from .text.windows import Reader, TextStream

if TYPE_CHECKING:
    from .encoding.dropout import DropoutEncoder, DropoutTables
    from .kernels.encoding.encode_into import Tables
    from .kernels.pieces.special_tokens import SpecialTokens
    from .sources import Part, Tally


class TokenizerEncoding:
    """Encodes text to ids: one text, a batch, an Arrow column, a stream, or a part of a file."""

    _model: Model
    _encoder: Encoder
    _specials: SpecialTokens
    token_to_id: Callable[[str | bytes], int | None]

    def encode(
        self,
        text: Text | Source,
        *,
        allowed_special: Choice = ALL,
        disallowed_special: Choice = NONE,
        add_special_tokens: bool = False,
        num_threads: int | None = None,
        dropout: float = 0.0,
        seed: int | None = None,
    ) -> list[int]:
        """The ids of a text, as a list of int.

        text : str, or bytes, valid UTF-8 or not. Bytes may be any object with the buffer protocol (a bytearray, a
            memoryview, a NumPy array of uint8, an mmap of a file), which is read where it lies and must not change
            meanwhile. Or an open binary file (open(path, "rb"), gzip.open(path)), which is read from its position to its
            end, two megabytes at a time. In a str, a lone surrogate that "surrogateescape" made of a byte means that byte,
            and any other the three bytes that "surrogatepass" gives
        allowed_special : the special tokens that become their ids, "all" or a collection of them; others are plain text.
            Where several match, the longest wins
        disallowed_special : the special tokens that raise ValueError, "all" or a collection of them. A token that is in
            both is disallowed; "all" means every token that `allowed_special` does not name
        add_special_tokens : whether to add what the tokenizer's file puts around a text (its post_processor: a token at the
            start, for example), as in transformers
        num_threads : the most threads to use for a long text in memory, which is cut at certain boundaries; None for as
            many as pay off. The ids are the same for any number. One thread encodes files, and each text that is changed
            first, as by a normalizer, or of which `regex` splits most words (see `explain_pattern`)
        dropout : the share of merges that is skipped at random at each step, from 0 to 1 (BPE dropout, Provilkov et al.
            2020), so that a model sees a text split in different ways: 0 for none, 1 for single bytes. Special tokens stay
            whole. The text must be in memory, and one thread encodes it. An error where words have ends of their own, as
            in CLIP's vocabulary
        seed : an integer, the seed of the dropout. The seed and the bytes of the text alone decide the ids, so that a text
            gets the same ids in any batch and any number of threads; for other ids, give another seed, such as the number
            of the epoch. None for a new seed in each call

        The choices of special tokens are tiktoken's, but by default all special tokens are allowed and none is
        disallowed. With a normalizer, the text between special tokens is normalized first. Raises TypeError for any other
        object, and ValueError for `disallowed_special` with a file, and for `num_threads` below 1.

        >>> tok.encode("the cat<|endoftext|>")
        [258, 261, 263]
        >>> tok.encode(b"\\xff")
        [255]
        >>> len(tok.encode("<|endoftext|>", allowed_special=()))
        13
        >>> tok.encode("the cat", dropout=0.5, seed=1) == tok.encode("the cat", dropout=0.5, seed=1)
        True
        """
        if add_special_tokens is not False:  # as in few calls
            check_bool("add_special_tokens", add_special_tokens)
        if num_threads is None and dropout == 0 and seed is None:  # as in most calls; this takes less time
            ids: list[int] | None = None
            if allowed_special is ALL and disallowed_special is NONE:
                ids = self._encoder.encode_short(text, self._specials, list)
            elif _is_short(text):
                ids = self._encoder.encode_short(text, self._recognised(text, allowed_special, disallowed_special), list)
            if ids is not None:
                return self._templates.around(ids) if add_special_tokens else ids
        ids = list_of(self._encode_any(text, allowed_special, disallowed_special, num_threads, dropout, seed))
        return self._templates.around(ids) if add_special_tokens else ids

    def encode_pair(
        self,
        first: Text | Source,
        second: Text | Source,
        *,
        allowed_special: Choice = ALL,
        disallowed_special: Choice = NONE,
        add_special_tokens: bool = True,
    ) -> list[int]:
        """The ids of two texts, one after the other, with the special tokens that the tokenizer's file puts around and
        between them.

        first, second : as `text` in `encode`
        allowed_special, disallowed_special : as in `encode`
        add_special_tokens : False to put nothing there

        >>> tok.encode_pair("the", " cat")
        [258, 261]
        """
        allowed, disallowed = reusable(allowed_special, disallowed_special)  # for two texts
        check_bool("add_special_tokens", add_special_tokens)
        encode = partial(self.encode, allowed_special=allowed, disallowed_special=disallowed)
        templates = self._templates if add_special_tokens else self._templates.without_ids()
        return templates.around(encode(first), encode(second))

    def encode_array(
        self,
        text: Text | Source,
        *,
        allowed_special: Choice = ALL,
        disallowed_special: Choice = NONE,
        dtype: DTypeLike | None = None,
        num_threads: int | None = None,
        dropout: float = 0.0,
        seed: int | None = None,
    ) -> NDArray[Any]:
        """The ids of a text as a new 1-D array.

        text, allowed_special, disallowed_special, num_threads, dropout, seed : as in `encode`, and so are the errors
        dtype : of the array, an integer type such as "int64" for torch; None for the tokenizer's own. Raises ValueError if
            it cannot hold all ids

        >>> tok.encode_array("the cat")
        array([258, 261], dtype=uint16)
        >>> tok.encode_array("the cat", dtype="int64")
        array([258, 261])
        """
        wanted = None if dtype is None else check_dtype(dtype, self._model.size)
        ids: NDArray[Any] | None = None
        if allowed_special is ALL and disallowed_special is NONE and num_threads is None and dropout == 0 and seed is None:
            # As in most calls; this takes less time.
            ids = self._encoder.encode_short(text, self._specials, np.ndarray)
        if ids is None:
            ids = self._encode_any(text, allowed_special, disallowed_special, num_threads, dropout, seed)
        return ids if wanted is None else ids.astype(wanted)

    def count(
        self,
        text: Text | Source,
        *,
        allowed_special: Choice = ALL,
        disallowed_special: Choice = NONE,
        num_threads: int | None = None,
    ) -> int:
        """The number of ids of a text, without making the list.

        text, allowed_special, disallowed_special, num_threads : as in `encode`, and so are the errors

        >>> tok.count("the cat")
        2
        """
        if allowed_special is ALL and disallowed_special is NONE and num_threads is None:  # as in most calls
            n_ids: int | None = self._encoder.encode_short(text, self._specials, int)
            if n_ids is not None:
                return n_ids
        most = threads.check_threads(num_threads)
        if (source := as_source(text)) is not None:
            return self._encoder.count_source(source, self._sought(allowed_special, disallowed_special))
        data = text if type(text) is str else to_data(text)
        with Lent(data):
            return threads.count(self._encoder, data, self._recognised(data, allowed_special, disallowed_special), most)

    def encode_ordinary(self, text: Text | Source, *, num_threads: int | None = None) -> list[int]:
        """The ids of a text, in which special tokens are plain text; `text` and `num_threads` as in `encode`.

        >>> tok.encode_ordinary("the cat")
        [258, 261]
        >>> 263 in tok.encode_ordinary("<|endoftext|>")
        False
        """
        ids: list[int] | None = None if num_threads is not None else self._encoder.encode_short(text, None, list)
        return list_of(self._encode_any(text, (), NONE, num_threads)) if ids is None else ids

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
        from .encoding.arrow import encode_arrow

        return encode_arrow(self._encoder, data, self._sought(allowed_special), field, num_threads)

    def encode_iterable(self, texts: Iterable[Text], *, allowed_special: Choice = ALL) -> Iterator[int]:
        """The ids of the concatenated texts, one by one, in constant memory (an open text file is such an iterable).

        Equal to encoding all texts as one: a pretoken or a special token may span two items. `allowed_special` as in
        `encode`.

        >>> list(tok.encode_iterable(["the c", "at"]))
        [258, 261]
        """
        for ids in self.encode_stream(texts, allowed_special=allowed_special):
            yield from list_of(ids)

    def encode_stream(self, texts: Iterable[Text], *, allowed_special: Choice = ALL) -> Iterator[NDArray[Any]]:
        """Like `encode_iterable`, but yields new arrays, with the ids of as much text as is complete.

        >>> import numpy as np
        >>> np.concatenate(list(tok.encode_stream(["the c", "at"])))
        array([258, 261], dtype=uint16)
        """
        check_items(texts, "texts", "texts")
        encoder, specials = self._encoder.allowing(self._sought(allowed_special))
        for ids, _ in encoder.encode_all(Reader(TextStream(texts), None, specials, encoder.at_once)):
            yield ids.copy()

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
        padding         : "longest" makes rows as long as the longest text (after truncation), "max_length" that long
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

    def tokenize(self, text: Text, *, allowed_special: Choice = ALL, disallowed_special: Choice = NONE) -> Tokens:
        """The tokens of a text: ids, bytes, offsets in bytes and in characters (see Tokens).

        text : str or bytes, as in `encode`
        allowed_special, disallowed_special : as in `encode`

        Where the tokenizer changes a text before it is split (by a normalizer, or by added tokens that take whitespace),
        the `text` of the result is the changed one, and offsets refer to that.

        >>> tokens = tok.tokenize("the caf\\u00e9")
        >>> tokens.tokens
        [b'the', b' ', b'c', b'a', b'f', b'\\xc3', b'\\xa9']
        >>> tokens[5]
        Token(id=195, token=b'\\xc3', byte_offsets=(7, 8), char_offsets=(7, 8))
        """
        if not isinstance(text, str):
            text = to_bytes(text)
        ids = self.encode_array(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        tokens = list(map(self._model.vocab.__getitem__, ids.tolist()))
        if self._model.rewrites_text and (encoded := b"".join(tokens)) != to_bytes(text):
            text = encoded if isinstance(text, bytes) else to_text(encoded)
        return Tokens(text, ids, tokens)

    def show(self, text: Text, *, file: TextIO | None = None, color: bool | None = None) -> None:
        """Print the tokens of a text, with coloured backgrounds, or with | between them without colours.

        file : None for standard output
        color : None for colours if the file is a terminal and NO_COLOR is not set

        Control characters, and bytes that are not a complete character, are shown as symbols or escapes.

        >>> tok.show("the cat sat", color=False)
        the| cat| |sat
        """
        show(self.tokenize(text).tokens, file, color)

    def njit_tables(self) -> Tables:
        """The tables with which `nbbpe.njit.encode_into` encodes in the user's own code that Numba compiles.

        It is a NamedTuple of arrays, read only, that can be pickled, and that threads may share. Raises ValueError if the
        pattern is not compiled, or only in part, and if the tokenizer changes text before it is split, as by a normalizer.

        >>> tables = tok.njit_tables()
        >>> len(tables)
        2
        """
        from .njit import tables_of

        return tables_of(self._model)

    def encode_part(
        self, part: Part, separator: int, tally: Tally, allowed_special: Choice | None = None
    ) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """The ids of a part of a source, in arrays, with the id `separator` after each document; for `encode_file`.

        `allowed_special` as in `encode_file`. Each array of ids comes with the number of ids up to the end of each record
        that has no separator.
        """
        encoder, specials = self._encoder.allowing(self._sought(allowed_in(part.has_records, allowed_special)))
        with part.open(specials, encoder.at_once, separator, tally) as reader:
            yield from encoder.encode_all(reader)

    # Computed on first use

    @lazy
    def _dropout_tables(self) -> DropoutTables:
        from .encoding.dropout import DropoutTables

        return DropoutTables(self._encoder, self._model.pattern, self._model.merge_table())

    @lazy
    def _templates(self) -> Templates:
        return read_templates(self._model.extras.post_processor)

    @lazy
    def _choices(self) -> Choices:
        return Choices(self._model.choosable, self._specials)

    def _encode_any(
        self,
        text: Text | Source,
        allowed: Choice,
        disallowed: Choice,
        num_threads: int | None,
        dropout: float = 0.0,
        seed: int | None = None,
    ) -> NDArray[Any]:
        """See `encode_array`."""
        is_usual = num_threads is None and dropout == 0 and seed is None
        if is_usual and _is_short(text):  # the same as below, in less time
            return self._encoder.encode_text(text, self._recognised(text, allowed, disallowed))
        most = threads.check_threads(num_threads)
        if (encoder := self._dropout_encoder(dropout, seed)) is not None:
            document = to_bytes(text)  # type: ignore[arg-type]
            specials = self._recognised(document, allowed, disallowed) or pack_special_tokens({})
            return encoder.encode_document(document, specials)
        if (source := as_source(text)) is not None:
            return self._encoder.encode_source(source, bytes_left(source), self._sought(allowed, disallowed))
        data = text if type(text) is str else to_data(text)
        with Lent(data):
            return threads.encode_text(self._encoder, data, self._recognised(data, allowed, disallowed), most)

    def _dropout_encoder(self, dropout: float, seed: int | None) -> DropoutEncoder | None:
        """For the arguments of `encode` of this name, which are checked; None if nothing is to be skipped."""
        if dropout == 0 and seed is None:
            return None
        from .encoding.dropout import DropoutEncoder, check_dropout

        share, seed = check_dropout(dropout, seed)
        if not share:
            return None
        suffix = self._model.extras.suffix
        if suffix is not None:
            raise ValueError(
                f"dropout={shown(dropout)} would leave out ends of words: this tokenizer's tokens such as "
                f"{shown('a' + suffix)} are merges of a byte with a space here, and single symbols in its vocabulary"
            )
        return DropoutEncoder(self._dropout_tables, share, seed)

    def _recognised(self, text: str | Data, allowed: Choice, disallowed: Choice) -> SpecialTokens | None:
        """The special tokens to recognise in a text, None for none. ValueError where it holds a disallowed one."""
        chosen = self._choices.of(allowed, disallowed)
        chosen.check(text)
        return chosen.recognised

    def _sought(self, allowed: Choice, disallowed: Choice = NONE) -> SpecialTokens:
        """The special tokens to look for in a file, where `disallowed` has no meaning. ValueError where it is given."""
        if disallowed:
            raise ValueError(
                "disallowed_special cannot be checked in a file before it is encoded: read the file, or mmap it"
            )
        return self._choices.of(allowed).recognised or pack_special_tokens({})

    def _allowed_tokens(self, allowed_special: Choice | None) -> list[str] | None:
        """The special tokens to recognise in a source, a list, which is read for each part; None as in `encode_file`."""
        return None if allowed_special is None else list(self._choices.of(allowed_special).tokens)


def _is_short(text: object) -> TypeGuard[str | bytes]:
    """Whether a text is plain and so short that what a call costs matters."""
    return (type(text) is str or type(text) is bytes) and len(text) <= SHORT
