"""One new piece: cut into pretokens, merged, and remembered."""

import numpy as np

from ..compiler.jit import inlined, kernel, part
from ..compiler.signature import int64
from ..machine.intrinsics import read_i64
from ..pieces.piece_table import NO_SLOT, find, is_free, key_of
from ..pieces.pretokens import begin_piece, pretoken_end
from .encode_state import NEED_LONG, NEED_MEMORY, NEED_SCRATCH, PATTERN, SCRATCH, SPLIT, TABLE, five, merges_of
from .merge_pretoken import merge_if_short, merge_pretoken
from .merge_short import SHORT
from .pending_pieces import MOST_COPIED, own_copy
from .piece_cache import copy_known, move_former, needs_memory, remember


@inlined
def learn(context_at, slot, key_at, length, low, high, ids_at, id_size, merge):
    """Write the ids of a piece that is not in the table to `ids_at`, and remember them.

    key_at : address of a copy of the piece, which nobody else changes (see pending_pieces.py), with PADDING bytes after it
    merge : merge_if_short or merge_pretoken

    Returns how many bytes they take, or, less than 0, the status with which `encode_pieces` must return if no piece waits.
    Cost: half a microsecond for a word.
    """
    pattern_at, split_at = read_i64(context_at + 8 * PATTERN), read_i64(context_at + 8 * SPLIT)
    scratch_at = read_i64(context_at + 8 * SCRATCH)
    if length > SHORT and needs_memory(context_at, length, id_size):
        return -NEED_MEMORY  # before a megabyte is merged in vain
    merges_at = merges_of(context_at)
    next_at = ids_at
    at = key_at
    begin_piece(split_at, pattern_at)
    while at < key_at + length:
        end = pretoken_end(at, key_at + length, pattern_at, split_at)
        # One of several pretokens is often known as a piece.
        n_bytes = copy_known(context_at, at, end - at, next_at) if end - at < length else 0
        if n_bytes == 0:
            n_ids = merge(at, end - at, merges_at, scratch_at, next_at, id_size)
            if n_ids < 0:
                return -NEED_LONG
            n_bytes = n_ids * id_size
        next_at += n_bytes
        at = end
    if not remember(context_at, slot, key_at, length, low, high, ids_at, next_at - ids_at):
        return -NEED_MEMORY
    return next_at - ids_at


@part
def learn_piece(context_at, slot, key_at, length, low, high, ids_at, id_size):
    """See `learn`, of a piece in a text; NEED_LONG where a pretoken of it is too long for lanes, or it for a copy."""
    if length > MOST_COPIED:
        return -NEED_LONG
    copy_at = own_copy(context_at, key_at, length, low, high)
    return learn(context_at, slot, copy_at, length, low, high, ids_at, id_size, merge_if_short)


@kernel(int64, int64, int64, int64, int64)
def learn_long_piece(context_at, key_at, length, ids_at, id_size):
    """Do for a copy of a piece, at an address, what `encode_pieces` left with NEED_LONG; see `learn`.

    Apart from it, as it takes seconds to compile, and most processes never need it.
    """
    if length > read_i64(context_at + 8 * SCRATCH + 8):
        return -NEED_SCRATCH
    move_former(context_at)
    table_at = five(context_at, TABLE)
    low, high = key_of(key_at, length, table_at[4])
    slot = find(table_at, key_at, length, low, high)
    if not is_free(table_at, slot):
        slot = np.int64(NO_SLOT)  # the text has changed to a piece that is known
    return learn(context_at, slot, key_at, length, low, high, ids_at, id_size, merge_pretoken)
