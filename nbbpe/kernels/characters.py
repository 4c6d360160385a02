"""Characters: their UTF-8, and the classes of a block of them."""

import numpy as np

from .jit import inlined
from .pattern_tables import UNDECODABLE, class_of, number_of
from .simd import BLOCK, read_u8, trailing_zeros, write_u8

_ONE = np.uint64(1)


@inlined
def decode_character(text_at):
    """Decode the UTF-8 character at an address, strictly as Python does.

    Returns (code point, length in bytes), or (-1, 1) where no valid character starts. Reads up to 4 bytes.
    """
    first = np.int64(read_u8(text_at))
    if first < 0x80:
        return first, 1
    if first < 0xC2 or first > 0xF4:
        return -1, 1
    second = np.int64(read_u8(text_at + 1))
    if second & 0xC0 != 0x80:
        return -1, 1
    if first < 0xE0:
        return ((first & 0x1F) << 6) | (second & 0x3F), 2
    third = np.int64(read_u8(text_at + 2))
    if third & 0xC0 != 0x80:
        return -1, 1
    if first < 0xF0:
        code_point = ((first & 0x0F) << 12) | ((second & 0x3F) << 6) | (third & 0x3F)
        if code_point < 0x800 or 0xD800 <= code_point <= 0xDFFF:
            return -1, 1
        return code_point, 3
    fourth = np.int64(read_u8(text_at + 3))
    code_point = ((first & 0x07) << 18) | ((second & 0x3F) << 12) | ((third & 0x3F) << 6) | (fourth & 0x3F)
    if fourth & 0xC0 != 0x80 or code_point < 0x10000 or code_point > 0x10FFFF:
        return -1, 1
    return code_point, 4


@inlined
def encode_character(code_point, to_at):
    """Write a code point, which must be no surrogate, as UTF-8 to an address; returns the number of bytes."""
    if code_point < 0x80:
        write_u8(to_at, code_point)
        return 1
    if code_point < 0x800:
        write_u8(to_at, 0xC0 | code_point >> 6)
        n = 2
    elif code_point < 0x10000:
        write_u8(to_at, 0xE0 | code_point >> 12)
        write_u8(to_at + 1, 0x80 | code_point >> 6 & 0x3F)
        n = 3
    else:
        write_u8(to_at, 0xF0 | code_point >> 18)
        write_u8(to_at + 1, 0x80 | code_point >> 12 & 0x3F)
        write_u8(to_at + 2, 0x80 | code_point >> 6 & 0x3F)
        n = 4
    write_u8(to_at + n - 1, 0x80 | code_point & 0x3F)
    return n


@inlined
def class_each(block_at, high, out_at, pattern_at, mark):
    """Class non-ASCII characters of a block of 64 bytes, one at a time.

    high   : uint64   the bytes that they, or bytes that are no UTF-8, consist of
    pattern_at : see pattern_tables.py
    mark   : called as mark(out_at, class, bits) with the bits of a character's bytes

    Returns (bits of bytes that continue a character, what is left of the last one for the next block: see the state of
    scan.block_cuts). Cost: a few nanoseconds for each character.
    """
    inside = np.uint64(0)
    leaving = 0
    undecodable = number_of(pattern_at, UNDECODABLE)
    while high:
        bit = trailing_zeros(high)
        code_point, length = decode_character(block_at + bit)
        character_class = undecodable if code_point < 0 else class_of(code_point, pattern_at)
        bits = ((_ONE << np.uint64(length)) - _ONE) << np.uint64(bit)
        mark(out_at, character_class, bits)
        inside |= bits & (bits << _ONE)
        high &= ~bits
        if bit + length > BLOCK:
            leaving = ((bit + length - BLOCK) << 16) | (character_class << 20)
    return inside, leaving
