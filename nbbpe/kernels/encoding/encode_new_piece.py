"""One new piece: cut into pretokens, merged, and remembered."""

import numpy as np

from ..compiler.jit import inlined, kernel, part
from ..machine.intrinsics import read_i64
from ..pieces.pattern_tables import BY_REGEX, STABLE, number_of
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
    is_stable = number_of(pattern_at, STABLE) != 0
    begin_piece(split_at, pattern_at)
    while at < key_at + length:
        end = pretoken_end(at, key_at + length, pattern_at, split_at)
        # One of several pretokens is often known as a piece. But a piece of these bytes may be split, which a pretoken is
        # not: `ab(?=c)|.` makes one of "ab" before "c", and two where no c follows.
        n_bytes = copy_known(context_at, at, end - at, next_at) if is_stable and end - at < length else 0
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
    """See `learn`, of a piece in a text; NEED_LONG where a pretoken of it is too long for lanes, or it for a copy.

    So it is for every piece that `regex` is to split.
    """
    if length > MOST_COPIED or number_of(read_i64(context_at + 8 * PATTERN), BY_REGEX) != 0:
        return -NEED_LONG
    copy_at = own_copy(context_at, key_at, length, low, high)
    return learn(context_at, slot, copy_at, length, low, high, ids_at, id_size, merge_if_short)


@inlined
def slot_of_copy(context_at, key_at, length):
    """The slot for a copy of a piece, and its key words."""
    move_former(context_at)
    table_at = five(context_at, TABLE)
    low, high = key_of(key_at, length, table_at[4])
    slot = find(table_at, key_at, length, low, high)
    if not is_free(table_at, slot):
        slot = np.int64(NO_SLOT)  # the text has changed to a piece that is known
    return slot, low, high


@kernel
def learn_long_piece(context_at, key_at, length, ids_at, id_size):
    """Do for a copy of a piece, at an address, what `encode_pieces` left with NEED_LONG; see `learn`.

    Apart from it, as it takes seconds to compile, and most processes never need it.
    """
    if length > read_i64(context_at + 8 * SCRATCH + 8):
        return -NEED_SCRATCH
    slot, low, high = slot_of_copy(context_at, key_at, length)
    return learn(context_at, slot, key_at, length, low, high, ids_at, id_size, merge_pretoken)


@kernel
def learn_split_piece(context_at, key_at, ends_at, n_pretokens, ids_at, id_size):
    """As `learn_long_piece`, of a piece that is split already.

    ends_at : address of int64[n_pretokens]    where each pretoken ends in the piece; at least one
    """
    length = read_i64(ends_at + 8 * (n_pretokens - 1))
    scratch_at = read_i64(context_at + 8 * SCRATCH)
    if length > read_i64(context_at + 8 * SCRATCH + 8):
        return -NEED_SCRATCH
    if needs_memory(context_at, length, id_size):
        return -NEED_MEMORY
    merges_at = merges_of(context_at)
    slot, low, high = slot_of_copy(context_at, key_at, length)
    n_ids = start = 0
    for i in range(n_pretokens):
        end = read_i64(ends_at + 8 * i)
        n_ids += merge_pretoken(key_at + start, end - start, merges_at, scratch_at, ids_at + n_ids * id_size, id_size)
        start = end
    if not remember(context_at, slot, key_at, length, low, high, ids_at, n_ids * id_size):
        return -NEED_MEMORY
    return n_ids * id_size
