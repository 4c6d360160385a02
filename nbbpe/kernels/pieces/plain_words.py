"""Plain words: words of ASCII. Most pieces are such words, which most patterns keep whole (pattern_tables.PLAIN_WORDS).

Recognising a plain word takes less time than a walk of the automaton to its end.
"""

import numpy as np

from ..compiler.jit import inlined
from ..machine.intrinsics import BLOCK, mask_between, mask_of_16, read_u8

_ONE = np.uint64(1)
_SMALL_A, _LARGE_A = ord("a"), ord("A")  # not in a kernel: Numba would compile `ord`
_BYTE = np.uint64(0xFF)


@inlined
def is_plain_word(key_at, length):
    """Whether a piece is a word of ASCII of fewer than BLOCK bytes: an optional space, then letters, of which only the
    first may be a capital."""
    lower, upper = mask_between(key_at, _SMALL_A, 26), mask_between(key_at, _LARGE_A, 26)
    return length < BLOCK and are_plain(np.int64(read_u8(key_at)), lower, upper, length)


@inlined
def is_plain_key(low, high, length):
    """As `is_plain_word`, for a piece of which all bytes are in its key."""
    lower, upper = mask_of_16(low, high, _SMALL_A, 26), mask_of_16(low, high, _LARGE_A, 26)
    return are_plain(np.int64(low & _BYTE), lower, upper, length)


@inlined
def are_plain(first, lower, upper, length):
    """See `is_plain_word`. Takes a piece's first byte, masks of its small and its capital letters, and its length."""
    led = np.uint64(first == 0x20)
    letters = lower >> led | upper >> led & _ONE
    return np.int64(led) < length and ~letters & ((_ONE << (np.uint64(length) - led)) - _ONE) == 0
