"""The Tokenizer: text to ids, ids to text, and what there is to ask of it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TextIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .encoding.batches import encode_batch_flat
from .encoding.decoder import Decoder
from .encoding.padding import Padded, Side, encode_padded
from .encoding.segments import encode_segments
from .encoding.special_choice import ALL, NONE, Choice, Chosen, allowed_in, check_choice, choose, pack_special_tokens
from .encoding.stream_decoder import StreamDecoder
from .encoding.tokens import Tokens, show
from .formats import folder, gpt2, huggingface, tekken, tiktoken
from .idfiles import writer
from .model.model import Merge, Model, Vocab
from .model.surround import PLAIN, Surround, read_surround
from .pretrained import save_pretrained
from .system.lazy import lazy
from .system.paths import Path
from .text.byte_source import Source, as_source, bytes_left
from .text.normalizer import Chain, as_form
from .text.pattern import PatternLike
from .text.utf8 import Data, Lent, Text, to_bytes, to_data, to_text
from .text.windows import Reader, TextStream
from .tiktoken_names import TiktokenNames

if TYPE_CHECKING:
    from .encoding.encoder import Encoder
    from .encoding.prepared_encoder import PreparedEncoder
    from .kernels.pieces.special_tokens import SpecialTokens
    from .sources import Part, Tally

MAX_PIECES = 1_000_000
_NO_LIMIT = 1 << 40  # pieces; more than fit into any memory
_MAX_UINT16_VOCAB = 1 << 16
_MAX_CHOICES = 100  # of special tokens that are kept; who makes a set anew for each text chooses the same few


class Tokenizer(TiktokenNames):
    """A byte-level BPE tokenizer.

    Parameters
    ----------
    vocab : dict from id to bytes; every single byte must be in it
    merges : pairs of byte strings in the order in which they were learned; all sides and results must be in the vocab
    special_tokens : strings, of which those that the vocab lacks get the next ids after its highest; or a dict from
        string to id, as the property of this name gives, which must agree with the vocab where that has the id
    pattern : a name, a regex, a list of these, or None (see `nbbpe.train`)
    max_pieces : how many pieces of text a thread remembers the ids of; their bytes, too, are bounded, by 64 for each
    normalizer : "NFC", "NFD", "NFKC" or "NFKD", the normal form that text is put into before it is split (as Python's
        `unicodedata` does), once its special tokens are found; or a list of steps (see the property of this name); None
        for text as it is

    Raises ValueError for a vocab and merges that do not fit together, TypeError for arguments of other types.
    """

    def __init__(
        self,
        vocab: Vocab,
        merges: Sequence[Merge],
        special_tokens: Sequence[str] | Mapping[str, int] | None = None,
        pattern: PatternLike = "gpt2",
        *,
        max_pieces: int = MAX_PIECES,
        normalizer: str | Sequence[str | Mapping[str, Any]] | None = None,
    ) -> None:
        if isinstance(max_pieces, bool) or not hasattr(max_pieces, "__index__"):
            raise TypeError(f"max_pieces must be an integer, not {max_pieces!r}")
        if max_pieces < 0:
            raise ValueError(f"max_pieces must not be negative, and is {max_pieces}")
        self._model = Model.checked(vocab, merges, special_tokens, pattern, normalizer)
        self._max_pieces = min(max_pieces.__index__(), _NO_LIMIT)

    @classmethod
    def _of(cls, model: Model) -> Tokenizer:
        """From a model that fits together."""
        self = cls.__new__(cls)
        self._model = model
        self._max_pieces = MAX_PIECES
        return self

    @classmethod
    def from_files(
        cls,
        vocab_path: Path,
        merges_path: Path,
        special_tokens: Sequence[str] | None = None,
        pattern: PatternLike = "gpt2",
    ) -> Tokenizer:
        """Read a GPT-2 style vocab.json and merges.txt.

        Parameters
        ----------
        vocab_path, merges_path : the two files; the first line of the second may be its version
        special_tokens : those that the vocab has keep their ids there, others get the next after its highest
        pattern : a name, a regex, a list of these, or None (see `nbbpe.train`); the files do not say it

        Raises OSError, or ValueError that names file and line of what is broken.
        """
        return cls._of(gpt2.read_model(vocab_path, merges_path, [] if special_tokens is None else special_tokens, pattern))

    @classmethod
    def from_tiktoken(
        cls,
        path_or_encoding: Path | Any,
        pattern: PatternLike = None,
        special_tokens: Mapping[str, int] | Sequence[str] | None = None,
    ) -> Tokenizer:
        """Read a rank file of tiktoken's (`.tiktoken`), or take a `tiktoken.Encoding`; ids are those that tiktoken gives.

        Parameters
        ----------
        path_or_encoding : path of a rank file, or an Encoding
        pattern : a name or a regex. None takes the Encoding's, or that of the known encoding whose file this is, by its
            content or else by its name: r50k_base, p50k_base, cl100k_base, o200k_base
        special_tokens : a dict from special tokens to ids, which may leave gaps; or a list, for the next ids after the
            highest rank. None takes the Encoding's or the known encoding's own, and none for any other file

        A token's rank is its id. The adjacent pair whose joined bytes have the lowest rank is merged first, and a pretoken
        that is a token is that token. Where a list of merges says the same (in all known encodings it does), `merges` is
        that list.

        Raises ValueError that names file and line of what is broken, or where the pattern is not known; OSError for a file
        that is not there or cannot be read; TypeError for what is neither.
        """
        return cls._of(tiktoken.read_model(path_or_encoding, pattern, special_tokens))

    @classmethod
    def from_hf(cls, path_or_tokenizer: Path | Any, *, normalizer: Literal["apply", "ignore"] = "apply") -> Tokenizer:
        """Read a byte-level BPE `tokenizer.json` of Hugging Face's, or take a `tokenizers.Tokenizer` or a
        `PreTrainedTokenizerFast`; ids are those of its `encode(text, add_special_tokens=False)`.

        Parameters
        ----------
        path_or_tokenizer : path of a tokenizer.json, or an object of tokenizers' or transformers'
        normalizer : "apply" takes a file's normalizer over where it is NFC (as Qwen's), NFD, NFKC or NFKD, and no file with
            another; "ignore" reads the rest of it, for a caller who normalizes texts or knows that they are normalized

        All added tokens become special tokens, which are found in text just as tokenizers finds them. What comes after
        encoding is left out: the tokens that a post_processor puts around a text, truncation, padding. Any other part that
        nbbpe cannot honour exactly is an error that names it.

        Raises ValueError that names the file and what in it is broken or cannot be honoured.
        """
        return cls._of(huggingface.read_model(path_or_tokenizer, normalizer))

    def save(self, path: Path) -> None:
        """Write the tokenizer to a folder of plain JSON and text, made if need be; `nbbpe.load` reads it.

        Files of a tokenizer that `save` wrote there are replaced. Raises FileExistsError for a vocab.json or merges.txt
        that it did not, other OSErrors where the folder cannot be written to, and ValueError for two ids of equal bytes,
        which the files cannot tell apart.
        """
        folder.write(path, self._model)

    @classmethod
    def load(cls, path: Path, *, check: bool = True) -> Tokenizer:
        """Read a folder that `save` wrote (see `nbbpe.load`)."""
        return cls._of(folder.read_model(path, check))

    def save_pretrained(
        self,
        folder: Path,
        *,
        chat_template: str | None = None,
        model_max_length: int | None = None,
        **roles: str,
    ) -> list[str]:
        """Write what transformers' `AutoTokenizer.from_pretrained(folder)` reads, and `nbbpe.load(folder)`, too.

        `roles` are bos_token, eos_token, unk_token, sep_token, pad_token, cls_token and mask_token, each a special token
        of this tokenizer. `chat_template` is a template of Jinja; `model_max_length` the most ids that a model takes.

        Returns the paths of the files: tokenizer.json, tokenizer_config.json, special_tokens_map.json. Raises ValueError
        for a role that is no special token, and for what `to_hf` raises it.
        """
        return save_pretrained(self, folder, chat_template, model_max_length, roles)

    def to_hf(self, path: Path) -> None:
        """Write a `tokenizer.json` that `tokenizers.Tokenizer.from_file` reads, and transformers'
        `PreTrainedTokenizerFast(tokenizer_file=path)`, with the same ids.

        Raises ValueError for what that format cannot hold: a pattern of the user's own with parts that the engine of
        tokenizers takes for something else, special tokens that share an id or are spelled like another token, or a
        vocabulary of ranks without a list of merges. Characters that are newer than the Unicode version of that engine may
        be split, or normalized, otherwise there.
        """
        huggingface.write(path, self._model)

    def save_gpt2(self, vocab_path: Path, merges_path: Path, *, version_line: bool = True) -> None:
        """Write GPT-2's vocab.json and merges.txt, byte for byte as OpenAI's were; `from_files` reads them.

        `version_line` says whether merges.txt begins with "#version: 0.2", as OpenAI's does. The files say neither the
        pattern nor which tokens are special, so `from_files` must be told. Raises ValueError for what they cannot hold: two
        ids of equal bytes, a normalizer, or a vocabulary that a list of merges does not say all of.
        """
        gpt2.write(vocab_path, merges_path, self._model, version_line)

    def to_tiktoken(self, name: str = "nbbpe") -> Any:
        """A `tiktoken.Encoding` that gives the same ids; needs tiktoken.

        Raises ImportError where tiktoken is missing, and ValueError where ranks cannot say the same as the merges (in what
        nbbpe trains they can), where the pattern or special tokens mean something else in tiktoken, or with a normalizer.
        """
        return tiktoken.new_encoding(name, self._model)

    def save_tiktoken(self, path: Path) -> None:
        """Write a `.tiktoken` file of ranks; `from_tiktoken` reads it, given the pattern and the special tokens, which the
        file does not hold. Raises ValueError where ranks cannot say the same as the merges, or with a normalizer.
        """
        tiktoken.write(path, self._model)

    def save_tekken(self, path: Path) -> None:
        """Write Mistral's `tekken.json`, which mistral-common's `Tekkenizer.from_file` reads and `nbbpe.load`, too.

        Raises ValueError where special tokens are not the first ids, the bytes not the next in their order, or where ranks
        cannot say the same as the merges.
        """
        tekken.write(path, self._model)

    def with_special_tokens(self, special_tokens: Sequence[str] | Mapping[str, int]) -> Tokenizer:
        """A tokenizer that has more special tokens; this one stays as it is.

        A list: those that are new get the next ids after the highest (or the id of a token of the vocab that has their
        bytes and takes no part in merges). A dict from string to id: exactly these ids, with gaps if need be. Those that
        are there keep their ids. Raises ValueError for an id that another token has.
        """
        other = copy.copy(self)
        other._model = self._model.with_special_tokens(special_tokens)
        return other

    # What it is

    @property
    def vocab(self) -> Mapping[int, bytes]:
        """The vocabulary, from id to bytes, special tokens included. It cannot be changed; dict(tok.vocab) is a copy."""
        return MappingProxyType(self._model.vocab)

    @property
    def merges(self) -> list[Merge]:
        """A copy of the merges, in rank order.

        Raises ValueError for a vocabulary of ranks that no list of merges says the same as (see `from_tiktoken`).
        """
        return list(self._model.listed_merges())

    @property
    def special_tokens(self) -> dict[str, int]:
        """A copy of the special tokens with their ids."""
        return dict(self._model.special)

    @property
    def vocab_size(self) -> int:
        """One more than the highest id (the number of tokens, where ids have no gaps)."""
        return self._model.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned type that holds every id: uint16 for up to 65,536 tokens, else uint32."""
        return np.dtype(np.uint16 if self.vocab_size <= _MAX_UINT16_VOCAB else np.uint32)

    @property
    def pattern(self) -> str | list[str] | None:
        """The name or the regex of the split pattern, a list of these that split in turn; None where there is none."""
        return self._model.pattern.spelling

    @property
    def normalizer(self) -> str | list[str | dict[str, Any]] | None:
        """The normal form that text is put into before it is split, as "NFC"; None where text is encoded as it is.

        A list where it has several steps, or others: names of normal forms, "Lowercase", "StripAccents", and objects as a
        tokenizer.json has them, as {"type": "Prepend", "prepend": " "}.
        """
        normalizer = self._model.normalizer
        return normalizer.spelling if isinstance(normalizer, Chain) else normalizer

    @property
    def fingerprint(self) -> str:
        """A digest of vocabulary, merges, special tokens, pattern and normalizer, 16 hex digits: the same wherever ids are.

        However the tokenizer was made, and in every process and on every platform.
        """
        return self._model.fingerprint

    @property
    def provenance(self) -> dict[str, Any]:
        """Where it comes from, as a copy of plain dicts; `save` writes it and `nbbpe.load` restores it.

        pattern            the name or the regex of the split pattern, or a list of these
        character_classes  digest of what the `regex` in use then takes each code point for; None where there is no pattern
        versions           of nbbpe, numba, numpy and regex in the process that trained it, or first took it from elsewhere
        training           only where `nbbpe.train` made it: `vocab_size` as asked, `tie_break`, `min_frequency`, and of the
                           `corpus` the numbers of `words` and `distinct_words` and a `fingerprint`, a digest of the words
                           with their counts (whatever the order of the texts and the number of workers)
        """
        return self._model.provenance

    def token_to_id(self, token: str | bytes) -> int | None:
        """The id of a token (str stands for its UTF-8 bytes), or None where there is none."""
        if isinstance(token, str) and token in self._model.special:
            return self._model.special[token]
        return self._ids.get(to_bytes(token))

    def id_to_token(self, token_id: int) -> bytes | None:
        """The bytes of a token, special ones included, or None where no token has this id."""
        return self._model.vocab.get(token_id)

    def __len__(self) -> int:
        return len(self._model.vocab)

    def __repr__(self) -> str:
        merges = "merged by rank" if self._model.merges is None else f"{len(self._model.merges):,} merges"
        special = len(self._model.special)
        normalizer = "" if self.normalizer is None else f", normalizer={self.normalizer!r}"
        return f"Tokenizer({len(self):,} tokens, {merges}, {special} special, pattern={self.pattern!r}{normalizer})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return self._model == other._model

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __getstate__(self) -> dict[str, Any]:
        # Tables and remembered pieces are made anew in another process. A copy starts from these, too.
        return {"_model": self._model, "_max_pieces": self._max_pieces}

    # Text to ids

    def encode(
        self,
        text: Text | Source,
        *,
        allowed_special: Choice = ALL,
        disallowed_special: Choice = NONE,
        add_special_tokens: bool = False,
    ) -> list[int]:
        """The ids of a text, a list of int; with a normalizer, of what it makes of the text between special tokens.

        `text` is str, or bytes, valid UTF-8 or not; TypeError for all else. Bytes may be in any object that lends them: a
        bytearray, a memoryview, a NumPy array of uint8, or an mmap of a file, which is read where it lies. They must not
        change meanwhile. Or they are what a file has that is open for reading bytes (open(path, "rb"), gzip.open(path)),
        from where it stands to its end; it is read a megabyte at a time. In a str, a lone surrogate that "surrogateescape"
        made of a byte stands for that byte, any other for the three bytes that "surrogatepass" gives.

        Special tokens in the text become their ids, the longest first where several match. With `allowed_special` as a
        set, only those do and others are plain text; one that is in `disallowed_special` raises ValueError. Each is "all"
        or a collection of special tokens; disallowed wins, and as "all" spares only those that `allowed_special` names.
        Names and meanings are tiktoken's, but by default all tokens are allowed and none is disallowed. Of a file nothing
        can be disallowed (ValueError).

        With `add_special_tokens`, the ids come with what the file that the tokenizer was read from puts around a text (its
        post_processor: a token at the start, say), as in transformers.
        """
        if allowed_special is ALL and disallowed_special is NONE:  # as most calls are: for less
            ids: list[int] | None = self._encoder.encode_short(text, self._specials, list)
            if ids is not None:
                return self._surround.around(ids) if add_special_tokens else ids
        ids = self._encode_any(text, allowed_special, disallowed_special).tolist()
        return self._surround.around(ids) if add_special_tokens else ids

    def encode_pair(
        self,
        first: Text | Source,
        second: Text | Source,
        *,
        allowed_special: Choice = ALL,
        disallowed_special: Choice = NONE,
        add_special_tokens: bool = True,
    ) -> list[int]:
        """The ids of two texts, with what belongs around and between them (see `encode`); without, one after the other.

        Other arguments as of `encode`.
        """
        encode = partial(self.encode, allowed_special=allowed_special, disallowed_special=disallowed_special)
        return (self._surround if add_special_tokens else PLAIN).around(encode(first), encode(second))

    def verify(self, text: str | None = None) -> dict[str, str]:
        """Prove on a text that the libraries that are installed give the same ids: tokenizers, tiktoken, mistral-common.

        The tokenizer is written as each library's file, and read by it. Returns, for each library, "equal (n ids)", "not
        installed", or why its format cannot hold this tokenizer. `text` is str; None takes a short text of hard cases.

        Raises ValueError that shows the first place where ids differ, or where no library could be asked.
        """
        from .verification import verify

        return verify(self, text)

    def encode_array(
        self,
        text: Text | Source,
        *,
        allowed_special: Choice = ALL,
        disallowed_special: Choice = NONE,
        dtype: DTypeLike | None = None,
    ) -> NDArray[Any]:
        """The ids of a text as a 1-D array, which is the caller's own; arguments and errors as of `encode`.

        `dtype` is of the array, "int64" for torch; None for the tokenizer's own.
        """
        if allowed_special is ALL and disallowed_special is NONE and dtype is None:  # as most calls are: for less
            ids: NDArray[Any] | None = self._encoder.encode_short(text, self._specials, np.ndarray)
            if ids is not None:
                return ids
        found = self._encode_any(text, allowed_special, disallowed_special)
        return found if dtype is None else found.astype(dtype)

    def count(self, text: Text | Source, *, allowed_special: Choice = ALL, disallowed_special: Choice = NONE) -> int:
        """The number of ids of a text: the length of what `encode` returns, without making it. Arguments as in `encode`."""
        if allowed_special is ALL and disallowed_special is NONE:  # as most calls are: for less
            n_ids: int | None = self._encoder.encode_short(text, self._specials, int)
            if n_ids is not None:
                return n_ids
        if (source := as_source(text)) is not None:
            return self._encoder.count_source(source, self._sought(allowed_special, disallowed_special))
        data = to_data(text)
        with Lent(data):
            return self._encoder.count(data, self._recognised(data, allowed_special, disallowed_special))

    def encode_ordinary(self, text: Text | Source) -> list[int]:
        """The ids of a text in which no special token is recognised."""
        ids: list[int] | None = self._encoder.encode_short(text, None, list)
        return self._encode_any(text, (), NONE).tolist() if ids is None else ids

    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        allowed_special: Choice = ALL,
        disallowed_special: Choice = NONE,
        num_threads: int | None = None,
    ) -> list[list[int]]:
        """The ids of each text, a list of lists of int, as `encode` gives; large batches are shared among threads.

        `num_threads` is how many at most, None for as many as there are processors. Other arguments as in `encode`. Raises
        TypeError that names an item that is no text, ValueError one that holds a special token that is disallowed.
        """
        chosen = self._chosen(allowed_special, disallowed_special)
        ids, starts = encode_batch_flat(self._encoder, texts, chosen, num_threads)
        whole = ids.tolist()
        return [whole[start:end] for start, end in pairwise(starts.tolist())]

    def encode_batch_arrays(
        self,
        texts: Iterable[Text],
        *,
        allowed_special: Choice = ALL,
        disallowed_special: Choice = NONE,
        dtype: DTypeLike | None = None,
        num_threads: int | None = None,
    ) -> list[NDArray[Any]]:
        """The ids of each text, a list of 1-D arrays of `dtype` ("int64" for torch; None for the tokenizer's).

        Arguments and errors as of `encode_batch`.
        """
        chosen = self._chosen(allowed_special, disallowed_special)
        ids, starts = encode_batch_flat(self._encoder, texts, chosen, num_threads)
        if dtype is not None:
            ids = ids.astype(dtype)
        return [ids[start:end].copy() for start, end in pairwise(starts.tolist())]

    def encode_batch_flat(
        self,
        texts: Iterable[Text],
        *,
        allowed_special: Choice = ALL,
        disallowed_special: Choice = NONE,
        num_threads: int | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The ids of all texts in one array, for what needs no array of its own for each of many short texts.

        Returns (ids, starts): ids is a 1-D array of `dtype`, starts int64[n + 1]; text i has the ids
        ids[starts[i]:starts[i + 1]]. Arguments and errors as of `encode_batch`.
        """
        return encode_batch_flat(self._encoder, texts, self._chosen(allowed_special, disallowed_special), num_threads)

    def encode_segments(self, segments: Iterable[tuple[Text, bool]]) -> list[int]:
        """The ids of texts that follow each other, each with whether it is trusted: [(text, trusted), ...].

        Special tokens are recognised in trusted ones only: what a stranger wrote is plain text, whatever it spells, and
        neither pretokens nor special tokens reach from one into the next. Raises TypeError for what is no such pair.
        """
        return encode_segments(segments, self.encode, self.encode_ordinary)

    def encode_iterable(self, texts: Iterable[Text], *, allowed_special: Choice = ALL) -> Iterator[int]:
        """The ids of the joined texts, one by one, in constant memory (an open text file is such an iterable).

        The same as encoding the texts joined to one: a pretoken or a special token may reach across items. With
        `allowed_special` as a set, only those are recognised.
        """
        for ids in self.encode_stream(texts, allowed_special=allowed_special):
            yield from ids.tolist()

    def encode_stream(self, texts: Iterable[Text], *, allowed_special: Choice = ALL) -> Iterator[NDArray[Any]]:
        """Like `encode_iterable`, in arrays as they come, each of them the caller's own."""
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
        dtype: DTypeLike = np.int64,
        allowed_special: Choice = ALL,
        disallowed_special: Choice = NONE,
    ) -> Padded:
        """The ids of texts as the rows of one array, and a mask: (ids, mask).

        max_length      : longer texts are cut to so many tokens, at the `truncation_side`; None cuts none
        pad_token, pad_id : what to fill up with, by name or by id; one of both must be given, and be in the vocabulary
        padding         : "longest" makes rows as long as the longest text (after it was cut), "max_length" as that
        padding_side    : where shorter texts are filled up; models that generate want "left"
        dtype           : of the ids; int64 is what models take
        allowed_special, disallowed_special : as in `encode`

        Returns ids, dtype[n_texts, width], and mask, bool[n_texts, width], which is False for padding. Raises TypeError or
        ValueError for arguments that cannot be meant, before any text is encoded.
        """
        encode = partial(self.encode_batch_arrays, allowed_special=allowed_special, disallowed_special=disallowed_special)
        return encode_padded(
            self, texts, max_length, pad_token, pad_id, padding, padding_side, truncation_side, dtype, encode
        )

    def tokenize(self, text: Text, *, allowed_special: Choice = ALL, disallowed_special: Choice = NONE) -> Tokens:
        """The tokens of a text: ids, bytes, offsets in bytes and in characters (see Tokens). Arguments as in `encode`.

        With a normalizer, `text` of what is returned is the text that it makes, and offsets are places in that.
        """
        if not isinstance(text, str):
            text = to_bytes(text)
        ids = self.encode_array(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        tokens = list(map(self._model.vocab.__getitem__, ids.tolist()))
        if (self.normalizer is not None or self._model.is_prepared) and (encoded := b"".join(tokens)) != to_bytes(text):
            text = encoded if isinstance(text, bytes) else to_text(encoded)
        return Tokens(text, ids, tokens)

    def show(self, text: Text, *, file: TextIO | None = None, color: bool | None = None) -> None:
        """Print the tokens of a text on coloured ground, or with | between them where there are no colours.

        By default to standard output, in colours where that is a terminal and the environment has no NO_COLOR. Control
        characters, and bytes that are only a part of a character, are shown as signs or escapes.
        """
        show(self.tokenize(text).tokens, file, color)

    def encode_part(
        self, part: Part, separator: int, tally: Tally, allowed_special: Choice | None = None
    ) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """The ids of a part of a source, bit by bit, with the id `separator` after each document (see tokenfile).

        `allowed_special` is that of `encode_file`. With each bit of ids comes how many of them there are up to the end of
        each record that has no separator.
        """
        encoder, specials = self._encoder.allowing(self._sought(allowed_in(part.has_records, allowed_special)))
        with part.open(specials, encoder.at_once, separator, tally) as reader:
            yield from encoder.encode_all(reader)

    # Its parameters and what they mean are written there, once; the first is the tokenizer.
    encode_file = writer.encode_file

    # Ids to text

    def decode_bytes(self, ids: Iterable[int] | NDArray[Any]) -> bytes:
        """The bytes that ids stand for. Raises ValueError that names an id outside the vocabulary.

        Ids are integers of any type, and no bools; an array of them has one dimension.
        """
        data: bytes = self._decoder.decode(ids)
        return data

    def decode(
        self, ids: Iterable[int] | NDArray[Any], errors: str = "replace", *, skip_special_tokens: bool = False
    ) -> str:
        """The text that ids stand for; `errors` says what becomes of invalid UTF-8, as in bytes.decode.

        With `skip_special_tokens`, the ids of special tokens stand for nothing. Raises ValueError as `decode_bytes` does,
        and with errors="strict" UnicodeDecodeError.
        """
        decoder = self._decoder_of_text if skip_special_tokens else self._decoder
        text: str = decoder.decode(ids, errors)
        return text

    def decode_batch(
        self,
        batch: Iterable[Iterable[int] | NDArray[Any]],
        errors: str = "replace",
        *,
        skip_special_tokens: bool = False,
    ) -> list[str]:
        """The text of each list or array of ids, or of each row of a 2-D array; arguments as of `decode`."""
        return [self.decode(ids, errors, skip_special_tokens=skip_special_tokens) for ids in batch]

    def decode_with_offsets(self, ids: Iterable[int] | NDArray[Any]) -> tuple[str, list[int]]:
        """The text that ids stand for, and the number of the character that each token starts with, or starts within.

        As tiktoken's; `tokenize` gives offsets from text. Raises UnicodeDecodeError where the ids are no valid UTF-8.
        """
        ids = list(ids)
        text = self.decode(ids, errors="strict")
        tokens = Tokens(text, np.array(ids), [self._model.vocab[int(token_id)] for token_id in ids])
        return text, tokens.char_offsets[:, 0].tolist()

    def stream_decoder(self, errors: str = "replace") -> StreamDecoder:
        """An object that turns ids into text as they come, whole characters only (see StreamDecoder)."""
        return StreamDecoder(self, errors)

    # What is worked out on first use

    @lazy
    def _ids(self) -> dict[bytes, int]:
        """From bytes to id; of equal tokens the lowest id."""
        return {token: token_id for token_id, token in sorted(self._model.vocab.items(), reverse=True)}

    @lazy
    def _decoder(self) -> Decoder:
        return Decoder(self._model.vocab)

    @lazy
    def _decoder_of_text(self) -> Decoder:
        """One for which special tokens stand for nothing."""
        return Decoder(self._model.vocab, self._model.skipped.values())

    @lazy
    def _encoder(self) -> Encoder | PreparedEncoder:
        from .encoding.encoder import Encoder, NormalizingEncoder

        model = self._model
        if model.normalizer is None or model.is_prepared:
            encoder = Encoder(model.merge_table(), model.pattern, self.dtype, self._max_pieces, self._specials)
            if not model.is_prepared:
                return encoder
            from .encoding.prepared_encoder import PreparedEncoder

            return PreparedEncoder(encoder, model)
        return NormalizingEncoder(
            model.merge_table(), model.pattern, self.dtype, self._max_pieces, self._specials, as_form(model.normalizer)
        )

    @lazy
    def _surround(self) -> Surround:
        return read_surround(self._model.extras.surround)

    @lazy
    def _specials(self) -> SpecialTokens:
        return pack_special_tokens(self._model.choosable)

    @lazy
    def _choices(self) -> dict[tuple[Choice, Choice], Chosen]:
        """What the choices of special tokens mean that were asked for."""
        return {}

    def _encode_any(self, text: Text | Source, allowed: Choice, disallowed: Choice) -> NDArray[Any]:
        """See `encode_array`."""
        if (source := as_source(text)) is not None:
            return self._encoder.encode_source(source, bytes_left(source), self._sought(allowed, disallowed))
        data = to_data(text)
        with Lent(data):
            return self._encoder.encode_text(data, self._recognised(data, allowed, disallowed))

    def _recognised(self, text: Data, allowed: Choice, disallowed: Choice) -> SpecialTokens | None:
        """The special tokens to recognise in a text, None for none. ValueError where it holds a disallowed one."""
        chosen = self._chosen(allowed, disallowed)
        chosen.check(text)
        return chosen.recognised

    def _sought(self, allowed: Choice, disallowed: Choice = NONE) -> SpecialTokens:
        """The special tokens to look for in a source, in which none can be `disallowed`."""
        if disallowed:
            raise ValueError("disallowed_special cannot be looked for in a file before it is encoded: read it, or mmap it")
        return self._chosen(allowed, NONE).recognised or pack_special_tokens({})

    def _chosen(self, allowed: Choice, disallowed: Choice) -> Chosen:
        """What a choice of special tokens means; see `choose`."""
        check_choice(allowed, disallowed)
        # What can be looked up, and is not used up by looking at it.
        key = _kept(allowed), _kept(disallowed)
        chosen = self._choices.get(key)
        if chosen is None:
            chosen = choose(self._model.choosable, self._specials, *key)
            if len(self._choices) >= _MAX_CHOICES:
                self._choices.clear()
            self._choices[key] = chosen
        return chosen


def _kept(choice: Choice) -> Choice:
    return choice if isinstance(choice, str) else frozenset(choice)
