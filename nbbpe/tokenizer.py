"""The Tokenizer: what a vocabulary is, text to ids, ids to text, and how it is saved."""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from . import corpus
from .corpus import Path, to_bytes
from .formats import folder, gpt2
from .parallel import default_workers
from .patterns import Pattern, get_pattern
from .progress import ProgressOption

if TYPE_CHECKING:
    from .encoder import Encoder
    from .kernels.special import SpecialTokens
    from .sources import Part, Tally

Vocab = dict[int, bytes]
Merge = tuple[bytes, bytes]
MAX_PIECES = 1_000_000
_MAX_UINT16_VOCAB = 1 << 16
_BATCH_PER_THREAD = 1 << 20  # bytes of text below which another thread does not pay


def check_special_tokens(special_tokens: Sequence[str] | None) -> list[str]:
    """The special tokens as a list. Raises TypeError or ValueError for what is no str, is empty, or comes twice."""
    if special_tokens is None:
        return []
    if isinstance(special_tokens, (str, bytes)):
        raise TypeError(f"special_tokens must be a list of str, not one {type(special_tokens).__name__}")
    tokens = list(special_tokens)
    for i, token in enumerate(tokens):
        if not isinstance(token, str):
            raise TypeError(f"special token {i} must be str, not {type(token).__name__}: {token!r}")
        if not token:
            raise ValueError(f"special token {i} is the empty string")
        if token in tokens[:i]:
            raise ValueError(f"special token {token!r} is given twice")
        try:
            token.encode()
        except UnicodeEncodeError:
            raise ValueError(f"special token {token!r} holds a lone surrogate, which has no UTF-8") from None
    return tokens


