"""Pretokens of a short piece by partial automata, as marks: patterns/partial_automaton.py explains what is undecided.

marks    uint8[length of the piece]    1 for the last byte of each pretoken, else 0
"""

import numpy as np

from ..compiler.jit import called, inlined
from ..machine.intrinsics import read_u8, read_u16, write_u8
from .pattern_tables import (
    ASKS,
    END_CLASS,
    IF_NOT,
    IF_SO,
    MATCH_ENDS,
    MOVE_BYTES,
    MOVES_AT,
    N_LEVELS,
    NO_MATCH,
    STARTS,
    UNDECIDED,
    number_of,
)
from .pretokens import class_at, row_bytes

MOST_MARKED = 254  # bytes of a piece: walk after walk may run over all of it and fail
MOST_ASKED = 1000  # look-aheads in a piece: each step of each walk may ask, and each answer run over all of it


@inlined
def marked_end(at, end, marks_at):
    """The end of the pretoken that starts at an address of a marked piece; marks_at : of its first mark.

    end : of the piece, where a pretoken ends whatever is marked
    """
    while at + 1 < end and read_u8(marks_at) == 0:
        at += 1
        marks_at += 1
    return at + 1


@inlined
def start_after(start, class_before, moves_at, row):
    """The state in which a match starts after a character of a class; -1 for none, at the start of a text.

    moves_at, row : of the pattern's moves, and the bytes of those of one class
    """
    return start if class_before < 0 else np.int64(read_u16(moves_at + row * class_before + start - MOVE_BYTES))


@called
def is_ahead(at, end, start, class_before, pattern_at):
    """Whether a look-ahead matches from an address on: 1, 0, or -1 if that is undecided. Arguments are those of
    `walk_partly`."""
    moves_at, row = pattern_at + number_of(pattern_at, MOVES_AT), row_bytes(pattern_at)
    state = start_after(start, class_before, moves_at, row)
    while True:
        character_class, length = np.int64(END_CLASS), 0
        if at < end:
            character_class, length = class_at(at, end, pattern_at)
        move_at = moves_at + row * character_class + state
        tells = read_u16(move_at + 2)
        if tells != NO_MATCH:
            return 1 if tells == MATCH_ENDS else -1
        state = np.int64(read_u16(move_at))
        if state == 0:
            return 0
        at += length


@inlined
def walk_partly(at, end, start, class_before, may_ask, pattern_at):
    """The end of the match that begins at an address, the class of its last character, and what is left of `may_ask`.

    at, end      : addresses    a text, not empty
    start        : int64        the start of an automaton
    class_before : int64        of the character before, -1 if there is none
    may_ask      : int64        how many look-aheads may be asked for; if more must be, the match is undecided

    The end is 0 if no match begins there, and -1 if that is undecided.
    """
    moves_at, row = pattern_at + number_of(pattern_at, MOVES_AT), row_bytes(pattern_at)
    state = start_after(start, class_before, moves_at, row)
    found, class_of_found = np.int64(0), np.int64(0)
    while True:
        character_class, length = np.int64(END_CLASS), 0
        if at < end:
            character_class, length = class_at(at, end, pattern_at)
        move_at = moves_at + row * character_class + state
        while read_u16(move_at + 2) == ASKS:
            asking_at = moves_at + np.int64(read_u16(move_at))
            answer = is_ahead(at, end, np.int64(read_u16(asking_at + row * END_CLASS)), class_before, pattern_at)
            may_ask -= 1
            if answer < 0 or may_ask < 0:
                return np.int64(-1), class_before, may_ask
            state = np.int64(read_u16(asking_at + row * (IF_SO if answer != 0 else IF_NOT)))
            if state == 0:
                return found, class_of_found, may_ask
            move_at = moves_at + row * character_class + state
        tells = read_u16(move_at + 2)
        if tells == UNDECIDED:
            return np.int64(-1), class_before, may_ask
        if tells == MATCH_ENDS:
            found, class_of_found = at, class_before
        state = np.int64(read_u16(move_at))  # 0 after the end
        if state == 0:
            return found, class_of_found, may_ask
        class_before = character_class
        at += length


@called
def mark_pretokens(start, end, pattern_at, marks_at):
    """Mark the pretokens of a piece of at most MOST_MARKED bytes, not empty.

    start, end : addresses    the piece; PADDING bytes that follow it may be read
    pattern_at : address of a pattern's tables
    marks_at   : address of uint8[end - start], filled

    Returns the number of pretokens, or 0 if one is undecided, or there are no automata. Cost: a few ns a character of
    each level, and at most a few us.
    """
    n_levels = number_of(pattern_at, N_LEVELS)
    if n_levels == 0:
        return 0
    to_mark = marks_at - start - 1  # from where a pretoken ends to the mark of its last byte
    for at in range(start, end):
        write_u8(to_mark + at + 1, 0)
    write_u8(to_mark + end, 1)
    n, may_ask = 1, np.int64(MOST_ASKED)
    for level in range(n_levels):
        start_of_match = number_of(pattern_at, STARTS + level)
        at = start
        while at < end:
            part_end = marked_end(at, end, to_mark + at + 1)
            class_before, left = np.int64(-1), at  # where the text begins that is left between two matches
            while at < part_end:
                found, class_of_found, may_ask = walk_partly(
                    at, part_end, start_of_match, class_before, may_ask, pattern_at
                )
                if found < 0:
                    return 0
                if found == 0:
                    class_before, length = class_at(at, part_end, pattern_at)
                    at += length
                else:
                    class_before = class_of_found
                    n += (left < at) + (found < part_end)
                    write_u8(to_mark + (at if left < at else found), 1)
                    write_u8(to_mark + found, 1)
                    at = left = found
    return n
