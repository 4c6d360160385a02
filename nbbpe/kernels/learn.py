"""New pieces: cut into pretokens, merged, and remembered; one by one, or several at a time."""

import numpy as np
from numpy.typing import NDArray

from .batch import bound_of, find_prepared, has_key, home_of, prepared_key
from .context import GRAMMAR, LANES, NEED_LONG, NEED_MEMORY, NEED_SCRATCH, SCRATCH, TABLE, five, merges_of, scan_tables
from .encode import merge_if_short, merge_pretoken
from .jit import inlined, kernel, part
from .lanes import LANE_BYTES, OWN_AT, SHORT, finish_short, merge_lanes, start_short
from .memory import zeros
from .merge_table import whole_token
from .piece_table import find, is_free, key_of
from .remembered import SPARE_BYTES, copy_known, move_former, needs_memory, remember, room_to_remember
from .simd import BLOCK, mask_between, read_i64, read_u8, write_i64
from .split import pretoken_end, starts_as_whole_word

N_LANES = 8  # pretokens that are merged at a time: while one waits for memory, others go on
IDS_BYTES = 4 * SHORT + SPARE_BYTES  # room for the ids of one of them

_ONE = np.uint64(1)


def new_lanes(n_rows: int) -> NDArray[np.uint64]:
    """Make scratch for `learn_ahead`: N_LANES lanes of pretokens, ids of one of them, and the addresses of rows."""
    return zeros((N_LANES * LANE_BYTES + IDS_BYTES) // 8 + n_rows)


@inlined
def learn(context_at, slot, key_at, length, low, high, ids_at, id_size, merge):
    """Write the ids of a piece that is not in the table to `ids_at`, and remember them.

    merge : merge_if_short or merge_pretoken

    Returns how many bytes they take, or, less than 0, the status with which `encode_pieces` must return. Cost: half a
    microsecond for a word.
    """
    tables = scan_tables(context_at)
    grammar = read_i64(context_at + 8 * GRAMMAR)
    scratch_at = read_i64(context_at + 8 * SCRATCH)
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


@part
def learn_piece(context_at, slot, key_at, length, low, high, ids_at, id_size):
    """See `learn`; NEED_LONG where a pretoken of the piece is too long for lanes."""
    return learn(context_at, slot, key_at, length, low, high, ids_at, id_size, merge_if_short)


@kernel
def learn_long_piece(context_at, key_at, length, ids_at, id_size):
    """Do for the piece at an address what `encode_pieces` left with NEED_LONG; see `learn`.

    Apart from it, as it takes seconds to compile, and most processes never need it.
    """
    if length > read_i64(context_at + 8 * SCRATCH + 8):
        return -NEED_SCRATCH
    move_former(context_at)
    table_at = five(context_at, TABLE)
    low, high = key_of(key_at, length)
    slot = find(table_at, key_at, length, low, high)
    return learn(context_at, slot, key_at, length, low, high, ids_at, id_size, merge_pretoken)


@part
def learn_ahead(context_at, text_at, batch, row, n_found, id_size):
    """Remember pieces of a batch that are not in the table, those that are one short pretoken.

    batch, row, n_found : see batch.batch_of; the first of the rows to look at, and how many rows are filled

    Merging is a chain of look-ups that wait for each other. Several pretokens merged in turns wait together, which takes a
    new English word from 260 to 120 ns.
    """
    table_at, tables, merges_at = five(context_at, TABLE), scan_tables(context_at), merges_of(context_at)
    grammar, lanes_at = read_i64(context_at + 8 * GRAMMAR), read_i64(context_at + 8 * LANES)
    ids_at = lanes_at + N_LANES * LANE_BYTES
    rows_at = ids_at + IDS_BYTES
    # Most pieces are known: those that may not be are gathered without a branch.
    n_rows = 0
    while row < n_found:
        write_i64(rows_at + 8 * n_rows, row)
        n_rows += not has_key(batch, row, home_of(batch, row))
        row += 1
    next_row = 0
    while next_row < n_rows and room_to_remember(context_at, N_LANES * SHORT):
        n_lanes = 0
        while next_row < n_rows and n_lanes < N_LANES:
            row = read_i64(rows_at + 8 * next_row)
            next_row += 1
            start = bound_of(batch, row)
            key_at, length = text_at + start, bound_of(batch, row + 1) - start
            if 0 < length <= SHORT:
                slot = find_prepared(batch, row, table_at, key_at, length)
                if is_free(table_at, slot) and is_mergeable(key_at, length, grammar, tables, merges_at):
                    lane_at = lanes_at + n_lanes * LANE_BYTES
                    start_short(lane_at, key_at, length, merges_at)
                    write_i64(lane_at + OWN_AT, key_at)
                    write_i64(lane_at + OWN_AT + 8, row)
                    write_i64(lane_at + OWN_AT + 16, slot)
                    n_lanes += 1
        merge_lanes(lanes_at, n_lanes, merges_at)
        for lane in range(n_lanes):
            lane_at = lanes_at + lane * LANE_BYTES
            length, key_at, row = read_i64(lane_at), read_i64(lane_at + OWN_AT), read_i64(lane_at + OWN_AT + 8)
            low, high = prepared_key(batch, row)
            slot = read_i64(lane_at + OWN_AT + 16)
            if not is_free(table_at, slot):  # taken from another lane
                slot = find_prepared(batch, row, table_at, key_at, length)
                if not is_free(table_at, slot):
                    continue  # the same piece stood in that lane
            n_bytes = finish_short(lane_at, merges_at, ids_at, id_size) * id_size
            if not remember(context_at, slot, key_at, length, low, high, ids_at, n_bytes):
                return  # the table must grow; that is seen when the piece comes up


@inlined
def is_mergeable(key_at, length, grammar, tables, merges_at):
    """Whether a piece is one pretoken whose ids are found by merging."""
    if merges_at[5] != 0 and whole_token(merges_at[5], key_at, length) >= 0:
        return False
    end = key_at + length
    if starts_as_whole_word(key_at, end, grammar, tables) or is_plain_word(key_at, length):
        return True
    return pretoken_end(key_at, end, grammar, tables) == end


@inlined
def is_plain_word(key_at, length):
    """Whether a piece is a word of ASCII in less than BLOCK bytes: perhaps a space, and letters, only the first a capital.

    That is a pretoken in all grammars. Most new pieces are, and this is sooner known than where their pretoken ends.
    """
    led = np.uint64(read_u8(key_at) == 0x20)
    letters = mask_between(key_at, ord("a"), 26) >> led | mask_between(key_at, ord("A"), 26) >> led & _ONE
    return np.int64(led) < length < BLOCK and ~letters & ((_ONE << (np.uint64(length) - led)) - _ONE) == 0