class Tokenizer:
    """A byte-level BPE tokenizer.

    Parameters
    ----------
    vocab : dict from id to bytes; every single byte must be in it
    merges : pairs of byte strings in the order in which they were learned; all sides and results must be in the vocab
    special_tokens : strings; those that the vocab lacks get the next ids after its highest
    pattern : a name, a regex, or None (see `nbbpe.train`)
    max_pieces : how many pieces of text a thread remembers the ids of

    Raises ValueError for a vocab and merges that do not fit together.
    """

    _merge_ids: NDArray[np.int32]  # of a tokenizer made from ids; see _merges

    def __init__(
        self,
        vocab: Vocab,
        merges: Sequence[Merge],
        special_tokens: Sequence[str] | None = None,
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
        self._special: dict[str, int] = {}
        # A token that takes part in merges stays what it is: the special token of the same bytes is another.
        ordinary = {bytes([byte]) for byte in range(256)}
        for left, right in self._merges:
            ordinary.update((left, right, left + right))
        known = {token: token_id for token_id, token in sorted(self._vocab.items(), reverse=True)}
        for token in check_special_tokens(special_tokens):
            token_id = known.get(token.encode())
            if token_id is None or token.encode() in ordinary:
                token_id = max(self._vocab) + 1
                self._vocab[token_id] = token.encode()
            self._special[token] = token_id

    @classmethod
    def _from_merge_ids(cls, merges: NDArray[np.int32], special_tokens: list[str], pattern: Pattern) -> Tokenizer:
        """From merges as pairs of ids, where the result of merge i has id 256 + i."""
        tokens = [bytes([byte]) for byte in range(256)]
        for left, right in merges.tolist():
            tokens.append(tokens[left] + tokens[right])
        first = len(tokens)
        self = cls.__new__(cls)
        self._vocab = dict(enumerate(tokens + [token.encode() for token in special_tokens]))
        self._merge_ids = merges
        self._pattern = pattern
        self._max_pieces = MAX_PIECES
        self._special = {token: first + i for i, token in enumerate(special_tokens)}
        return self

    @classmethod
    def from_files(
        cls,
        vocab_path: Path,
        merges_path: Path,
        special_tokens: Sequence[str] | None = None,
        pattern: str | Pattern | None = "gpt2",
    ) -> Tokenizer:
        """Read a GPT-2 style vocab.json and merges.txt. Raises ValueError that names file and line of what is broken."""
        vocab, merges = gpt2.read(vocab_path, merges_path)
        return cls(vocab, merges, special_tokens, pattern)

    def save(self, path: Path) -> None:
        """Write the tokenizer to a folder of plain JSON and text, made if need be; `nbbpe.load` reads it."""
        folder.write(path, self._vocab, self._merges, self._special, self._pattern)

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """Read a folder that `save` wrote."""
        vocab, merges, special, pattern = folder.read(path)
        tokenizer = cls(vocab, merges, None, pattern)
        tokenizer._special = special
        return tokenizer

    @functools.cached_property
    def _merges(self) -> list[Merge]:
        # Only for a tokenizer made from ids: making tuples takes a tenth of a training run, and not all ask for them.
        return [(self._vocab[left], self._vocab[right]) for left, right in self._merge_ids.tolist()]

    # What it is

    @property
    def vocab(self) -> Vocab:
        """A copy of the vocabulary, from id to bytes, special tokens included."""
        return dict(self._vocab)

    @property
    def merges(self) -> list[Merge]:
        """A copy of the merges, in rank order."""
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

    def token_to_id(self, token: str | bytes) -> int | None:
        """The id of a token (str stands for its UTF-8 bytes), or None where there is none."""
        if isinstance(token, str) and token in self._special:
            return self._special[token]
        return self._ids.get(to_bytes(token))

    def id_to_token(self, token_id: int) -> bytes | None:
        """The bytes of a token, or None where no token has this id."""
        return self._vocab.get(token_id)

    def __len__(self) -> int:
        return len(self._vocab)

    def __repr__(self) -> str:
        return (
            f"Tokenizer({len(self._vocab):,} tokens, {len(self._merges):,} merges, "
            f"{len(self._special)} special, pattern={self.pattern!r})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in ("_vocab", "_merges", "_special", "_pattern"))

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        # What is worked out from these (tables, remembered pieces) is worked out anew in another process.
        return {name: getattr(self, name) for name in ("_vocab", "_merges", "_special", "_pattern", "_max_pieces")}

    # Text to ids

    def encode(
        self,
        text: str | bytes,
        *,
        allowed_special: Literal["all"] | Collection[str] = "all",
        disallowed_special: Literal["all"] | Collection[str] = (),
    ) -> list[int]:
        """The ids of a text.

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
        """Like `encode`; returns a 1-D array of `dtype`."""
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
        """The number of ids of a text: the length of what `encode` returns, without making it."""
        data = to_bytes(text)
        return self._encoder.count(data, self._allowed(data, allowed_special, disallowed_special))

    def encode_ordinary(self, text: str | bytes) -> list[int]:
        """The ids of a text in which no special token is recognised."""
        return self.encode_array(text, allowed_special=()).tolist()

    def encode_batch(self, texts: Iterable[str | bytes]) -> list[NDArray[Any]]:
        """The ids of each text, as 1-D arrays of `dtype`; large batches are shared among threads."""
        ids, starts = self.encode_batch_flat(texts)
        return [ids[start:end].copy() for start, end in pairwise(starts.tolist())]

    def encode_batch_flat(self, texts: Iterable[str | bytes]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The ids of all texts in one array, for what needs no array of its own for each of many short texts.

        Returns (ids, starts): ids is a 1-D array of `dtype`, starts int64[n + 1]; text i has the ids
        ids[starts[i]:starts[i + 1]].
        """
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
        reader = corpus.Reader(corpus.TextStream(texts), None, self._specials, self._encoder.at_once)
        for ids, _ in self._encoder.encode_all(reader):
            yield from ids.tolist()

    def encode_part(self, part: Part, separator: int, tally: Tally) -> Iterator[NDArray[Any]]:
        """The ids of a part of a source, bit by bit, with the id `separator` after each document (see tokenfile)."""
        with part.open(self._specials, self._encoder.at_once, separator, tally) as reader:
            # All that encode_all asks of a Reader is that it advances.
            for ids, _ in self._encoder.encode_all(cast(corpus.Reader, reader)):
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
        """The bytes that ids stand for. Raises ValueError that names an id outside the vocabulary."""
        if isinstance(ids, np.ndarray):
            ids = ids.tolist()
        ids = list(ids)
        try:
            return b"".join([self._vocab[token_id] for token_id in ids])
        except (KeyError, TypeError):
            for place, token_id in enumerate(ids):
                if not hasattr(token_id, "__index__") or token_id not in self._vocab:
                    raise ValueError(
                        f"id {token_id!r} (number {place} of the ids) is not in the vocabulary of {len(self):,} tokens"
                    ) from None
            raise

    def decode(self, ids: Iterable[int] | NDArray[Any], errors: str = "replace") -> str:
        """The text that ids stand for; `errors` says what becomes of invalid UTF-8, as in bytes.decode."""
        return self.decode_bytes(ids).decode(errors=errors)

    # What is worked out on first use

    @functools.cached_property
    def _ids(self) -> dict[bytes, int]:
        """From bytes to id; of equal tokens the lowest id."""
        return {token: token_id for token_id, token in sorted(self._vocab.items(), reverse=True)}

    @functools.cached_property
    def _encoder(self) -> Encoder:
        from .encoder import Encoder
        from .kernels.merge_table import new_merges

        special = set(self._special.values())
        ids = {token: i for i, token in sorted(self._vocab.items(), reverse=True) if i not in special}
        table = np.empty((len(self._merges), 3), dtype=np.int32)
        for rank, (left, right) in enumerate(self._merges):
            table[rank] = ids[left], ids[right], ids[left + right]
        byte_ids = np.array([ids[bytes([byte])] for byte in range(256)], dtype=np.int32)
        lefts, rights, results = (np.ascontiguousarray(column) for column in table.T)
        ranks = np.arange(len(table), dtype=np.int32)
        merges = new_merges(lefts, rights, ranks, results, byte_ids)
        return Encoder(merges, self._pattern, self.dtype, self._max_pieces)

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


def load(path: Path) -> Tokenizer:
    """Read a tokenizer from a folder that `Tokenizer.save` wrote."""
    return Tokenizer.load(path)


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
    """Make a tokenizer, or the one saved in a folder, the default of this process, and return it."""
    global _default
    _default = tokenizer if isinstance(tokenizer, Tokenizer) else load(tokenizer)
    return _default


def encode_array(text: str | bytes) -> NDArray[Any]:
    """The ids of a text with the default tokenizer, as a 1-D array of its dtype.

    The default is what `nbbpe.use` set, else the folder that the environment variable NBBPE_TOKENIZER names. Raises
    RuntimeError where there is none.
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
