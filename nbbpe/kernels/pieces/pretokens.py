"""Pretokens of a piece: the matches of a pattern's automaton, walked character by character.

A walk looks up one entry for each character, which gives the next state and whether a match ends before the character;
nothing else depends on the pattern. The last such end before the dead state is the end of the match. The text between two
matches is a pretoken, too.

Several automata that split in turn have a level each: a part of one level is split by the next, as if it were a text.

*Memo.* A walk may go far and fail, and the next one, which starts a character later, does the same: `\\s*\\n|\\s` over
spaces. It then stays in one state (patterns where it would cycle through several are not compiled). So for each state the
memo stores the range of a walk that found no match after it: a walk that enters this range in the same state will find none
either.

`regex` remains the authority: tests compare these walks with it.
"""

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, part
from ..machine.intrinsics import read_i64, read_u8, read_u16, write_i64
from ..machine.utf8 import decode_character
from .pattern_tables import (
    ASCII_CLASSES,
    END_CLASS,
    MEMO,
    MOST_LEVELS,
    MOVES_AT,
    N_LEVELS,
    N_STATES,
    STARTS,
    UNDECODABLE,
    PatternTables,
    class_of,
    number_of,
)


@inlined
def class_at(at, end, pattern_at):
    """The class of the character at an address before `end`, and its length in bytes."""
    first = np.int64(read_u8(at))
    if first < 0x80:
        return np.int64(read_u8(pattern_at + ASCII_CLASSES + first)), 1
    code_point, length = decode_character(at)
    if code_point < 0 or at + length > end:
        return number_of(pattern_at, UNDECODABLE), 1
    return class_of(code_point, pattern_at), length


@inlined
def walk(at, end, start, pattern_at):
    """Where the match that begins at an address ends, or 0 if none does.

    at, end : addresses    a text, not empty
    start   : int64        the start of an automaton

    Cost: 2 ns a character of ASCII, a few for others.
    """
    moves_at = pattern_at + number_of(pattern_at, MOVES_AT)
    state = start
    found = 0
    while at < end:
        character_class, length = class_at(at, end, pattern_at)
        move = np.int64(read_u16(moves_at + 2 * (state << 6 | character_class)))
        found = at if move & 1 != 0 else found
        state = move >> 1
        if state == 0:
            return found
        at += length
    return end if read_u16(moves_at + 2 * (state << 6 | END_CLASS)) & 1 != 0 else found


@part
def walk_with_memo(at, end, start, pattern_at, memo_at):
    """As `walk`, for a pattern whose walks may run far and fail.

    memo_at : address of int64[n_states, 2], modified    of each state, from where to where a walk was in it that failed
    """
    moves_at = pattern_at + number_of(pattern_at, MOVES_AT)
    state = start
    found = 0
    since = at  # when it came into the state
    failing = at  # the last match ends there
    while True:
        if read_i64(memo_at + 16 * state) <= at < read_i64(memo_at + 16 * state + 8):
            break
        if at >= end:
            if read_u16(moves_at + 2 * (state << 6 | END_CLASS)) & 1 != 0:
                return end
            break
        character_class, length = class_at(at, end, pattern_at)
        move = np.int64(read_u16(moves_at + 2 * (state << 6 | character_class)))
        if move & 1 != 0:
            found = failing = at
        following = move >> 1
        if following != state:
            note_failure(memo_at, state, max(since, failing + 1), at)
            since = at + length
            state = following
            if state == 0:
                return found
        at += length
    note_failure(memo_at, state, max(since, failing + 1), at)
    return found


@inlined
def note_failure(memo_at, state, since, at):
    """Note where a walk was in a state since its last match. (If it finds another, no walk comes there again.)"""
    if at > since and state != 0:
        write_i64(memo_at + 16 * state, since)
        write_i64(memo_at + 16 * state + 8, at)


@inlined
def match_end(at, end, start, pattern_at, memo_at):
    """Where the match that begins at an address ends, or 0 if none does."""
    if number_of(pattern_at, MEMO) != 0:
        return walk_with_memo(at, end, start, pattern_at, memo_at)
    return walk(at, end, start, pattern_at)


@part
def next_match(at, end, start, pattern_at, memo_at):
    """The next match after `at`, where none begins: its start and end, both `end` where there is none."""
    while True:
        at += class_at(at, end, pattern_at)[1]
        if at >= end:
            return end, end
        found = match_end(at, end, start, pattern_at, memo_at)
        if found != 0:
            return at, found


def new_split_scratch(pattern: PatternTables) -> NDArray[np.int64]:
    """Make the scratch of splitting: of each level the end of its part and of the match after it, then the memo."""
    return np.zeros(2 * (MOST_LEVELS + int(pattern.view(np.int64)[N_STATES])), dtype=np.int64)


@inlined
def begin_piece(split_at, pattern_at):
    """Make the scratch of splitting ready for another piece."""
    n = number_of(pattern_at, N_LEVELS)
    if number_of(pattern_at, MEMO) != 0:
        n = MOST_LEVELS + number_of(pattern_at, N_STATES)
    for i in range(n):
        write_i64(split_at + 16 * i, 0)
        write_i64(split_at + 16 * i + 8, 0)


@part
def pretoken_end(at, end, pattern_at, split_at):
    """Where the pretoken ends that starts at an address.

    at, end    : addresses    the rest of a piece, not empty
    pattern_at : address of a pattern's tables
    split_at   : address of the scratch, modified; `begin_piece` comes before the first pretoken of each piece

    Returns an address after `at`, at most `end`. Cost: 5 ns, and one look-up a character.
    """
    memo_at = split_at + 16 * MOST_LEVELS
    for level in range(number_of(pattern_at, N_LEVELS)):
        level_at = split_at + 16 * level
        part_end = read_i64(level_at)
        if part_end <= at:
            part_end = read_i64(level_at + 8)
            if part_end <= at:
                start = number_of(pattern_at, STARTS + level)
                part_end = match_end(at, end, start, pattern_at, memo_at)
                if part_end == 0:
                    part_end, following = next_match(at, end, start, pattern_at, memo_at)
                    write_i64(level_at + 8, following)
            write_i64(level_at, part_end)
        end = part_end
    return end
