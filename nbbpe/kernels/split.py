"""Pretokens of a piece: what the regex of a named pattern matches, walked by hand.

The named patterns are of one family: a pretoken is the first that fits of a contraction, a word with a character that
leads it, numbers, symbols, and white space. What they differ in is a *grammar* (patterns.Grammar says what its fields
mean), packed into one int64. No match depends on what stands before it, so a piece is split by asking again and again
where the pretoken ends that starts here.

`regex` remains the authority: tests/test_patterns.py holds this walk against it, for every named pattern.
"""

import numpy as np

from .characters import (
    APOSTROPHE,
    CASELESS,
    LOWER,
    MARK,
    NEWLINE,
    NUMBER,
    OTHER,
    SLASH,
    SPACE,
    UPPER,
    WHITE_SPACE,
    class_of,
    decode_character,
)
from .jit import inlined, part
from .simd import N_CLASSES, read_u8

# The lowest bit of each field of a grammar: three sets of classes, two numbers of two bits, and six bits.
LEADS, LETTERS, TAIL = 0, N_CLASSES, 2 * N_CLASSES
DIGITS, CONTRACTIONS = 3 * N_CLASSES, 3 * N_CLASSES + 2
CASED, LED_DIGITS, LONE_DIGITS, LINES, WHOLE_END, WHOLE_WORDS = (3 * N_CLASSES + 4 + i for i in range(6))
# What CONTRACTIONS can be.
LOWER_CASE, ANY_CASE, SUFFIX = range(3)

_SET = (1 << N_CLASSES) - 1
_SYMBOLS = (1 << MARK) | (1 << APOSTROPHE) | (1 << SLASH) | (1 << OTHER)
_CASELESS = (1 << CASELESS) | (1 << MARK)


@inlined
def class_at(at, end, tables):
    """The class of the character at an address before `end`, as a set of one, and its length in bytes."""
    first = np.int64(read_u8(at))
    if first < 0x80:
        return 1 << np.int64(read_u8(tables[3] + first)), 1  # ASCII lies in the first page
    code_point, length = decode_character(at)
    if code_point < 0 or at + length > end:
        return 1 << OTHER, 1
    return 1 << class_of(code_point, tables), length


@inlined
def run_end(at, end, members, tables):
    """Where the run of characters ends that are of the classes `members`. Cost: 1 ns for ASCII, a few for others."""
    while at < end:
        character, length = class_at(at, end, tables)
        if character & members == 0:
            break
        at += length
    return at


@inlined
def starts_as_whole_word(at, end, grammar, tables):
    """Whether a piece begins as a word, in a pattern where such a piece is one pretoken (WHOLE_WORDS). Cost: 3 ns."""
    first, length = class_at(at, end, tables)
    letters = (grammar >> LETTERS) & _SET
    is_led = (grammar >> LEADS) & first != 0 and first != 1 << APOSTROPHE and at + length < end
    second = class_at(at + length, end, tables)[0] if is_led else first
    return (grammar >> WHOLE_WORDS) & 1 != 0 and second & letters != 0


@inlined
def contraction_end(at, end, any_case):
    """Where the contraction ends that starts with the apostrophe at an address: 's, 'd, 'm, 't, 'll, 've, 're; or `at`."""
    if at + 1 >= end:
        return at
    fold = 0x20 if any_case else 0
    first = np.int64(read_u8(at + 1))
    letter = first | fold
    if letter == ord("s") or letter == ord("d") or letter == ord("m") or letter == ord("t"):
        return at + 2
    if at + 2 >= end:
        return at
    second = np.int64(read_u8(at + 2))
    if any_case and first == 0xC5 and second == 0xBF:
        return at + 3  # U+017F, the long s: the one character beyond ASCII that is one of these letters in another case
    if letter == ord("l"):
        return at + 3 if second | fold == ord("l") else at
    if letter == ord("v") or letter == ord("r"):
        return at + 3 if second | fold == ord("e") else at
    return at


@part
def cased_word_end(at, end, tables):
    """Where the word ends that starts at an address, or `at` where none does, in a grammar that cuts by case.

    Upper-case letters and caseless ones, then lower-case and caseless ones, and a contraction. Caseless letters and marks
    may be either part; a word without lower-case letters ends with the last of them, and one of upper-case letters alone
    is a word too.
    """
    word = at
    caseless = at  # where the last caseless character ends
    lower = False
    while word < end:
        character, length = class_at(word, end, tables)
        if character & _CASELESS != 0:
            caseless = word + length
        elif character != 1 << UPPER:
            lower = character == 1 << LOWER
            break
        word += length
    if lower:
        word = run_end(word, end, _CASELESS | (1 << LOWER), tables)
    elif caseless > at:
        word = caseless
    if at < word < end and read_u8(word) == ord("'"):
        return contraction_end(word, end, True)
    return word


@part
def digits_end(at, end, most, tables):
    """Where the run of numbers ends, after `most` of them; 0 stands for no limit."""
    if most == 0:
        return run_end(at, end, 1 << NUMBER, tables)
    for _ in range(most):
        if at >= end:
            break
        character, length = class_at(at, end, tables)
        if character != 1 << NUMBER:
            break
        at += length
    return at


@part
def blanks_end(at, end, grammar, tables):
    """Where the pretoken of white space ends that starts at an address, of what no other alternative begins with.

    White space goes up to its last newline by LINES; else up to the end of the piece (by LONE_DIGITS also up to a number),
    or up to its last character, which may lead what follows. By WHOLE_END, the end of the piece comes before newlines.
    """
    lone_digits = (grammar >> LONE_DIGITS) & 1
    lines = (grammar >> LINES) & 1
    whole_end = (grammar >> WHOLE_END) & 1
    after = at
    last = at
    newline = at
    while after < end:
        character, length = class_at(after, end, tables)
        if character & WHITE_SPACE == 0:
            if lone_digits != 0 and character == 1 << NUMBER:
                return after
            break
        last = after
        after += length
        if character == 1 << NEWLINE:
            newline = after
    if lines != 0 and newline > at and (whole_end == 0 or after < end):
        return newline
    return last if at < last and after < end else after


@part
def pretoken_end(at, end, grammar, tables):
    """Where the pretoken ends that starts at an address.

    at, end : addresses      the rest of a piece, not empty
    grammar : int64          see patterns.Grammar
    tables  : see scan.addresses

    Returns an address after `at`, at most `end`. Cost: 5 to 10 ns, and one look-up a character.
    """
    contractions = (grammar >> CONTRACTIONS) & 3
    first, length = class_at(at, end, tables)
    if first == 1 << APOSTROPHE and contractions != SUFFIX:
        after = contraction_end(at, end, contractions == ANY_CASE)
        if after > at:
            return after
    word = at + length if first & (grammar >> LEADS) != 0 else at
    if (grammar >> CASED) & 1 != 0:
        after = cased_word_end(word, end, tables)
    else:
        after = run_end(word, end, (grammar >> LETTERS) & _SET, tables)
    if after > word:
        return after
    if first == 1 << NUMBER:
        return digits_end(at, end, (grammar >> DIGITS) & 3, tables)
    start = at
    if first == 1 << SPACE:
        start += length
        if (grammar >> LED_DIGITS) & 1 != 0:
            after = digits_end(start, end, (grammar >> DIGITS) & 3, tables)
            if after > start:
                return after
    after = run_end(start, end, _SYMBOLS, tables)
    if after > start:
        return run_end(after, end, (grammar >> TAIL) & _SET, tables)
    return blanks_end(at, end, grammar, tables)
