"""Pretokens of a piece: the matches of a pattern's automaton, walked character by character.

A walk looks up one entry for each character, which gives the next state and whether a match ends before the character;
nothing else depends on the pattern. The last such end before the dead state is the end of the match. The text between two
matches is a pretoken, too.

A walk takes as many steps as a pretoken has characters, which a processor cannot predict. Most pretokens are words of
ASCII. If the pattern is known to match these as a whole (see patterns/ascii_words.py), their end is found from 32 bytes at
once.

If several automata split in turn, each is a level: a part of one level is split by the next, as if it were a text.

*Memo.* A walk may run far and fail, and so may the next one, which starts a character later: so do those of `\\s*\\n|\\s`
over spaces. Such a walk stays in one state (patterns in which it would cycle through several are not compiled). So for each
state the memo stores the range of a walk that found no match after it: a walk that enters this range in the same state will
not find one either.

`regex` defines what is right: tests compare these walks with it.
"""

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import called, inlined
from ..machine.intrinsics import mask_between_32, read_i64, read_u8, read_u16, read_u32, trailing_zeros, write_i64
from ..machine.utf8 import decode_character
from .pattern_tables import (
    ASCII_CLASSES,
    END_CLASS,
    ENDING,
    LOW_CLASSES,
    MEMO,
    MOST_LEVELS,
    MOVE_BYTES,
    MOVES_AT,
    N_LEVELS,
    N_STATES,
    OF_PIECES,
    STARTS,
    UNDECODABLE,
    WORD_CAPITALS,
    WORD_ENDS,
    WORD_LEADS,
    WORD_LEAST,
    PatternTables,
    class_of,
    number_of,
)

_ONE = np.uint64(1)
_SMALL_A, _LARGE_A = ord("a"), ord("A")  # not in a kernel: Numba would compile `ord`
_LONG_END = 64  # bytes of the longest last piece for which `differs_at_end` walks
_MEMO_BYTES = 16 // MOVE_BYTES  # of the memo, for each byte of a state's offset: 16 for each state


@inlined
def class_at(at, end, pattern_at):
    """The class of the character at an address before `end`, and its length in bytes."""
    first = np.int64(read_u8(at))
    if first < 0x80:
        return np.int64(read_u8(pattern_at + ASCII_CLASSES + first)), 1
    # Characters of two and three bytes, in fewer steps than `decode_character` takes.
    word = np.int64(read_u32(at))
    if first < 0xE0:
        if word & 0xC000 == 0x8000 and first >= 0xC2 and at + 2 <= end:
            return np.int64(read_u8(pattern_at + LOW_CLASSES + ((first & 0x1F) << 6 | word >> 8 & 0x3F))), 2
    elif word & 0xC0C0F0 == 0x8080E0 and at + 3 <= end:
        code_point = (first & 0x0F) << 12 | word >> 2 & 0xFC0 | word >> 16 & 0x3F
        if code_point >= 0x800 and code_point & 0xF800 != 0xD800:
            return np.int64(read_u8(pattern_at + LOW_CLASSES + code_point)), 3
    code_point, length = decode_character(at)
    if code_point < 0 or at + length > end:
        return number_of(pattern_at, UNDECODABLE), 1
    return class_of(code_point, pattern_at), length


@inlined
def row_bytes(pattern_at):
    """The bytes of the moves of one class."""
    return MOVE_BYTES * number_of(pattern_at, N_STATES)


