"""Many texts in memory, one a row: measured, cut into parts, and copied into windows with a break after each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .item_checks import check_texts
from .utf8 import Text, each_readable, each_to_bytes
from .windows import MOST_ROWS, RowWindows, Window

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens

ROWS_WINDOW = 1 << 20  # bytes of texts that are copied at a time


class Rows(NamedTuple):
    """Texts that kernels can read.

    texts : str and bytes, of no derived types; a tuple, as nobody can change it
    sizes : int64[n], the most bytes that each may have as UTF-8
    """

    texts: tuple[str | bytes, ...]
    sizes: NDArray[np.int64]


def rows_of(texts: Iterable[Text]) -> Rows:
    """Texts as Rows; those that are neither str nor bytes are copied. Raises TypeError that names any other item."""
    from ..kernels.records.texts import measure_texts

    check_texts(texts)
    # An iterator may reuse the memory of an item for the next one; the items of a list exist at the same time.
    items: Any = tuple(texts) if type(texts) is list or type(texts) is tuple else tuple(each_readable(texts))
    sizes = np.empty(len(items), dtype=np.int64)
    if measure_texts(items, sizes) < len(items):
        items = tuple(each_to_bytes(items, "text"))
        measure_texts(items, sizes)
    return Rows(items, sizes)


def cut_rows(rows: Rows, part_bytes: int) -> list[tuple[int, int]]:
    """Cut texts into stretches of about `part_bytes`: the first text of each, and the one after its last.

    A text of so many bytes or more is a stretch of its own.
    """
    cuts = {0, len(rows.sizes)}
    for i in np.flatnonzero(rows.sizes >= part_bytes).tolist():
        cuts |= {i, i + 1}
    ends = np.cumsum(rows.sizes + 1)
    if len(ends):
        cuts.update(np.searchsorted(ends, np.arange(part_bytes, ends[-1], part_bytes)).tolist())
    bounds = sorted(cuts)
    return list(itertools.pairwise(bounds))


class RowsReader(RowWindows):
    """Reads texts, from number `first` to before `last`, window by window; see RowWindows."""

    def __init__(self, rows: Rows, first: int, last: int, specials: SpecialTokens, separator: int) -> None:
        super().__init__(specials, separator, min(MOST_ROWS, last - first))
        self.n_expected = int(rows.sizes[first:last].sum())
        self._rows = rows
        self._next, self._last = first, last

    def advance(self, taken: int) -> Window | None:
        from ..kernels.records.texts import take_texts

        texts, sizes = self._rows
        first = self._next
        if first == self._last:
            return None
        last = min(self._last, first + MOST_ROWS)  # to measure all that are left for each window would be quadratic
        self._make_room(max(int(sizes[first]) + 1, min(ROWS_WINDOW, int(sizes[first:last].sum()) + last - first)))
        self._next, n_bytes = take_texts(texts, first, self._last, self._out, self._breaks, self._separator)
        return self._window(n_bytes, self._next - first)
