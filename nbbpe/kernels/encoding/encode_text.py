"""From text to ids in one pass: scan, look-up, and for new pieces merging and remembering."""

from collections.abc import Callable

import numpy as np

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int64, reads
from ..machine.intrinsics import read_i64, write_i64, write_u64
from ..machine.text_argument import TEXT_ARGUMENT, copy_utf8
from ..pieces.piece_batch import (
    MIN_ROWS,
    batch_of,
    bound_of,
    bring_home,
    find_prepared,
    has_key,
    home_of,
    next_pieces,
    prepared_key,
)
from ..pieces.piece_table import is_free
from ..pieces.special_tokens import list_specials
from .encode_new_piece import learn_piece
from .encode_state import (
    BATCH,
    BREAKS,
    ID_SIZE,
    IDS_POOL,
    JOINS,
    MASKS,
    NEED_MEMORY,
    NEED_OUT,
    PATTERN,
    SCRATCH,
    STEP,
    TABLE,
    TEXT,
    WAITING,
    WORK,
    five,
    leave,
    merges_of,
    specials_of,
)
from .merge_pretoken import merge_pretoken
from .merge_table import write_id
from .pending_pieces import BEHIND_BYTES, MOST_WAITING, learn_waiting, let_wait, must_end, n_waiting
from .piece_cache import SPARE_BYTES, copy_slot, move_former

SHORT_TEXT = 1 << 14  # bytes of the longest text that `encode_pieces` takes itself
ORDINARY, WITH_SPECIALS, WORK_ALONE = range(3)  # what to encode, see encode_pieces

_ZERO = np.uint64(0)


@inlined
def find_row(batch, row, n_found, start):
    """The first of a batch's `n_found` rows, from `row` on, whose piece starts at `start`; or `n_found`."""
    if bound_of(batch, row) <= start < bound_of(batch, n_found):
        while row < n_found and bound_of(batch, row) != start:
            row += 1
        return row
    return n_found


@inlined
def take_short(context_at, work_at, text, with_specials):
    """Make the whole of a short text a context's work, with the context's own place for it and for its ids.

    Returns False where it is not short, has more special tokens than there is room for, or is for Python to make UTF-8 of.
    """
    text_at, out_at, out_bytes, id_size, _ = five(context_at, TEXT)
    n = copy_utf8(text, text_at, SHORT_TEXT)
    if n < 0:
        return False
    write_u64(text_at + n, _ZERO)
    breaks_at, room = read_i64(context_at + 8 * BREAKS), read_i64(context_at + 8 * BREAKS + 8)
    n_breaks, listed_to = (
        list_specials(text_at, 0, n, n, specials_of(context_at), breaks_at, room, False) if with_specials else (0, n)
    )
    work = (text_at, 0, n, n, breaks_at, n_breaks, 0, out_at, out_bytes, 0, id_size, id_size)
    for i in range(len(work)):
        write_i64(work_at + 8 * i, work[i])
    return listed_to >= n


