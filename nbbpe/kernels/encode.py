"""Applying merges to one pretoken: a short one by the least of a few vectors of turns, others as encode_long does."""

import numpy as np
from numpy.typing import NDArray

from .encode_long import long_scratch, merge_by_rank, merge_long, ranks_pay
from .jit import inlined, part
from .memory import zeros
from .merge_table import (
    BOTH_CONTESTED,
    CONTEST_BITS,
    LEFT_CONTESTED,
    NO_SYMBOL,
    Merges,
    byte_pair,
    id_of,
    merged_symbol,
    pair_rank,
    whole_token,
    write_id,
)
from .simd import (
    BLOCK,
    LANES,
    RANK_BITS,
    address_of,
    copy_16,
    least,
    least_of_three,
    read_i64,
    read_u8,
    read_u32,
    trailing_zeros,
    write_i64,
    write_three,
    write_u8,
    write_u32,
)

SHORT = 254  # bytes up to which a pretoken's positions, with one more at each end, are numbers of one byte
POSITION_BITS = 8  # of a turn, see turn_of
RANK_AT = POSITION_BITS + CONTEST_BITS  # from which bit of a turn on is its rank
CONTESTED = BOTH_CONTESTED << POSITION_BITS
NO_TURN = 0xFFFFFFFF
# See start_short.
TURNS_AT, SYMBOLS_AT = 64, 64 + 4 * 256
BEFORE_AT = SYMBOLS_AT + 4 * 256
AFTER_AT = BEFORE_AT + 256 + 16
LANE_BYTES = AFTER_AT + 256 + 16 + 32
# Where lanes start from.
_NO_TURNS = np.full(16, 255, dtype=np.uint8)
_BEFORE = np.arange(-1, 271).astype(np.uint8)
_AFTER = np.arange(1, 273).astype(np.uint8)
_ONE = np.uint64(1)


