"""Characters to UTF-8 and back, strictly as Python does."""

import numpy as np

from ..compiler.jit import inlined
from .intrinsics import read_u8, write_u8


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
