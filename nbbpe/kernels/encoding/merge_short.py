"""Merging short pretokens, several at a time, each in its lane. Each pair has a turn, and the least turn is merged next.

Merging is a chain of look-ups, each of which waits for the one before. So a merge and the look-ups that it needs are two
steps, and each step is done in all lanes before the next one: while the cache lines of one lane are loaded, the other lanes
proceed. A branch that depends on the pretoken is mispredicted about once for each pretoken, which costs as much as half a
merge: so there are as few as possible, and a finished lane takes one more step, which has no effect.
"""

import numpy as np

from ..compiler.jit import called, inlined
from ..machine.intrinsics import (
    BLOCK,
    LANES,
    POSITION_BITS,
    RANK_BITS,
    address_of,
    copy_16,
    least,
    least_of_three,
    read_i64,
    read_u8,
    read_u32,
    trailing_zeros,
    write_byte_pairs,
    write_i64,
    write_three,
    write_u8,
    write_u32,
)
from .merge_table import (
    BOTH_CONTESTED,
    CONTEST_BITS,
    LEFT_CONTESTED,
    NO_SYMBOL,
    id_of,
    merged_symbol,
    pair_rank,
    prefetch_pair,
    write_id,
)

SHORT = 254  # bytes of the longest short pretoken: its positions, and one more at each end, fit in a byte
RANK_AT = POSITION_BITS + CONTEST_BITS  # the lowest bit of the rank in a turn
CONTESTED = BOTH_CONTESTED << POSITION_BITS
NO_TURN = 0xFFFFFFFF
# The offsets in a lane, see start_short.
N_VECTORS_AT, NEXT_AT, OWN_AT, TURNS_AT = 8, 16, 24, 64
SYMBOLS_AT = TURNS_AT + 4 * 256
BEFORE_AT = SYMBOLS_AT + 4 * (256 + LANES)  # start_short writes whole vectors of symbols
AFTER_AT = BEFORE_AT + 256 + 16
LANE_BYTES = AFTER_AT + 256 + 16 + 32  # a multiple of a cache line
# The initial content of lanes.
_BEFORE = np.arange(-1, 271).astype(np.uint8)
_AFTER = np.arange(1, 273).astype(np.uint8)
_ONE = np.uint64(1)


@inlined
def turn_of(rank, position):
    """The turn of the pair with a rank at a position, a number of 32 bits: the pair with the least turn is merged next.

    Turns are in the order of ranks, and of positions for equal ranks; the position is read from the turn. NO_RANK gives a
    higher turn than any rank. Between rank and position are the contest bits that settle_short uses for pairs of bytes; all
    other pairs count as contested.
    """
    return (rank << RANK_AT) | (CONTESTED + position)


@inlined
def start_short(lane_at, text_at, n, merges_at):
    """Put a pretoken of 1 to SHORT bytes into a lane, with the turns of its pairs.

    lane_at : address of LANE_BYTES, 64-byte aligned, overwritten: n, the number of vectors of turns, and from NEXT_AT what
              is to be looked up next, int64 each; from OWN_AT 40 bytes for the caller; from TURNS_AT a turn and from
              SYMBOLS_AT a symbol for each of 256 positions, uint32; from BEFORE_AT and AFTER_AT the positions of the
              symbols before and after it, uint8

    Position p + 1 is byte p; positions 0 and n + 1 hold NO_SYMBOL, which merges with nothing. A symbol keeps its
    first position.
    """
    symbols_at, turns_at = lane_at + SYMBOLS_AT, lane_at + TURNS_AT
    n_vectors = (n - 1) // LANES + 1
    for i in range(0, n + 2, 16):
        copy_16(address_of(_BEFORE) + i, lane_at + BEFORE_AT + i)
        copy_16(address_of(_AFTER) + i, lane_at + AFTER_AT + i)
    last_byte = 0
    for i in range(0, LANES * n_vectors, LANES):
        bytes_at = text_at + i
        write_byte_pairs(symbols_at + 4 * i + 4, turns_at + 4 * i, bytes_at, last_byte, i, n, merges_at.byte_pairs)
        last_byte = np.int64(read_u8(bytes_at + LANES - 1))
    write_u32(turns_at + 4 * LANES * n_vectors, NO_TURN)  # settle_short compares with it
    write_u32(symbols_at, NO_SYMBOL)
    write_u32(turns_at + 4, np.int64(read_u32(turns_at + 4)) & ~(LEFT_CONTESTED << POSITION_BITS))  # nothing precedes it
    write_u32(symbols_at + 4 * n + 4, NO_SYMBOL)
    write_i64(lane_at, n)
    write_i64(lane_at + N_VECTORS_AT, n_vectors)


