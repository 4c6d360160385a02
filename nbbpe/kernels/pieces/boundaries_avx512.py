"""Certain boundaries as boundaries.py finds them, where the processor can look up 64 bytes in one instruction.

Rules are bits here: a byte has eight of them that say before which rules' boundaries it may stand, eight for after, and so
on. So a boundary stands between two bytes whose rules, of the one before and of the other after, have a bit in common.
ASCII is looked up at once. In other blocks each byte gets the class of its character first, and then the rules of its
class. Characters that differ in their last byte only, as those of most alphabets do, are classed all at once.
"""

import numpy as np

from ..compiler.jit import inlined
from ..machine.intrinsics import mask_between, popcount, read_u8, trailing_zeros
from ..machine.intrinsics_avx512 import ascii_cuts, blend_64, class_cuts, look_up_64, look_up_128, spread_64
from .character_classes import class_each
from .pattern_tables import ASCII_CLASSES, ASCII_RULES, CLASS_RULES, HANGUL, IDEOGRAPHS, LOW_CLASSES, number_of

MANY = 12  # non-ASCII bytes in a block from which on classing them together costs less than one character at a time

# As in boundaries.py.
_ENTERED, _ENTERED_CLASS = 16, 20
_FIRST_LONG, _FIRST_SURROGATE, _END_SURROGATES = 0x800 >> 6, 0xD800 >> 6, 0xE000 >> 6  # pages of 64 code points
_ONE = np.uint64(1)
_TWO = np.uint64(2)


@inlined
def class_together(block_at, high, classes_at, pattern_at):
    """Class the characters of two and of three bytes of a block, all those at once that differ in their last byte only.

    high       : uint64     the non-ASCII bytes but those that continue a character of the block before
    classes_at : uint8[64], modified at the bytes of characters that are classed

    Returns the bits of these bytes. Left are longer characters, one that reaches into the next block, and bytes that are no
    UTF-8. Cost: some 10 ns, and 6 for each beginning that characters have in common, of which most scripts have one or two
    in a block.
    """
    tables_at = pattern_at + LOW_CLASSES
    following = mask_between(block_at, 0x80, 0x40)
    # Of each character the last byte gets its class.
    ends = np.uint64(0)
    left = mask_between(block_at, 0xC2, 0x1E) & high & (following >> _ONE)
    while left:
        first = np.int64(read_u8(block_at + trailing_zeros(left)))
        same = mask_between(block_at, first, 1) & left
        look_up_64(tables_at + ((first & 0x1F) << 6), block_at, same << _ONE, classes_at)
        ends |= same << _ONE
        left ^= same
    threes = mask_between(block_at, 0xE0, 0x10) & high & (following >> _ONE) & (following >> _TWO)
    # U+5000 to U+8FFF are ideographs and U+B000 to U+CFFF Hangul, mostly of one class each, where beginnings have little in
    # common.
    of_ideographs, of_hangul = number_of(pattern_at, IDEOGRAPHS), number_of(pattern_at, HANGUL)
    ideographs = mask_between(block_at, 0xE5, 4) & threes if of_ideographs >= 0 else np.uint64(0)
    hangul = mask_between(block_at, 0xEB, 2) & threes if of_hangul >= 0 else np.uint64(0)
    left = threes ^ ideographs ^ hangul
    ends_of_three = np.uint64(0)
    while left:
        bit = trailing_zeros(left)
        first, second = np.int64(read_u8(block_at + bit)), np.int64(read_u8(block_at + bit + 1))
        same = mask_between(block_at, first, 1) & (mask_between(block_at, second, 1) >> _ONE) & left
        page = (first & 0x0F) << 6 | (second & 0x3F)
        # What has a shorter form, or is a surrogate, is no UTF-8.
        if page >= _FIRST_LONG and (page < _FIRST_SURROGATE or page >= _END_SURROGATES):
            look_up_64(tables_at + (page << 6), block_at, same << _TWO, classes_at)
            ends_of_three |= same << _TWO
        left ^= same
    seconds = (ends | ends_of_three) >> _ONE
    firsts = ends_of_three >> _TWO
    spread_64(classes_at, seconds, firsts)
    ideographs |= (ideographs << _ONE) | (ideographs << _TWO)
    set_classes(classes_at, of_ideographs, ideographs)
    hangul |= (hangul << _ONE) | (hangul << _TWO)
    set_classes(classes_at, of_hangul, hangul)
    return ends | ends_of_three | seconds | firsts | ideographs | hangul


@inlined
def set_classes(classes_at, character_class, bits):
    """Give a class to the bytes whose bits are set."""
    blend_64(classes_at, bits, character_class)


@inlined
def cuts_by_look_up(block_at, state, pattern_at, classes_at):
    """See boundaries.block_cuts; the scratch holds the class of each byte instead of masks. Cost: some 6 ns for ASCII."""
    high = mask_between(block_at, 128, 128)
    if high == 0:
        return ascii_cuts(block_at, pattern_at + ASCII_RULES, state & 0xFFFF)
    look_up_128(pattern_at + ASCII_CLASSES, block_at, classes_at)
    entered = (_ONE << np.uint64((state >> _ENTERED) & 15)) - _ONE
    if entered:
        set_classes(classes_at, (state >> _ENTERED_CLASS) & 63, entered)
    rest = high & ~entered
    together = np.uint64(0)
    if popcount(rest) >= MANY:
        together = class_together(block_at, rest, classes_at, pattern_at)
    inside, leaving = class_each(block_at, rest & ~together, classes_at, pattern_at, set_classes)
    inside |= entered | (together & mask_between(block_at, 0x80, 0x40))
    cuts, more_cuts, entering = class_cuts(classes_at, pattern_at + CLASS_RULES, state & 0xFFFF)
    return cuts & ~inside, more_cuts & ~(inside | high), entering | leaving
