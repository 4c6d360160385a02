"""The model of a tokenizer: vocabulary, merges, special tokens and split pattern, checked to fit together.

Formats of files read and write it, a Tokenizer applies it.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence, Set
from itertools import chain, starmap
from operator import add, itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..system.excerpt import shown
from ..system.lazy import lazy
from ..text.normalization import Form, check_normalizer
from ..text.pattern import Pattern, PatternLike, get_pattern
from .provenance import describe_pattern, tokenizer_fingerprint
from .special_tokens import MAX_ID, SpecialTokens, add_special_tokens, place_special_tokens, tokens_of_merges

if TYPE_CHECKING:
    from ..kernels.encoding.merge_table import Merges

Vocab = dict[int, bytes]
Merge = tuple[bytes, bytes]


class Model:
    """All that decides which ids a text gets, and what is known of where it comes from.

    Parameters
    ----------
    vocab : from id to bytes; special tokens are added where it lacks them
    merges : in rank order, as pairs of bytes, or as int32[n, 3], the ids of left, right and result of each. None where
        the pair merges whose joined bytes have the lowest id, and not the first of a list
    special : from special token to id; two may have one id, which stands for the first
    whole : whether a pretoken that is a token is that token, whatever the merges say
    normalizer : the normal form that text is put into before it is split, or None
    origin : what is known of its provenance; see there

    Nothing is checked here: see `checked` for what a user gives, check_vocab and check_merges for what a file says.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        vocab: Vocab,
        merges: list[Merge] | NDArray[np.int32] | None,
        special: dict[str, int],
        pattern: Pattern,
        whole: bool = False,
        origin: dict[str, Any] | None = None,
        normalizer: Form | None = None,
    ) -> None:
        self.vocab = dict(vocab)
        for token, token_id in special.items():
            self.vocab.setdefault(token_id, token.encode())
        self.special = special
        self.pattern = pattern
        self.whole = whole
        self.normalizer = normalizer
        self._given_merges = merges
        self._origin = origin or {}

    @classmethod
    def checked(
        cls,
        vocab: Vocab,
        merges: Sequence[Merge],
        special_tokens: SpecialTokens | None,
        pattern: PatternLike,
        normalizer: str | None = None,
    ) -> Model:
        """From what a user gives (see Tokenizer). Raises TypeError or ValueError for what does not fit together."""
        vocab, merges = dict(vocab), list(merges)
        check_vocab(vocab)
        check_merges(vocab, merges)
        merges = [(left, right) for left, right in merges]  # pairs from JSON are lists
        return cls.fitting(vocab, merges, special_tokens, pattern, normalizer)

    @classmethod
    def fitting(
        cls,
        vocab: Vocab,
        merges: list[Merge],
        special_tokens: SpecialTokens | None,
        pattern: PatternLike,
        normalizer: str | None = None,
    ) -> Model:
        """The same for a vocab and merges that have been checked."""
        special = place_special_tokens(special_tokens, vocab, tokens_of_merges(merges))
        return cls(vocab, merges, special, get_pattern(pattern), normalizer=check_normalizer(normalizer))

    @classmethod
    def trained(
        cls, merges: NDArray[np.int32], special_tokens: list[str], pattern: Pattern, training: dict[str, Any]
    ) -> Model:
        """From merges as pairs of ids, where the result of merge i has id 256 + i; `training` is for the provenance."""
        tokens = [bytes([byte]) for byte in range(256)]
        for left, right in merges.tolist():
            tokens.append(tokens[left] + tokens[right])
        results = np.arange(256, len(tokens), dtype=np.int32)
        special = {token: len(tokens) + i for i, token in enumerate(special_tokens)}
        merge_ids = np.column_stack([merges, results])
        return cls(dict(enumerate(tokens)), merge_ids, special, pattern, origin={"training": training})

    def with_special_tokens(self, wanted: SpecialTokens) -> Model:
        """A model that has more special tokens (see Tokenizer.with_special_tokens)."""
        by_merges = self.merges is not None and not self.whole
        needed = tokens_of_merges(self.merges or []) if by_merges else set(self.ordinary.values())
        special, vocab = add_special_tokens(wanted, self.special, self.vocab, needed)
        return Model(vocab, self._given_merges, special, self.pattern, self.whole, self.provenance, self.normalizer)

    # Merges are given as bytes or as ids; the other is worked out where it is asked for.

    @lazy
    def merges(self) -> list[Merge] | None:
        """The merges in rank order, or None where tokens merge by rank."""
        if isinstance(self._given_merges, np.ndarray):
            return [(self.vocab[left], self.vocab[right]) for left, right, _ in self._given_merges.tolist()]
        return self._given_merges

    @lazy
    def merge_ids(self) -> NDArray[np.int32] | None:
        """The ids of left, right and result of each merge, int32[n, 3], or None where tokens merge by rank."""
        if self._given_merges is None or isinstance(self._given_merges, np.ndarray):
            return self._given_merges
        ordinary = self.ordinary
        ids = {ordinary[token_id]: token_id for token_id in sorted(ordinary, reverse=True)}
        # Without a tuple for each merge, which Python's collector would look at again and again.
        merges, n = self._given_merges, len(self._given_merges)
        columns = map(itemgetter(0), merges), map(itemgetter(1), merges), starmap(add, merges)
        return np.column_stack([np.fromiter(map(ids.__getitem__, column), dtype=np.int32, count=n) for column in columns])

    @lazy
    def size(self) -> int:
        """One more than the highest id."""
        return max(self.vocab) + 1

    @property
    def ordinary(self) -> Vocab:
        """The vocabulary without special tokens."""
        special = set(self.special.values())
        return {token_id: token for token_id, token in self.vocab.items() if token_id not in special}

    def listed_merges(self) -> list[Merge]:
        """The merges, for a format that needs a list. ValueError where no list of merges says the same as the ranks."""
        if self.merges is not None:
            return self.merges
        from .rank_vocab import recovered_merges

        _, token_id = recovered_merges(self.ordinary)
        example = "" if token_id is None else f": {shown(self.vocab[token_id])} (id {token_id}) does not"
        raise ValueError(
            "this tokenizer merges by rank and has no list of merges, for which the bytes of every token would have to "
            f"end as two tokens when merged by lower ranks{example}"
        )

    def check_no_normalizer(self, format_name: str) -> None:
        """Raise ValueError where there is a normalizer, for a format that cannot hold one."""
        if self.normalizer is not None:
            raise ValueError(
                f"this tokenizer puts text into the normal form {self.normalizer}, which {format_name} cannot say. "
                'Pass normalizer="ignore" to Tokenizer.from_hf, and normalize texts yourself'
            )

    def as_ranks(self) -> Vocab:
        """The vocabulary without special tokens, if merging by rank with ids as ranks gives the same; ValueError if not."""
        ordinary = self.ordinary
        if self.merge_ids is not None:
            from .rank_vocab import check_ranks

            check_ranks(ordinary, self.merge_ids)
        return ordinary

    def merge_table(self) -> Merges:
        """The merges as the kernels look them up."""
        from ..kernels.encoding.merge_table import new_merges
        from .rank_vocab import merges_by_rank, with_whole_tokens

        ordinary = self.ordinary
        if self.merge_ids is None:
            return merges_by_rank(ordinary)
        byte_ids = np.empty(256, dtype=np.int32)
        for token_id in sorted((token_id for token_id, token in ordinary.items() if len(token) == 1), reverse=True):
            byte_ids[ordinary[token_id][0]] = token_id
        lefts, rights, results = (np.ascontiguousarray(column) for column in self.merge_ids.T)
        merges = new_merges(lefts, rights, np.arange(len(lefts), dtype=np.int32), results, byte_ids)
        return with_whole_tokens(ordinary, merges) if self.whole else merges

    @lazy
    def fingerprint(self) -> str:
        """See Tokenizer.fingerprint."""
        return tokenizer_fingerprint(self.vocab, self.merges, self.special, self.pattern, self.whole, self.normalizer)

    @property
    def provenance(self) -> dict[str, Any]:
        """See Tokenizer.provenance; a copy."""
        if "versions" not in self._origin:
            self._origin = {**describe_pattern(self.pattern), **self._origin}
        return copy.deepcopy(self._origin)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        names = "vocab", "merges", "special", "pattern", "whole", "normalizer"
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __getstate__(self) -> dict[str, Any]:
        # What is worked out from these is worked out anew in another process.
        names = "vocab", "special", "pattern", "whole", "normalizer", "_given_merges"
        state = {name: getattr(self, name) for name in names}
        return {**state, "_origin": self.provenance}  # of this process, whose libraries may not be the other's