@inlined
def settle_short(lane_at, merges_at):
    """Do all merges of bytes in a new lane that no other merge can precede: two in five merges of an English word.

    If a pair is not contested (see merge_table.contested_bytes) and the pairs next to it have later turns, no other merge
    takes one of its bytes first. Its symbol merges at higher ranks only, as merges ascend if any pair is not contested. So
    the pair can be merged now; and while each ordinary step waits for the one before, these merges do not wait.

    The new pairs are looked up here, as these look-ups do not wait for each other. Prefetching their cache lines in a loop
    before cost more, as the end of another loop is mispredicted, than it saved. Only the first BLOCK positions are read.
    """
    symbols_at, turns_at, after_at = lane_at + SYMBOLS_AT, lane_at + TURNS_AT, lane_at + AFTER_AT
    settled = least_of_three(turns_at, CONTESTED)
    for i in range(1, min(read_i64(lane_at + N_VECTORS_AT), BLOCK // LANES)):
        settled |= least_of_three(turns_at + 4 * LANES * i, CONTESTED) << np.uint64(LANES * i)
    pairs = settled
    while pairs:
        position = trailing_zeros(pairs)
        symbol = merged_symbol(merges_at, np.int64(read_u32(turns_at + 4 * position)) >> RANK_AT)
        write_u32(symbols_at + 4 * position, symbol)
        write_u8(after_at + position, position + 2)
        write_u8(lane_at + BEFORE_AT + position + 2, position)
        write_u32(turns_at + 4 * position + 4, NO_TURN)
        pairs &= pairs - _ONE
    # The pairs of the new symbols, and of those before them that are not new; position 0 holds none.
    new_pairs = (settled | ((settled >> _ONE) & ~(settled << _ONE))) & ~_ONE
    while new_pairs:
        position = trailing_zeros(new_pairs)
        turn = turn_of(pair_rank(merges_at, *pair_at(lane_at, position)), position)
        write_u32(lane_at + TURNS_AT + 4 * position, turn)
        new_pairs &= new_pairs - _ONE


@inlined
def pair_at(lane_at, position):
    """The symbols of the pair at a position of a lane."""
    after = np.int64(read_u8(lane_at + AFTER_AT + position))
    symbols_at = lane_at + SYMBOLS_AT
    return np.int64(read_u32(symbols_at + 4 * position)), np.int64(read_u32(symbols_at + 4 * after))


@inlined
def step_short(lane_at, merges_at):
    """Do the next merge in a lane. Returns uint64: 0, or 1 if there is none.

    If there is none, it writes to position 0, which is not read any more: a branch would be mispredicted once a pretoken.
    Otherwise it prefetches the cache lines of the two new pairs, and find_stepped looks them up.
    Cost: about 10 ns, and 5 for each further 16 bytes.
    """
    symbols_at, turns_at = lane_at + SYMBOLS_AT, lane_at + TURNS_AT
    before_at, after_at = lane_at + BEFORE_AT, lane_at + AFTER_AT
    turn = least(turns_at)
    for i in range(1, read_i64(lane_at + N_VECTORS_AT)):
        turn = min(turn, least(turns_at + 4 * LANES * i))
    is_none = turn >> (RANK_AT + RANK_BITS)
    position = turn & ((1 << POSITION_BITS) - 1) & (is_none - 1)
    symbol = merged_symbol(merges_at, turn >> RANK_AT)
    write_u32(symbols_at + 4 * position, symbol)
    before = np.int64(read_u8(before_at + position))
    removed = np.int64(read_u8(after_at + position))
    after = np.int64(read_u8(after_at + removed))
    write_u8(after_at + position, after)
    write_u8(before_at + after, position)
    prefetch_pair(merges_at, np.int64(read_u32(symbols_at + 4 * before)), symbol)
    prefetch_pair(merges_at, symbol, np.int64(read_u32(symbols_at + 4 * after)))
    write_i64(lane_at + NEXT_AT, removed << POSITION_BITS | position)
    return np.uint64(is_none)


@inlined
def find_stepped(lane_at, merges_at):
    """Look up the pairs that step_short has made. Cost: two look-ups, which wait for memory together."""
    turns_at = lane_at + TURNS_AT
    stepped = read_i64(lane_at + NEXT_AT)
    removed, position = stepped >> POSITION_BITS, stepped & ((1 << POSITION_BITS) - 1)
    before = np.int64(read_u8(lane_at + BEFORE_AT + position))
    turn_before = turn_of(pair_rank(merges_at, *pair_at(lane_at, before)), before)
    turn_after = turn_of(pair_rank(merges_at, *pair_at(lane_at, position)), position)
    if read_i64(lane_at + N_VECTORS_AT) == 1:
        write_three(turns_at, before, turn_before, position, turn_after, removed, NO_TURN)
    else:
        write_u32(turns_at + 4 * before, turn_before)
        write_u32(turns_at + 4 * position, turn_after)
        write_u32(turns_at + 4 * removed, NO_TURN)


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


@called
def merge_lanes(lanes_at, n_lanes, merges_at):
    """Do all merges of the pretokens in the first `n_lanes` lanes, fewer than 64.

    lanes_at  : address of `n_lanes` times LANE_BYTES, modified: lanes that start_short has filled
    merges_at : MergeAddresses

    Cost: see step_short, for each merge and once more for each lane.
    """
    for lane in range(n_lanes):
        settle_short(lanes_at + lane * LANE_BYTES, merges_at)
    unfinished = (_ONE << np.uint64(n_lanes)) - _ONE
    while unfinished:
        lanes = unfinished
        while lanes:
            lane = trailing_zeros(lanes)
            lanes &= lanes - _ONE
            unfinished ^= step_short(lanes_at + lane * LANE_BYTES, merges_at) << np.uint64(lane)
        lanes = unfinished
        while lanes:
            find_stepped(lanes_at + trailing_zeros(lanes) * LANE_BYTES, merges_at)
            lanes &= lanes - _ONE
