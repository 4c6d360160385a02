"""The Tokenizer: its parts and properties. The modules tokenizer_*.py have its methods."""

from __future__ import annotations

import copy
import operator
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from .encoding.encoder import Encoder
from .encoding.new_encoder import new_encoder
from .encoding.special_choice import pack_special_tokens
from .model.model import Model
from .model.vocab_checks import Merge, Vocab
from .names_elsewhere import NamesElsewhere
from .patterns.pattern import PatternLike, splits_by_regex
from .system.excerpt import shown
from .system.integers import check_integer
from .system.lazy import lazy, method_on_use
from .text.normalizer import Chain
from .text.utf8 import to_bytes
from .tiktoken_names import TiktokenNames
from .tokenizer_decoding import TokenizerDecoding
from .tokenizer_encoding import TokenizerEncoding
from .tokenizer_files import TokenizerFiles
from .tokenizer_vocabulary import TokenizerVocabulary

if TYPE_CHECKING:
    from .idfiles.writer import encode_file
    from .kernels.pieces.special_tokens import SpecialTokens
    from .vocabulary.frequencies import frequencies

MAX_PIECES = 1_000_000
_NO_LIMIT = 1 << 40  # pieces; more than fit into any memory
_MAX_UINT16_VOCAB = 1 << 16


