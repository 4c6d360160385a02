"""Tokens looked up by their bytes, in a table for kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.encoding import token_table
from ..kernels.pieces import piece_table


def table_of(
    text: NDArray[np.uint8], starts: NDArray[np.int64], ids: NDArray[np.int32], chosen: NDArray[np.bool_]
) -> piece_table.PieceTable:
    """A table from the bytes of the chosen tokens to their ids; arguments as of the kernel `enter_tokens`."""
    n_chosen = int(chosen.sum())
    pool_size = piece_table.POOL_START + int(np.diff(starts)[chosen].sum()) + piece_table.KEY_OVERHEAD * n_chosen
    table = piece_table.new_table(piece_table.slots_for(n_chosen), pool_size)
    while token_table.enter_tokens(text, starts, ids, chosen, table) != n_chosen:
        # There is room, so a token found no slot within the bounded distance.
        table = piece_table.with_another_secret(table)
        piece_table.clear(table)
    return table


def found_merges(
    table: piece_table.PieceTable, text: NDArray[np.uint8], starts: NDArray[np.int64]
) -> NDArray[np.int32] | None:
    """The ids of left, right and result of merges, int32[n, 3]; None where one is no token.

    text   : uint8[* + PADDING]   the sides of all merges, one after another
    starts : int64[2 * n + 1]     where each starts
    """
    merges = np.empty((len(starts) // 2, 3), dtype=np.int32)
    return merges if token_table.find_merges(text, starts, table, merges) else None