@inlined
def word_end(at, end, pattern_at):
    """The end of the match that begins at an address, if it is a word of ASCII of at most 31 bytes; else 0.

    at, end : addresses    a text, not empty, for the last automaton, which must match such words (WORD_LEAST)

    Cost: 3 ns. See patterns/ascii_words.py for what counts as a word.
    """
    small, large = mask_between_32(at, _SMALL_A, 26), mask_between_32(at, _LARGE_A, 26)
    led = ~(small | large) & _ONE  # whether the first byte is not a letter
    letters = small >> led | large >> led & np.uint64(number_of(pattern_at, WORD_CAPITALS))
    n_letters = np.int64(trailing_zeros(~letters))
    least = number_of(pattern_at, WORD_LEAST)
    if n_letters < least:
        return np.int64(0)
    if led != 0 and not is_ascii_of(at, number_of(pattern_at, WORD_LEADS), pattern_at):
        return np.int64(0)
    first_letter = at + np.int64(led)
    after = first_letter + n_letters
    if after >= end:  # the bytes after the text may be letters, too
        return end if first_letter + least <= end else np.int64(0)
    # If all 32 bytes are letters, more letters may follow: then this is not the end.
    return after if is_ascii_of(after, number_of(pattern_at, WORD_ENDS), pattern_at) else np.int64(0)


@inlined
def is_ascii_of(at, classes, pattern_at):
    """Whether the byte at an address is an ASCII character whose class is in a set, the bits of an int64."""
    byte = np.int64(read_u8(at))
    return byte < 0x80 and classes >> np.int64(read_u8(pattern_at + ASCII_CLASSES + byte)) & 1 != 0


@inlined
def walk(at, end, start, pattern_at):
    """The end of the match that begins at an address, or 0 if none does.

    at, end : addresses    a text, not empty
    start   : int64        the start of an automaton

    Cost: 2 ns a character of ASCII, a few for others.
    """
    moves_at, row = pattern_at + number_of(pattern_at, MOVES_AT), row_bytes(pattern_at)
    state = start
    found = 0
    while at < end:
        character_class, length = class_at(at, end, pattern_at)
        move_at = moves_at + row * character_class + state
        found = at if read_u16(move_at + 2) != 0 else found
        state = np.int64(read_u16(move_at))
        if state == 0:
            return found
        at += length
    return end if read_u16(moves_at + row * END_CLASS + state + 2) != 0 else found


@called
def walk_with_memo(at, end, start, pattern_at, memo_at):
    """As `walk`, for a pattern whose walks may run far and fail.

    memo_at : address of int64[n_states, 2], modified    for each state, the range in which a failed walk was in it
    """
    moves_at, row = pattern_at + number_of(pattern_at, MOVES_AT), row_bytes(pattern_at)
    state = start
    found = 0
    since = at  # where the walk entered the state
    failing = at  # where the last match ended, or the walk began
    while True:
        noted_at = memo_at + _MEMO_BYTES * state
        if read_i64(noted_at) <= at < read_i64(noted_at + 8):
            break
        if at >= end:
            if read_u16(moves_at + row * END_CLASS + state + 2) != 0:
                return end
            break
        character_class, length = class_at(at, end, pattern_at)
        move_at = moves_at + row * character_class + state
        if read_u16(move_at + 2) != 0:
            found = failing = at
        following = np.int64(read_u16(move_at))
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
    """Store the range of a walk in a state since its last match. (If it finds a later one, no walk comes there again.)"""
    if at > since and state != 0:
        write_i64(memo_at + _MEMO_BYTES * state, since)
        write_i64(memo_at + _MEMO_BYTES * state + 8, at)


@inlined
def match_end(at, end, start, pattern_at, memo_at):
    """The end of the match that begins at an address, or 0 if none does."""
    if number_of(pattern_at, MEMO) != 0:
        return walk_with_memo(at, end, start, pattern_at, memo_at)
    return walk(at, end, start, pattern_at)


@called
def next_match(at, end, start, pattern_at, memo_at):
    """The start and end of the next match after `at`, where none begins; both `end` if there is none."""
    while True:
        at += class_at(at, end, pattern_at)[1]
        if at >= end:
            return end, end
        found = match_end(at, end, start, pattern_at, memo_at)
        if found != 0:
            return at, found


