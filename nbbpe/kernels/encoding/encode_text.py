"""From text to ids in one pass: scan, look-up, and for new pieces merging and caching.

Python calls `encode_pieces`, which calls `encode_work`. This scans the text, and calls `encode_rows` for each batch of
pieces, which calls `encode_row` for each piece that is not a hit in its home slot.
"""

from collections.abc import Callable

import numpy as np

from ..compiler.beside import compile_beside
from ..compiler.jit import inlined, kernel
from ..compiler.signature import int64
from ..machine.intrinsics import write_i64, write_u64
from ..machine.text_argument import TEXT_ARGUMENT, copy_utf8
from ..pieces.breaks import Breaks, first_break_after, id_of_break, start_of_break
from ..pieces.pattern_tables import ENDING, number_of
from ..pieces.piece_batch import (
    MIN_ROWS,
    BatchAddresses,
    batch_of,
    bound_of,
    bring_home,
    find_prepared,
    has_key,
    home_of,
    next_pieces,
    prepared_key,
    row_of_break,
)
from ..pieces.piece_table import NO_SLOT, is_free
from ..pieces.pretokens import ends_otherwise
from ..pieces.special_tokens import list_specials
from ..pieces.token_whitespace import take_whitespace
from .encode_new_piece import encode_new_piece
from .encode_state import DONE, NEED_CACHE, NEED_OUT, Work, finish_growth, leave, state_of, work_of
from .merge_table import write_id
from .pending_pieces import BEHIND_BYTES, MOST_PENDING, add_pending, encode_pending, lacks_room, n_pending
from .piece_cache import SPARE_BYTES, copy_slot

SHORT_TEXT = 1 << 14  # bytes of the longest text that `encode_pieces` takes itself
ORDINARY, WITH_SPECIALS, WORK_ALONE = range(3)  # the modes of encode_pieces

_ZERO = np.uint64(0)


@inlined
def take_short(state_at, text, with_specials):
    """Copy a short text into a state, which has room for it and its ids, and make it the state's work.

    Returns False if the text is not short, has more special tokens than there is room for, or must be converted to UTF-8 by
    Python.
    """
    state = state_of(state_at)
    n = copy_utf8(text, state.text, SHORT_TEXT)
    if n < 0:
        return False
    write_u64(state.text + n, _ZERO)
    n_breaks, listed_to = 0, n
    if with_specials:
        n_breaks, listed_to = list_specials(state.text, 0, n, n, state.specials, state.breaks, state.n_breaks, False)
        if n_breaks > 0:
            n_breaks = take_whitespace(state.text, n, state.breaks, n_breaks)
    size = state.id_size
    work = Work(state.text, 0, n, n, state.breaks, n_breaks, 0, state.out, state.out_bytes, 0, size, size, 0)
    for i in range(len(work)):
        write_i64(state.work + 8 * i, work[i])
    return listed_to >= n


@kernel(int64, TEXT_ARGUMENT, int64)
def encode_pieces(state_at, text, mode):
    """Write the ids of a text's pieces, and the ids of its breaks (if >= 0), to an array.

    state_at : address of an EncodeState; what its addresses point to is modified
    text     : a TextArgument, not read if the mode is WORK_ALONE
    mode     : ORDINARY: encode a short text, and write its ids to the state's output. WITH_SPECIALS: the same, and find the
               state's special tokens in the text. WORK_ALONE: encode the state's work, see encode_state.Work

    Returns the number of ids if everything that can be encoded is encoded, else a negative number. For a text, this means
    that it has more than SHORT_TEXT bytes, or does not fit for another reason, and must be encoded as work. For work, the
    number is a status, and the work says how much is done. -NEED_OUT, -NEED_CACHE: provide more room, at least for the text
    from `position` to `piece_end`, and call again with the same work. -NEED_LONG: pass this text to `encode_long_piece`,
    and continue after it. Cost: scan, one look-up and a 16-byte write a piece, 2 ns a byte.

    One kernel serves texts of all sizes: all of encoding would be compiled once more into a second one.
    """
    if mode != WORK_ALONE and not take_short(state_at, text, mode == WITH_SPECIALS):
        return -NEED_OUT
    n_rows = state_of(state_at).n_rows
    # A long piece ends the call, and the next call scans the text after it once more. So the first batch ends with the
    # first piece (an empty one may precede it): with full batches, texts of many long pieces took half their time to scan.
    return encode_work(state_at, MIN_ROWS + 1 if mode == WORK_ALONE else n_rows)