class Tokenizer(TokenizerEncoding, TokenizerDecoding, TokenizerFiles, TokenizerVocabulary, TiktokenNames, NamesElsewhere):
    """A byte-level BPE tokenizer.

    Parameters
    ----------
    vocab : dict from id to bytes; every single byte must be in it
    merges : pairs of byte strings in the order in which they were learned; both sides and the result of each must be in
        the vocab
    special_tokens : strings; those that the vocab lacks get the next ids after its highest. Or a dict from string to id,
        like the property of this name, which must agree with the vocab where that has the id
    pattern : a name, a regex, a list of these, or None (see `nbbpe.train`)
    max_pieces : how many pieces of text each thread caches with their ids; their bytes are limited to 64 for each, too
    normalizer : "NFC", "NFD", "NFKC" or "NFKD", the Unicode normal form (as in Python's `unicodedata`) that text is put
        into after its special tokens are found and before it is split; or a list of steps (see the property of this name);
        None to change nothing

    Raises ValueError if vocab and merges do not fit together, or are too many (2,097,150 tokens can be merged), TypeError
    for arguments of other types.

    >>> import nbbpe
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264, special_tokens=["<|endoftext|>"])
    >>> tok
    Tokenizer(264 tokens, 7 merges, 1 special, pattern='gpt2')
    >>> nbbpe.Tokenizer(tok.vocab, tok.merges, ["<|endoftext|>"]) == tok
    True

    The examples of the methods go on with this `tok`.
    """

    # Other modules of nbbpe use `_model` and `_of` (a tokenizer's data, and a tokenizer of such data), `_encoder`,
    # `_specials`, `_recognised`, `_splitting_with` and `_allowed_tokens`; to users they promise nothing. Pickled
    # tokenizers hold `_model`.
    _max_pieces = MAX_PIECES
    _by_regex = False  # whether `regex` splits new pieces

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
        self._max_pieces = min(check_integer("max_pieces", max_pieces, 0), _NO_LIMIT)
        self._model = Model.checked(vocab, merges, special_tokens, pattern, normalizer)

    # What it is

    @property
    def vocab(self) -> Mapping[int, bytes]:
        """The vocabulary, from id to bytes, with the special tokens. It is read-only; dict(tok.vocab) is a copy."""
        return MappingProxyType(self._model.vocab)

    @property
    def merges(self) -> list[Merge]:
        """A copy of the merges, in rank order.

        Raises ValueError for a vocabulary of ranks that is not equal to any list of merges (see `from_tiktoken`).
        """
        return list(self._model.listed_merges())

    @property
    def special_tokens(self) -> dict[str, int]:
        """A copy of the special tokens with their ids."""
        return dict(self._model.special)

    @property
    def vocab_size(self) -> int:
        """One more than the highest id: the number of tokens if ids have no gaps."""
        return self._model.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned type that holds every id: uint16 for up to 65,536 tokens, else uint32."""
        return np.dtype(np.uint16 if self.vocab_size <= _MAX_UINT16_VOCAB else np.uint32)

    @property
    def pattern(self) -> str | list[str] | None:
        """The name or the regex of the split pattern, or a list of these that split in turn; None for no splitting."""
        return self._model.pattern.spelling

    @property
    def normalizer(self) -> str | list[str | dict[str, Any]] | None:
        """The Unicode normal form that text is put into before it is split, such as "NFC"; None if text is not changed.

        A list if there are several steps, or other ones: names of normal forms, "Lowercase", "StripAccents", and objects
        as a tokenizer.json has them, such as {"type": "Prepend", "prepend": " "}.
        """
        normalizer = self._model.normalizer
        return normalizer.spelling if isinstance(normalizer, Chain) else normalizer

    @property
    def fingerprint(self) -> str:
        """A digest of vocabulary, merges, special tokens, pattern and normalizer, 16 hex digits.

        It is the same for the same tokenizer, however it was made, in every process and on every platform.
        """
        return self._model.fingerprint

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the tokenizer comes from, as a copy of plain dicts; `save` writes it and `nbbpe.load` restores it.

        pattern            the name or the regex of the split pattern, or a list of these
        character_classes  digest of the classes that `regex` gave each code point then; None without a pattern
        versions           of nbbpe, numba, numpy and regex in the process that trained it, or first loaded it
        training           only if nbbpe trained or extended it: `vocab_size` as given, `tie_break`, `min_frequency`,
                           `max_token_length`, and of the `corpus` the numbers of `words` and `distinct_words` and a
                           `fingerprint`, a digest of the words with their counts (it does not depend on the order of the
                           texts or the number of workers); `rules`, `superwords`, `mixture`, `left_out` (what
                           `min_word_count` skipped; of the words of the second stage, in `superwords`), `interrupted`,
                           `start` (what was extended) and `earlier_starts` (a list of what that was extended from in turn,
                           the latest first) where there are such
        reduced_from       only after `truncate`, `prune` or `drop`: the `fingerprint` and `vocab_size` before
        """
        return self._model.provenance

    def token_to_id(self, token: str | bytes) -> int | None:
        """The id of a token (a str means its UTF-8 bytes), or None if it is not in the vocabulary.

        Raises TypeError for what is neither.

        >>> tok.token_to_id("the"), tok.token_to_id(b"\\xff"), tok.token_to_id("dog")
        (258, 255, None)
        """
        if isinstance(token, str) and token in self._model.special:
            return self._model.special[token]
        try:
            return self._ids.get(to_bytes(token))
        except TypeError:
            raise TypeError(
                f"token must be one token as str or bytes, not {shown(token)} (id_to_token takes ids)"
            ) from None

    def id_to_token(self, token_id: int) -> bytes | None:
        """The bytes of a token, special tokens included, or None if no token has this id.

        Raises TypeError for what is not an integer.

        >>> tok.id_to_token(258), tok.id_to_token(1000)
        (b'the', None)
        """
        try:
            number = operator.index(token_id)
        except TypeError:
            raise TypeError(f"token_id must be an integer, not {shown(token_id)} (token_to_id takes tokens)") from None
        return self._model.vocab.get(number)

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
        # Another process, or a copy, makes its own tables and its own cache.
        return {"_model": self._model, "_max_pieces": self._max_pieces, "_by_regex": self._by_regex}

    def _splitting_with(self, split_with: str | None) -> Tokenizer:
        """This tokenizer, or one that is equal and has its pieces split by `regex`; see `splits_by_regex`."""
        if splits_by_regex(self._model.pattern, split_with) == self._by_regex:
            return self
        other = copy.copy(self)
        other._by_regex = not self._by_regex
        return other

    def verify(self, text: str | None = None) -> dict[str, str]:
        """Check on a text that tokenizers, tiktoken and mistral-common, as far as they are installed, give the same ids.

        The tokenizer is written as each library's file, and that library reads it and encodes the text.

        text : None for a short text of hard cases

        Returns, for each library, "equal (n ids)", "not installed", or why its format cannot hold this tokenizer. Raises
        ValueError that shows the first place where ids differ, or if no library could check them.

        >>> tok.verify("the cat<|endoftext|>")["tokenizers"]
        'equal (3 ids)'
        """
        from .verification import verify

        return verify(self._model, self.encode, text)

    # Their docstrings are there; the first parameter is the tokenizer.
    if TYPE_CHECKING:
        encode_file = encode_file
        frequencies = frequencies
    else:
        encode_file = method_on_use("nbbpe.idfiles.writer", "encode_file")
        frequencies = method_on_use("nbbpe.vocabulary.frequencies", "frequencies")

    # Computed on first use

    @lazy
    def _ids(self) -> dict[bytes, int]:
        """From bytes to id; of equal tokens the lowest id."""
        special = {token.encode(): token_id for token, token_id in self._model.special.items()}  # two may have one id
        return special | {token: token_id for token_id, token in sorted(self._model.vocab.items(), reverse=True)}

    @lazy
    def _encoder(self) -> Encoder:
        return new_encoder(self._model, self.dtype, self._max_pieces, self._specials, self._by_regex)

    @lazy
    def _specials(self) -> SpecialTokens:
        return pack_special_tokens(self._model.choosable)
