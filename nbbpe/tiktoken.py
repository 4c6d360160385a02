"""A drop-in replacement of tiktoken: `import nbbpe.tiktoken as tiktoken`, and the same calls give the same ids.

tiktoken's methods have tiktoken's defaults here, which differ from those of `nbbpe.Tokenizer`: a special token in a text
raises ValueError, unless the caller allows it. Encodings come from tiktoken where it is installed, with its own cache and
download.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from .encoding import batches
from .encoding.decoder import Ids, check_in_order
from .encoding.threads import check_threads
from .formats.ranks import tiktoken as files
from .formats.ranks.tiktoken_package import path_of_modules, tiktoken_package
from .formats.recognise import read_model
from .model.model import Model
from .system.excerpt import shown
from .system.lazy import lazy
from .text.utf8 import Text, has_surrogates
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    from .encoding.unstable import Completions

__all__ = ["Encoding", "encoding_for_model", "encoding_name_for_model", "get_encoding", "list_encoding_names"]

_Allowed = Literal["all"] | AbstractSet[str]
_Disallowed = Literal["all", False] | Collection[str] | None
_encodings: dict[str, Encoding] = {}
_N_IDS = 1 << 32  # tiktoken's ids are uint32
_THEIRS = ("core", "load", "model", "registry", "__version__")


def __getattr__(name: str) -> Any:
    """tiktoken's own modules and its version, if it is installed."""
    try:
        if name == "__path__":  # where Python looks for tiktoken's modules, if this one replaces it in sys.modules
            return path_of_modules()
        if name in _THEIRS:
            return getattr(tiktoken_package(), name)
    except ImportError:
        pass
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Encoding(Tokenizer):
    """A Tokenizer with tiktoken's constructor and defaults.

    Parameters
    ----------
    name : what the encoding is called
    pat_str : the split regex
    mergeable_ranks : from token to rank, which is its id
    special_tokens : from special token to id
    explicit_n_vocab : the number of tokens, checked if it is given

    Raises ValueError for ranks that lack a byte, and for an `explicit_n_vocab` that is not the number of tokens.
    """

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: Mapping[bytes, int],
        special_tokens: Mapping[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        encoding = SimpleNamespace(
            name=name, _pat_str=pat_str, _mergeable_ranks=dict(mergeable_ranks), _special_tokens=dict(special_tokens)
        )
        self._model = files.read_model(encoding)
        self.name = name
        n_tokens = len(mergeable_ranks) + len(special_tokens)
        if explicit_n_vocab is not None and (n_tokens != explicit_n_vocab or self.n_vocab != explicit_n_vocab):
            raise ValueError(
                f"explicit_n_vocab is {explicit_n_vocab:,}, and there are {n_tokens:,} tokens, up to {self.n_vocab - 1:,}"
            )

    @classmethod
    def _named(cls, name: str, model: Model) -> Encoding:
        made = cls._of(model)
        made.name = name
        return made

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    @property
    def _pat_str(self) -> str:
        return files.split_regex(self._model.pattern)

    @lazy
    def _mergeable_ranks(self) -> dict[bytes, int]:
        return {token: token_id for token_id, token in self._model.as_ranks().items()}

    @property
    def _special_tokens(self) -> dict[str, int]:
        return dict(self._model.special)

    def encode(  # type: ignore[override]
        self, text: str, *, allowed_special: _Allowed = frozenset(), disallowed_special: _Disallowed = "all"
    ) -> list[int]:
        """The ids of a text. Raises ValueError if it contains a disallowed special token, by default any.

        allowed_special    : "all", or the special tokens that become their ids
        disallowed_special : "all" for all except the allowed ones, or those that raise; (), None and False treat them as
            plain text
        """
        allowed, disallowed = _choice(allowed_special, disallowed_special)
        return super().encode(_valid(text), allowed_special=allowed, disallowed_special=disallowed)

    def encode_ordinary(self, text: str) -> list[int]:  # type: ignore[override]
        """The ids of a text in which no special token is recognised."""
        return super().encode_ordinary(_valid(text))

    def encode_with_unstable(
        self, text: str, *, allowed_special: _Allowed = frozenset(), disallowed_special: _Disallowed = "all"
    ) -> tuple[list[int], list[list[int]]]:
        """The ids of a text that stay the same whatever follows it, and the lists of ids that may come next, sorted.

        Each list reaches the end of the text, or beyond. Arguments and errors are those of `encode`.

        >>> import nbbpe.tiktoken as tiktoken
        >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"th": 256, b"the": 257}
        >>> few = tiktoken.Encoding("few", pat_str="\\w+|\\W", mergeable_ranks=ranks, special_tokens={})
        >>> few.encode_with_unstable("a th")
        ([97, 32], [[116, 104], [256], [257]])
        """
        text = _valid(text)
        ids = self.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        vocab, special = self._model.vocab, self._special_ids
        tokens = [None if token_id in special else vocab[token_id] for token_id in ids]
        # The text after the last special token is split by itself.
        n_tail = next((n for n, token in enumerate(reversed(tokens)) if token is None), len(tokens))
        pretokens = self._model.pattern.split(self.decode(ids[len(ids) - n_tail :]))
        n_left, n_last = len(pretokens[-1].encode()) if pretokens else 0, 0
        while n_left:
            n_last += 1
            n_left -= len(tokens[-n_last] or b"")
        return self._completions.of(ids, tokens, n_last)

    @lazy
    def _completions(self) -> Completions:
        from .encoding.pretoken_ids import ids_of_each, without_whole
        from .encoding.unstable import Completions

        table = without_whole(self._model.merge_table())

        def merge(pretokens: list[bytes]) -> list[list[int]]:
            ids, ends = ids_of_each(pretokens, table)
            return [ids[start:end].tolist() for start, end in pairwise(ends.tolist())]

        return Completions(self._mergeable_ranks, self.encode_ordinary_batch, merge)

    def encode_to_numpy(  # type: ignore[override]
        self, text: str, *, allowed_special: _Allowed = frozenset(), disallowed_special: _Disallowed = "all"
    ) -> NDArray[np.uint32]:
        """As `encode`, uint32[n_tokens]."""
        allowed, disallowed = _choice(allowed_special, disallowed_special)
        return super().encode_to_numpy(_valid(text), allowed_special=allowed, disallowed_special=disallowed)

    def encode_batch(  # type: ignore[override]
        self,
        text: Iterable[str],
        *,
        num_threads: int | None = None,
        allowed_special: _Allowed = frozenset(),
        disallowed_special: _Disallowed = "all",
    ) -> list[list[int]]:
        """The ids of each text, see `encode`."""
        allowed, disallowed = _choice(allowed_special, disallowed_special)
        return super().encode_batch(
            map(_valid, text), num_threads=num_threads, allowed_special=allowed, disallowed_special=disallowed
        )

    def encode_ordinary_batch(  # type: ignore[override]
        self, text: Iterable[str], *, num_threads: int | None = None
    ) -> list[list[int]]:
        """The ids of each text, in which no special token is recognised."""
        return super().encode_batch(map(_valid, text), allowed_special=(), num_threads=num_threads)

    def encode_segments(self, segments: Iterable[tuple[Text, bool]]) -> list[int]:
        """See `Tokenizer.encode_segments`: special tokens in a text that is trusted are allowed."""
        return batches.encode_segments(segments, super().encode, super().encode_ordinary)

    def decode_bytes(self, tokens: Ids, *, skip_special_tokens: bool = False) -> bytes:
        """The bytes that ids stand for. Raises OverflowError for an id below 0 or of more than 32 bits, KeyError for any
        other that is unknown, TypeError for what is not an integer.

        skip_special_tokens : whether to skip the ids of special tokens; tiktoken has no such argument
        """
        if hasattr(tokens, "__next__"):
            tokens = list(tokens)  # to read them twice
        try:
            return super().decode_bytes(tokens, skip_special_tokens=skip_special_tokens)
        except ValueError:
            plain = list(map(_in_32_bits, tokens))
        try:
            return super().decode_bytes(plain, skip_special_tokens=skip_special_tokens)
        except ValueError as error:
            raise KeyError(str(error)) from None

    def decode(self, tokens: Ids, errors: str = "replace", *, skip_special_tokens: bool = False) -> str:
        """The text that ids stand for. Other arguments and errors are those of `decode_bytes`."""
        if type(tokens) is list:  # the same as below, in less time
            try:
                return super().decode(tokens, errors, skip_special_tokens=skip_special_tokens)
            except ValueError:
                pass
        return self.decode_bytes(tokens, skip_special_tokens=skip_special_tokens).decode(errors=errors)

    def decode_with_offsets(self, tokens: Ids) -> tuple[str, list[int]]:
        """The text, and the index of the character in which each token starts. Errors are those of `decode_bytes`."""
        if hasattr(tokens, "__next__"):
            tokens = list(tokens)
        try:
            return super().decode_with_offsets(tokens)
        except (KeyError, OverflowError):
            self.decode_tokens_bytes(tokens)  # raises the error of the first invalid id, as tiktoken does
            raise

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one token. Errors are those of `decode_bytes`."""
        found = self._model.vocab.get(token) if type(token) is int else None  # as below, in less time
        return super().decode_single_token_bytes(_in_32_bits(token)) if found is None else found

    def decode_tokens_bytes(self, tokens: Ids) -> list[bytes]:
        """The bytes of each id. Errors are those of `decode_bytes`."""
        check_in_order(tokens)
        vocab = self._model.vocab
        return [vocab[_in_32_bits(token)] for token in tokens]

    def decode_batch(  # type: ignore[override]
        self,
        batch: Iterable[Ids],
        *,
        errors: str = "replace",
        skip_special_tokens: bool = False,
        num_threads: int | None = None,
    ) -> list[str]:
        """The text of each list of ids, see `decode`."""
        check_threads(num_threads)
        return [
            self.decode(tokens, errors, skip_special_tokens=skip_special_tokens) for tokens in batches.rows_of_batch(batch)
        ]


def _choice(allowed: _Allowed, disallowed: _Disallowed) -> tuple[_Allowed, Literal["all"] | Collection[str]]:
    """The two arguments as a Tokenizer takes them. "all" disallows none if all are allowed; nor does a false value."""
    if not disallowed or (isinstance(allowed, str) and isinstance(disallowed, str) and allowed == disallowed == "all"):
        return allowed, ()
    return allowed, disallowed


def _in_32_bits(token: SupportsIndex) -> int:
    """An id as int; a bool is one, as in tiktoken. Raises OverflowError for ids that tiktoken's type cannot hold."""
    token_id = operator.index(token)
    if not 0 <= token_id < _N_IDS:
        raise OverflowError(f"id {shown(token_id)} must be from 0 to {_N_IDS - 1:,}, as in tiktoken")
    return token_id


def _valid(text: str) -> str:
    """The text with its surrogates replaced as in tiktoken: pairs by their character, lone ones by U+FFFD."""
    if not isinstance(text, str):
        raise TypeError(f"text must be str, as in tiktoken, not {type(text).__name__}")
    if has_surrogates(text):
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def get_encoding(encoding_name: str) -> Encoding:
    """One of tiktoken's encodings by its name; each is made once. Raises ValueError or FileNotFoundError if there is none.

    >>> import nbbpe.tiktoken as tiktoken
    >>> tiktoken.get_encoding("cl100k_base").encode("hello world")  # doctest: +SKIP
    [15339, 1917]
    """
    if not isinstance(encoding_name, str):
        raise ValueError(f"Expected a string in get_encoding, got {type(encoding_name)}")
    found = _encodings.get(encoding_name)
    if found is None:
        try:
            theirs = tiktoken_package()
        except ImportError:
            model = read_model(encoding_name)  # its error says what is missing
        else:
            model = files.read_model(theirs.get_encoding(encoding_name))
        found = _encodings[encoding_name] = Encoding._named(encoding_name, model)
    return found


def encoding_for_model(model_name: str) -> Encoding:
    """The encoding of a model, such as "gpt-4o". Raises KeyError for one that tiktoken does not know; needs tiktoken.

    >>> import nbbpe.tiktoken as tiktoken
    >>> tiktoken.encoding_for_model("gpt-4o").encode("hello world")  # doctest: +SKIP
    [24912, 2375]
    """
    return get_encoding(encoding_name_for_model(model_name))


def encoding_name_for_model(model_name: str) -> str:
    """The name of a model's encoding. Raises KeyError for one that tiktoken does not know; needs tiktoken.

    >>> import nbbpe.tiktoken as tiktoken
    >>> tiktoken.encoding_name_for_model("gpt-4")
    'cl100k_base'
    """
    return tiktoken_package().model.encoding_name_for_model(model_name)


def list_encoding_names() -> list[str]:
    """The names of all encodings that tiktoken knows; needs tiktoken.

    >>> import nbbpe.tiktoken as tiktoken
    >>> "o200k_base" in tiktoken.list_encoding_names()
    True
    """
    return tiktoken_package().list_encoding_names()
