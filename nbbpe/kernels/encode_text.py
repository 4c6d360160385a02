"""From text to ids in one pass: scan, look-up, and for new pieces merging and remembering.

What the ids of a piece are is remembered in a piece table. The two values of a slot, 16 bytes, hold the ids themselves
where they are few, as they will stand in the output, and in the last two bytes how many bytes they take; else POOLED in
these, and before them how many bytes they take, and where they begin in a pool. A slot's ids are written to the output as
16 bytes, however few they are: what was too much is overwritten by the next.

A call takes one address, of a *context*: an array of the addresses of all that it works with (see `new_context`). Passing
twenty arrays from Python would take longer than encoding a short text.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batch import ROW, end_of, has_key, home_of, next_pieces, prepared_key
from .encode import LANE_BYTES, SHORT, finish_short, merge_if_short, merge_pretoken, start_short, step_short
from .jit import inlined, kernel
from .memory import zeros
from .merge_table import Merges, whole_token, write_id
from .piece_table import (
    KEY_OVERHEAD,
    N_ENTRIES,
    PieceTable,
    find,
    insert,
    is_free,
    key_of,
    move_entries,
)
from .piece_table import POOL_USED as KEY_BYTES
from .scan import Scanner
from .simd import address_of, copy_16, read_i64, read_u8, read_u16, read_u64, write_i64, write_u8, write_u64
from .split import pretoken_end

# Why `encode_pieces` returned.
DONE, NEED_OUT, NEED_SCRATCH, NEED_MEMORY, NEED_LONG = range(5)
IDS_USED, LIMIT = 0, 1  # where the state of the memory keeps its numbers
INLINE_ID_BYTES = 14  # what ids may take that lie in a slot
POOLED = 0xFFFF
SPARE_BYTES = 16  # room after the ids in the output and in the pool: they are copied so many bytes at a time
BYTES_PER_PIECE = 64  # what the pool of long keys may take for each piece that may be remembered
N_LANES = 8  # pretokens that are merged at a time: while one waits for memory, others go on
IDS_BYTES = 4 * SHORT + SPARE_BYTES  # room for the ids of one of them
SHORT_TEXT = 1 << 14  # bytes of the longest text that `encode_short` takes

_ZERO = np.uint64(0)
_SIZE_SHIFT = np.uint64(48)
_BELOW_SIZE = np.uint64((1 << 48) - 1)

# Where the parts of a context start.
_SCANNER, _GRAMMAR, _MERGES, _BATCH, _SCRATCH, _TABLE, _IDS_POOL, _TEXT, _LANES = 0, 6, 7, 16, 18, 20, 25, 28, 32
_JOINS, _FORMER = 33, 35
_CONTEXT_SIZE = 37


def new_context(
    scanner: Scanner,
    masks: NDArray[np.uint64],
    grammar: int,
    merges: Merges,
    batch: NDArray[np.int64],
    scratch: NDArray[np.uint64],
    longest: int,
    table: PieceTable,
    ids_pool: NDArray[np.uint8],
    memory_state: NDArray[np.int64],
    text: NDArray[np.uint8],
    out: NDArray[Any],
    lanes: NDArray[np.uint64],
    former: NDArray[np.uint64] | None,
) -> NDArray[np.int64]:
    """The addresses of all that encoding works with, and some sizes. The arrays must outlive it.

    scanner, grammar, merges : what is known of the pattern and of the merges; read
    masks, batch            : scratch of the scan
    scratch, longest        : scratch for merging pretokens of up to `longest` bytes
    table                   : the remembered pieces
    ids_pool, memory_state  : uint8[*], ids of those with many; int64[2], the bytes used of it, and how many pieces may be
                              remembered
    text, out               : for `encode_short`: uint8[SHORT_TEXT + PADDING], where a text is copied to, and uint16[*] or
                              uint32[*], where its ids go
    lanes                   : scratch for merging several pretokens at a time, see `new_lanes`
    former                  : slots the entries of which are to be moved into the table, see piece_table.with_room
    """
    context = np.empty(_CONTEXT_SIZE, dtype=np.int64)
    context[_SCANNER:_GRAMMAR] = [array.ctypes.data for array in (*scanner[:4], masks, *scanner[4:])]
    context[_GRAMMAR] = grammar
    context[_MERGES:_BATCH] = (
        merges.entries.ctypes.data,
        merges.byte_ranks.ctypes.data,
        merges.symbols.ctypes.data,
        merges.ids.ctypes.data,
        len(merges.entries) - 1,
        merges.whole.ctypes.data if len(merges.whole) else 0,
        len(merges.symbols) - 1,
        len(merges.ids) - 1,
        merges.n_ascending,
    )
    context[_BATCH:_SCRATCH] = batch.ctypes.data, len(batch)
    context[_SCRATCH:_TABLE] = scratch.ctypes.data, longest
    context[_TABLE:_IDS_POOL] = (
        table.slots.ctypes.data,
        len(table.slots),
        table.pool.ctypes.data,
        len(table.pool),
        table.state.ctypes.data,
    )
    context[_IDS_POOL:_TEXT] = ids_pool.ctypes.data, len(ids_pool), memory_state.ctypes.data
    context[_TEXT:_LANES] = text.ctypes.data, out.ctypes.data, out.nbytes, out.itemsize
    context[_LANES] = lanes.ctypes.data
    context[_JOINS:_FORMER] = merges.joins.ctypes.data if len(merges.joins) else 0, 8 * len(merges.joins) - 1
    context[_FORMER:] = (0, 0) if former is None else (former.ctypes.data, len(former))
    return context


def new_lanes(n_rows: int) -> NDArray[np.uint64]:
    """Make scratch for `learn_ahead`: N_LANES lanes of pretokens, ids of one of them, and the addresses of rows."""
    return zeros((N_LANES * LANE_BYTES + IDS_BYTES) // 8 + n_rows)


@inlined
def five(context_at, part):
    """Five entries of a context from `part` on: what helpers of the table take, and the first of what others do."""
    at = context_at + 8 * part
    return read_i64(at), read_i64(at + 8), read_i64(at + 16), read_i64(at + 24), read_i64(at + 32)


@inlined
def scan_tables(context_at):
    """What the helpers of the scan take, see scan.addresses."""
    return *five(context_at, _SCANNER), read_i64(context_at + 8 * (_SCANNER + 5))


@inlined
def merges_of(context_at):
    """What the helpers of merging take."""
    at = context_at + 8 * (_MERGES + 5)
    return *five(context_at, _MERGES), read_i64(at), read_i64(at + 8), read_i64(at + 16), read_i64(at + 24)


@inlined
def move_former(context_at):
    """Move entries into a table that has grown. A kernel for that alone would take 2 ms to load."""
    at = context_at + 8 * _FORMER
    if read_i64(at) != 0:
        table_at = five(context_at, _TABLE)
        move_entries(read_i64(at), read_i64(at + 8), table_at[0], table_at[1])
        write_i64(at, 0)


@inlined
def room_to_remember(context_at, length):
    """Whether the limits allow another piece of so many bytes."""
    state_at, table_state_at = read_i64(context_at + 8 * (_IDS_POOL + 2)), read_i64(context_at + 8 * (_TABLE + 4))
    limit = read_i64(state_at + 8 * LIMIT)
    key_bytes = read_i64(table_state_at + 8 * KEY_BYTES)
    return read_i64(table_state_at + 8 * N_ENTRIES) < limit and key_bytes + length <= BYTES_PER_PIECE * limit


@inlined
def needs_memory(context_at, length, id_size):
    """Whether a pool may be too small to remember a piece of so many bytes, or all must be forgotten first."""
    table_at = five(context_at, _TABLE)
    if not room_to_remember(context_at, length):
        return read_i64(table_at[4] + 8 * N_ENTRIES) > 0
    at = context_at + 8 * _IDS_POOL
    ids_end = read_i64(read_i64(at + 16) + 8 * IDS_USED) + length * id_size + SPARE_BYTES
    key_end = read_i64(table_at[4] + 8 * KEY_BYTES) + length + KEY_OVERHEAD
    return ids_end > read_i64(at + 8) or key_end > table_at[3]


@inlined
def copy_ids(from_at, to_at, n_bytes):
    """Copy the bytes of ids, SPARE_BYTES at a time: up to so many more than there are."""
    for i in range(0, n_bytes, SPARE_BYTES):
        copy_16(from_at + i, to_at + i)


@inlined
def copy_slot(slot_at, pool_at, to_at):
    """Copy the ids of a slot, and up to SPARE_BYTES more; returns how many bytes they take, 0 for a free slot."""
    n_bytes = np.int64(read_u16(slot_at + 30))
    if n_bytes == POOLED:
        n_bytes = np.int64(read_u64(slot_at + 24) & _BELOW_SIZE)
        copy_ids(pool_at + read_i64(slot_at + 16), to_at, n_bytes)
    else:
        copy_16(slot_at + 16, to_at)
    return n_bytes


@inlined
def remember(context_at, slot, key_at, length, low, high, ids_at, n_bytes):
    """Keep the ids of a piece that is not in the table.

    slot, key_at, length, low, high : as for piece_table.insert
    ids_at, n_bytes : the ids; SPARE_BYTES more may be read

    Returns False, and keeps nothing, where there is no room: the table or a pool should grow, or at the limits be emptied.
    What could not even be kept in an empty table is not kept, and True returned.
    """
    table_at = five(context_at, _TABLE)
    if not room_to_remember(context_at, length):
        return read_i64(table_at[4] + 8 * N_ENTRIES) == 0
    at = context_at + 8 * _IDS_POOL
    pool_at, pool_size, state_at = read_i64(at), read_i64(at + 8), read_i64(at + 16)
    used = read_i64(state_at + 8 * IDS_USED)
    few = n_bytes <= INLINE_ID_BYTES
    if not few and used + n_bytes + SPARE_BYTES > pool_size:
        return False
    if not insert(table_at, slot, key_at, length, low, high):
        return False
    value_at = table_at[0] + 8 * slot + 16
    if few:
        write_u64(value_at, read_u64(ids_at))
        write_u64(value_at + 8, (read_u64(ids_at + 8) & _BELOW_SIZE) | (np.uint64(n_bytes) << _SIZE_SHIFT))
    else:
        write_i64(value_at, used)
        write_u64(value_at + 8, np.uint64(n_bytes) | (np.uint64(POOLED) << _SIZE_SHIFT))
        copy_ids(ids_at, pool_at + used, n_bytes)
        write_i64(state_at + 8 * IDS_USED, used + n_bytes)
    return True


@inlined
def copy_known(context_at, key_at, length, ids_at):
    """Write the ids of a piece to `ids_at` if it is in the table; returns how many bytes they take, 0 where it is not."""
    table_at = five(context_at, _TABLE)
    low, high = key_of(key_at, length)
    slot = find(table_at, key_at, length, low, high)
    return copy_slot(table_at[0] + 8 * slot, read_i64(context_at + 8 * _IDS_POOL), ids_at)


@inlined
def learn(context_at, slot, key_at, length, low, high, ids_at, id_size, merge):
    """Write the ids of a piece that is not in the table to `ids_at`, and remember them.

    merge : merge_if_short or merge_pretoken

    Returns how many bytes they take, or, less than 0, the status with which `encode_pieces` must return. Cost: half a
    microsecond for a word.
    """
    tables = scan_tables(context_at)
    grammar = read_i64(context_at + 8 * _GRAMMAR)
    scratch_at = read_i64(context_at + 8 * _SCRATCH)
    if length > SHORT and needs_memory(context_at, length, id_size):
        return -NEED_MEMORY  # before a megabyte is merged in vain
    merges_at = merges_of(context_at)
    next_at = ids_at
    at = key_at
    while at < key_at + length:
        end = pretoken_end(at, key_at + length, grammar, tables)
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


@kernel
def learn_piece(context_at, slot, key_at, length, low, high, ids_at, id_size):
    """See `learn`; NEED_LONG where a pretoken of the piece is too long for lanes."""
    return learn(context_at, slot, key_at, length, low, high, ids_at, id_size, merge_if_short)


@kernel
def learn_long_piece(context_at, key_at, length, ids_at, id_size):
    """Do for the piece at an address what `encode_pieces` left with NEED_LONG; see `learn`.

    Apart from it, as it takes seconds to compile, and most processes never need it.
    """
    if length > read_i64(context_at + 8 * _SCRATCH + 8):
        return -NEED_SCRATCH
    move_former(context_at)
    table_at = five(context_at, _TABLE)
    low, high = key_of(key_at, length)
    slot = find(table_at, key_at, length, low, high)
    return learn(context_at, slot, key_at, length, low, high, ids_at, id_size, merge_pretoken)


@kernel
def learn_ahead(context_at, text_at, row_at, row_end, piece, id_size):
    """Remember pieces of a batch that are not in the table, those that are one short pretoken.

    row_at, row_end : addresses of rows of a prepared batch, the first of which is of the piece at offset `piece`

    Merging is a chain of look-ups that wait for each other. Several pretokens merged in turns wait together, which takes a
    new English word from 260 to 120 ns.
    """
    table_at, tables, merges_at = five(context_at, _TABLE), scan_tables(context_at), merges_of(context_at)
    grammar, lanes_at = read_i64(context_at + 8 * _GRAMMAR), read_i64(context_at + 8 * _LANES)
    ids_at = lanes_at + N_LANES * LANE_BYTES
    rows_at = ids_at + IDS_BYTES
    # Most pieces are known: those that may not be are gathered without a branch.
    n_rows = 0
    write_i64(rows_at, row_at)
    while row_at < row_end:
        write_i64(rows_at + 8 * n_rows, row_at)
        n_rows += not has_key(row_at, home_of(row_at))
        row_at += 8 * ROW
    next_row = 0
    first_row = read_i64(rows_at)
    while next_row < n_rows and room_to_remember(context_at, N_LANES * SHORT):
        n_lanes = 0
        while next_row < n_rows and n_lanes < N_LANES:
            row_at = read_i64(rows_at + 8 * next_row)
            next_row += 1
            start = piece if row_at == first_row else end_of(row_at - 8 * ROW)
            key_at, length = text_at + start, end_of(row_at) - start
            if 0 < length <= SHORT:
                low, high = prepared_key(row_at)
                slot = find(table_at, key_at, length, low, high)
                if is_free(table_at, slot) and is_mergeable(key_at, length, grammar, tables, merges_at):
                    lane_at = lanes_at + n_lanes * LANE_BYTES
                    start_short(lane_at, key_at, length, merges_at)
                    write_i64(lane_at + 16, key_at)
                    write_i64(lane_at + 24, row_at)
                    n_lanes += 1
        unfinished = (1 << n_lanes) - 1
        while unfinished:
            for lane in range(n_lanes):
                if (unfinished >> lane) & 1 and not step_short(lanes_at + lane * LANE_BYTES, merges_at):
                    unfinished &= ~(1 << lane)
        for lane in range(n_lanes):
            lane_at = lanes_at + lane * LANE_BYTES
            length, key_at = read_i64(lane_at), read_i64(lane_at + 16)
            low, high = prepared_key(read_i64(lane_at + 24))
            slot = find(table_at, key_at, length, low, high)
            if not is_free(table_at, slot):
                continue  # the same piece stood in another lane
            n_bytes = finish_short(lane_at, merges_at, ids_at, id_size) * id_size
            if not remember(context_at, slot, key_at, length, low, high, ids_at, n_bytes):
                return  # the table must grow; that is seen when the piece comes up


@inlined
def is_mergeable(key_at, length, grammar, tables, merges_at):
    """Whether a piece is one pretoken whose ids are found by merging."""
    if merges_at[5] != 0 and whole_token(merges_at[5], key_at, length) >= 0:
        return False
    return pretoken_end(key_at, key_at + length, grammar, tables) == key_at + length


@inlined
def find_row(row_at, row_end, piece, start):
    """The first of some rows whose piece starts at `start`, or `row_end`; the piece of the first row starts at `piece`."""
    if piece <= start < end_of(row_end - 8 * ROW):
        while row_at < row_end and piece != start:
            piece = end_of(row_at)
            row_at += 8 * ROW
        return row_at
    return row_end


@kernel
def encode_pieces(
    context_at, text_at, start, end, limit, breaks_at, n_breaks, marks_at, out_at, out_bytes, n_out, id_size, step
):
    """Write the ids of a text's pieces, and those of its breaks (where >= 0), to an array.

    context_at : address of a context; what it leads to is modified
    text_at    : address of a text with PADDING bytes after `end`
    start      : start of a piece
    end        : end of the text
    limit      : boundaries after it are not trusted yet; `end` where no text follows
    breaks_at, n_breaks : see batch.next_pieces; a break's id stands for it, -1 for nothing
    marks_at   : address of int64[n_breaks], filled with the number of ids before each break that was reached; or 0
    out_at, out_bytes : where ids go, each of `id_size` (2 or 4) bytes, and how much room is there
    n_out      : how many ids there are already
    step       : id_size; or 0 to count the ids only, where out_at is just scratch

    All are int64. Returns (status, position, piece end, n_out): the ids up to `position` are there. DONE: all that can be.
    NEED_OUT, NEED_MEMORY: give more room, for what lies between position and piece end at least, and call again. NEED_LONG:
    give what lies between them to `learn_long_piece`, and go on behind it. Cost: scan, one look-up and a 16-byte write a
    piece, 2 ns a byte.
    """
    move_former(context_at)
    tables, table_at = scan_tables(context_at), five(context_at, _TABLE)
    joins_at = context_at + 8 * _JOINS
    joins, grammar = (read_i64(joins_at), read_i64(joins_at + 8)), read_i64(context_at + 8 * _GRAMMAR)
    batch_at, n_rows = read_i64(context_at + 8 * _BATCH), read_i64(context_at + 8 * _BATCH + 8)
    pool_at = read_i64(context_at + 8 * _IDS_POOL)
    next_break = 0
    while next_break < n_breaks and read_i64(breaks_at + 24 * next_break + 8) <= start:
        next_break += 1
    break_start = read_i64(breaks_at + 24 * next_break) if next_break < n_breaks else -1
    first_break = next_break
    ids_at = out_at + n_out * step
    piece = start
    block = start
    state = 0
    n_learned = N_LANES
    while block < end:
        of_breaks = breaks_at, first_break, n_breaks
        found, block, state = next_pieces(
            text_at, piece, block, end, state, of_breaks, tables, grammar, joins, table_at, (batch_at, n_rows)
        )
        row_end = batch_at + 8 * ROW * found
        while row_end > batch_at and end_of(row_end - 8 * ROW) > limit:
            row_end -= 8 * ROW
            block = end
        if row_end == batch_at:
            continue
        batch_end = end_of(row_end - 8 * ROW)
        if (batch_end - piece) * id_size + SPARE_BYTES > out_at + out_bytes - ids_at:
            return NEED_OUT, piece, batch_end, n_out
        # Ids are counted by where they go: those of this batch go to `first_at` and on, also where they are not kept.
        first_at = ids_at
        # Looking through a batch for pieces to learn together pays where there are several, of which the last batch tells.
        looked = n_learned < 2
        n_before = read_i64(table_at[4] + 8 * N_ENTRIES)
        break_row = find_row(batch_at, row_end, piece, break_start)
        row_at = batch_at
        while row_at < row_end:
            # Of most pieces a slot has the ids. They get a loop of their own, so that all it needs stays in registers.
            while row_at < break_row:
                slot_at = home_of(row_at)
                n_bytes = np.int64(read_u16(slot_at + 30))
                if not has_key(row_at, slot_at) or n_bytes == POOLED:
                    break
                copy_16(slot_at + 16, ids_at)
                ids_at += n_bytes
                row_at += 8 * ROW
            if row_at == row_end:
                break
            if row_at > batch_at:
                piece = end_of(row_at - 8 * ROW)
            piece_end = end_of(row_at)
            if row_at == break_row:
                row_at += 8 * ROW
                if piece_end > piece:
                    if marks_at != 0:
                        write_i64(marks_at + 8 * next_break, n_out + (ids_at - first_at) // id_size)
                    token_id = read_i64(breaks_at + 24 * next_break + 16)
                    if token_id >= 0:
                        write_id(ids_at, token_id, id_size)
                        ids_at += id_size
                    next_break += 1
                    break_start = read_i64(breaks_at + 24 * next_break) if next_break < n_breaks else -1
                break_row = find_row(row_at, row_end, piece_end, break_start)
                continue
            if piece_end > piece:
                key_at, length = text_at + piece, piece_end - piece
                low, high = prepared_key(row_at)
                slot = find(table_at, key_at, length, low, high)
                # Not at once: after all was forgotten, others must not take the room of the piece that needed it.
                if is_free(table_at, slot) and not looked and piece > start:
                    learn_ahead(context_at, text_at, row_at, row_end, piece, id_size)
                    looked = True
                    slot = find(table_at, key_at, length, low, high)
                if is_free(table_at, slot):
                    n_bytes = learn_piece(context_at, slot, key_at, length, low, high, ids_at, id_size)
                    if n_bytes < 0:
                        return -n_bytes, piece, piece_end, n_out + (ids_at - first_at) // id_size
                else:
                    n_bytes = copy_slot(table_at[0] + 8 * slot, pool_at, ids_at)
                ids_at += n_bytes
            row_at += 8 * ROW
        piece = batch_end
        n_learned = read_i64(table_at[4] + 8 * N_ENTRIES) - n_before
        n_out += (ids_at - first_at) // id_size
        if step == 0:
            ids_at = first_at
        first_break = next_break
    return DONE, piece, piece, n_out


@kernel
def encode_short(context_at, text):
    """Write the ids of a text, bytes, of up to SHORT_TEXT bytes without breaks to the context's own output.

    Returns the number of ids; or -1 where more room is needed first, which `encode_pieces` says more of.
    """
    at = context_at + 8 * _TEXT
    text_at, out_at, out_bytes, id_size = read_i64(at), read_i64(at + 8), read_i64(at + 16), read_i64(at + 24)
    n = len(text)
    from_at = address_of(text)
    for i in range(n):
        write_u8(text_at + i, read_u8(from_at + i))
    write_u64(text_at + n, _ZERO)
    zero = np.int64(0)  # not the literal, for which another version would be compiled
    status, _, _, n_ids = encode_pieces(
        context_at, text_at, zero, n, n, zero, zero, zero, out_at, out_bytes, zero, id_size, id_size
    )
    return n_ids if status == DONE else -1


@kernel
def encode_pretokens(context_at, text_at, starts, ids_at, id_size, ends):
    """Write the ids of pretokens that stand side by side.

    text_at : address of the text;  starts : int64[n + 1], read    where each pretoken starts in it
    ids_at  : where ids of `id_size` bytes go; it and the context's scratch must have room for all of them (unchecked)
    ends    : int64[n + 1], filled    ends[i] is the number of ids before pretoken i

    Returns the number of ids.
    """
    merges_at = merges_of(context_at)
    scratch_at = read_i64(context_at + 8 * _SCRATCH)
    n_ids = 0
    ends[0] = 0
    for i in range(starts.shape[0] - 1):
        n = starts[i + 1] - starts[i]
        if n > 0:
            n_ids += merge_pretoken(text_at + starts[i], n, merges_at, scratch_at, ids_at + n_ids * id_size, id_size)
        ends[i + 1] = n_ids
    return n_ids