def compile_parts_beside() -> None:
    """Have another process compile the kernels that `encode_pieces` calls, unless they are stored, while this process
    compiles the kernels that make tables, and then `encode_pieces`."""
    compile_beside([encode_new_piece, add_pending, encode_pending])


def compiled_encode_pieces() -> Callable[[int, object, int], int]:
    """`encode_pieces`, compiled; its second argument may be any object."""
    return encode_pieces.entry_point()


@inlined
def encode_work(state_at, n_wanted):
    """Encode the work of a state; result as for `encode_pieces`.

    n_wanted : how many rows the first batch has; each later batch has twice as many as the one before, up to `n_rows`
    """
    finish_growth(state_at)
    state = state_of(state_at)
    work = work_of(state.work)
    whole_batch, pending_at, out_end = batch_of(state.batch, state.n_rows), state.pending, work.out + work.out_bytes
    n_out = work.n_ids
    ids_at = first_at = work.out + n_out * work.step  # ids from `first_at` on are not counted in `n_out` yet
    next_break = first_break_after(work.breaks, work.n_breaks, work.position)
    piece = work.position
    block = work.position
    scan_state = np.int64(0)  # not a literal 0, for which Numba would compile the scan once more
    while block < work.end:
        breaks = Breaks(work.breaks, next_break, work.n_breaks)
        batch = BatchAddresses(whole_batch.keys, whole_batch.homes, whole_batch.bounds, n_wanted)
        n_wanted = min(2 * n_wanted, state.n_rows)
        found, block, scan_state = next_pieces(
            work.text, piece, block, work.end, scan_state, breaks, state.scan, state.joins, state.cache.table, batch
        )
        while found > 0 and bound_of(batch, found) > work.limit:
            found -= 1
            block = work.end
        if found == 0:
            continue
        batch_end = bound_of(batch, found)
        n_bytes = batch_end - piece
        end_at = work.text + batch_end
        if n_pending(pending_at) > 0 and lacks_room(pending_at, ids_at, n_bytes, end_at, work.id_size, out_end):
            ids_at = encode_pending(state_at, ids_at, first_at, n_out, work.id_size)
            if ids_at == 0:
                return -NEED_CACHE
        if n_pending(pending_at) == 0:
            n_out += (ids_at - first_at) // work.id_size
            ids_at = first_at = ids_at if work.step > 0 else work.out
            if n_bytes * work.id_size + SPARE_BYTES > out_end - ids_at:
                leave(state.work, piece, batch_end, n_out)
                return -NEED_OUT
        status, ids_at, next_break = encode_rows(state_at, state, work, batch, found, next_break, ids_at, first_at, n_out)
        if status != DONE:
            return status
        piece = batch_end
    if n_pending(pending_at) > 0:
        ids_at = encode_pending(state_at, ids_at, first_at, n_out, work.id_size)
        if ids_at == 0:
            return -NEED_CACHE
    n_out += (ids_at - first_at) // work.id_size
    leave(state.work, piece, piece, n_out)
    return n_out


