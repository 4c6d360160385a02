"""Encode separate pretokens: distinct words, the bytes of tokens, pretokens from `regex`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..kernels.encoding.encode_pretokens import encode_pretokens
from ..kernels.encoding.merge_pretoken import new_scratch
from ..kernels.encoding.merge_table import Merges
from ..model.long_merges import interruptible_if_long
from ..system.stretches import starts_of
from ..text.utf8 import padded


def pretoken_ids(
    text: NDArray[np.uint8], starts: NDArray[np.int64], merges: Merges, dtype: DTypeLike = np.uint32
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The ids of pretokens in CSR form, one after another, and int64[n + 1]: where the ids of each pretoken start.

    text   : uint8[* + PADDING];  starts : int64[n + 1], where each pretoken starts in it, from 0 on
    merges : the table of a model, see Model.merge_table
    dtype  : of the ids, uint16 or uint32
    """
    ends = np.empty(len(starts), dtype=np.int64)
    ids = np.empty(int(starts[-1]) + 1, dtype=dtype)
    scratch = new_scratch(int(np.diff(starts).max(initial=1)), merges)

    def merge() -> None:
        encode_pretokens(text, starts, merges, scratch, ids.ctypes.data, ids.itemsize, ends)

    interruptible_if_long(merge, int(starts[-1]))
    return ids[: ends[-1]], ends


def ids_of_each(
    pretokens: Sequence[bytes], merges: Merges, dtype: DTypeLike = np.uint32
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The same for a list of pretokens."""
    starts = starts_of(list(map(len, pretokens)))
    return pretoken_ids(padded(b"".join(pretokens)), starts, merges, dtype)


def unmerged_ids(tokens: Mapping[int, bytes], merges: Merges) -> NDArray[np.int64]:
    """The ids of the tokens whose own bytes, as one pretoken, become other ids."""
    own = np.fromiter(tokens, dtype=np.int64, count=len(tokens))
    ids, ends = ids_of_each(list(tokens.values()), merges)
    is_alone = np.diff(ends) == 1
    is_alone[is_alone] = ids[ends[:-1][is_alone]] == own[is_alone]
    return own[~is_alone]


def without_whole(merges: Merges) -> Merges:
    """A table that only merges: a pretoken that equals a token does not become that token directly."""
    return merges._replace(whole=np.empty(0, dtype=np.uint64))
