"""The Tokenizer: what a vocabulary is, text to ids, ids to text, and how it is saved."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TextIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import corpus
from .corpus import Path, to_bytes
from .decoder import Decoder
from .formats import folder, gpt2, huggingface, tiktoken
from .formats.recognise import recognised
from .padding import Padded, Side, encode_padded
from .parallel import default_workers
from .patterns import Pattern, get_pattern
from .progress import ProgressOption
from .provenance import check_classes, describe_pattern, taken_as_it_is, tokenizer_fingerprint
from .special_tokens import add_special_tokens, check_choice, check_special_tokens, place_special_tokens, tokens_of_merges
from .streaming import StreamDecoder
from .tokens import Tokens, show

if TYPE_CHECKING:
    from .encoder import Encoder
    from .kernels.merge_table import Merges
    from .kernels.special import SpecialTokens
    from .sources import Part, Tally

Vocab = dict[int, bytes]
Merge = tuple[bytes, bytes]
MAX_PIECES = 1_000_000
_MAX_UINT16_VOCAB = 1 << 16
_BATCH_PER_THREAD = 1 << 20  # bytes of text below which another thread does not pay


class Tokenizer:
    """A byte-level BPE tokenizer.

    Parameters
    ----------
    vocab : dict from id to bytes; every single byte must be in it
    merges : pairs of byte strings in the order in which they were learned; all sides and results must be in the vocab
    special_tokens : strings, of which those that the vocab lacks get the next ids after its highest; or a dict from
        string to id, as the property of this name gives, which must agree with the vocab where that has the id
    pattern : a name, a regex, or None (see `nbbpe.train`)
    max_pieces : how many pieces of text a thread remembers the ids of

    Raises ValueError for a vocab and merges that do not fit together.
    """

    _by_ranks = False  # whether the pair merges whose joined bytes have the lowest id, and not the first of a list
    _whole = False  # whether a pretoken that is a token is that token, whatever the list of merges says
    _origin: dict[str, Any] = {}  # noqa: RUF012  what is known of its provenance; see there. Never changed, but replaced

    def __init__(
        self,
        vocab: Vocab,
        merges: Sequence[Merge],
        special_tokens: Sequence[str] | Mapping[str, int] | None = None,
        pattern: str | Pattern | None = "gpt2",
        *,
        max_pieces: int = MAX_PIECES,
    ) -> None:
        self._vocab = dict(vocab)
        self._merges = list(merges)
        self._pattern = get_pattern(pattern)
        if max_pieces < 0:
            raise ValueError(f"max_pieces must not be negative, and is {max_pieces}")
        self._max_pieces = max_pieces
        _check_vocab(self._vocab)
        _check_merges(self._vocab, self._merges)
        self._special = place_special_tokens(special_tokens, self._vocab, tokens_of_merges(self._merges))
        self._vocab.update({token_id: token.encode() for token, token_id in self._special.items()})

    @classmethod
    def _from_merge_ids(
        cls, merges: NDArray[np.int32], special_tokens: list[str], pattern: Pattern, training: dict[str, Any]
    ) -> Tokenizer:
        """From merges as pairs of ids, where the result of merge i has id 256 + i; `training` is for the provenance."""
        tokens = [bytes([byte]) for byte in range(256)]
        for left, right in merges.tolist():
            tokens.append(tokens[left] + tokens[right])
        results = np.arange(256, len(tokens), dtype=np.int32)
        special = {token: len(tokens) + i for i, token in enumerate(special_tokens)}
        tokenizer = cls._from_parts(dict(enumerate(tokens)), np.column_stack([merges, results]), special, pattern)
        tokenizer._origin = {"training": training}
        return tokenizer

    @classmethod
    def _from_parts(
        cls, ordinary: Vocab, merge_ids: NDArray[np.int32] | None, special: dict[str, int], pattern: Pattern
    ) -> Tokenizer:
        """From a vocabulary without special tokens, and merges as ids (see _merge_ids), or None to merge by ranks."""
        self = cls.__new__(cls)
        self._vocab = dict(ordinary)
        for token, token_id in special.items():
            self._vocab.setdefault(token_id, token.encode())  # two may have one id, which stands for the first
        self._by_ranks = merge_ids is None
        self._merge_ids = np.empty((0, 3), dtype=np.int32) if merge_ids is None else merge_ids
        self._pattern = pattern
        self._max_pieces = MAX_PIECES
        self._special = special
        return self

    @classmethod
    def from_files(
        cls,
        vocab_path: Path,
        merges_path: Path,
        special_tokens: Sequence[str] | None = None,
        pattern: str | Pattern | None = "gpt2",
    ) -> Tokenizer:
        """Read a GPT-2 style vocab.json and merges.txt.

        Parameters
        ----------
        vocab_path, merges_path : the two files; the first line of the second may be its version
        special_tokens : those that the vocab has keep their ids there, others get the next after its highest
        pattern : a name, a regex, or None (see `nbbpe.train`); the files do not say it

        Raises OSError, or ValueError that names file and line of what is broken.
        """
        vocab, merges = gpt2.read(vocab_path, merges_path)
        return cls(vocab, merges, special_tokens, pattern)

    @classmethod
    def from_tiktoken(
        cls,
        path_or_encoding: Path | Any,
        pattern: str | Pattern | None = None,
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

        Raises ValueError that names file and line of what is broken, or where the pattern is not known.
        """
        vocab: Vocab
        known: tiktoken.Known | None
        if tiktoken.is_encoding(path_or_encoding):
            vocab, known = tiktoken.of_encoding(path_or_encoding)
        elif isinstance(path_or_encoding, (str, os.PathLike)):
            name = os.fspath(path_or_encoding)
            if name in tiktoken.ENCODINGS and not os.path.exists(name):
                raise FileNotFoundError(
                    f"{name!r} is no file; give the path of a .tiktoken file, or tiktoken.get_encoding({name!r})"
                )
            vocab, known = tiktoken.read(name)
            if known is None and pattern is None:
                raise ValueError(
                    f"{name}: neither name nor content is that of a known encoding ({', '.join(tiktoken.ENCODINGS)}), "
                    "so say which split pattern belongs to it: pattern=..."
                )
        else:
            raise TypeError(f"give a path or a tiktoken.Encoding, not {type(path_or_encoding).__name__}")
        split = get_pattern(known.pattern if pattern is None and known is not None else pattern)
        if special_tokens is None:
            special_tokens = known.special_tokens if known else {}
        special = _special_ids(special_tokens, vocab)
        _check_vocab(vocab)
        from .ranks import recovered_merges

        merges, first_irregular = recovered_merges(vocab)
        return cls._from_parts(vocab, merges if first_irregular is None else None, special, split)

    @classmethod
    def from_hf(cls, path_or_tokenizer: Path | Any, *, normalizer: Literal["refuse", "ignore"] = "refuse") -> Tokenizer:
        """Read a byte-level BPE `tokenizer.json` of Hugging Face's, or take a `tokenizers.Tokenizer` or a
        `PreTrainedTokenizerFast`; ids are those of its `encode(text, add_special_tokens=False)`.

        Parameters
        ----------
        path_or_tokenizer : path of a tokenizer.json, or an object of tokenizers' or transformers'
        normalizer : "refuse" takes no file with a normalizer, as nbbpe encodes text as it is; "ignore" reads the rest of
            it, for a caller who normalizes texts (`unicodedata.normalize("NFC", text)` for Qwen) or knows that they are

        All added tokens become special tokens, which are found in text just as tokenizers finds them. What comes after
        encoding is left out: the tokens that a post_processor puts around a text, truncation, padding. Any other part that
        nbbpe cannot honour exactly is an error that names it.

        Raises ValueError that names the file and what in it is broken or cannot be honoured.
        """
        if huggingface.is_tokenizer(path_or_tokenizer):
            parts = huggingface.of_object(path_or_tokenizer, normalizer)
        else:
            parts = huggingface.read(path_or_tokenizer, normalizer)
        tokenizer = cls(parts.vocab, parts.merges, parts.special, parts.pattern)
        if parts.whole:
            from .ranks import with_whole_tokens

            # Mostly merging gives every token from its own bytes, and there is nothing to look up.
            tokenizer._whole = len(with_whole_tokens(parts.vocab, tokenizer._merge_table()).whole) > 0
        return tokenizer

    def save(self, path: Path) -> None:
        """Write the tokenizer to a folder of plain JSON and text, made if need be; `nbbpe.load` reads it.

        Files of a tokenizer that is there are replaced. Raises OSError where the folder cannot be written to, and
        ValueError for two ids of equal bytes, which the files cannot tell apart.
        """
        origin = {"fingerprint": self.fingerprint, "provenance": self.provenance}
        merges = None if self._by_ranks else self._merges
        folder.write(path, self._vocab, merges, self._special, self._pattern, self._whole, origin)

    @classmethod
    def load(cls, path: Path, *, check: bool = True) -> Tokenizer:
        """Read a folder that `save` wrote (see `nbbpe.load`)."""
        vocab, merges, special, pattern, whole, origin = folder.read(path)
        if merges is None:
            _check_vocab(vocab)
            special_ids = set(special.values())
            ordinary = {token_id: token for token_id, token in vocab.items() if token_id not in special_ids}
            tokenizer = cls._from_parts(ordinary, None, special, pattern)
        else:
            tokenizer = cls(vocab, merges, None, pattern)
            tokenizer._special = special
            tokenizer._whole = whole
        tokenizer._origin = origin.get("provenance", {})
        if check:
            name = os.fspath(path)
            if origin.get("fingerprint", tokenizer.fingerprint) != tokenizer.fingerprint:
                raise ValueError(
                    f"{name}: the files are not those that were saved together (fingerprint {tokenizer.fingerprint}, and "
                    f"nbbpe.json says {origin['fingerprint']}): save the tokenizer anew, or pass check=False to load it "
                    "as it is now"
                )
            check_classes(
                tokenizer._origin, pattern, name, "take it as it is here: nbbpe.load(path, check=False).save(path)"
            )
        else:
            tokenizer._origin = taken_as_it_is(tokenizer._origin, pattern)
        return tokenizer

    @classmethod
    def _from_gpt2(cls, vocab_path: Path, merges_path: Path) -> Tokenizer:
        """Read vocab.json and merges.txt of which nothing more is known."""
        vocab, merges = gpt2.read(vocab_path, merges_path)
        return cls(vocab, merges, gpt2.own_special_tokens(vocab, merges))

    def to_hf(self, path: Path) -> None:
        """Write a `tokenizer.json` that `tokenizers.Tokenizer.from_file` reads, and transformers'
        `PreTrainedTokenizerFast(tokenizer_file=path)`, with the same ids.

        Raises ValueError for what that format cannot hold: a pattern of the user's own with parts that the engine of
        tokenizers takes for something else, special tokens that share an id or are spelled like another token, or a
        vocabulary of ranks without a list of merges. Characters that are newer than the Unicode version of that engine may
        be split otherwise there.
        """
        parts = huggingface.Parts(self._ordinary, self.merges, self._special, self._pattern, self._whole)
        huggingface.write(path, parts)

    def save_gpt2(self, vocab_path: Path, merges_path: Path, *, version_line: bool = True) -> None:
        """Write GPT-2's vocab.json and merges.txt, byte for byte as OpenAI's were; `from_files` reads them.

        `version_line` says whether merges.txt begins with "#version: 0.2", as OpenAI's does. The files say neither the
        pattern nor which tokens are special, so `from_files` must be told. Raises ValueError for what they cannot hold: two
        ids of equal bytes, or a vocabulary that a list of merges does not say all of.
        """
        if self._whole:
            raise ValueError("this tokenizer takes pretokens that are tokens as they are, which merges.txt cannot say")
        gpt2.write(vocab_path, merges_path, self._vocab, self.merges, self._special, version_line)

    def to_tiktoken(self, name: str = "nbbpe") -> Any:
        """A `tiktoken.Encoding` that gives the same ids; needs tiktoken.

        Raises ImportError where tiktoken is missing, and ValueError where ranks cannot say the same as the merges (in what
        nbbpe trains they can), or where the pattern or special tokens mean something else in tiktoken.
        """
        return tiktoken.new_encoding(name, self._ranked(), self._special, self._pattern)

    def save_tiktoken(self, path: Path) -> None:
        """Write a `.tiktoken` file of ranks; `from_tiktoken` reads it, given the pattern and the special tokens, which the
        file does not hold. Raises ValueError where ranks cannot say the same as the merges.
        """
        tiktoken.write(path, self._ranked())

    def _ranked(self) -> Vocab:
        """The vocabulary without special tokens, if merging by rank with ids as ranks gives the same; ValueError if not."""
        from .ranks import check_ranks

        if not self._by_ranks:
            check_ranks(self._ordinary, self._merge_ids)
        return self._ordinary

    def with_special_tokens(self, special_tokens: Sequence[str] | Mapping[str, int]) -> Tokenizer:
        """A tokenizer that has more special tokens; this one stays as it is.

        A list: those that are new get the next ids after the highest (or the id of a token of the vocab that has their
        bytes and takes no part in merges). A dict from string to id: exactly these ids, with gaps if need be. Those that
        are there keep their ids. Raises ValueError for an id that another token has.
        """
        other = copy.copy(self)
        needed = set(self._ordinary.values()) if self._by_ranks or self._whole else tokens_of_merges(self._merges)
        other._special, other._vocab = add_special_tokens(special_tokens, self._special, self._vocab, needed)
        return other

    # A tokenizer is made from merges as bytes or as ids; the other is worked out where it is asked for.

    @functools.cached_property
    def _merges(self) -> list[Merge]:
        return [(self._vocab[left], self._vocab[right]) for left, right, _ in self._merge_ids.tolist()]

    @functools.cached_property
    def _merge_ids(self) -> NDArray[np.int32]:
        """The ids of left, right and result of each merge, int32[n, 3]."""
        ids = {token: token_id for token_id, token in sorted(self._ordinary.items(), reverse=True)}
        rows = [(ids[left], ids[right], ids[left + right]) for left, right in self._merges]
        return np.array(rows, dtype=np.int32).reshape(-1, 3)

    @property
    def _ordinary(self) -> Vocab:
        """The vocabulary without special tokens."""
        special = set(self._special.values())
        return {token_id: token for token_id, token in self._vocab.items() if token_id not in special}

    # What it is

    @property
    def vocab(self) -> Vocab:
        """A copy of the vocabulary, from id to bytes, special tokens included."""
        return dict(self._vocab)

    @property
    def merges(self) -> list[Merge]:
        """A copy of the merges, in rank order.

        Raises ValueError for a vocabulary of ranks that no list of merges says the same as (see `from_tiktoken`).
        """
        if self._by_ranks:
            from .ranks import recovered_merges

            _, token_id = recovered_merges(self._ordinary)
            example = "" if token_id is None else f": {self._vocab[token_id]!r} (id {token_id}) does not"
            raise ValueError(
                "this tokenizer merges by rank and has no list of merges, for which the bytes of every token would have to "
                f"end as two tokens when merged by lower ranks{example}"
            )
        return list(self._merges)

    @property
    def special_tokens(self) -> dict[str, int]:
        """A copy of the special tokens with their ids."""
        return dict(self._special)

    @property
    def vocab_size(self) -> int:
        """One more than the highest id (the number of tokens, where ids have no gaps)."""
        return max(self._vocab) + 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned type that holds every id: uint16 for up to 65,536 tokens, else uint32."""
        return np.dtype(np.uint16 if self.vocab_size <= _MAX_UINT16_VOCAB else np.uint32)

    @property
    def pattern(self) -> str | None:
        """The name or the regex of the split pattern; None where there is none."""
        return self._pattern.name or self._pattern.regex

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of vocabulary, merges, special tokens and pattern, 16 hex digits: the same wherever ids are the same.

        However the tokenizer was made, and in every process and on every platform.
        """
        merges = None if self._by_ranks else self._merges
        return tokenizer_fingerprint(self._vocab, merges, self._special, self._pattern, self._whole)

    @property
    def provenance(self) -> dict[str, Any]:
        """Where it comes from, as a copy of plain dicts; `save` writes it and `nbbpe.load` restores it.

        pattern            the name or the regex of the split pattern
        character_classes  digest of what the `regex` in use then takes each code point for; None where there is no pattern
        versions           of nbbpe, numba, numpy and regex in the process that trained it, or first took it from elsewhere
        training           only where `nbbpe.train` made it: `vocab_size` as asked, `tie_break`, `min_frequency`, and of the
                           `corpus` the numbers of `words` and `distinct_words` and a `fingerprint`, a digest of the words
                           with their counts (whatever the order of the texts and the number of workers)
        """
        if "versions" not in self._origin:
            self._origin = {**describe_pattern(self._pattern), **self._origin}
        return copy.deepcopy(self._origin)

    def token_to_id(self, token: str | bytes) -> int | None:
        """The id of a token (str stands for its UTF-8 bytes), or None where there is none."""
        if isinstance(token, str) and token in self._special:
            return self._special[token]
        return self._ids.get(to_bytes(token))

    def id_to_token(self, token_id: int) -> bytes | None:
        """The bytes of a token, special ones included, or None where no token has this id."""
        return self._vocab.get(token_id)

    def __len__(self) -> int:
        return len(self._vocab)

    def __repr__(self) -> str:
        merges = "merged by rank" if self._by_ranks else f"{len(self._merges):,} merges"
        return f"Tokenizer({len(self._vocab):,} tokens, {merges}, {len(self._special)} special, pattern={self.pattern!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        names = "_vocab", "_merges", "_by_ranks", "_whole", "_special", "_pattern"
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        # What is worked out from these (tables, remembered pieces) is worked out anew in another process.
        # A copy starts from these, too (see with_special_tokens).
        names = "_vocab", "_merges", "_by_ranks", "_whole", "_special", "_pattern", "_max_pieces"
        state = {name: getattr(self, name) for name in names}
        return {**state, "_origin": self.provenance}  # of this process, whose libraries may not be the other's

    # Text to ids

    def encode(
        self,
        text: str | bytes,
        *,
        allowed_special: Literal["all"] | Collection[str] = "all",
        disallowed_special: Literal["all"] | Collection[str] = (),
    ) -> list[int]:
        """The ids of a text, a list of int.

        `text` is str, or bytes, valid UTF-8 or not; TypeError for all else. In a str, a lone surrogate that
        "surrogateescape" made of a byte stands for that byte, any other for the three bytes that "surrogatepass" gives.

        Special tokens in the text become their ids, the longest first where several match. With `allowed_special` as a
        set, only those do and others are plain text; one that is in `disallowed_special` (or, with "all", not allowed)
        raises ValueError. Names and meanings are tiktoken's; by default all of the tokenizer's own are recognised.
        """
        return self.encode_array(text, allowed_special=allowed_special, disallowed_special=disallowed_special).tolist()

    def encode_array(
        self,
        text: str | bytes,
        *,
        allowed_special: Literal["all"] | Collection[str] = "all",
        disallowed_special: Literal["all"] | Collection[str] = (),
    ) -> NDArray[Any]:
        """The ids of a text as a 1-D array of `dtype`, which is the caller's own; arguments and errors as of `encode`."""
        data = to_bytes(text)
        if allowed_special == "all" and not disallowed_special:
            # As `_allowed` does, for short texts without the call.
            for start in self._special_starts:
                if start in data:
                    return self._encoder.encode_text(data, self._specials)
            return self._encoder.encode_text(data, None)
        return self._encoder.encode_text(data, self._allowed(data, allowed_special, disallowed_special))

    def count(
        self,
        text: str | bytes,
        *,
        allowed_special: Literal["all"] | Collection[str] = "all",
        disallowed_special: Literal["all"] | Collection[str] = (),
    ) -> int:
        """The number of ids of a text: the length of what `encode` returns, without making it. Arguments as in `encode`."""
        data = to_bytes(text)
        return self._encoder.count(data, self._allowed(data, allowed_special, disallowed_special))

    def encode_ordinary(self, text: str | bytes) -> list[int]:
        """The ids of a text in which no special token is recognised."""
        return self.encode_array(text, allowed_special=()).tolist()

    def encode_batch(self, texts: Iterable[str | bytes]) -> list[NDArray[Any]]:
        """The ids of each text, a list of 1-D arrays of `dtype`; large batches are shared among threads.

        All special tokens are recognised, as `encode` does. Raises TypeError for an item that is no text.
        """
        ids, starts = self.encode_batch_flat(texts)
        return [ids[start:end].copy() for start, end in pairwise(starts.tolist())]

    def encode_batch_flat(self, texts: Iterable[str | bytes]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The ids of all texts in one array, for what needs no array of its own for each of many short texts.

        Returns (ids, starts): ids is a 1-D array of `dtype`, starts int64[n + 1]; text i has the ids
        ids[starts[i]:starts[i + 1]].
        """
        if isinstance(texts, (str, bytes)):
            raise TypeError(f"texts must be an iterable of texts, not one {type(texts).__name__}; see encode_array")
        documents = [to_bytes(text) for text in texts]
        groups = list(corpus.groups(documents))
        n_bytes = sum(map(len, documents))
        n_threads = max(1, min(default_workers(), n_bytes // _BATCH_PER_THREAD, len(groups)))
        encode = functools.partial(self._encoder.encode_documents, specials=self._specials)
        if n_threads == 1:
            parts = [encode(group) for group in groups]
        else:
            with ThreadPoolExecutor(n_threads) as threads:
                parts = list(threads.map(encode, groups))
        ids = [part for part, _ in parts] or [np.empty(0, dtype=self.dtype)]
        counts = [np.diff(starts) for _, starts in parts]
        starts = np.concatenate([np.zeros(1, dtype=np.int64), *counts])
        return ids[0] if len(ids) == 1 else np.concatenate(ids), np.cumsum(starts)

    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        """The ids of the joined texts, one by one, in constant memory (an open text file is such an iterable).

        The same as encoding the texts joined to one: a pretoken or a special token may reach across items.
        """
        for ids in self.encode_stream(texts):
            yield from ids.tolist()

    def encode_stream(self, texts: Iterable[str | bytes]) -> Iterator[NDArray[Any]]:
        """Like `encode_iterable`, in arrays as they come; each is the caller's until the next one is asked for."""
        reader = corpus.Reader(corpus.TextStream(texts), None, self._specials, self._encoder.at_once)
        for ids, _ in self._encoder.encode_all(reader):
            yield ids

    def encode_padded(
        self,
        texts: Iterable[str | bytes],
        max_length: int | None = None,
        *,
        pad_token: str | None = None,
        pad_id: int | None = None,
        padding: Literal["longest", "max_length"] = "longest",
        padding_side: Side = "right",
        truncation_side: Side = "right",
        dtype: DTypeLike = np.int64,
    ) -> Padded:
        """The ids of texts as the rows of one array, and a mask: (ids, mask).

        max_length      : longer texts are cut to so many tokens, at the `truncation_side`; None cuts none
        pad_token, pad_id : what to fill up with, by name or by id; one of both must be given, and be in the vocabulary
        padding         : "longest" makes rows as long as the longest text (after it was cut), "max_length" as that
        padding_side    : where shorter texts are filled up; models that generate want "left"
        dtype           : of the ids; int64 is what models take

        Returns ids, dtype[n_texts, width], and mask, bool[n_texts, width], which is False for padding. Raises TypeError or
        ValueError for arguments that cannot be meant, before any text is encoded.
        """
        return encode_padded(self, texts, max_length, pad_token, pad_id, padding, padding_side, truncation_side, dtype)

    def tokenize(
        self,
        text: str | bytes,
        *,
        allowed_special: Literal["all"] | Collection[str] = "all",
        disallowed_special: Literal["all"] | Collection[str] = (),
    ) -> Tokens:
        """The tokens of a text: ids, bytes, offsets in bytes and in characters (see Tokens). Arguments as in `encode`."""
        ids = self.encode_array(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        return Tokens(text, ids, list(map(self._vocab.__getitem__, ids.tolist())))

    def show(self, text: str | bytes, *, file: TextIO | None = None, color: bool | None = None) -> None:
        """Print the tokens of a text on coloured ground, or with | between them where there are no colours.

        By default to standard output, in colours where that is a terminal and the environment has no NO_COLOR. Control
        characters, and bytes that are only a part of a character, are shown as signs or escapes.
        """
        show(self.tokenize(text).tokens, file, color)

    def encode_part(self, part: Part, separator: int, tally: Tally) -> Iterator[NDArray[Any]]:
        """The ids of a part of a source, bit by bit, with the id `separator` after each document (see tokenfile)."""
        with part.open(self._specials, self._encoder.at_once, separator, tally) as reader:
            for ids, _ in self._encoder.encode_all(reader):
                yield ids

    def encode_file(
        self,
        input_path: Path | Sequence[Path] | Iterable[str | bytes],
        output_path: Path,
        workers: int | None = None,
        progress: ProgressOption = None,
        *,
        separator: str | None = None,
        field: str = "text",
        on_error: str = "raise",
    ) -> int:
        """Encode files or an iterable of documents into a file of ids, and return their number.

        See `nbbpe.tokenfile.encode_file`.
        """
        from .tokenfile import encode_file

        return encode_file(
            self, input_path, output_path, workers, progress, separator=separator, field=field, on_error=on_error
        )

    # Ids to text

    def decode_bytes(self, ids: Iterable[int] | NDArray[Any]) -> bytes:
        """The bytes that ids stand for. Raises ValueError that names an id outside the vocabulary.

        Ids are integers of any type, and no bools; an array of them has one dimension.
        """
        return self._decoder.decode(ids)

    def decode(self, ids: Iterable[int] | NDArray[Any], errors: str = "replace") -> str:
        """The text that ids stand for; `errors` says what becomes of invalid UTF-8, as in bytes.decode.

        Raises ValueError as `decode_bytes` does, and with errors="strict" UnicodeDecodeError.
        """
        return self.decode_bytes(ids).decode(errors=errors)

    def decode_batch(self, batch: Iterable[Iterable[int] | NDArray[Any]], errors: str = "replace") -> list[str]:
        """The text of each list or array of ids, or of each row of a 2-D array."""
        return [self.decode(ids, errors) for ids in batch]

    def decode_with_offsets(self, ids: Iterable[int] | NDArray[Any]) -> tuple[str, list[int]]:
        """The text that ids stand for, and the number of the character that each token starts with, or starts within.

        As tiktoken's; `tokenize` gives offsets from text. Raises UnicodeDecodeError where the ids are no valid UTF-8.
        """
        ids = list(ids)
        text = self.decode(ids, errors="strict")
        tokens = Tokens(text, np.array(ids), [self._vocab[int(token_id)] for token_id in ids])
        return text, tokens.char_offsets[:, 0].tolist()

    def stream_decoder(self, errors: str = "replace") -> StreamDecoder:
        """An object that turns ids into text as they come, whole characters only (see StreamDecoder)."""
        return StreamDecoder(self, errors)

    # What is worked out on first use

    @functools.cached_property
    def _ids(self) -> dict[bytes, int]:
        """From bytes to id; of equal tokens the lowest id."""
        return {token: token_id for token_id, token in sorted(self._vocab.items(), reverse=True)}

    @functools.cached_property
    def _decoder(self) -> Decoder:
        return Decoder(self._vocab)

    @functools.cached_property
    def _encoder(self) -> Encoder:
        from .encoder import Encoder

        return Encoder(self._merge_table(), self._pattern, self.dtype, self._max_pieces)

    def _merge_table(self) -> Merges:
        from .kernels.merge_table import new_merges
        from .ranks import merges_by_rank, with_whole_tokens

        ordinary = self._ordinary
        if self._by_ranks:
            return merges_by_rank(ordinary)
        byte_ids = np.empty(256, dtype=np.int32)
        for token_id, token in sorted(ordinary.items(), reverse=True):
            if len(token) == 1:
                byte_ids[token[0]] = token_id
        lefts, rights, results = (np.ascontiguousarray(column) for column in self._merge_ids.T)
        merges = new_merges(lefts, rights, np.arange(len(lefts), dtype=np.int32), results, byte_ids)
        return with_whole_tokens(ordinary, merges) if self._whole else merges

    @functools.cached_property
    def _specials(self) -> SpecialTokens:
        return self._pack_specials(self._special)

    @staticmethod
    def _pack_specials(tokens: dict[str, int]) -> SpecialTokens:
        from .kernels.special import new_special_tokens

        return new_special_tokens([token.encode() for token in tokens], list(tokens.values()))

    def _allowed(
        self,
        text: bytes,
        allowed: Literal["all"] | Collection[str],
        disallowed: Literal["all"] | Collection[str],
    ) -> SpecialTokens | None:
        """The special tokens to recognise, or None where the text holds none. ValueError where one is disallowed."""
        check_choice(allowed, disallowed)
        if isinstance(disallowed, str) and disallowed == "all":
            disallowed = set() if isinstance(allowed, str) and allowed == "all" else set(self._special) - set(allowed)
        for token in disallowed:
            if token.encode() in text:
                raise ValueError(
                    f"the text holds the special token {token!r}, which is disallowed: pass allowed_special={{{token!r}}} "
                    "to make it its id, or leave it out of disallowed_special to encode it as plain text"
                )
        if isinstance(allowed, str) and allowed == "all":
            return self._specials
        return self._pack_specials({token: self._special[token] for token in self._special if token in allowed})

    @functools.cached_property
    def _special_starts(self) -> tuple[bytes, ...]:
        """The first two bytes of the special tokens: most short texts hold none of these."""
        return tuple({token.encode()[:2] for token in self._special})


def _special_ids(special_tokens: Mapping[str, int] | Sequence[str], vocab: Vocab) -> dict[str, int]:
    """Special tokens with their ids: as given, or the next ids after the vocabulary's highest.

    Raises TypeError or ValueError for what cannot be a special token, or an id that is none or that a token has.
    """
    tokens = check_special_tokens(list(special_tokens) if isinstance(special_tokens, Mapping) else special_tokens)
    if not isinstance(special_tokens, Mapping):
        return {token: max(vocab) + 1 + i for i, token in enumerate(tokens)}
    for token, token_id in special_tokens.items():
        if isinstance(token_id, bool) or not isinstance(token_id, int) or not 0 <= token_id < 2**31 - 1:
            raise ValueError(f"special token {token!r} has the id {token_id!r}; ids are integers from 0 to {2**31 - 2:,}")
        if token_id in vocab:
            raise ValueError(f"special token {token!r} has the id {token_id}, as {vocab[token_id]!r} has")
    return dict(special_tokens)


def load(source: Path | tuple[Path, Path] | Any, *, check: bool = True) -> Tokenizer:
    """Read a tokenizer of any format that nbbpe knows.

    source : a folder that `Tokenizer.save` wrote; Hugging Face's tokenizer.json, or a folder with it; a .tiktoken file of a
        known encoding, or a folder with one; GPT-2's vocab.json and merges.txt, as a folder or as a pair of paths (the
        pattern is gpt2, and <|endoftext|> special where the vocab has it); a tokenizers.Tokenizer, a
        PreTrainedTokenizerFast, a tiktoken.Encoding

    check  : whether it is an error where the files of a folder of ours do not belong together, or where the `regex` it was
        made with takes some characters for something else than the installed one does

    Raises FileNotFoundError, ValueError or TypeError that says what was looked for, or what is broken or not honoured.
    Where a format says too little or too much, `Tokenizer.from_files`, `from_hf` and `from_tiktoken` take more arguments.
    """
    found = recognised(source)
    readers: dict[str, Callable[..., Tokenizer]] = {
        "nbbpe": functools.partial(Tokenizer.load, check=check),
        "huggingface": Tokenizer.from_hf,
        "tiktoken": Tokenizer.from_tiktoken,
        "gpt2": Tokenizer._from_gpt2,
    }
    return readers[found.kind](*found.sources)


def _check_vocab(vocab: Vocab) -> None:
    """Raise TypeError or ValueError for a vocab that cannot be one."""
    for token_id, token in vocab.items():
        if isinstance(token_id, bool) or not isinstance(token_id, int) or not isinstance(token, bytes):
            raise TypeError(f"vocab must map int to bytes, and has {token_id!r}: {token!r}")
        if not 0 <= token_id < 2**31 - 1:
            raise ValueError(f"vocab has the id {token_id} (for {token!r}); ids must be from 0 to {2**31 - 2:,}")
        if not token:
            raise ValueError(f"vocab has the empty token as id {token_id}")
    missing = {bytes([byte]) for byte in range(256)} - set(vocab.values())
    if missing:
        some = ", ".join(map(repr, sorted(missing)[:5]))
        raise ValueError(f"vocab lacks {len(missing)} of the 256 single bytes, without which not all text has ids: {some}")


def _check_merges(vocab: Vocab, merges: list[Merge]) -> None:
    """Raise TypeError or ValueError for merges that do not fit a vocab."""
    known = set(vocab.values())
    for rank, merge in enumerate(merges):
        if len(merge) != 2 or not all(isinstance(token, bytes) for token in merge):
            raise TypeError(f"merge {rank} must be a pair of bytes, and is {merge!r}")
        for token in (*merge, merge[0] + merge[1]):
            if token not in known:
                raise ValueError(f"merge {rank} {merge!r} needs token {token!r}, which is not in the vocab")


def _default_from_environment() -> Tokenizer | None:
    path = os.environ.get("NBBPE_TOKENIZER")
    return load(path) if path else None


_default: Tokenizer | None = None


def use(tokenizer: Tokenizer | Path) -> Tokenizer:
    """Make a tokenizer, or what `nbbpe.load` reads from a path, the default of this process, and return it.

    Processes that are forked from this one have it too; spawned ones take NBBPE_TOKENIZER. Raises what `nbbpe.load` raises.
    """
    global _default
    _default = tokenizer if isinstance(tokenizer, Tokenizer) else load(tokenizer)
    return _default


def encode_array(text: str | bytes) -> NDArray[Any]:
    """The ids of a text with the default tokenizer, as a 1-D array of its dtype.

    All special tokens are recognised. The default is what `nbbpe.use` set, else what the environment variable
    NBBPE_TOKENIZER names, a path for `nbbpe.load`. Raises RuntimeError where there is none.
    """
    global _default
    if _default is None:
        _default = _default_from_environment()
        if _default is None:
            raise RuntimeError(
                "no default tokenizer: call nbbpe.use(tokenizer_or_folder) first, or set the environment variable "
                "NBBPE_TOKENIZER to a folder that Tokenizer.save wrote"
            )
    return _default.encode_array(text)
