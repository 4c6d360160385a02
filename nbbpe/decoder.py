"""Ids to bytes: a look-up for each id, or a compiled loop where there are many."""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .lazy import lazy

# From how many ids on the compiled loop pays: where kernels are in use, and where Numba must be imported for it.
_MANY = 1 << 7
_VERY_MANY = 1 << 21


class Decoder:
    """The way back of one tokenizer. Safe to use from several threads.

    left_out : ids of the vocabulary that stand for nothing
    """

    def __init__(self, vocab: dict[int, bytes], left_out: Iterable[int] = ()) -> None:
        self._left_out = dict.fromkeys(left_out, b"")
        self._vocab = {**vocab, **self._left_out} if self._left_out else vocab

    def decode(self, ids: Iterable[int] | NDArray[Any]) -> bytes:
        """The bytes of ids. Raises ValueError that names what is no id of the vocabulary; TypeError for no iterable."""
        if hasattr(ids, "__array__"):  # NumPy's arrays, and those of others (torch, pandas)
            return self._decode_array(np.asarray(ids))
        try:
            ids = list(ids)
        except TypeError:
            if hasattr(ids, "__iter__"):  # it is the iterable's own error
                raise
            raise TypeError(f"ids must be a list or an array of integers, not {type(ids).__name__}: {ids!r}") from None
        if list(map(type, ids)).count(int) < len(ids):  # in half the time of a set of types
            ids = [self._plain_int(token_id, place) for place, token_id in enumerate(ids)]
        if self._kernel_pays(len(ids)):
            try:
                return self._copy(np.fromiter(ids, dtype=np.int64, count=len(ids)))
            except OverflowError:
                pass  # an id of more than 63 bits: it is found, and named, below
        return self._join(ids)

    def _decode_array(self, ids: NDArray[Any]) -> bytes:
        if ids.ndim != 1:
            raise ValueError(f"ids must be a 1-D array, not of shape {ids.shape}; decode_batch takes a text in each row")
        if ids.dtype.kind == "O" or not len(ids):
            return self.decode(ids.tolist())
        if ids.dtype.kind not in "iu":
            raise ValueError(f"ids must be integers, and are an array of {ids.dtype}")
        return self._copy(ids) if self._kernel_pays(len(ids)) else self._join(ids.tolist())

    def _join(self, ids: list[int]) -> bytes:
        """The bytes of ids, by look-ups."""
        try:
            return b"".join(map(self._vocab.__getitem__, ids))
        except KeyError:
            place = next(place for place, token_id in enumerate(ids) if token_id not in self._vocab)
            raise self._unknown(ids[place], place) from None

    def _copy(self, ids: NDArray[Any]) -> bytes:
        """The bytes of an array of integers, by the kernels (1M ids of English: 9 ms; by look-ups 120)."""
        from .kernels import decode
        from .kernels.simd import PADDING

        pool, starts = self._pool
        wide = ids.astype(np.int64)
        n_bytes, n_known = decode.measure_tokens(wide, starts)
        if n_known < len(ids):
            raise self._unknown(ids[n_known].item(), n_known)
        out = np.empty(n_bytes + PADDING, dtype=np.uint8)
        decode.copy_tokens(wide, pool, starts, out)
        return out[:n_bytes].tobytes()

    @lazy
    def _pool(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        from .kernels.decode import new_pool

        return new_pool([self._vocab.get(token_id, b"") for token_id in range(max(self._vocab) + 1)])

    @lazy
    def _has_few_gaps(self) -> bool:
        """Whether a table by id is not much larger than the vocabulary; what has no bytes would be a gap in it, too."""
        return max(self._vocab) < 16 * len(self._vocab) and not self._left_out

    def _kernel_pays(self, n_ids: int) -> bool:
        return n_ids >= (_MANY if "nbbpe.kernels" in sys.modules else _VERY_MANY) and self._has_few_gaps

    def _plain_int(self, token_id: object, place: int) -> int:
        """An id of any integer type as an int."""
        try:
            if not isinstance(token_id, (bool, np.bool_)):
                return operator.index(token_id)  # type: ignore[arg-type]
        except TypeError:
            pass
        raise ValueError(f"ids must be integers, and number {place} of them is {token_id!r:.100}")

    def _unknown(self, token_id: object, place: int) -> ValueError:
        return ValueError(
            f"id {token_id!r} (number {place} of the ids) is not in the vocabulary of {len(self._vocab):,} tokens"
        )
