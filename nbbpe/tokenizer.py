"""The class Tokenizer: its constructor, its special methods, and `verify`. The others are in tokenizer_methods/."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .model.model import Model
from .model.vocab_checks import Merge
from .patterns.pattern_argument import PatternLike
from .system.excerpt import shown
from .system.integers import check_integer
from .system.lazy import lazy
from .tokenizer_methods.batches import TokenizerBatches
from .tokenizer_methods.decoding import TokenizerDecoding
from .tokenizer_methods.encoding import MAX_PIECES
from .tokenizer_methods.files import TokenizerFiles
from .tokenizer_methods.names_of_other_libraries import NamesElsewhere
from .tokenizer_methods.tiktoken_names import TiktokenNames
from .tokenizer_methods.vocabulary import TokenizerVocabulary

_NO_LIMIT = 1 << 40  # pieces; more than fit into any memory


class Tokenizer(TokenizerFiles, TokenizerVocabulary, TiktokenNames, TokenizerBatches, TokenizerDecoding, NamesElsewhere):
    """A byte-level BPE tokenizer.

    Parameters
    ----------
    vocab : dict from id to bytes; every single byte must be in it
    merges : pairs of byte strings in the order in which they were learned; both sides and the result of each must be in
        the vocab
    special_tokens : strings; those that the vocab lacks get the next ids after its highest. Or a dict from string to id,
        like the property of this name, which must agree with the vocab where that has the id
    pattern : a name, a regex, a list of these, or None (see `nbbpe.train`)
    max_pieces : the most pieces of text that each thread caches with their ids; their bytes are limited to 64 times that
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

    # Other modules of nbbpe use `_model` and `_of` (a tokenizer's data, and the constructor from such data), `_encoder`,
    # `_specials`, `_recognised`, `_splitting_with` and `_allowed_tokens`; they are not public. Pickled tokenizers hold
    # `_model`.

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Sequence[Merge],
        special_tokens: Sequence[str] | Mapping[str, int] | None = None,
        pattern: PatternLike = "gpt2",
        *,
        max_pieces: int = MAX_PIECES,
        normalizer: str | Sequence[str | Mapping[str, Any]] | None = None,
    ) -> None:
        self._max_pieces = min(check_integer("max_pieces", max_pieces, 0), _NO_LIMIT)
        self._model = Model.checked(vocab, merges, special_tokens, pattern, normalizer)

    def __repr__(self) -> str:
        merges = "merged by rank" if self._model.merges is None else f"{len(self._model.merges):,} merges"
        special = len(self._model.special)
        normalizer = "" if self.normalizer is None else f", normalizer={shown(self.normalizer)}"
        return f"Tokenizer({len(self):,} tokens, {merges}, {special} special, pattern={shown(self.pattern)}{normalizer})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return self._model == other._model

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __getstate__(self) -> dict[str, Any]:
        # A copy, also in another process, keeps attributes of a subclass, and makes its own tables and cache (`lazy`).
        everything = vars(self).copy()  # in one step, as other threads may add attributes
        own = {name: each for name, each in everything.items() if not isinstance(getattr(type(self), name, None), lazy)}
        return {"_max_pieces": self._max_pieces, "_by_regex": self._by_regex, **own}

    def verify(self, text: str | None = None) -> dict[str, str]:
        """Check that tokenizers, tiktoken and mistral-common, as far as they are installed, give the same ids for a text.

        The tokenizer is written as each library's file, and that library reads it and encodes the text.

        text : None for a short text of hard cases

        Returns, for each library, "equal (n ids)", "not installed", or why its format cannot hold this tokenizer. Raises
        ValueError that shows the first place where ids differ, or if no library could check them.

        >>> tok.verify("the cat<|endoftext|>")["tokenizers"]
        'equal (3 ids)'
        """
        from .formats.verification import verify

        return verify(self._model, self.encode, text)