def check_vocab(vocab: Vocab) -> None:
    """Raise TypeError or ValueError for a vocab that cannot be one."""
    types = {*map(type, vocab), *map(type, vocab.values())}
    is_good = types == {int, bytes} and min(vocab) >= 0 and max(vocab) <= MAX_ID and all(vocab.values())
    for token_id, token in vocab.items() if not is_good else ():
        if isinstance(token_id, bool) or not isinstance(token_id, int) or not isinstance(token, bytes):
            raise TypeError(f"vocab must map int to bytes, and has {shown(token_id)}: {shown(token)}")
        if not 0 <= token_id <= MAX_ID:
            raise ValueError(f"vocab has the id {shown(token_id)} (for {shown(token)}); ids must be from 0 to {MAX_ID:,}")
        if not token:
            raise ValueError(f"vocab has the empty token as id {token_id}")
    missing = {bytes([byte]) for byte in range(256)} - set(vocab.values())
    if missing:
        some = ", ".join(map(repr, sorted(missing)[:5]))
        raise ValueError(f"vocab lacks {len(missing)} of the 256 single bytes, without which not all text has ids: {some}")


def are_known(merges: Collection[Merge], known: Set[bytes]) -> bool:
    """Whether all sides and results of merges are among the known tokens."""
    return all(map(known.__contains__, chain(chain.from_iterable(merges), starmap(add, merges))))


def check_merges(vocab: Vocab, merges: list[Merge]) -> None:
    """Raise TypeError or ValueError for merges that do not fit a vocab."""
    known = set(vocab.values())
    are_pairs = set(map(type, merges)) == {tuple} and set(map(len, merges)) == {2}
    is_good = are_pairs and set(map(type, chain.from_iterable(merges))) == {bytes} and are_known(merges, known)
    for rank, merge in enumerate(merges) if not is_good else ():
        if len(merge) != 2 or not all(isinstance(token, bytes) for token in merge):
            raise TypeError(f"merge {rank} must be a pair of bytes, and is {shown(merge)}")
        for token in (*merge, merge[0] + merge[1]):
            if token not in known:
                raise ValueError(f"merge {rank} {shown(merge)} needs token {shown(token)}, which is not in the vocab")
