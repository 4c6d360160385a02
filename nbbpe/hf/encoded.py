"""The encoded texts of a call, from which the columns of its result and of its rows are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, pairwise, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding.id_lists import list_of
from ..system.lazy import lazy
from .applied import Applied
from .rows import Batch, Cut, Frame, RowPadding, Rows


class Encoded:
    """The ids of a batch of texts, and where they are in the rows of a result.

    A result keeps it to make other columns later; it takes less memory than the lists of a column.

    applied : encoded the texts
    batch   : the texts
    ids     : the ids of all texts, concatenated
    starts  : where the ids of each of the batch's texts (or words) start, and where the last ones end
    frame   : adds the template's ids
    cut     : the spans of ids that are in rows
    padding : pads the rows; None for no padding
    """

    def __init__(
        self,
        applied: Applied,
        batch: Batch,
        ids: list[int] | NDArray[Any],
        starts: list[int] | NDArray[np.int64],
        frame: Frame,
        cut: Cut,
    ) -> None:
        self.applied, self.batch, self.ids, self.starts = applied, batch, ids, starts
        self.frame, self.cut = frame, cut
        self.padding: RowPadding | None = None

    @property
    def n_rows(self) -> int:
        return len(self.cut.places) // (1 + self.batch.is_pair)

    def columns(self, names: Iterable[str]) -> dict[str, Rows] | None:
        """Columns by name, not padded; None if tokenizers must decide."""
        cut = self.cut
        rows = _rows(self.ids, cut)
        ids = self.frame.put(rows)
        found = {}
        for name in names:
            column = _COLUMNS[name](self, cut, rows, ids)
            if column is None:
                return None
            found[name] = column
        return found

    def of_row(self, name: str, number: int) -> list[Any] | None:
        """One row of a column, padded; None if tokenizers must decide."""
        cut, padding = self._cut_of(number), self.padding
        rows = _rows(self.ids, cut)
        column = _COLUMNS[name](self, cut, rows, self.frame.put(rows))
        if column is None or padding is None:
            return None if column is None else column[0]
        if name == "sequence_ids" and not self.batch.is_pair:
            padding = padding._replace(pads={name: self.applied.number_of_padding})
        return padding.apply(name, column)[0]

    def ranges_of_row(self, number: int) -> list[range] | None:
        """The positions of each text's tokens in a padded row; None if tokenizers must decide."""
        cut = self._cut_of(number)
        if not self._numbers_texts(cut):
            return None
        ranges = self.frame.ranges([end - start for start, end in cut.places])
        padding = self.padding
        if ranges is None or padding is None or padding.side == "right":
            return ranges
        before = max(padding.width - self.frame.n_ids - sum(map(len, ranges)), 0)  # a row may be longer than `width`
        return [range(before + tokens.start, before + tokens.stop) for tokens in ranges]

    def _cut_of(self, number: int) -> Cut:
        return self.cut if self.n_rows == 1 else self.cut.only(number, self.batch.is_pair)

    def _numbers_texts(self, cut: Cut) -> bool:
        # Versions of tokenizers that number padding (see `number_of_padding`) do not number the texts of a pair in rows
        # after its first one.
        return not (self.batch.is_pair and any(cut.later) and self.applied.number_of_padding is not None)

    def _ids(self, cut: Cut, rows: Rows, ids: Rows) -> Rows:
        return ids

    def _tokens(self, cut: Cut, rows: Rows, ids: Rows) -> Rows | None:
        found = [tokens for row in ids if (tokens := self.applied.spelled(row)) is not None]
        return found if len(found) == len(ids) else None

    def _types(self, cut: Cut, rows: Rows, ids: Rows) -> Rows:
        return self.frame.type_rows(rows, ids, cut.later)

    def _attention(self, cut: Cut, rows: Rows, ids: Rows) -> Rows:
        return [[1] * len(row) for row in ids]

    def _around(self, cut: Cut, rows: Rows, ids: Rows) -> Rows:
        return self.frame.put_value([[0] * len(row) for row in rows], 1)

    def _numbers_of_texts(self, cut: Cut, rows: Rows, ids: Rows) -> Rows | None:
        return self.frame.numbers_of_texts(rows) if self._numbers_texts(cut) else None

    def _numbers_of_words(self, cut: Cut, rows: Rows, ids: Rows) -> Rows | None:
        words = self._words
        if words is None:
            return None
        return self.frame.put_value(_rows(words, cut), None)

    @lazy
    def _words(self) -> list[int] | NDArray[np.int64] | None:
        """The number of the word of each id in its text; None if tokenizers must decide."""
        n_words = self.batch.n_words
        if n_words is None:
            return self.applied.words_in(self.ids, self.starts)
        if isinstance(self.starts, list):
            counts = [end - start for start, end in pairwise(self.starts)]
            words = chain.from_iterable(map(range, n_words))
            return list(chain.from_iterable(map(repeat, words, counts)))
        numbers = np.concatenate([np.empty(0, dtype=np.int64), *map(np.arange, n_words)])
        return np.repeat(numbers, np.diff(self.starts))

    def _offsets(self, cut: Cut, rows: Rows, ids: Rows) -> Rows | None:
        finder = self.applied.finder
        if finder is None or self._found is None:
            return None
        return self.frame.put_value(finder.offsets(self._found, cut.places), (0, 0))

    @lazy
    def _found(self) -> Any:
        finder = self.applied.finder
        return None if finder is None else finder.find(self.batch.texts, self.ids, self.starts)


def _rows(values: list[int] | NDArray[Any], cut: Cut) -> Rows:
    """The spans of `cut` as lists; `values` has one value for each id of a batch."""
    if isinstance(values, list):
        return [values[start:end] for start, end in cut.places]
    return [list_of(values[start:end]) for start, end in cut.places]


# The function that makes each column. Its arguments `rows` and `ids` are the ids of texts, without and with the template's.
_COLUMNS: dict[str, Callable[[Encoded, Cut, Rows, Rows], Rows | None]] = {
    "input_ids": Encoded._ids,
    "tokens": Encoded._tokens,
    "token_type_ids": Encoded._types,
    "attention_mask": Encoded._attention,
    "special_tokens_mask": Encoded._around,
    "offset_mapping": Encoded._offsets,
    "word_ids": Encoded._numbers_of_words,
    "sequence_ids": Encoded._numbers_of_texts,
}
