"""Finding the characters that a vocabulary of characters lacks (see text/byte_fallback.py)."""

import numpy as np

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int64, reads, uint8
from ..machine.intrinsics import BLOCK, address_of, mask_between, read_u8, trailing_zeros
from ..machine.utf8 import decode_character

KNOWN_BYTES = 0x110000 // 8


@inlined
def _character_at(text_at, at, end):
    """As `decode_character`, but (-1, 1) for a character that `end` cuts off. Nothing after `end` is read."""
    first = np.int64(read_u8(text_at + at))
    n_bytes = 1 if first < 0xC2 or first > 0xF4 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if at + n_bytes > end:
        return np.int64(-1), np.int64(1)
    code_point, length = decode_character(text_at + at)
    return np.int64(code_point), np.int64(length)


@kernel(reads(uint8[:]), reads(uint8[:]), int64[:])
def find_unknown(text, known, places):
    """Find the bytes that must not be merged with the byte before: all but the first of each unknown character, and the
    continuation bytes of invalid UTF-8.

    text   : uint8[n], read
    known  : uint8[KNOWN_BYTES], read    a bit for each code point, the lowest first; ASCII is known anyway
    places : int64[*], filled            their places, ascending, as far as there is room

    Returns how many there are. Cost: 1 ns for 50 bytes of ASCII, about 3 ns for any other character.
    """
    text_at, known_at, n = address_of(text), address_of(known), text.shape[0]
    n_found = at = np.int64(0)
    while at < n:
        if at + BLOCK <= n:
            high = mask_between(text_at + at, 0x80, 0x80)
            at += trailing_zeros(high) if high else BLOCK
        elif read_u8(text_at + at) < 0x80:
            at += 1
        while at < n and read_u8(text_at + at) >= 0x80:
            code_point, length = _character_at(text_at, at, n)
            is_valid = code_point >= 0
            if not is_valid or read_u8(known_at + (code_point >> 3)) >> (code_point & 7) & 1 == 0:
                for i in range(at, at + length):
                    if read_u8(text_at + i) & 0xC0 == 0x80:
                        if n_found < places.shape[0]:
                            places[n_found] = i
                        n_found += 1
            at += length
    return n_found
