"""Finding certain boundaries: the places in a text that no match of the split pattern can straddle.

Boundaries follow from the classes of adjacent characters, by the rules of the pattern (see pattern_tables.py). Rules are
bits here: each byte has eight bits for the rules by which a boundary may follow it, eight for those by which one may
precede it, and so on. There is a boundary between two bytes if these two sets have a bit in common: all boundaries of 64
bytes come from a few look-ups and vector operations, without a branch.

The rules of ASCII bytes are looked up directly. In a block with other bytes, each byte first gets the class of its
character, and then the rules of its class. Characters that differ in their last byte only, as in most alphabets, are
classed all at once; others one at a time, by decoding UTF-8 and looking up the code point. A byte that is not part of valid
UTF-8 is a character, exactly as with Python's `surrogateescape` and in `regex`.
"""

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int64, reads, uint8, uint64
from ..machine.intrinsics import BLOCK, address_of, mask_between, popcount, read_u8, trailing_zeros
from ..machine.intrinsics_look_up import (
    ascii_cuts,
    ascii_more_cuts,
    blend_64,
    class_cuts,
    class_more_cuts,
    look_up_64,
    look_up_128,
    spread_64,
)
from ..machine.large_pages import zeros
from .character_classes import ENTERED, ENTERED_CLASS, class_each
from .pattern_tables import (
    ALSO_IN_ASCII,
    ASCII_CLASSES,
    ASCII_KINDS,
    ASCII_RULES,
    CLASS_RULES,
    HANGUL,
    IDEOGRAPHS,
    LOW_CLASSES,
    MORE_RULES,
    PAIR_RULES,
    number_of,
)

# The state of a scan, from its lowest bit: the rules of the last byte; from MORE_ENTERED on, its rules in the last parts of
# the tables; and from ENTERED on what character_classes.class_each leaves.
MORE_ENTERED, STATE_BITS = 8, 26
MANY = 12  # non-ASCII bytes in a block: classing so many together costs less than one at a time

_FIRST_LONG, _FIRST_SURROGATE, _END_SURROGATES = 0x800 >> 6, 0xD800 >> 6, 0xE000 >> 6  # pages of 64 code points
_MORE_FIRST = 3 * 128  # in the rules of ASCII, part 3
_ONE = np.uint64(1)
_TWO = np.uint64(2)


