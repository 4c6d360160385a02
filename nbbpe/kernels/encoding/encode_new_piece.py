"""One new piece: split into pretokens, merged, and cached."""

import numpy as np

from ..compiler.jit import inlined, kernel, part
from ..pieces.piece_table import NO_SLOT, find, is_free, key_of
from ..pieces.pretokens import begin_piece, pretoken_end
from .encode_state import NEED_CACHE, NEED_LONG, NEED_SCRATCH, move_former, state_of
from .merge_pretoken import merge_if_short, merge_pretoken
from .merge_short import SHORT
from .pending_pieces import MOST_COPIED, own_copy
from .piece_cache import cache_ids, copy_hit, needs_room


@inlined
def encode_and_cache(state_at, slot, key_at, length, low, high, ids_at, id_size, merge):
    """Write the ids of a piece that is not in the cache to `ids_at`, and cache them.

    slot   : the free slot where the piece belongs, or NO_SLOT
    key_at : address of a copy of the piece, which nobody else changes (see pending_pieces.py), with PADDING bytes after it
    merge  : merge_if_short or merge_pretoken

    Returns how many bytes they take, or, less than 0, the status with which `encode_pieces` must return if no piece is
    pending. Cost: half a microsecond for a word.
    """
    state = state_of(state_at)
    cache, pattern_at = state.cache, state.scan.tables
    if length > SHORT and needs_room(cache, length, id_size):
        return -NEED_CACHE  # before a megabyte is merged in vain
    next_at = ids_at
    at = key_at
    begin_piece(state.split, pattern_at)
    while at < key_at + length:
        end = pretoken_end(at, key_at + length, pattern_at, state.split)
        # One of several pretokens is often cached as a piece.
        n_bytes = copy_hit(cache, at, end - at, next_at) if end - at < length else 0
        if n_bytes == 0:
            n_ids = merge(at, end - at, state.merges, state.scratch, next_at, id_size)
            if n_ids < 0:
                return -NEED_LONG
            n_bytes = n_ids * id_size
        next_at += n_bytes
        at = end
    if not cache_ids(cache, slot, key_at, length, low, high, ids_at, next_at - ids_at):
        return -NEED_CACHE
    return next_at - ids_at


@part
def encode_new_piece(state_at, slot, key_at, length, low, high, ids_at, id_size):
    """As `encode_and_cache`, of a piece in a text. NEED_LONG for a piece that is too long for a copy, or has a pretoken
    that is too long for a lane."""
    if length > MOST_COPIED:
        return -NEED_LONG
    copy_at = own_copy(state_at, key_at, length, low, high)
    return encode_and_cache(state_at, slot, copy_at, length, low, high, ids_at, id_size, merge_if_short)


@kernel
def encode_long_piece(state_at, key_at, length, ids_at, id_size):
    """Do for a copy of a piece, at an address, what `encode_pieces` left with NEED_LONG; see `encode_and_cache`.

    Apart from it, as it takes seconds to compile, and most processes never need it.
    """
    state = state_of(state_at)
    if length > state.longest:
        return -NEED_SCRATCH
    move_former(state_at)
    table_at = state.cache.table
    low, high = key_of(key_at, length, table_at.state)
    slot = find(table_at, key_at, length, low, high)
    if not is_free(table_at, slot):
        slot = np.int64(NO_SLOT)  # the text has changed to a piece that is cached
    return encode_and_cache(state_at, slot, key_at, length, low, high, ids_at, id_size, merge_pretoken)