def new_split_scratch(pattern: PatternTables) -> NDArray[np.int64]:
    """Make the scratch of splitting: for each level the end of its part and of the match after it, then the memo. It is
    large enough for the tables of texts and for those of pieces."""
    numbers = pattern.view(np.int64)
    n_states = max(int(numbers[N_STATES]), int(numbers[int(numbers[OF_PIECES]) // 8 + N_STATES]))
    return np.zeros(2 * (MOST_LEVELS + n_states), dtype=np.int64)


@inlined
def begin_piece(split_at, pattern_at):
    """Make the scratch of splitting ready for another piece."""
    n = number_of(pattern_at, N_LEVELS)
    if number_of(pattern_at, MEMO) != 0:
        n = MOST_LEVELS + number_of(pattern_at, N_STATES)
    for i in range(n):
        write_i64(split_at + 16 * i, 0)
        write_i64(split_at + 16 * i + 8, 0)


@inlined
def ends_otherwise(at, end, pattern_at):
    """Whether a piece may be split differently if the text ends with it; False if it certainly is not.

    at, end    : addresses    the piece, not empty; PADDING bytes that follow it may be read
    pattern_at : address of the tables of pieces that text follows

    Cost: 1 ns for most pieces; a walk if the last character may make a difference.
    """
    ending = number_of(pattern_at, ENDING)
    last = np.int64(read_u8(end - 1))
    if ending == 0 or (last < 0x80 and not is_ascii_of(end - 1, ending, pattern_at)):
        return False
    return differs_at_end(at, end, pattern_at)


@called
def differs_at_end(at, end, pattern_at):
    """See `ends_otherwise`; True for every long piece, as many walks in turn may run over it and fail."""
    if end - at > _LONG_END:
        return True
    moves_at, row = pattern_at + number_of(pattern_at, MOVES_AT), row_bytes(pattern_at)
    while at < end:
        state = number_of(pattern_at, STARTS)
        following = at + class_at(at, end, pattern_at)[1]  # where the next walk starts if this one finds no match
        while at < end and state != 0:
            character_class, length = class_at(at, end, pattern_at)
            move_at = moves_at + row * character_class + state
            following = at if read_u16(move_at + 2) != 0 else following
            state = np.int64(read_u16(move_at))
            at += length
        end_at = moves_at + row * END_CLASS + state
        if state != 0 and read_u16(end_at) != 0:
            return True
        at = following if state == 0 or read_u16(end_at + 2) == 0 else end
    return False


@inlined
def pretoken_end(at, end, pattern_at, split_at):
    """The end of the pretoken that starts at an address.

    at, end    : addresses    the rest of a piece, not empty; PADDING bytes that follow it may be read
    pattern_at : address of a pattern's tables
    split_at   : address of the scratch, modified; `begin_piece` comes before the first pretoken of each piece

    Returns an address after `at`, at most `end`. Cost: 4 ns for a word of ASCII; for others 5 ns, and one look-up for each
    character. It is inlined, as a call costs as much as a short walk.
    """
    if at + 1 == end:
        return end  # a single byte is a single character
    memo_at = split_at + 16 * MOST_LEVELS
    n_levels = number_of(pattern_at, N_LEVELS)
    for level in range(n_levels):
        level_at = split_at + 16 * level
        part_end = read_i64(level_at)
        if part_end <= at:
            part_end = read_i64(level_at + 8)
            if part_end <= at:
                part_end = 0
                if level == n_levels - 1 and number_of(pattern_at, WORD_LEAST) != 0:
                    part_end = word_end(at, end, pattern_at)
                start = number_of(pattern_at, STARTS + level)
                if part_end == 0:
                    part_end = match_end(at, end, start, pattern_at, memo_at)
                if part_end == 0:
                    part_end, following = next_match(at, end, start, pattern_at, memo_at)
                    write_i64(level_at + 8, following)
            write_i64(level_at, part_end)
        end = part_end
    return end