def new_classes() -> NDArray[np.uint64]:
    """Make the scratch of a scan: the class of each byte of a block; 64-byte aligned."""
    return zeros(BLOCK // 8)


@inlined
def class_together(block_at, classes_at, pattern_at):
    """Class the characters of two and three bytes in a block; all at once those that differ only in their last byte.

    classes_at : uint8[64], modified at the bytes of characters that are classed

    Returns the bits of these bytes. Longer characters, one that continues in the next block, and invalid UTF-8 are not
    classed. Cost: about 10 ns, and 6 for each distinct prefix of characters (most scripts have one or two in a block).
    """
    tables_at = pattern_at + LOW_CLASSES
    following = mask_between(block_at, 0x80, 0x40)
    # The last byte of each character gets its class.
    ends = np.uint64(0)
    left = mask_between(block_at, 0xC2, 0x1E) & (following >> _ONE)
    while left:
        first = np.int64(read_u8(block_at + trailing_zeros(left)))
        same = mask_between(block_at, first, 1) & left
        look_up_64(tables_at + ((first & 0x1F) << 6), block_at, same << _ONE, classes_at)
        ends |= same << _ONE
        left ^= same
    threes = mask_between(block_at, 0xE0, 0x10) & (following >> _ONE) & (following >> _TWO)
    # U+5000 to U+8FFF are ideographs and U+B000 to U+CFFF Hangul, each mostly of one class; their characters have many
    # distinct prefixes.
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
        # Overlong forms and surrogates are invalid UTF-8.
        if page >= _FIRST_LONG and (page < _FIRST_SURROGATE or page >= _END_SURROGATES):
            look_up_64(tables_at + (page << 6), block_at, same << _TWO, classes_at)
            ends_of_three |= same << _TWO
        left ^= same
    seconds = (ends | ends_of_three) >> _ONE
    firsts = ends_of_three >> _TWO
    spread_64(classes_at, seconds, firsts)
    ideographs |= (ideographs << _ONE) | (ideographs << _TWO)
    blend_64(classes_at, ideographs, of_ideographs)
    hangul |= (hangul << _ONE) | (hangul << _TWO)
    blend_64(classes_at, hangul, of_hangul)
    return ends | ends_of_three | seconds | firsts | ideographs | hangul


@inlined
def block_cuts(block_at, state, pattern_at, classes_at):
    """Find the certain boundaries of the 64 bytes at an address.

    block_at   : the address; 3 bytes past the block are read too, and must exist
    state      : int64   the state after the block before, 0 at the start of a text; only STATE_BITS bits are used
    pattern_at : address of the pattern's tables
    classes_at : address of scratch (new_classes), filled with the class of each byte unless all are ASCII

    Returns (cuts, more cuts, state): bit i of cuts says that there is a boundary before byte i; of more cuts, that there is
    one if byte i + 1 belongs to the text. Cost: about 5 ns for ASCII, 10 without AVX-512.
    """
    pair_rules, more_rules = number_of(pattern_at, PAIR_RULES), number_of(pattern_at, MORE_RULES)
    rules_entered, more_entered = state & 0xFF, (state >> MORE_ENTERED) & 0xFF
    high = mask_between(block_at, 128, 128)
    if high == 0:
        rules_at, kinds_at = pattern_at + ASCII_RULES, pattern_at + ASCII_KINDS
        cuts, more_cuts, leaving = ascii_cuts(block_at, rules_at, kinds_at, pair_rules, rules_entered)
        if more_rules == ALSO_IN_ASCII or more_entered != 0:
            others, more_leaving = ascii_more_cuts(block_at, rules_at, kinds_at, more_entered)
            cuts |= others
            leaving |= more_leaving << MORE_ENTERED
        elif more_rules != 0:  # the next block may begin with a character that is not ASCII
            last = np.int64(read_u8(block_at + BLOCK - 1))
            leaving |= np.int64(read_u8(rules_at + _MORE_FIRST + last)) << MORE_ENTERED
        return cuts, more_cuts, leaving
    look_up_128(pattern_at + ASCII_CLASSES, block_at, classes_at)
    entered = (_ONE << np.uint64((state >> ENTERED) & 15)) - _ONE
    rest = high
    if entered:  # a branch, so that a block does not wait for the state of the one before
        blend_64(classes_at, entered, (state >> ENTERED_CLASS) & 63)
        rest &= ~entered
    together = np.uint64(0)
    if popcount(rest) >= MANY:
        together = class_together(block_at, classes_at, pattern_at)
    inside, character = class_each(block_at, rest & ~together, classes_at, pattern_at)
    inside |= entered | (together & mask_between(block_at, 0x80, 0x40))
    rules_at = pattern_at + CLASS_RULES
    cuts, more_cuts, leaving = class_cuts(classes_at, rules_at, pair_rules, rules_entered)
    if more_rules != 0:
        others, more_leaving = class_more_cuts(classes_at, rules_at, more_entered)
        cuts |= others
        leaving |= more_leaving << MORE_ENTERED
    return cuts & ~inside, more_cuts & ~(inside | high), leaving | character


@inlined
def class_bits(character_class, classes_at):
    """The bits of the bytes of a class in the last block of `block_cuts`, which must not be all ASCII."""
    return mask_between(classes_at, character_class, 1)


@kernel(reads(uint8[:]), int64, reads(uint64[:]), uint64[:], uint8[:])
def mark_cuts(text, n, pattern, classes, is_cut):
    """Mark every certain boundary of a text: for tests, and for finding a place to cut a file.

    text    : uint8[n + PADDING], read
    pattern : uint64[*], read    see pattern_tables.py
    classes : uint64[8], scratch    see `new_classes`
    is_cut  : uint8[n], filled    1 if there is a certain boundary before the byte, else 0; is_cut[0] is 0

    Cost: one block_cuts for 64 bytes, and one write a byte.
    """
    pattern_at, classes_at = address_of(pattern), address_of(classes)
    state = 0
    for start in range(0, n, BLOCK):
        cuts, more_cuts, state = block_cuts(address_of(text) + start, state, pattern_at, classes_at)
        if n - start >= BLOCK:
            cuts |= more_cuts
        for bit in range(min(BLOCK, n - start)):
            is_cut[start + bit] = (cuts >> np.uint64(bit)) & _ONE
