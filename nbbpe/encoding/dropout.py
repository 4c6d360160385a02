"""Encode with BPE dropout: each document has its own random numbers, which depend on its bytes and the seed alone.

So a document gets the same ids in any batch, at any place, in any number of threads and on any machine. (Random numbers
from the number of a document within a call would change with the order and the size of batches.) For other ids of the same
document, take another seed, such as the number of the epoch.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.encoding.merge_dropout import SHARE_BITS, dropout_scratch, encode_with_dropout
from ..model.long_merges import interruptible_if_long
from ..patterns.pattern import Pattern
from ..system.excerpt import shown
from ..system.integers import check_integer
from ..text.item_checks import check_texts
from ..text.text_splitter import TextSplitter
from ..text.utf8 import Text, each_to_bytes
from ..text.windows import NO_ID, Window, groups
from .encoder import Encoder
from .special_choice import Chosen, pack_special_tokens
from .threads import check_threads, results_of, threads_for

if TYPE_CHECKING:
    from ..kernels.encoding.merge_table import Merges
    from ..kernels.pieces.special_tokens import SpecialTokens

_FIRST_SCRATCH = 256  # bytes of the longest pretoken that scratch has room for at first
_NAME = b"nbbpe dropout"  # makes these digests differ from any others


def check_dropout(dropout: object, seed: object) -> tuple[float, int | None]:
    """The arguments `dropout` and `seed` of `encode`, checked. Raises TypeError or ValueError for invalid ones."""
    is_number = isinstance(dropout, (int, float, np.integer, np.floating)) and not isinstance(dropout, bool)
    if not is_number:
        raise TypeError(f"dropout must be a number from 0 to 1, not {shown(dropout)}")
    share = float(dropout)  # type: ignore[arg-type]
    if not 0 <= share <= 1:
        raise ValueError(f"dropout must be from 0 to 1, and is {shown(dropout)}")
    return share, None if seed is None else check_integer("seed", seed, kind="an integer or None")


class DropoutTables(NamedTuple):
    """The tables that encoding with dropout needs.

    n_kept : how many of the first merges are never dropped, see `Model.n_symbol_merges`
    """

    encoder: Encoder
    pattern: Pattern
    merges: Merges
    n_kept: int


class DropoutEncoder:
    """Encodes documents with one share of dropped pairs and one seed. Threads may share it."""

    def __init__(self, tables: DropoutTables, dropout: float, seed: int | None) -> None:
        """`seed` is None for a random one."""
        self.dtype = tables.encoder.dtype
        self._tables = tables
        self._threshold = np.uint64(round(dropout * (1 << SHARE_BITS)))
        seed_bytes = os.urandom(16) if seed is None else str(seed).encode()
        self._key = hashlib.blake2b(seed_bytes, digest_size=32, person=_NAME).digest()

    def encode_document(self, document: bytes, specials: SpecialTokens) -> NDArray[Any]:
        """The ids of one document."""
        return self._encode_documents([document], specials)[0]

    def encode_batch_flat(
        self, texts: Iterable[Text], chosen: Chosen, num_threads: int | None
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """See Tokenizer.encode_batch_flat."""
        most = check_threads(num_threads)
        check_texts(texts)
        documents = list(each_to_bytes(texts, "text"))
        chosen.check_each(documents)
        n_threads = threads_for(sum(map(len, documents)), most)
        encode = functools.partial(self._encode_documents, specials=chosen.recognised or pack_special_tokens({}))
        parts = results_of(encode, list(groups(documents)), n_threads)
        ids = [np.empty(0, dtype=self.dtype), *(ids for ids, _ in parts)]
        counts = [np.zeros(1, dtype=np.int64), *(counts for _, counts in parts)]
        return np.concatenate(ids), np.cumsum(np.concatenate(counts))

    def _encode_documents(self, documents: list[bytes], specials: SpecialTokens) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The ids of all documents, and int64[n]: how many ids each one has."""
        work = _Work(self._tables, self._threshold)
        parts = [np.empty(0, dtype=self.dtype)]
        for document in documents:
            digest = hashlib.blake2b(document, digest_size=8, key=self._key, person=_NAME).digest()
            random = np.frombuffer(digest, dtype="<u8").astype(np.uint64)
            parts.append(work.encode(self._tables.encoder.window_of(document, specials), random))
        return np.concatenate(parts), np.array([len(part) for part in parts[1:]], dtype=np.int64)


class _Work:
    """The state of one thread that encodes."""

    def __init__(self, tables: DropoutTables, threshold: np.uint64) -> None:
        self._tables = tables
        self._threshold = threshold
        self._splitter = TextSplitter(tables.pattern)
        self._longest = _FIRST_SCRATCH
        self._scratch = dropout_scratch(self._longest)

    def encode(self, window: Window, random: NDArray[np.uint64]) -> NDArray[Any]:
        """The ids of a document, with its special tokens; `random`, uint64[1], is the generator's state, modified."""
        out = np.empty(window.end - window.start, dtype=self._tables.encoder.dtype)
        start, n_ids = window.start, 0
        for end, next_start, token_id in [*window.breaks.tolist(), (window.end, window.end, NO_ID)]:
            if end > start:
                n_ids += self._encode_stretch(window.data, start, end, random, out[n_ids:])
            if token_id >= 0:
                out[n_ids] = token_id
                n_ids += 1
            start = next_start
        return out[:n_ids]

    def _encode_stretch(
        self, data: NDArray[np.uint8], start: int, end: int, random: NDArray[np.uint64], out: NDArray[Any]
    ) -> int:
        """Write the ids of data[start:end], which has no special tokens, to `out`; returns their number."""
        n_ids = 0
        for starts in self._splitter.starts(data, start, end):
            n_ids += self._merge(data, starts, random, out[n_ids:])
        return n_ids

    def _merge(
        self, data: NDArray[np.uint8], starts: NDArray[np.int64], random: NDArray[np.uint64], out: NDArray[Any]
    ) -> int:
        """Write the ids of the pretokens of `data` that begin at `starts` to `out`; returns their number."""
        longest = int(np.diff(starts).max(initial=0))
        if longest > self._longest:
            self._longest = longest
            self._scratch = dropout_scratch(longest)

        def merge() -> int:
            merges, n_kept, scratch = self._tables.merges, self._tables.n_kept, self._scratch
            to = out.ctypes.data, out.itemsize
            return int(encode_with_dropout(data, starts, merges, n_kept, scratch, self._threshold, random, *to))

        return interruptible_if_long(merge, longest)