@inlined
def encode_rows(state_at, state, work, batch, found, next_break, ids_at, first_at, n_out):
    """Encode the pieces and breaks in the first `found` rows of a batch.

    state, work : the EncodeState at `state_at` and its Work, already read
    next_break  : the first break that does not end before these rows
    ids_at, first_at, n_out : where the next ids are written; an earlier place in the output; and the number of ids before
        that place

    Returns DONE or the status that `encode_pieces` must return, the new `ids_at`, and the next break.
    """
    pool_at, pending_at, id_size = state.cache.ids_pool, state.pending, work.id_size
    may_wait = (bound_of(batch, found) - bound_of(batch, 0)) * id_size <= BEHIND_BYTES
    must_flush = False
    break_row = row_of_break(batch, 0, found, work.breaks, next_break, work.n_breaks)
    last_row = row_before_end(batch, break_row, found, work, next_break, state.scan.tables)
    row = 0
    while row < found:
        # Most pieces are hits. They have a separate loop, so that everything it needs stays in registers.
        while row < min(break_row, last_row):
            slot_at = home_of(batch, row)
            if not has_key(batch, row, slot_at):
                break
            ids_at += copy_slot(slot_at, pool_at, ids_at)
            row += 1
        if row == found:
            break
        is_marked = row == break_row and work.marks != 0 and id_of_break(work.breaks, next_break) < 0
        # A mark is a number of ids, so all ids before it must have been written.
        if (must_flush or n_pending(pending_at) == MOST_PENDING or is_marked) and n_pending(pending_at) > 0:
            ids_at = encode_pending(state_at, ids_at, first_at, n_out, id_size)
            if ids_at == 0:
                return -NEED_CACHE, ids_at, next_break
        must_flush = False
        if row == break_row:
            row += 1
            if bound_of(batch, row) > bound_of(batch, row - 1):
                token_id = id_of_break(work.breaks, next_break)
                if is_marked:
                    write_i64(work.marks + 8 * next_break, n_out + (ids_at - first_at) // id_size)
                if token_id >= 0:
                    write_id(ids_at, token_id, id_size)
                    ids_at += id_size
                next_break += 1
            break_row = row_of_break(batch, row, found, work.breaks, next_break, work.n_breaks)
            last_row = row_before_end(batch, break_row, found, work, next_break, state.scan.tables)
            continue
        following_at = encode_row(state_at, state, work, batch, row, may_wait, ids_at, row == last_row)
        if following_at >= 0:
            ids_at = following_at
            row += 1
        elif n_pending(pending_at) > 0:
            must_flush = True  # encode the pending pieces, then try this row again
        else:
            leave(state.work, bound_of(batch, row), bound_of(batch, row + 1), n_out + (ids_at - first_at) // id_size)
            return following_at, ids_at, next_break
    return DONE, ids_at, next_break


@inlined
def row_before_end(batch, break_row, n_found, work, next_break, pattern_at):
    """The row before `break_row` (the row of the next break, or `n_found`) if a text ends with its piece, which the pattern
    may then split differently; else `n_found`."""
    if number_of(pattern_at, ENDING) == 0:
        return n_found
    ends_at = start_of_break(work.breaks, next_break) if next_break < work.n_breaks else work.end
    return break_row - 1 if break_row > 0 and bound_of(batch, break_row) == ends_at else n_found


@inlined
def encode_row(state_at, state, work, batch, row, may_wait, ids_at, ends_text):
    """Encode the piece in a row if it is not a hit in its home slot, but a hit elsewhere, a miss, or empty.

    state, work : the EncodeState at `state_at` and its Work, already read
    may_wait    : whether the ids of the batch fit into the buffer after the pending pieces
    ends_text   : whether a text ends with the piece, which may then be split differently; it may be a hit in its home slot

    Returns where the next ids are written; or a negative status, which `encode_pieces` must return if no piece is pending.
    """
    table_at = state.cache.table
    piece, length = bound_of(batch, row), bound_of(batch, row + 1) - bound_of(batch, row)
    if length == 0:
        return ids_at
    key_at = work.text + piece
    if ends_text and ends_otherwise(key_at, key_at + length, state.scan.tables):
        low, high = prepared_key(batch, row)
        no_slot = np.int64(NO_SLOT)
        n_bytes = encode_new_piece(state_at, no_slot, key_at, length, low, high, ids_at, work.id_size, np.int64(1))
        return ids_at + n_bytes if n_bytes >= 0 else n_bytes
    slot = find_prepared(batch, row, table_at, key_at, length)
    if not is_free(table_at, slot):
        slot = bring_home(batch, row, table_at, slot, length)
        return ids_at + copy_slot(table_at.slots + 8 * slot, state.cache.ids_pool, ids_at)
    low, high = prepared_key(batch, row)
    # The first piece of a call is never pending. Otherwise the pieces after it might fill the cache before it is cached,
    # and call after call would stop at it.
    following_at = (
        add_pending(state_at, slot, key_at, length, low, high, ids_at) if may_wait and piece > work.position else 0
    )
    if following_at != 0:
        return following_at
    n_bytes = encode_new_piece(state_at, slot, key_at, length, low, high, ids_at, work.id_size, np.int64(0))
    return ids_at + n_bytes if n_bytes >= 0 else n_bytes
