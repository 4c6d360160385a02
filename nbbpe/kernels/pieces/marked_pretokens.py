"""Marking the pretokens of a short piece, by partial automata; see patterns/partial_automaton.py for what is undecided.

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
    STARTS,
    UNDECIDED,
    number_of,
)
from .pretokens import class_at, row_bytes

MOST_MARKED = 254  # bytes of a piece for which encoders keep scratch
MARK_BYTES = 3  # of scratch for each byte of a piece
_STEPS, _STEPS_A_BYTE = 1 << 16, 64  # limit all walks in a piece: walk after walk may run over all of it and fail
_UNDECIDED, _ASKED = -1, -2  # in place of where a match ends
_WITHIN = 255  # among classes: not the first byte of a character


@inlined
def marked_end(at, end, marks_at):
    """The end of the pretoken that starts at the address `at` in a marked piece.

    end      : address of the end of the piece, where a pretoken ends even without a mark
    marks_at : address of the mark of the byte at `at`
    """
    while at + 1 < end and read_u8(marks_at) == 0:
        at += 1
        marks_at += 1
    return at + 1


@inlined
def start_after(start, class_before, moves_at, row):
    """The state in which a match starts after a character of a class; -1 for none, at the start of a text.

    moves_at, row : address of the pattern's moves, and the bytes of the moves of one class
    """
    return start if class_before < 0 else np.int64(read_u16(moves_at + row * class_before + start - MOVE_BYTES))


@called
def find_ahead(at, end, start, pattern_at, to_class, to_found):
    """Find where the look-aheads of one automaton match in a text, not empty.

    at, end  : addresses    the text
    start    : int64        the start of the automaton
    to_class : int64        distance from a byte of the text to the byte for its class, filled; _WITHIN for all bytes of a
                            character but its first
    to_found : int64        distance from a byte to the byte for what matches there, filled: bit r for look-ahead r

    Cost: a few ns a character for each look-ahead, from the end to the start.
    """
    moves_at, row = pattern_at + number_of(pattern_at, MOVES_AT), row_bytes(pattern_at)
    place = at
    while place < end:
        character_class, length = class_at(place, end, pattern_at)
        write_u8(to_class + place, character_class)
        write_u8(to_found + place, 0)
        for i in range(1, length):
            write_u8(to_class + place + i, _WITHIN)
        place += length
    bit = 1
    look = np.int64(read_u16(moves_at + row * END_CLASS + start - MOVE_BYTES))
    while look != 0:
        state, place = look + MOVE_BYTES, end
        while place > at:
            before = place - 1
            while read_u8(to_class + before) == _WITHIN:
                before -= 1
            move_at = moves_at + row * np.int64(read_u8(to_class + before)) + state
            if place < end and read_u16(move_at + 2) != 0:
                write_u8(to_found + place, read_u8(to_found + place) | bit)
            state, place = np.int64(read_u16(move_at)), before
        if read_u16(moves_at + row * END_CLASS + state + 2) != 0:
            write_u8(to_found + at, read_u8(to_found + at) | bit)
        look = np.int64(read_u16(moves_at + row * END_CLASS + look))
        bit <<= 1


@inlined
def walk_partly(at, end, start, class_before, steps, pattern_at, to_found):
    """The end of the match that begins at an address, the class of its last character, and how many `steps` are left.

    at, end      : addresses    a text, not empty
    start        : int64        the start of an automaton
    class_before : int64        of the character before, -1 if there is none
    steps        : int64        how many may be made; if more are needed, the match is undecided
    to_found     : int64        see find_ahead; 0 if it was not called for this text

    The end is 0 if no match begins there, _UNDECIDED if that is not known, and _ASKED if find_ahead must be called first.
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
            if to_found == 0:
                return np.int64(_ASKED), class_before, steps
            asking_at = moves_at + np.int64(read_u16(move_at))
            number = np.int64(read_u16(asking_at + row * END_CLASS + 2)) - ASKS
            is_so = (np.int64(read_u8(to_found + at)) >> number) & 1
            state = np.int64(read_u16(asking_at + row * (IF_SO if is_so != 0 else IF_NOT)))
            if state == 0:
                return found, class_of_found, steps
            move_at = moves_at + row * character_class + state
        tells = read_u16(move_at + 2)
        steps -= 1
        if tells == UNDECIDED or steps < 0:
            return np.int64(_UNDECIDED), class_before, steps
        if tells == MATCH_ENDS:
            found, class_of_found = at, class_before
        state = np.int64(read_u16(move_at))  # 0 after the end
        if state == 0:
            return found, class_of_found, steps
        class_before = character_class
        at += length


@called
def mark_pretokens(start, end, pattern_at, marks_at):
    """Mark the pretokens of a piece, not empty.

    start, end : addresses    the piece; PADDING bytes that follow it may be read
    pattern_at : address of a pattern's tables
    marks_at   : address of uint8[MARK_BYTES * (end - start)], of which the first third is filled with the marks

    Returns the number of pretokens, or 0 if one is undecided, or there are no automata. Cost: a few ns a character for
    each level; at most 0.2 us a byte, if walks run far again and again.
    """
    n_levels = number_of(pattern_at, N_LEVELS)
    if n_levels == 0:
        return 0
    to_mark = marks_at - start - 1  # from where a pretoken ends to the mark of its last byte
    to_class = marks_at + (end - start) - start
    to_found = to_class + (end - start)
    for at in range(start, end):
        write_u8(to_mark + at + 1, 0)
    write_u8(to_mark + end, 1)
    n, steps = 1, np.int64(_STEPS + _STEPS_A_BYTE * (end - start))
    for level in range(n_levels):
        start_of_match = number_of(pattern_at, STARTS + level)
        at = start
        while at < end:
            part_end = marked_end(at, end, to_mark + at + 1)
            class_before, left = np.int64(-1), at  # `left`: where the text after the last match begins
            first, to_found_in_part = at, np.int64(0)
            while at < part_end:
                found, class_of_found, steps = walk_partly(
                    at, part_end, start_of_match, class_before, steps, pattern_at, to_found_in_part
                )
                if found == _ASKED:
                    find_ahead(first, part_end, start_of_match, pattern_at, to_class, to_found)
                    to_found_in_part = to_found
                    continue
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