def new_scratch(longest: int, merges: Merges) -> NDArray[np.uint64]:
    """Make room for merging pretokens of up to `longest` bytes by these merges; 64-byte aligned."""
    return zeros(max(LANE_BYTES, long_scratch(longest, merges.n_ascending)) // 8 + 1)


@inlined
def turn_of(rank, position):
    """When the pair of a rank at a position is merged, as a number of 32 bits: that with the least is next.

    Of equal ranks the leftmost is, and where its position is needs no other look. NO_RANK gives more than any rank. Between
    rank and position a turn tells what settle_short asks of pairs of bytes; those it does not ask of count as contested.
    """
    return (rank << RANK_AT) | (CONTESTED + position)


@inlined
def start_short(lane_at, text_at, n, merges_at):
    """Put a pretoken of 1 to SHORT bytes into a lane, with the turns of its pairs.

    lane_at : address of LANE_BYTES, 64-byte aligned, overwritten: n and the number of vectors of turns, int64; from
              TURNS_AT a turn and from SYMBOLS_AT a symbol for each of 256 positions, uint32; from BEFORE_AT and AFTER_AT
              the positions of the symbols before and after it, uint8

    Position p + 1 stands for byte p; positions 0 and n + 1 hold NO_SYMBOL, which merges with nothing. A symbol keeps its
    first position.
    """
    symbols_at, turns_at = lane_at + SYMBOLS_AT, lane_at + TURNS_AT
    n_vectors = (n - 1) // LANES + 1
    for at in range(turns_at, turns_at + 4 * LANES * n_vectors + 16, 16):  # with one more, which settle_short compares with
        copy_16(address_of(_NO_TURNS), at)
    for i in range(0, n + 2, 16):
        copy_16(address_of(_BEFORE) + i, lane_at + BEFORE_AT + i)
        copy_16(address_of(_AFTER) + i, lane_at + AFTER_AT + i)
    left = np.int64(read_u8(text_at))
    write_u32(symbols_at, NO_SYMBOL)
    write_u32(symbols_at + 4, left)
    for i in range(1, n):
        right = np.int64(read_u8(text_at + i))
        write_u32(symbols_at + 4 * i + 4, right)
        write_u32(turns_at + 4 * i, (byte_pair(merges_at, left, right) << POSITION_BITS) | i)
        left = right
    write_u32(turns_at + 4, np.int64(read_u32(turns_at + 4)) & ~(LEFT_CONTESTED << POSITION_BITS))  # nothing is before it
    write_u32(symbols_at + 4 * n + 4, NO_SYMBOL)
    write_i64(lane_at, n)
    write_i64(lane_at + 8, n_vectors)


@inlined
def settle_short(lane_at, merges_at):
    """Do at once the merges of bytes in a lane, just filled, that nothing can come before: two in five of an English word.

    No other merge takes a byte of a pair that is not contested (see merge_table.contested_bytes) and whose neighbours have
    their turns after it. What it becomes merges at higher ranks only, as merges ascend where any pair is not contested. So
    it may as well be merged first; and while each step waits for the one before, these wait for nothing.

    Cost: one look-up for each pair that is new. Only the first BLOCK positions are looked at.
    """
    symbols_at, turns_at = lane_at + SYMBOLS_AT, lane_at + TURNS_AT
    before_at, after_at = lane_at + BEFORE_AT, lane_at + AFTER_AT
    settled = least_of_three(turns_at, CONTESTED)
    for i in range(1, min(read_i64(lane_at + 8), BLOCK // LANES)):
        settled |= least_of_three(turns_at + 4 * LANES * i, CONTESTED) << np.uint64(LANES * i)
    pairs = settled
    while pairs:
        position = trailing_zeros(pairs)
        symbol = merged_symbol(merges_at, np.int64(read_u32(turns_at + 4 * position)) >> RANK_AT)
        write_u32(symbols_at + 4 * position, symbol)
        write_u8(after_at + position, position + 2)
        write_u8(before_at + position + 2, position)
        write_u32(turns_at + 4 * position + 4, NO_TURN)
        pairs &= pairs - _ONE
    # The pairs of the new symbols, and of those before them that are not new; position 0 holds none.
    pairs = (settled | ((settled >> _ONE) & ~(settled << _ONE))) & ~_ONE
    while pairs:
        position = trailing_zeros(pairs)
        symbol = np.int64(read_u32(symbols_at + 4 * position))
        next_symbol = np.int64(read_u32(symbols_at + 4 * np.int64(read_u8(after_at + position))))
        write_u32(turns_at + 4 * position, turn_of(pair_rank(merges_at, symbol, next_symbol), position))
        pairs &= pairs - _ONE


@inlined
def step_short(lane_at, merges_at):
    """Do the next merge in a lane; False where there is none. Without a branch that could be mispredicted but this.

    Cost: some 30 ns, nearly all of it waiting for one look-up after another; and 5 ns for each further 16 bytes.
    """
    symbols_at, turns_at = lane_at + SYMBOLS_AT, lane_at + TURNS_AT
    before_at, after_at = lane_at + BEFORE_AT, lane_at + AFTER_AT
    n_vectors = read_i64(lane_at + 8)
    turn = least(turns_at)
    for i in range(1, n_vectors):
        turn = min(turn, least(turns_at + 4 * LANES * i))
    if turn >> (RANK_AT + RANK_BITS) != 0:
        return False
    position = turn & ((1 << POSITION_BITS) - 1)
    symbol = merged_symbol(merges_at, turn >> RANK_AT)
    write_u32(symbols_at + 4 * position, symbol)
    before = np.int64(read_u8(before_at + position))
    removed = np.int64(read_u8(after_at + position))
    after = np.int64(read_u8(after_at + removed))
    write_u8(after_at + position, after)
    write_u8(before_at + after, position)
    left, right = np.int64(read_u32(symbols_at + 4 * before)), np.int64(read_u32(symbols_at + 4 * after))
    turn_before = turn_of(pair_rank(merges_at, left, symbol), before)
    turn_after = turn_of(pair_rank(merges_at, symbol, right), position)
    if n_vectors == 1:
        write_three(turns_at, before, turn_before, position, turn_after, removed, NO_TURN)
    else:
        write_u32(turns_at + 4 * before, turn_before)
        write_u32(turns_at + 4 * position, turn_after)
        write_u32(turns_at + 4 * removed, NO_TURN)
    return True


@inlined
def finish_short(lane_at, merges_at, ids_at, id_size):
    """Write the ids of the symbols in a lane; returns their number."""
    end = read_i64(lane_at)
    position = 1
    n_ids = 0
    while position <= end:
        symbol = np.int64(read_u32(lane_at + SYMBOLS_AT + 4 * position))
        write_id(ids_at + n_ids * id_size, id_of(merges_at, symbol), id_size)
        n_ids += 1
        position = np.int64(read_u8(lane_at + AFTER_AT + position))
    return n_ids


@part
def merge_short(text_at, n, merges_at, scratch_at, ids_at, id_size):
    """Write the ids of a pretoken of 1 to SHORT bytes; arguments and result as for merge_pretoken."""
    start_short(scratch_at, text_at, n, merges_at)
    settle_short(scratch_at, merges_at)
    while step_short(scratch_at, merges_at):
        pass
    return finish_short(scratch_at, merges_at, ids_at, id_size)


@inlined
def merge_if_short(text_at, n, merges_at, scratch_at, ids_at, id_size):
    """As merge_pretoken; but of more than SHORT bytes nothing is merged, and the result is -1.

    What calls it is compiled in seconds less than what calls merge_pretoken, and few texts have longer ones.
    """
    if merges_at[5] != 0:
        token_id = whole_token(merges_at[5], text_at, n)
        if token_id >= 0:
            write_id(ids_at, token_id, id_size)
            return np.int64(1)
    if n <= SHORT:
        return np.int64(merge_short(text_at, n, merges_at, scratch_at, ids_at, id_size))
    return np.int64(-1)


@inlined
def merge_pretoken(text_at, n, merges_at, scratch_at, ids_at, id_size):
    """Write the ids of the pretoken of n >= 1 bytes at `text_at`.

    Merges the pair of lowest rank, the leftmost of several, until none is left (as Hugging Face and tiktoken do).

    text_at    : address of the pretoken, with PADDING bytes after it
    merges_at  : see merge_table.merges_addresses
    scratch_at : address of a scratch that is large enough for n bytes (unchecked), overwritten
    ids_at     : where the ids go, each of `id_size` (2 or 4) bytes; up to n of them

    Returns the number of ids.
    """
    n_ids = merge_if_short(text_at, n, merges_at, scratch_at, ids_at, id_size)
    if n_ids >= 0:
        return n_ids
    if ranks_pay(n, merges_at):
        return merge_by_rank(text_at, n, merges_at, scratch_at, ids_at, id_size)
    return merge_long(text_at, n, merges_at, scratch_at, ids_at, id_size)
