"""Align two encodings of one text: find the places where a token ends in both, and compare the stretches between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.packed_vocab import PackedVocab

_MAX_STRETCHES = 200_000  # the most distinct stretches that are counted
_LONGEST_STRETCH = 64  # bytes; longer ones say little to a reader


class DifferentTexts(ValueError):
    """Two tokenizers change a text differently before they split it, so that their tokens cannot be aligned."""

    def __init__(self) -> None:
        super().__init__(
            "the two tokenizers make different texts of this one (by a normalizer, a space in front, or dropped space), so "
            "that they cannot be compared on it: give a text that both leave as it is"
        )


def aligned(streams: Sequence[Iterator[NDArray[Any]]], vocabs: Sequence[PackedVocab]) -> Iterator[list[NDArray[Any]]]:
    """Yield the ids of two encodings of one text in parts that begin and end at the same bytes in both.

    Raises DifferentTexts if the encodings stand for different numbers of bytes.
    """
    left: list[NDArray[Any]] = [np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)]
    sizes = [0, 0]  # bytes of text in what is left
    running = [True, True]
    while any(running):
        behind = 0 if running[0] and (sizes[0] <= sizes[1] or not running[1]) else 1
        ids = next(streams[behind], None)
        if ids is None:
            running[behind] = False
            continue
        # An array is valid only until the next one is asked for.
        left[behind] = np.concatenate([left[behind], ids]).astype(ids.dtype)
        sizes[behind] += int(vocabs[behind].lengths_of(ids).sum())
        if running == [True, True] and sizes[behind] < max(sizes):
            continue
        ends = _ends(vocabs, left)
        common = _common_ends(ends)
        if len(common[0]):
            stops = [int(stop[-1]) for stop in common]
            yield [part[:stop] for part, stop in zip(left, stops, strict=True)]
            left = [part[stop:] for part, stop in zip(left, stops, strict=True)]
            sizes = [size - int(ends[0][stops[0] - 1]) for size in sizes]
    if any(sizes):
        raise DifferentTexts


class Differences:
    """How two encodings of one text differ, in the stretches between two places where a token ends in both.

    n_same      : tokens that are the same in both
    n_stretches : stretches that are split differently
    n_bytes     : the bytes of these
    stretches   : how often each of these occurs, by the bytes of its ids in both encodings; long ones are not counted, nor
        new ones after very many others
    """

    def __init__(self, vocabs: Sequence[PackedVocab]) -> None:
        self._vocabs = vocabs
        self.n_same = self.n_stretches = self.n_bytes = 0
        self.stretches: Counter[tuple[bytes, bytes]] = Counter()

    def add(self, ids: Sequence[NDArray[Any]]) -> None:
        """Add the next part of both encodings, as `aligned` yields it."""
        ends = _ends(self._vocabs, ids)
        stops = _common_ends(ends)
        n_in = [np.diff(stop, prepend=0) for stop in stops]
        differs = (n_in[0] > 1) | (n_in[1] > 1)
        sizes = np.diff(ends[0][stops[0] - 1], prepend=0)[differs]
        self.n_same += int((~differs).sum())
        self.n_stretches += len(sizes)
        self.n_bytes += int(sizes.sum())
        short = sizes <= _LONGEST_STRETCH
        bounds = [(stop[differs][short], n[differs][short]) for stop, n in zip(stops, n_in, strict=True)]
        _count_stretches(self.stretches, ids, bounds)


def _ends(vocabs: Sequence[PackedVocab], ids: Sequence[NDArray[Any]]) -> list[NDArray[np.int64]]:
    """Where each token of two encodings ends, in bytes."""
    return [np.cumsum(vocab.lengths_of(part)) for vocab, part in zip(vocabs, ids, strict=True)]


def _common_ends(ends: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """For each place where a token ends in both encodings, the number of tokens up to it: an array for each encoding.

    ends : of the tokens of both, see `_ends`
    """
    # A mark for each byte: sorting the ends of both would take four times as long.
    is_end = np.zeros((2, 1 + max(int(each.max(initial=0)) for each in ends)), dtype=bool)
    for marks, each in zip(is_end, ends, strict=True):
        marks[each] = True
    return [np.flatnonzero(marks[each]) + 1 for marks, each in zip(is_end[::-1], ends, strict=True)]


def _count_stretches(
    stretches: Counter[tuple[bytes, bytes]],
    ids: Sequence[NDArray[Any]],
    bounds: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> None:
    """Add stretches of two encodings to the counts; in `bounds`, where each ends and how many ids it has."""
    of_both = [_stretches(part, *bound) for part, bound in zip(ids, bounds, strict=True)]
    # Count this part first, in the loops of Counter, zip and map: a loop here would take up to twice as long.
    for stretch, count in Counter(zip(*of_both, strict=True)).items():
        if stretch in stretches or len(stretches) < _MAX_STRETCHES:
            stretches[stretch] += count


def _stretches(ids: NDArray[Any], stops: NDArray[np.int64], n_ids: NDArray[np.int64]) -> Iterator[bytes]:
    """The bytes of the ids of each stretch; see `_count_stretches`."""
    data, size = np.ascontiguousarray(ids).tobytes(), ids.itemsize
    return map(data.__getitem__, map(slice, ((stops - n_ids) * size).tolist(), (stops * size).tolist()))
