"""Encoding one new piece: it is split into pretokens, these are merged, and all of its ids are cached."""

import numpy as np

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int64, uint64
from ..machine.intrinsics import read_i64
from ..pieces.marked_pretokens import marked_end
from ..pieces.pattern_tables import BY_REGEX, OF_TEXTS, STABLE, number_of
from ..pieces.piece_table import NO_SLOT, find, is_free, key_of
from ..pieces.pretokens import begin_piece, ends_otherwise, pretoken_end
from .encode_state import NEED_CACHE, NEED_LONG, NEED_SCRATCH, finish_growth, state_of
from .merge_pretoken import merge_if_short, merge_pretoken
from .merge_short import SHORT
from .pending_pieces import MOST_COPIED, own_copy
from .piece_cache import cache_ids, copy_hit, needs_room
from .split_ahead import is_as_split, marks_of, own_marks


@inlined
def encode_and_cache(state_at, slot, key_at, length, low, high, ids_at, id_size, of_texts, marks_at, merge):
    """Write the ids of a piece that is not in the cache to `ids_at`, and cache them.

    slot     : the free slot where the piece belongs, or NO_SLOT
    key_at   : address of a copy of the piece that no other thread changes (see pending_pieces.py), then PADDING bytes
    length, low, high : the number of bytes of the piece, and its key words
    of_texts : whether the piece ends its text and is split by the tables of texts (see pretokens.ends_otherwise); then slot
               is NO_SLOT
    marks_at : address of the piece's marks, if its pretokens are marked (see split_ahead.py); else 0
    merge    : merge_if_short or merge_pretoken

    Returns the number of bytes of the ids; or a negative status, which `encode_pieces` must return if no piece is pending.
    Cost: half a microsecond for a word.
    """
    state = state_of(state_at)
    cache, pattern_at = state.cache, state.scan.tables
    if length > SHORT and needs_room(cache, length, id_size):
        return -NEED_CACHE  # now, as merging a megabyte first would be in vain
    next_at = ids_at
    at = key_at
    is_stable = number_of(pattern_at, STABLE) != 0 and of_texts == 0
    if of_texts != 0:
        pattern_at += number_of(pattern_at, OF_TEXTS)
    if marks_at == 0:
        begin_piece(state.split, pattern_at)
    while at < key_at + length:
        if marks_at != 0:
            end = marked_end(at, key_at + length, marks_at + (at - key_at))
        else:
            end = pretoken_end(at, key_at + length, pattern_at, state.split)
        # One of several pretokens is often cached as a piece. If the pattern is not stable, that piece may have been split:
        # `ab(?=c)|.` makes one pretoken of "ab" before "c", but two of the piece "ab".
        n_bytes = copy_hit(cache, at, end - at, next_at) if is_stable and end - at < length else 0
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


@kernel(int64, int64, int64, int64, uint64, uint64, int64, int64, int64, returns=int64)
def encode_new_piece(state_at, slot, key_at, length, low, high, ids_at, id_size, of_texts):
    """As `encode_and_cache`, for a piece in a text, which is copied first. Returns -NEED_LONG if the piece is too long to
    copy, has a pretoken that is too long for a lane, or must be split by `regex` (once more if the text has changed)."""
    if length > MOST_COPIED:
        return -NEED_LONG
    state = state_of(state_at)
    copy_at = own_copy(state_at, key_at, length, low, high)
    marks_at = np.int64(0)
    if number_of(state.scan.tables, BY_REGEX) != 0:
        marks_at, _ = own_marks(state.split, copy_at, length, state.scan.tables)
        if marks_at == 0:
            marks_at = marks_of(state.split, key_at, length)
            if marks_at == 0 or not is_as_split(copy_at, length, marks_at):
                return -NEED_LONG
    return encode_and_cache(state_at, slot, copy_at, length, low, high, ids_at, id_size, of_texts, marks_at, merge_if_short)


@inlined
def slot_of_copy(state_at, key_at, length):
    """The slot for a copy of a piece, and its key words."""
    finish_growth(state_at)
    table_at = state_of(state_at).cache.table
    low, high = key_of(key_at, length, table_at.state)
    slot = find(table_at, key_at, length, low, high)
    if not is_free(table_at, slot):
        slot = np.int64(NO_SLOT)  # the text was changed meanwhile, to a piece that is cached
    return slot, low, high


@kernel(int64, int64, int64, int64, int64, int64)
def encode_long_piece(state_at, key_at, length, ids_at, id_size, ends_text):
    """Encode a copy of a piece for which `encode_pieces` returned -NEED_LONG; see `encode_and_cache`.

    ends_text : whether the text ends with the piece

    Returns -NEED_SCRATCH, too, if the piece is too long for the scratch. This is a separate kernel, as it takes seconds to
    compile and most processes never need it.
    """
    state = state_of(state_at)
    if length > state.longest:
        return -NEED_SCRATCH
    slot, low, high = slot_of_copy(state_at, key_at, length)
    of_texts = np.int64(ends_text != 0 and ends_otherwise(key_at, key_at + length, state.scan.tables))
    slot = np.int64(NO_SLOT) if of_texts else slot
    no_marks = np.int64(0)
    return encode_and_cache(state_at, slot, key_at, length, low, high, ids_at, id_size, of_texts, no_marks, merge_pretoken)


@kernel(int64, int64, int64, int64, int64, int64)
def encode_split_piece(state_at, key_at, ends_at, n_pretokens, ids_at, id_size):
    """As `encode_long_piece`, for a piece that is already split.

    ends_at : address of int64[n_pretokens]    where each pretoken ends in the piece; at least one
    """
    state = state_of(state_at)
    length = read_i64(ends_at + 8 * (n_pretokens - 1))
    if length > state.longest:
        return -NEED_SCRATCH
    if needs_room(state.cache, length, id_size):
        return -NEED_CACHE
    slot, low, high = slot_of_copy(state_at, key_at, length)
    n_ids = start = 0
    for i in range(n_pretokens):
        end = read_i64(ends_at + 8 * i)
        ids_end = ids_at + n_ids * id_size
        n_ids += merge_pretoken(key_at + start, end - start, state.merges, state.scratch, ids_end, id_size)
        start = end
    if not cache_ids(state.cache, slot, key_at, length, low, high, ids_at, n_ids * id_size):
        return -NEED_CACHE
    return n_ids * id_size
