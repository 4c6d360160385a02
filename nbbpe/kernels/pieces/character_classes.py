"""Characters: their UTF-8, and the classes of a block of them."""

import numpy as np

from ..compiler.jit import inlined
from ..machine.intrinsics import BLOCK, trailing_zeros, write_u8, write_u16
from ..machine.utf8 import decode_character
from .pattern_tables import UNDECODABLE, class_of, number_of

_ONE = np.uint64(1)


@inlined
def write_class(to_at, character_class, length):
    """Write the class of a character of `length` bytes, at most 4, for each of them."""
    if length == 1:
        write_u8(to_at, character_class)
    else:
        twice = character_class * 0x101
        write_u16(to_at, twice)
        write_u16(to_at + length - 2, twice)


@inlined
def class_each(block_at, high, classes_at, pattern_at):
    """Class non-ASCII characters of a block of 64 bytes, one at a time.

    high       : uint64   the bytes that they, or bytes that are no UTF-8, consist of
    classes_at : address of uint8[64 + 3], modified    the class of each byte
    pattern_at : see pattern_tables.py

    Returns (bits of bytes that continue a character, what is left of the last one for the next block: see the state of
    boundaries.block_cuts). Cost: a few nanoseconds for each character.
    """
    inside = np.uint64(0)
    leaving = 0
    undecodable = number_of(pattern_at, UNDECODABLE)
    while high:
        bit = trailing_zeros(high)
        code_point, length = decode_character(block_at + bit)
        character_class = undecodable if code_point < 0 else class_of(code_point, pattern_at)
        write_class(classes_at + bit, character_class, length)
        bits = ((_ONE << np.uint64(length)) - _ONE) << np.uint64(bit)
        inside |= bits & (bits << _ONE)
        high &= ~bits
        if bit + length > BLOCK:
            leaving = ((bit + length - BLOCK) << 16) | (character_class << 20)
    return inside, leaving
