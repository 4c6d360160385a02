"""A table from the bytes of tokens to their ids: entering tokens, and looking up the sides and results of merges."""

import numpy as np

from ..compiler.jit import kernel, part
from ..compiler.signature import boolean, int32, int64, reads, uint8
from ..machine.intrinsics import address_of, read_i64, write_u64
from ..pieces.piece_table import PieceTable, find, insert, is_free, key_of, table_addresses


@kernel(reads(uint8[:]), reads(int64[:]), reads(int32[:]), reads(boolean[:]), PieceTable)
def enter_tokens(text, starts, ids, chosen, table):
    """Enter tokens into a piece table, with their ids as values.

    text   : uint8[* + PADDING];  starts : int64[n + 1];  ids : int32[n]
    chosen : bool[n]                which tokens to enter; none of them empty
    table  : PieceTable, modified   empty, with room for them all

    Returns how many were entered, up to the first one that found no slot or no room.
    """
    table_at = table_addresses(table)
    n_entered = 0
    for token in range(ids.shape[0]):
        if not chosen[token]:
            continue
        key_at, length = address_of(text) + starts[token], starts[token + 1] - starts[token]
        low, high = key_of(key_at, length, table_at.state)
        slot = find(table_at, key_at, length, low, high)
        if not insert(table_at, slot, key_at, length, low, high):
            break
        write_u64(table_at.slots + 8 * slot + 16, np.uint64(ids[token]))
        n_entered += 1
    return n_entered


@kernel(reads(uint8[:]), reads(int64[:]), PieceTable, int32[:, :])
def find_merges(text, starts, table, merges):
    """Look up the sides and the result of each merge.

    text   : uint8[* + PADDING]    the sides of all merges, left, right, left, ..., one after another
    starts : int64[2 * n + 1]      where each starts in text
    table  : PieceTable, read      as `enter_tokens` has filled it
    merges : int32[n, 3], filled   the ids of left, right and result; -1 for what is no token

    Returns whether all are tokens. Cost: three look-ups a merge.
    """
    table_at = table_addresses(table)
    text_at = address_of(text)
    are_tokens = True
    for i in range(merges.shape[0]):
        left, right, end = starts[2 * i], starts[2 * i + 1], starts[2 * i + 2]
        merges[i, 0] = id_of_token(table_at, text_at + left, right - left)
        merges[i, 1] = id_of_token(table_at, text_at + right, end - right)
        merges[i, 2] = id_of_token(table_at, text_at + left, end - left)
        if merges[i, 0] < 0 or merges[i, 1] < 0 or merges[i, 2] < 0:
            are_tokens = False
    return are_tokens


@part
def id_of_token(table_at, key_at, length):
    """The id of the token of `length` bytes at an address, or -1 if there is none."""
    if length == 0:
        return np.int64(-1)
    low, high = key_of(key_at, length, table_at.state)
    slot = find(table_at, key_at, length, low, high)
    return np.int64(-1) if is_free(table_at, slot) else read_i64(table_at.slots + 8 * slot + 16)
