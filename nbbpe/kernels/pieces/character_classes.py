"""Classing the characters of a block that are not ASCII, one character at a time."""

import numpy as np

from ..compiler.jit import inlined
from ..machine.intrinsics import BLOCK, trailing_zeros
from ..machine.intrinsics_look_up import blend_64
from ..machine.utf8 import decode_character
from .pattern_tables import UNDECODABLE, class_of, number_of

# Bits of the state of boundaries.block_cuts: how many bytes of the last character are in the next block, and its class.
ENTERED, ENTERED_CLASS = 16, 20
_ONE = np.uint64(1)


@inlined
def class_each(block_at, high, classes_at, pattern_at):
    """Class non-ASCII characters of a block of 64 bytes, one at a time.

    high       : uint64   the bytes of these characters, and bytes of invalid UTF-8
    classes_at : address of uint8[64], modified    the class of each byte
    pattern_at : see pattern_tables.py

    Returns (bits of bytes that continue a character, the part of the scan's state for a last character that continues in
    the next block: see boundaries.py). Cost: a few nanoseconds for each character.
    """
    inside = np.uint64(0)
    leaving = 0
    undecodable = number_of(pattern_at, UNDECODABLE)
    while high:
        bit = trailing_zeros(high)
        code_point, length = decode_character(block_at + bit)
        character_class = undecodable if code_point < 0 else class_of(code_point, pattern_at)
        bits = ((_ONE << np.uint64(length)) - _ONE) << np.uint64(bit)
        blend_64(classes_at, bits, character_class)
        inside |= bits & (bits << _ONE)
        high &= ~bits
        if bit + length > BLOCK:
            leaving = ((bit + length - BLOCK) << ENTERED) | (character_class << ENTERED_CLASS)
    return inside, leaving
