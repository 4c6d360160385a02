"""The model of a tokenizer: vocabulary, merges, special tokens and split pattern, checked to fit together.

Formats of files read and write it, a Tokenizer applies it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from operator import add, itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..patterns.pattern import Pattern
from ..patterns.pattern_argument import PatternLike, get_pattern
from ..system.excerpt import shown
from ..system.lazy import lazy
from ..text.normalizer import NO_NORMALIZER, Normalizer, as_normalizer
from .character_merges import characters_of, first_bytes, merges_of_characters
from .extras import NO_EXTRAS, Extras, later_tokens
from .packed_vocab import PackedVocab
from .post_processor import read_templates
from .provenance import Sides, describe_pattern, tokenizer_fingerprint
from .special_tokens import (
    SpecialTokens,
    add_special_tokens,
    check_given,
    place_special_tokens,
    rename,
    tokens_for_placing,
    tokens_of_merges,
)
from .vocab_checks import NEVER, Merge, Vocab, check_bytes, check_merges, check_merging, check_vocab

if TYPE_CHECKING:
    from ..kernels.encoding.merge_table import Merges


class Model:
    """Everything that decides which ids a text gets, and the provenance.

    Vocabulary and merges are stored as arrays; dicts and lists of them are made on first use.

    Parameters
    ----------
    vocab : from id to bytes, or the same as arrays; special tokens are added where it lacks them
    merges : in rank order, as pairs of bytes, or as int32[n, 3], the ids of left, right and result of each. None if tokens
        merge by rank: first the pair whose concatenated bytes have the lowest id
    special : from special token to id; two may have one id, which stands for the first
    whole : whether a pretoken that is a token is that token, whatever the merges say
    normalizer : how text is changed before it is split
    extras : how special tokens are found, and which are put around a text
    origin : the known parts of the provenance, see `Tokenizer.provenance`

    Raises ValueError for more tokens or merges than kernels can number. Nothing else is checked here: see `checked` for
    arguments of users, and vocab_checks.py for contents of files.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        vocab: Vocab | PackedVocab,
        merges: list[Merge] | NDArray[np.int32] | None,
        special: dict[str, int],
        pattern: Pattern,
        whole: bool = False,
        origin: dict[str, Any] | None = None,
        normalizer: Normalizer = NO_NORMALIZER,
        extras: Extras = NO_EXTRAS,
    ) -> None:
        packed = vocab if isinstance(vocab, PackedVocab) else PackedVocab.of(vocab)
        self.packed_ordinary = packed.without(
            [token_id for token, token_id in special.items() if "shared" not in extras.flags.get(token, ())]
        )
        self.special = special
        self.pattern = pattern
        self.whole = whole
        self.normalizer = normalizer
        self.extras = extras
        self.merge_ids = self._ids_of(merges) if isinstance(merges, list) else merges
        check_merging(self.packed_ordinary, self.merge_ids)
        self._origin = origin or {}

    @classmethod
    def checked(
        cls,
        vocab: Mapping[int, bytes],
        merges: Sequence[Merge],
        special_tokens: SpecialTokens | None,
        pattern: PatternLike,
        normalizer: object = None,
    ) -> Model:
        """From the user's arguments (see Tokenizer). Raises TypeError or ValueError if they do not fit together."""
        if not isinstance(vocab, Mapping):
            raise TypeError(f"vocab must be a dict from ids to bytes, not {shown(vocab)}")
        if not isinstance(merges, Iterable):
            raise TypeError(f"merges must be a list of pairs of bytes, not {shown(merges)}")
        if isinstance(merges, (set, frozenset)):
            raise TypeError(
                f"merges must be a list of pairs of bytes, not {type(merges).__name__}, which has no order: give a list in "
                "the order in which they were learned"
            )
        vocab, merges = dict(vocab), list(merges)
        check_vocab(vocab)
        packed = PackedVocab.of(vocab)
        check_bytes(packed, optional=())
        check_merges(vocab, merges)
        return cls.fitting(packed, merges, special_tokens, pattern, normalizer)

    @classmethod
    def fitting(
        cls,
        vocab: PackedVocab,
        merges: list[Merge] | NDArray[np.int32],
        special_tokens: SpecialTokens | None,
        pattern: PatternLike,
        normalizer: object = None,
        extras: Extras = NO_EXTRAS,
    ) -> Model:
        """As `checked`, for a vocab and merges that have been checked already."""
        wanted = check_given(special_tokens)
        relevant = tokens_for_placing(wanted, vocab)
        if isinstance(wanted, dict):
            relevant |= {wanted[token]: token.encode() for token in extras.shared}  # whose bytes there may be others
        if isinstance(merges, list):
            needed = tokens_of_merges(merges)
        else:
            in_merges = np.isin(list(relevant), merges).tolist()
            needed = {token for token, is_in in zip(relevant.values(), in_merges, strict=True) if is_in or len(token) == 1}
        needed.difference_update(token.encode() for token in extras.shared)
        special = place_special_tokens(wanted, relevant, needed)
        return cls(vocab, merges, special, get_pattern(pattern), normalizer=as_normalizer(normalizer), extras=extras)

    @classmethod
    def trained(
        cls, merges: NDArray[np.int32], special_tokens: list[str], pattern: Pattern, training: dict[str, Any]
    ) -> Model:
        """From merges as pairs of ids, where the result of merge i has id 256 + i; `training` is for the provenance."""
        tokens = PackedVocab.of_merges(merges)
        special = {token: len(tokens.ids) + i for i, token in enumerate(special_tokens)}
        merge_ids = np.column_stack([merges, tokens.ids[256:]])
        return cls(tokens, merge_ids, special, pattern, origin={"training": training})

    def with_training(self, entries: dict[str, Any]) -> Model:
        """A model with more entries about its training in the provenance."""
        other = copy.copy(self)
        other._origin = {**self._origin, "training": {**self._origin.get("training", {}), **entries}}
        return other

    def with_special_tokens(self, wanted: SpecialTokens) -> Model:
        """A model that has more special tokens (see Tokenizer.with_special_tokens)."""
        special = add_special_tokens(wanted, self.special, self.vocab, self._needed_tokens())
        # If a special token takes the id of a token that merges need, they use the other id of equal bytes from now on.
        shared = set(self.extras.shared)
        own = [token_id for token, token_id in special.items() if token not in shared]
        is_taken = self.merge_ids is not None and np.isin(self.merge_ids, own).any()
        return self.with_tokens(self.packed, self.merges if is_taken else self.merge_ids, special)

    def _needed_tokens(self) -> set[bytes]:
        """The ordinary tokens that encoding needs: the bytes, and those of merges, or all."""
        if self.merge_ids is None or self.whole:
            return set(self.ordinary.values())
        numbers = self.packed_ordinary.numbers_of(np.unique(self.merge_ids))
        return {bytes([byte]) for byte in range(256)}.union(self.packed_ordinary.at(numbers).tokens())

    def with_renamed_special_tokens(self, names: Mapping[str, str]) -> Model:
        """A model with other names of some special tokens (see Tokenizer.rename_special_tokens)."""
        special = rename(self.special, names)
        for token in self.extras.shared:
            if names.get(token, token) != token:
                raise ValueError(
                    f"special token {shown(token)} shares its id, {self.special[token]}, with an ordinary token, so it "
                    "cannot be renamed"
                )
        plain = dict(zip(self.special, special, strict=True))
        return self.with_tokens(self.packed_ordinary, self.merge_ids, special, extras=self.extras.renamed(plain))

    def with_tokens(
        self,
        vocab: Vocab | PackedVocab,
        merges: list[Merge] | NDArray[np.int32] | None,
        special: dict[str, int],
        origin: dict[str, Any] | None = None,
        extras: Extras | None = None,
    ) -> Model:
        """A model with other tokens that prepares and splits text as this one; None keeps `origin` and `extras`."""
        origin = self.provenance if origin is None else origin
        extras = self.extras if extras is None else extras
        return Model(vocab, merges, special, self.pattern, self.whole, origin, self.normalizer, extras)

    @lazy
    def vocab(self) -> Vocab:
        """From id to bytes, with the special tokens."""
        return self.packed.as_dict()

    @lazy
    def packed(self) -> PackedVocab:
        """The vocabulary as arrays."""
        special: Vocab = {}
        for token, token_id in self.special.items():
            special.setdefault(token_id, token.encode())
        for token in self.extras.shared:
            del special[self.special[token]]
        return self.packed_ordinary.with_tokens(special)

    @lazy
    def merges(self) -> list[Merge] | None:
        """The merges in rank order, or None where tokens merge by rank."""
        if self.merge_ids is None:
            return None
        return [(self.vocab[left], self.vocab[right]) for left, right, _ in self.merge_ids.tolist()]

    def _ids_of(self, merges: list[Merge]) -> NDArray[np.int32]:
        """The ids of left, right and result of each merge, int32[n, 3]."""
        ordinary = self.packed_ordinary.without(self.extras.byte_fallback)  # some of those are equal to characters
        ids = dict(zip(reversed(ordinary.tokens()), reversed(ordinary.ids.tolist()), strict=True))
        # Without a tuple for each merge, which Python's garbage collector would visit again and again.
        columns = map(itemgetter(0), merges), map(itemgetter(1), merges), starmap(add, merges)
        found = [np.fromiter(map(ids.__getitem__, column), dtype=np.int32, count=len(merges)) for column in columns]
        return np.column_stack(found)

    @lazy
    def size(self) -> int:
        """One more than the highest id."""
        return int(self.packed.ids[-1]) + 1

    @property
    def ordinary(self) -> Vocab:
        """The vocabulary without special tokens."""
        return self.packed_ordinary.as_dict()

    @lazy
    def byte_ids(self) -> NDArray[np.int32]:
        """The id of each single byte in a text, int32[256], or -1."""
        if self.extras.byte_fallback:
            return first_bytes(self.packed_ordinary, self.extras.byte_fallback)
        return self.packed_ordinary.byte_ids()

    @property
    def characters(self) -> list[str]:
        """The tokens that are one character of two bytes or more, in a vocabulary of characters."""
        return [character.decode() for character in characters_of(self.packed_ordinary).values()]

    @lazy
    def lacking(self) -> bytes:
        """The bytes that no token stands for: some that no valid UTF-8 has may be missing (see check_bytes)."""
        return bytes(byte for byte in sorted(NEVER) if self.byte_ids[byte] < 0)

    @lazy
    def later(self) -> list[str]:
        """The special tokens that are looked for in normalized text, after all others."""
        return later_tokens(self.special, self.extras, self.normalizer)

    @lazy
    def choosable(self) -> dict[str, int]:
        """The special tokens that can be allowed and disallowed: all but those that are parts of ordinary text."""
        text_tokens = set(self.extras.text_tokens)
        return {token: token_id for token, token_id in self.special.items() if token not in text_tokens}

    @property
    def skipped(self) -> dict[str, int]:
        """The special tokens that `decode(skip_special_tokens=True)` skips: all except those that are plain."""
        flags = self.extras.flags
        return {token: token_id for token, token_id in self.special.items() if "plain" not in flags.get(token, ())}

    @lazy
    def is_prepared(self) -> bool:
        """Whether text needs more than one normal form before it is split, or special tokens are found by rules."""
        extras = self.extras
        much = self.normalizer.does_more or extras.prefix_space or extras.cutter or self.later or self.lacking
        return bool(much or extras.ruled or extras.text_tokens or extras.byte_fallback)

    @property
    def rewrites_text(self) -> bool:
        """Whether text may be changed before it is split: by a normalizer, or prepared otherwise (see `is_prepared`)."""
        return bool(self.normalizer.kinds) or self.is_prepared

    @property
    def changes_valid_text(self) -> bool:
        """Whether text in valid UTF-8 may be changed before it is split; rules about special tokens do not count."""
        extras = self.extras
        return bool(self.normalizer.kinds or extras.prefix_space) or extras.cutter is not None

    @lazy
    def adds_space(self) -> bool:
        """Whether encoding puts a space in front of a text, and decoding drops it, as sentencepiece does.

        With a vocabulary of bytes, decoding keeps it, as the decoder ByteLevel of tokenizers does.
        """
        prepends = {"type": "Prepend", "prepend": " "} in self.normalizer.steps
        return bool(self.extras.byte_fallback and (prepends or self.extras.prefix_space))

    @property
    def search(self) -> Mapping[str, Any]:
        """How tokens are found in a text, as far as that decides ids; empty if all are found like nbbpe's own."""
        if not self.is_prepared:
            return {}
        flags = {token: flags for token, flags in self.extras.flags.items() if not set(flags) <= {"plain", "shared"}}
        found: dict[str, Any] = {"prefix_space": self.extras.prefix_space} if self.extras.prefix_space else {}
        if self.extras.cutter is not None:
            found["pre_tokenizer"] = self.extras.cutter.steps
        if self.extras.byte_fallback:
            found["byte_fallback"] = list(self.extras.byte_fallback)
        return {**found, "flags": flags} if flags else found

    def listed_merges(self) -> list[Merge]:
        """The merges, for a format that needs a list. Raises ValueError if no list gives the same ids as the ranks."""
        if self.merges is not None:
            return self.merges
        from .rank_vocab import recovered_merges

        _, token_id = recovered_merges(self.packed_ordinary)
        example = "" if token_id is None else f": {shown(self.vocab[token_id])} (id {token_id}) does not"
        raise ValueError(
            "this tokenizer merges by rank and has no list of merges: for a list, the bytes of every token would have to "
            f"become exactly two tokens when merged by lower ranks{example}"
        )

    def merges_with_whole(self) -> tuple[list[Merge], bool]:
        """The merges, and whether a pretoken that is a token is that token; for a format that can hold both."""
        if self.merges is not None:
            return self.merges, self.whole
        from .rank_pairs import ordered_pairs

        try:
            return self.listed_merges(), self.whole
        except ValueError:
            pairs = ordered_pairs(self.ordinary)[:, :2].tolist()
            return [(self.vocab[left], self.vocab[right]) for left, right in pairs], True

    def as_ranks(self) -> Vocab:
        """The vocabulary without special tokens, if merging by rank with ids as ranks gives the same; ValueError if not."""
        ordinary = self.ordinary
        if self.merge_ids is not None:
            from .rank_pairs import check_pairs
            from .rank_vocab import check_ranks, with_whole_tokens

            try:
                check_ranks(ordinary, self.merge_ids)
            except ValueError as error:
                # By rank, a pretoken that is a token becomes it. So it must by this list, through `whole` or merges.
                if not self.whole and len(with_whole_tokens(self.packed_ordinary, self.merge_table()).whole):
                    raise
                try:  # a list of all pairs, as files of ranks are converted to
                    check_pairs(ordinary, self.merge_ids)
                except ValueError as other:
                    raise ValueError(f"{error}; and {other}") from None
        return ordinary

    def merge_table(self) -> Merges:
        """The merges as the kernels look them up."""
        from ..kernels.encoding.merge_table import new_merges
        from .rank_vocab import merges_by_rank, with_whole_tokens

        ordinary = self.packed_ordinary
        if self.merge_ids is None:
            return merges_by_rank(ordinary)
        merge_ids = self.merge_ids
        if self.extras.byte_fallback:
            of_characters, _ = merges_of_characters(ordinary, self.extras.byte_fallback)
            merge_ids = np.concatenate([of_characters, merge_ids])
        lefts, rights, results = (np.ascontiguousarray(column) for column in merge_ids.T)
        merges = new_merges(lefts, rights, np.arange(len(lefts), dtype=np.int32), results, self.byte_ids)
        return with_whole_tokens(ordinary, merges) if self.whole else merges

    def n_symbol_merges(self) -> int:
        """How many of the first merges of `merge_table` only make single symbols of the tokenizer's file: the characters of
        a vocabulary of characters, and the ends of words, which are a byte and a space here."""
        ordinary = self.packed_ordinary
        if self.extras.byte_fallback:
            return len(merges_of_characters(ordinary, self.extras.byte_fallback)[0])
        if self.extras.suffix is None or self.merge_ids is None:
            return 0
        bytes_ = self.byte_ids
        is_end = np.isin(self.merge_ids[:, 0], bytes_) & (self.merge_ids[:, 1] == bytes_[ord(" ")])
        return int(np.argmin(np.append(is_end, False)))

    @lazy
    def fingerprint(self) -> str:
        """See Tokenizer.fingerprint."""
        return tokenizer_fingerprint(self.packed, self.sides(), self.special, self.pattern, self.whole, self.spelled)

    def sides(self) -> Sides | None:
        """The bytes of left and right of each merge in turn, or None where tokens merge by rank."""
        merges = self.merge_ids
        if merges is None:
            return None
        # Each result is left and right, one after the other; and most results are adjacent tokens.
        _, text = self.packed.gather(self.packed.numbers_of(merges[:, 2]))
        return self.packed.lengths[self.packed.numbers_of(merges[:, :2].ravel())], text

    @property
    def spelled(self) -> str | None:
        """Everything that changes a text before it is split, as a string, or None for nothing."""
        normalizer = self.normalizer.spelled if self.normalizer.does_more else self.normalizer.form
        search = self.search
        return f"{normalizer or ''}{json.dumps(search, sort_keys=True)}" if search else normalizer

    @property
    def provenance(self) -> dict[str, Any]:
        """See Tokenizer.provenance; a copy."""
        if "versions" not in self._origin:
            self._origin = {**describe_pattern(self.pattern), **self._origin}
        return copy.deepcopy(self._origin)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        names = "vocab", "merges", "special", "pattern", "whole", "spelled"
        same = all(getattr(self, name) == getattr(other, name) for name in names)
        return same and read_templates(self.extras.post_processor) == read_templates(other.extras.post_processor)

    def __getstate__(self) -> dict[str, Any]:
        # Another process computes the rest from these again.
        names = "packed_ordinary", "special", "pattern", "whole", "normalizer", "extras", "merge_ids"
        state = {name: getattr(self, name) for name in names}
        return {**state, "_origin": self.provenance}  # with this process's versions; the other may have others
