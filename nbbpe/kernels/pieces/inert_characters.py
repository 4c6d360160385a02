"""Finding the first character of a text that a normal form may change, or compose with its neighbours."""

import numpy as np

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int64, reads, uint8
from ..machine.intrinsics import BLOCK, address_of, mask_between, read_u8, trailing_zeros
from ..machine.utf8 import decode_character

CODE_POINTS = 0x20000  # in the table; the code points above it are not inert
_LONGEST = 4  # bytes of a character
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def _is_inert(code_point, inert_at):
    """Whether a character is inert; a byte of invalid UTF-8 (-1) is."""
    if code_point >= CODE_POINTS:
        return False
    return code_point < 0 or read_u8(inert_at + (code_point >> 3)) >> (code_point & 7) & 1 != 0


@kernel(reads(uint8[:]), int64, int64, reads(uint8[:]))
def skip_inert(text, start, end, inert):
    """The place of the first character that is not inert, or that `end` may cut off; `end` if there is none.

    text  : uint8[n], read                 up to `end` only; a character begins at `start`
    inert : uint8[CODE_POINTS // 8], read  a bit for each code point, the lowest first: whether the character is inert

    Cost: 1 ns for 50 bytes of ASCII, about 3 ns for any other character.
    """
    text_at, inert_at = address_of(text), address_of(inert)
    at = start
    while at + BLOCK + _LONGEST <= end:
        high = mask_between(text_at + at, 0x80, 0x80)
        n_done = BLOCK
        while high:
            bit = trailing_zeros(high)
            code_point, length = decode_character(text_at + at + bit)
            if not _is_inert(code_point, inert_at):
                return at + bit
            if bit + length >= BLOCK:
                n_done = bit + length
                break
            high &= _ALL << np.uint64(bit + length)
        at += n_done
    while at < end:
        first = np.int64(read_u8(text_at + at))
        length = 1
        if first >= 0x80:
            n_bytes = 1 if first < 0xC2 or first > 0xF4 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            if at + n_bytes > end:
                return at
            code_point, length = decode_character(text_at + at)
            if not _is_inert(code_point, inert_at):
                return at
        at += length
    return at
