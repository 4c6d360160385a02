"""Many texts in one call, divided among threads if there is enough text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..text.text_rows import Rows, RowsReader, cut_rows, rows_of
from ..text.utf8 import Text
from ..text.windows import NO_ID, Windows
from .special_choice import Chosen, pack_special_tokens
from .threads import Part, check_threads, encode_parts, part_bytes, stretches, threads_for

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from .encoder import Encoder


class _RowsPart(NamedTuple):
    """Some of the texts of a batch; see threads.Part."""

    rows: Rows
    first: int
    last: int
    n_bytes: int

    def open(self, specials: SpecialTokens) -> Windows:
        """See threads.Part."""
        return RowsReader(self.rows, self.first, self.last, specials, NO_ID)


def encode_batch_flat(
    encoder: Encoder, texts: Iterable[Text], chosen: Chosen, num_threads: int | None = None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """See Tokenizer.encode_batch_flat."""
    most = check_threads(num_threads)
    rows = rows_of(texts)
    for number, text in enumerate(rows.texts if chosen.disallowed is not None else ()):
        chosen.check(text, f"text {number:,} (from 0)")
    specials = chosen.recognised or pack_special_tokens({})
    n_bytes = int(rows.sizes.sum())
    n_threads = threads_for(n_bytes, most)
    parts: list[Part] = []
    ends_text: list[bool] = []  # of each part, whether a text ends where it ends, with no break there
    size = part_bytes(n_bytes + len(rows.sizes), n_threads)  # with what separates texts
    for first, last in cut_rows(rows, size):
        if rows.sizes[first] > 2 * size:  # then it is alone
            of_text = stretches(encoder, rows.texts[first], specials, n_threads)
            if len(of_text) > 1:
                parts += of_text
                ends_text += [False] * (len(of_text) - 1) + [True]
                continue
        parts.append(_RowsPart(rows, first, last, int(rows.sizes[first:last].sum()) + last - first))
        ends_text.append(False)
    ids, found = encode_parts(encoder, parts, specials, n_threads)
    ends = [np.zeros(1, dtype=np.int64)]
    n_ids = 0
    for (n_of_part, of_rows), ends_here in zip(found, ends_text, strict=True):
        ends.append(of_rows + n_ids)
        n_ids += n_of_part
        if ends_here:
            ends.append(np.array([n_ids], dtype=np.int64))
    return ids, np.concatenate(ends)
