"""A Tokenizer's methods that turn a text into ids; those for many texts are in batches.py."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO, TypeGuard

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..encoding import threads
from ..encoding.encoder import SHORT, Encoder
from ..encoding.id_lists import list_of
from ..encoding.id_types import check_dtype
from ..encoding.new_encoder import new_encoder
from ..encoding.special_choice import ALL, NONE, Choice, Choices, allowed_in, pack_special_tokens, reusable
from ..encoding.token_display import show
from ..encoding.tokens import Tokens
from ..model.post_processor import Templates, read_templates
from ..patterns.pattern_argument import splits_by_regex
from ..system.choices import check_bool
from ..system.lazy import lazy, method_on_use
from ..text.byte_source import Source, as_source, bytes_left
from ..text.item_checks import check_items
from ..text.utf8 import Data, Lent, Text, to_bytes, to_data, to_text
from ..text.windows import Reader, TextStream
from .data import TokenizerData

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..encoding.dropout import DropoutEncoder, DropoutTables
    from ..idfiles.writer import encode_file
    from ..kernels.encoding.encode_into import Tables
    from ..kernels.pieces.special_tokens import SpecialTokens
    from ..sources import Part, Tally

MAX_PIECES = 1_000_000


class TokenizerEncoding(TokenizerData):
    """Encodes text to ids: one text, a stream, a file, or a part of one."""

    _max_pieces = MAX_PIECES
    _by_regex = False  # whether `regex` splits new pieces

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
            memoryview, a NumPy array of uint8, an mmap of a file), which is read in place and must not change
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
            many as pay off. The ids are the same for any number. One thread encodes a file, a text that is changed first,
            as by a normalizer, and a text of which `regex` splits most words (see `explain_pattern`)
        dropout : the share of merges that is skipped at random at each step, from 0 to 1 (BPE dropout, Provilkov et al.
            2020), so that a model sees a text split in different ways: 0 for none, 1 for single bytes. Special tokens stay
            whole, and so do the ends of words in a vocabulary that has them, as CLIP's. The text must be in memory, and
            one thread encodes it
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
        from ..encoding.njit_tables import tables_of

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

    # Its docstring is in idfiles/writer.py; its first parameter is the tokenizer.
    if TYPE_CHECKING:
        encode_file = encode_file
    else:
        encode_file = method_on_use("nbbpe.idfiles.writer", "encode_file")

    def _splitting_with(self, split_with: str | None) -> Self:
        """This tokenizer, or an equal one that splits pieces as `split_with` says; see `splits_by_regex`."""
        if splits_by_regex(self._model.pattern, split_with) == self._by_regex:
            return self
        other = copy.copy(self)
        other._by_regex = not self._by_regex
        return other

    # Computed on first use

    @lazy
    def _encoder(self) -> Encoder:
        return new_encoder(self._model, self.dtype, self._max_pieces, self._specials, self._by_regex)

    @lazy
    def _specials(self) -> SpecialTokens:
        return pack_special_tokens(self._model.choosable)

    @lazy
    def _dropout_tables(self) -> DropoutTables:
        from ..encoding.dropout import DropoutTables

        model = self._model
        return DropoutTables(self._encoder, model.pattern, model.merge_table(), model.n_symbol_merges())

    @lazy
    def _templates(self) -> Templates:
        return read_templates(self._model.extras.post_processor)

    @lazy
    def _choices(self) -> Choices:
        return Choices(self._model.choosable, self._specials, self._model.extras.text_tokens)

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
        """The encoder for these arguments of `encode`, which are checked; None if no merge is to be skipped."""
        if dropout == 0 and seed is None:
            return None
        from ..encoding.dropout import DropoutEncoder, check_dropout

        share, seed = check_dropout(dropout, seed)
        if not share:
            return None
        return DropoutEncoder(self._dropout_tables, share, seed)

    def _recognised(self, text: str | Data, allowed: Choice, disallowed: Choice) -> SpecialTokens | None:
        """The special tokens to recognise in a text, None for none. Raises ValueError if it holds a disallowed one."""
        chosen = self._choices.of(allowed, disallowed)
        chosen.check(text)
        return chosen.recognised

    def _sought(self, allowed: Choice, disallowed: Choice = NONE) -> SpecialTokens:
        """The special tokens to look for in a file. Raises ValueError if some are disallowed."""
        if disallowed:
            raise ValueError(
                "disallowed_special cannot be checked in a file before it is encoded: read the file, or mmap it"
            )
        return self._choices.of(allowed).recognised or pack_special_tokens({})

    def _allowed_tokens(self, allowed_special: Choice | None) -> list[str] | None:
        """The special tokens to recognise in a source, as a list, since each part reads it; None as in `encode_file`."""
        return None if allowed_special is None else list(self._choices.of(allowed_special).tokens)


def _is_short(text: object) -> TypeGuard[str | bytes]:
    """Whether a text is a str or bytes, and so short that the cost of a call matters."""
    return (type(text) is str or type(text) is bytes) and len(text) <= SHORT