@kernel(int64, TEXT_ARGUMENT, int64)
def encode_pieces(context_at, text, what):
    """Write the ids of a text's pieces, and those of its breaks (where >= 0), to an array.

    context_at : address of a context; what it leads to is modified
    text       : a TextArgument, of which `what` says what to do
    what       : ORDINARY, a short text is encoded as a whole, and its ids go to the context's own output. WITH_SPECIALS, as
                 that, and the context's special tokens are found in it. WORK_ALONE, the text is not looked at: what is to
                 be encoded stands in the context's work, see encode_state.new_work

    Returns the number of ids where all is done that can be, else less than 0. Of a text: where it has more than SHORT_TEXT
    bytes, or does not fit otherwise, so that it must be made work. Of work: how far it has come was left in it then.
    -NEED_OUT, -NEED_MEMORY: give more room, for what lies between position and piece end at least, and call again with the
    same work. -NEED_LONG: give what lies between them to `learn_long_piece`, and go on behind it. Cost: scan, one look-up
    and a 16-byte write a piece, 2 ns a byte.

    One kernel for texts of all sizes, as all of encoding is compiled into it.
    """
    work_at = read_i64(context_at + 8 * WORK)
    if what != WORK_ALONE and not take_short(context_at, work_at, text, what == WITH_SPECIALS):
        return -NEED_OUT
    text_at, start, end, limit, breaks_at = five(work_at, 0)
    n_breaks, marks_at, out_at, out_bytes, n_out = five(work_at, 5)
    id_size, step = read_i64(work_at + 8 * ID_SIZE), read_i64(work_at + 8 * STEP)
    move_former(context_at)
    pattern, table_at = (read_i64(context_at + 8 * PATTERN), read_i64(context_at + 8 * MASKS)), five(context_at, TABLE)
    joins_at = context_at + 8 * JOINS
    joins = read_i64(joins_at), read_i64(joins_at + 8)
    keys_at, homes_at, bounds_at, n_rows = batch_of(read_i64(context_at + 8 * BATCH), read_i64(context_at + 8 * BATCH + 8))
    # A long piece ends the call, and the next call finds what follows anew. So the first batch ends with the first piece
    # (an empty one may come before it): where one long piece follows another, full batches took half of the time.
    n_wanted = MIN_ROWS + 1 if what == WORK_ALONE else n_rows
    pool_at = read_i64(context_at + 8 * IDS_POOL)
    next_break = 0
    while next_break < n_breaks and read_i64(breaks_at + 24 * next_break + 8) <= start:
        next_break += 1
    break_start = read_i64(breaks_at + 24 * next_break) if next_break < n_breaks else -1
    first_break = next_break
    waiting_at = read_i64(context_at + 8 * WAITING)
    out_end = out_at + out_bytes
    ids_at = out_at + n_out * step
    first_at = ids_at  # ids of the output from there on are not counted in `n_out` yet
    must_learn = False
    piece = start
    block = start
    state = 0
    while block < end:
        of_breaks = breaks_at, first_break, n_breaks
        batch = keys_at, homes_at, bounds_at, n_wanted
        n_wanted = min(2 * n_wanted, n_rows)
        found, block, state = next_pieces(text_at, piece, block, end, state, of_breaks, pattern, joins, table_at, batch)
        while found > 0 and bound_of(batch, found) > limit:
            found -= 1
            block = end
        if found == 0:
            continue
        batch_end = bound_of(batch, found)
        n_bytes = batch_end - piece
        if n_waiting(waiting_at) > 0 and must_end(waiting_at, ids_at, n_bytes, text_at + batch_end, id_size, out_end):
            ids_at = learn_waiting(context_at, ids_at, first_at, n_out, id_size)
            if ids_at == 0:
                return -NEED_MEMORY
        if n_waiting(waiting_at) == 0:
            n_out += (ids_at - first_at) // id_size
            ids_at = first_at = ids_at if step > 0 else out_at
            if n_bytes * id_size + SPARE_BYTES > out_end - ids_at:
                leave(work_at, piece, batch_end, n_out)
                return -NEED_OUT
        may_wait = n_bytes * id_size <= BEHIND_BYTES
        break_row = find_row(batch, 0, found, break_start)
        row = 0
        while row < found:
            # Most pieces are known. They get a loop of their own, so that all it needs stays in registers.
            while row < break_row:
                slot_at = home_of(batch, row)
                if not has_key(batch, row, slot_at):
                    break
                ids_at += copy_slot(slot_at, pool_at, ids_at)
                row += 1
            if row == found:
                break
            piece, piece_end = bound_of(batch, row), bound_of(batch, row + 1)
            marks = row == break_row and marks_at != 0 and read_i64(breaks_at + 24 * next_break + 16) < 0
            # What is marked are ids that must be there to be counted.
            must_learn = must_learn or n_waiting(waiting_at) == MOST_WAITING or marks
            if must_learn and n_waiting(waiting_at) > 0:
                ids_at = learn_waiting(context_at, ids_at, first_at, n_out, id_size)
                if ids_at == 0:
                    return -NEED_MEMORY
            must_learn = False
            if row == break_row:
                row += 1
                if piece_end > piece:
                    if marks:
                        write_i64(marks_at + 8 * next_break, n_out + (ids_at - first_at) // id_size)
                    token_id = read_i64(breaks_at + 24 * next_break + 16)
                    if token_id >= 0:
                        write_id(ids_at, token_id, id_size)
                        ids_at += id_size
                    next_break += 1
                    break_start = read_i64(breaks_at + 24 * next_break) if next_break < n_breaks else -1
                break_row = find_row(batch, row, found, break_start)
                continue
            if piece_end > piece:
                key_at, length = text_at + piece, piece_end - piece
                slot = find_prepared(batch, row, table_at, key_at, length)
                if is_free(table_at, slot):
                    low, high = prepared_key(batch, row)
                    # The first piece does not wait: after all was forgotten, others might take its room again and again.
                    waits = may_wait and piece > start
                    following_at = let_wait(context_at, key_at, length, low, high, ids_at) if waits else 0
                    if following_at != 0:
                        ids_at = following_at
                        row += 1
                        continue
                    n_learned = learn_piece(context_at, slot, key_at, length, low, high, ids_at, id_size)
                    if n_learned >= 0:
                        ids_at += n_learned
                    elif n_waiting(waiting_at) > 0:
                        must_learn = True  # those before it come first; then the loop comes here again
                        continue
                    else:
                        leave(work_at, piece, piece_end, n_out + (ids_at - first_at) // id_size)
                        return n_learned
                else:
                    slot = bring_home(batch, row, table_at, slot, length)
                    ids_at += copy_slot(table_at[0] + 8 * slot, pool_at, ids_at)
            row += 1
        piece = batch_end
        first_break = next_break
    if n_waiting(waiting_at) > 0:
        ids_at = learn_waiting(context_at, ids_at, first_at, n_out, id_size)
        if ids_at == 0:
            return -NEED_MEMORY
    n_out += (ids_at - first_at) // id_size
    leave(work_at, piece, piece, n_out)
    return n_out


def compiled_encode_pieces() -> Callable[[int, object, int], int]:
    """`encode_pieces`, compiled; its second argument may be any object."""
    return encode_pieces.entry_point()


@kernel(int64, int64, reads(int64[:]), int64, int64, int64[:])
def encode_pretokens(context_at, text_at, starts, ids_at, id_size, ends):
    """Write the ids of pretokens that stand side by side.

    text_at : address of the text;  starts : int64[n + 1], read    where each pretoken starts in it
    ids_at  : where ids of `id_size` bytes go; it and the context's scratch must have room for all of them (unchecked)
    ends    : int64[n + 1], filled    ends[i] is the number of ids before pretoken i

    Returns the number of ids.
    """
    merges_at = merges_of(context_at)
    scratch_at = read_i64(context_at + 8 * SCRATCH)
    n_ids = 0
    ends[0] = 0
    for i in range(starts.shape[0] - 1):
        n = starts[i + 1] - starts[i]
        if n > 0:
            n_ids += merge_pretoken(text_at + starts[i], n, merges_at, scratch_at, ids_at + n_ids * id_size, id_size)
        ends[i + 1] = n_ids
    return n_ids
