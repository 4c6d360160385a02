"""Pending pieces: new pieces that wait to be merged together, while the text after them is encoded.

Merging a single new word mostly means waiting for memory. So a new piece gets a lane, and is pending until there are
MOST_PENDING such pieces, or until their ids are needed, at the end of a document or of the text. Until then the number of
its ids is unknown, and so is the place in the output where the ids of the text after it belong. Meanwhile these are written
to a buffer after the lanes; at the end all ids are copied to the output in order. This takes a quarter off the time of a
first pass over 40 MB of English, with 84,000 new pieces.

A new piece is copied first, and the copy is encoded: the text may be a bytearray, or a mapped file, that another thread
changes meanwhile. Then the ids of this call are undefined, but the cache has no wrong ids. A short piece is copied from its
key. The copy of a long piece may differ from the bytes that were looked up. It is cached with the hash of those bytes, so
that no look-up finds it.
"""

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int64, uint64
from ..machine.intrinsics import (
    BLOCK,
    PADDING,
    copy_64,
    read_i64,
    read_u64,
    write_16,
    write_i64,
    write_u64,
)
from ..machine.large_pages import zeros
from ..pieces.pattern_tables import BY_REGEX, PLAIN_WORDS, number_of
from ..pieces.piece_table import INLINE_BYTES, find, is_free
from ..pieces.plain_words import is_plain_key, is_plain_word
from ..pieces.pretokens import begin_piece, pretoken_end
from .encode_state import leave, state_of, work_of
from .merge_short import LANE_BYTES, OWN_AT, SHORT, finish_short, merge_lanes, start_short
from .merge_table import whole_token
from .piece_cache import SPARE_BYTES, cache_ids, copy_ids, copy_slot
from .split_ahead import own_marks

MOST_PENDING = 16
BEHIND_BYTES = 1 << 14  # room for the ids of the text after the pending pieces
MOST_COPIED = 1 << 12  # bytes of the longest piece that is copied without being pending

# Offsets in the array of new_pending; and, in the last line, in a lane, from OWN_AT on.
_OUT, _LANES = 8, 64
_COPIES = _LANES + (MOST_PENDING + 1) * LANE_BYTES  # the last lane only stores where the ids after the one before it end
_COPY_BYTES = 256 + PADDING
_COPY = _COPIES + MOST_PENDING * _COPY_BYTES
_BEHIND = _COPY + MOST_COPIED + PADDING
_KEY, _LOW, _HIGH, _FOLLOWING, _SLOT = (OWN_AT + 8 * i for i in range(5))


