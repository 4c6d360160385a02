"""Convert ids to lists of int in which equal ids are one object.

NumPy's `tolist` makes a new int for each id, which takes longer than to encode the id, and 28 bytes besides the 8 of its
place in the list. Here the ints are made once, for all lists of a process.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.compiler.collector import paused_for

FEW = 512  # ids; up to so many, `tolist` is as fast
_AT_ONCE = 1 << 14  # ids that become objects at a time: what that takes stays in the core's cache
_MOST = 1 << 20  # ints that are kept; they take 40 bytes each

_kept: NDArray[np.object_] = np.empty(0, dtype=np.object_)  # the ints from 0 on; replaced by a longer array, never changed
_n_listed = 0  # ids so far in arrays for which ints were missing; ints are made once there were as many


def list_of(ids: NDArray[Any]) -> list[int]:
    """The ids of an array as a list of int."""
    ints = _ints_for(ids)
    return ids.tolist() if ints is None else _take(ints, ids)


def lists_of(ids: NDArray[Any], starts: NDArray[np.int64]) -> list[list[int]]:
    """The ids of each text, as lists; `ids` and `starts` are those of `encode_batch_flat`."""
    first, n_texts = 0, len(starts) - 1
    with paused_for(n_texts):
        if (ints := _ints_for(ids)) is None:
            return _cut(ids.tolist(), starts)
        found: list[list[int]] = []
        while first < n_texts:
            # The texts whose ids are listed at a time, which is at least one.
            last = max(int(starts.searchsorted(starts[first] + _AT_ONCE, "right")) - 1, first + 1)
            found += _cut(_take(ints, ids[starts[first] : starts[last]]), starts[first : last + 1] - starts[first])
            first = last
        return found


def _cut(whole: list[int], starts: NDArray[np.int64]) -> list[list[int]]:
    return [whole[start:end] for start, end in pairwise(starts.tolist())]


def _take(ints: NDArray[np.object_], ids: NDArray[Any]) -> list[int]:
    found: list[int] = []
    for start in range(0, len(ids), _AT_ONCE):
        found += ints.take(ids[start : start + _AT_ONCE]).tolist()
    return found


def _ints_for(ids: NDArray[Any]) -> NDArray[np.object_] | None:
    """The kept ints, from 0 up to at least the highest id; None if `tolist` takes less time."""
    global _kept, _n_listed
    if len(ids) <= FEW:
        return None
    ints, n = _kept, int(ids.max()) + 1
    if n > len(ints):
        _n_listed += len(ids)
        if n - len(ints) > _n_listed or n > _MOST:
            return None
        # If two threads are here at once, the ints of one are lost, and made again when they are needed.
        _kept = ints = np.concatenate([ints, np.arange(len(ints), n).astype(object)])
    return ints