def new_pending() -> NDArray[np.uint64]:
    """Make room for pending pieces; 64-byte aligned.

    The array holds the number of pieces, and the address where the ids of the first one belong; MOST_PENDING lanes and one
    more, each with the address of its piece, the key words, the address of the ids of the text after it, and the slot;
    copies of the pieces; a copy of a piece that is not pending; and the ids of the text after each piece.
    """
    return zeros((_BEHIND + BEHIND_BYTES + SPARE_BYTES) // 8)


@inlined
def n_pending(pending_at):
    """How many pieces are pending."""
    return read_i64(pending_at)


@inlined
def lacks_room(pending_at, ids_at, n_bytes, end_at, id_size, out_end):
    """Whether the ids of the next `n_bytes` of text, up to the address `end_at`, may lack room while pieces are pending: in
    the buffer after the lanes, from `ids_at` on, or in the output, with all ids since the first pending piece."""
    out_at, first_at = read_i64(pending_at + _OUT), read_i64(pending_at + _LANES + _KEY)
    return (
        ids_at + n_bytes * id_size > pending_at + _BEHIND + BEHIND_BYTES
        or out_at + (end_at - first_at) * id_size + SPARE_BYTES > out_end
    )


@inlined
def copy_piece(to_at, key_at, length, low, high):
    """Copy a piece whose key is known, and up to BLOCK - 1 bytes after it."""
    if length <= INLINE_BYTES:
        write_16(to_at, low, high)
    else:
        for i in range(0, length, BLOCK):
            copy_64(key_at + i, to_at + i)


@inlined
def own_copy(state_at, key_at, length, low, high):
    """The address of a temporary copy of a piece of up to MOST_COPIED bytes."""
    copy_at = state_of(state_at).pending + _COPY
    copy_piece(copy_at, key_at, length, low, high)
    return copy_at


@kernel(int64, int64, int64, int64, uint64, uint64, int64, returns=int64)
def add_pending(state_at, slot, key_at, length, low, high, ids_at):
    """Make a piece pending that is not in the cache.

    slot   : the free slot where it belongs, or NO_SLOT
    key_at, length, low, high : where it is in the text, and its key
    ids_at : where its ids would be written

    Fewer than MOST_PENDING must be pending (unchecked). Returns where the ids of the text after it are written; or 0, and
    does nothing, if the piece is not one short pretoken whose ids are found by merging.
    """
    if length > SHORT:
        return np.int64(0)
    state = state_of(state_at)
    merges_at, pending_at = state.merges, state.pending
    n = n_pending(pending_at)
    copy_at = pending_at + _COPIES + n * _COPY_BYTES
    copy_piece(copy_at, key_at, length, low, high)
    if not is_mergeable(copy_at, length, low, high, state.scan.tables, state.split, merges_at):
        return np.int64(0)
    if n == 0:
        write_i64(pending_at + _OUT, ids_at)
        ids_at = pending_at + _BEHIND
    lane_at = pending_at + _LANES + n * LANE_BYTES
    start_short(lane_at, copy_at, length, merges_at)
    write_i64(lane_at + _KEY, key_at)
    write_u64(lane_at + _LOW, low)
    write_u64(lane_at + _HIGH, high)
    write_i64(lane_at + _FOLLOWING, ids_at)
    write_i64(lane_at + _SLOT, slot)
    write_i64(pending_at, n + 1)
    return ids_at


@kernel(int64, int64, int64, int64, int64, returns=int64)
def encode_pending(state_at, ids_end, first_at, n_ids, id_size):
    """Merge the pending pieces, cache them, and write their ids to the output, each followed by those of the text after it.

    ids_end : where the ids of the text after the last pending piece end
    first_at, n_ids : a place in the output before the ids of the first pending piece, and the number of ids before it

    Returns where the ids end in the output; or 0 if a piece cannot be cached: then the position of the work is where that
    piece begins. Afterwards no piece is pending.
    """
    state = state_of(state_at)
    cache, merges_at, pending_at = state.cache, state.merges, state.pending
    n, out_at, lane_at = n_pending(pending_at), read_i64(pending_at + _OUT), pending_at + _LANES
    write_i64(pending_at, 0)
    merge_lanes(lane_at, n, merges_at)
    write_i64(lane_at + n * LANE_BYTES + _FOLLOWING, ids_end)
    for i in range(n):
        length, copy_at = read_i64(lane_at), pending_at + _COPIES + i * _COPY_BYTES
        low, high = read_u64(lane_at + _LOW), read_u64(lane_at + _HIGH)
        slot = read_i64(lane_at + _SLOT)
        if not is_free(cache.table, slot):  # another piece took the slot, or an earlier lane had the same piece
            slot = find(cache.table, copy_at, length, low, high)
        if is_free(cache.table, slot):
            n_bytes = finish_short(lane_at, merges_at, out_at, id_size) * id_size
            if not cache_ids(cache, slot, copy_at, length, low, high, out_at, n_bytes):
                start = read_i64(lane_at + _KEY) - work_of(state.work).text
                leave(state.work, start, start + length, n_ids + (out_at - first_at) // id_size)
                return np.int64(0)
        else:
            n_bytes = copy_slot(cache.table.slots + 8 * slot, cache.ids_pool, out_at)
        out_at += n_bytes
        following_at = read_i64(lane_at + _FOLLOWING)
        lane_at += LANE_BYTES
        n_bytes = read_i64(lane_at + _FOLLOWING) - following_at
        copy_ids(following_at, out_at, n_bytes)
        out_at += n_bytes
    return out_at


@inlined
def is_mergeable(copy_at, length, low, high, pattern_at, split_at, merges_at):
    """Whether a piece, given by a copy and its key, is one pretoken whose ids are found by merging."""
    if merges_at.whole != 0 and whole_token(merges_at.whole, copy_at, length) >= 0:
        return False
    if number_of(pattern_at, BY_REGEX) != 0:
        return own_marks(split_at, copy_at, length, pattern_at)[1] == 1
    # The key is passed, so that it need not be read from the copy, which has just been written.
    is_plain = is_plain_key(low, high, length) if length <= INLINE_BYTES else is_plain_word(copy_at, length)
    if is_plain and number_of(pattern_at, PLAIN_WORDS) != 0:
        return True
    end = copy_at + length
    begin_piece(split_at, pattern_at)
    return pretoken_end(copy_at, end, pattern_at, split_at) == end
