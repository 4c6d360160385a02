"""Finding certain boundaries: the places in a text that no match of the split pattern can straddle.

Each byte gets the class of its character; a boundary stands between two characters whose classes the pattern's cut
table names. The table is given as *rules*: rule r says "after any class of one set, before any class of another". For 64
bytes at a time there is one bit mask a class, so that all boundaries of a block are the OR over the rules of
`(before << 1) & after`, without a branch. ASCII is classed by vector compares. Other characters are decoded and looked up
one at a time, or, where there are many and the processor can, all those at once that differ in their last byte only. A
byte that is not part of valid UTF-8 is a character of its own, of class OTHER, exactly as Python's `surrogateescape` and
`regex` see it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import inlined, kernel
from .memory import zeros
from .simd import (
    BLOCK,
    HAS_LOOK_UP,
    N_CLASSES,
    address_of,
    ascii_cuts,
    look_up_64,
    mask_between,
    mask_letters,
    popcount,
    read_u8,
    read_u16,
    read_u64,
    rule_cuts,
    trailing_zeros,
    write_u64,
)

# The classes of characters. The order is part of the shipped cut tables (nbbpe/patterns.py).
LOWER, UPPER, CASELESS, MARK, NUMBER, APOSTROPHE, SLASH, OTHER, SPACE, NEWLINE, BLANK = range(N_CLASSES)
WHITE_SPACE = (1 << SPACE) | (1 << NEWLINE) | (1 << BLANK)

NO_CLASS = 255
CLASSES_AT = 128  # where in the masks' array the classes of a block's characters are written
MANY = 12  # non-ASCII bytes in a block from which on looking them up together costs less than one character at a time

_ONE = np.uint64(1)
_TWO = np.uint64(2)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


class Scanner(NamedTuple):
    """What a scan needs to know of a pattern and of Unicode; made by `patterns.scanner`, read only.

    before  : uint64[N_CLASSES * RULES]   all ones at [c * RULES + r] where class c may stand before rule r's boundary
    after   : uint64[N_CLASSES * RULES]   likewise for the class after it
    page_of : uint16[0x1100]              the page of classes that code points 256 * i to 256 * i + 255 use
    pages   : uint8[n_pages * 256]        the class of each code point of a page
    basic   : uint64[8192]                as bytes, the class of each code point below 0x10000, or NO_CLASS where UTF-8 of
                                          three bytes or less has none (surrogates); 64-byte aligned
    ascii   : uint64[32]                  the rules of each ASCII character, see simd.ascii_cuts; 64-byte aligned
    """

    before: NDArray[np.uint64]
    after: NDArray[np.uint64]
    page_of: NDArray[np.uint16]
    pages: NDArray[np.uint8]
    basic: NDArray[np.uint64]
    ascii: NDArray[np.uint64]


def new_masks() -> NDArray[np.uint64]:
    """Make the scratch of a scan: a mask for each class, and from CLASSES_AT on the classes of a block."""
    return zeros(CLASSES_AT // 8 + BLOCK // 8)


@inlined
def addresses(scanner, masks):
    """What the scanning helpers take: the addresses of four of the scanner's arrays, of `masks`, and of the others."""
    return (
        address_of(scanner.before),
        address_of(scanner.after),
        address_of(scanner.page_of),
        address_of(scanner.pages),
        address_of(masks),
        address_of(scanner.basic),
        address_of(scanner.ascii),
    )


@inlined
def class_of(code_point, tables):
    """The class of a code point."""
    page = np.int64(read_u16(tables[2] + 2 * (code_point >> 8)))
    return np.int64(read_u8(tables[3] + ((page << 8) | (code_point & 255))))


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
def add_to_mask(masks_at, character_class, bits):
    """masks[character_class] |= bits."""
    place = masks_at + 8 * character_class
    write_u64(place, read_u64(place) | bits)


@inlined
def class_together(block_at, high, tables):
    """Class the characters of two and of three bytes of a block, all those at once that have but their last byte apart.

    high : uint64   the non-ASCII bytes that begin no earlier than in the block

    Sets bits in the masks. Returns (bits of the bytes of characters that were classed, bits of those that continue one);
    left are longer characters, one that reaches into the next block, and bytes that are no UTF-8. Cost: some 20 ns, and 6
    for each beginning that characters have in common, of which most scripts have one or two in a block. Texts in Greek,
    Hindi and the like are encoded 1.2 to 1.4 times as fast as one character at a time, CJK 1.08 times.
    """
    classes_at, basic_at = tables[4] + CLASSES_AT, tables[5]
    following = mask_between(block_at, 0x80, 0x40)
    ends = np.uint64(0)
    left = mask_between(block_at, 0xC2, 0x1E) & high & (following >> _ONE)
    while left:
        first = np.int64(read_u8(block_at + trailing_zeros(left)))
        same = mask_between(block_at, first, 1) & left
        look_up_64(basic_at + ((first & 0x1F) << 6), block_at, same << _ONE, classes_at)
        ends |= same << _ONE
        left ^= same
    threes = mask_between(block_at, 0xE0, 0x10) & high & (following >> _ONE) & (following >> _TWO)
    # U+5000 to U+8FFF are ideographs and U+B000 to U+CFFF Hangul: all of one class, where beginnings have little in common.
    caseless = (mask_between(block_at, 0xE5, 4) | mask_between(block_at, 0xEB, 2)) & threes
    left = threes ^ caseless
    caseless |= (caseless << _ONE) | (caseless << _TWO)
    ends_of_three = np.uint64(0)
    while left:
        bit = trailing_zeros(left)
        first, second = np.int64(read_u8(block_at + bit)), np.int64(read_u8(block_at + bit + 1))
        same = mask_between(block_at, first, 1) & (mask_between(block_at, second, 1) >> _ONE) & left
        # Code points below 0x800 have shorter UTF-8: what says that it is one of these is none.
        if (first & 0x0F) << 6 | (second & 0x3F) >= 0x800 >> 6:
            look_up_64(basic_at + ((first & 0x0F) << 12 | (second & 0x3F) << 6), block_at, same << _TWO, classes_at)
            ends_of_three |= same << _TWO
        left ^= same
    ends |= ends_of_three
    add_to_mask(tables[4], CASELESS, caseless)
    classed = caseless
    for character_class in (LOWER, UPPER, CASELESS, MARK, NUMBER, OTHER, BLANK):
        last_bytes = mask_between(classes_at, character_class, 1) & ends
        bits = last_bytes | (last_bytes >> _ONE) | ((last_bytes & ends_of_three) >> _TWO)
        add_to_mask(tables[4], character_class, bits)
        classed |= bits
    return classed, classed & following


@inlined
def class_non_ascii(block_at, high, state, tables):
    """Class the non-ASCII bytes of a block: set their bits in the masks.

    high  : uint64   the block's non-ASCII bytes
    state : int64    the scan's state, see block_cuts

    Returns (bits of bytes that continue a character, state with the part of a character that leaves the block).
    Cost: a few nanoseconds for each non-ASCII character.
    """
    inside = (_ONE << np.uint64((state >> 8) & 15)) - _ONE
    add_to_mask(tables[4], state >> 12, inside)
    high &= ~inside
    state = 0
    if HAS_LOOK_UP and popcount(high) >= MANY:
        classed, continuing = class_together(block_at, high, tables)
        high &= ~classed
        inside |= continuing
    while high:
        bit = trailing_zeros(high)
        code_point, length = decode_character(block_at + bit)
        character_class = OTHER if code_point < 0 else class_of(code_point, tables)
        bits = ((_ONE << np.uint64(length)) - _ONE) << np.uint64(bit)
        add_to_mask(tables[4], character_class, bits)
        inside |= bits & (bits << _ONE)
        high &= ~bits
        if bit + length > BLOCK:
            state = ((bit + length - BLOCK) << 8) | (character_class << 12)
    return inside, state


@inlined
def block_cuts(block_at, state, tables):
    """Find the certain boundaries of the 64 bytes at an address.

    block_at : the address; 3 bytes past the block are read too, and must exist
    state    : int64   what the block before left, 0 at the start of a text: bits 0-7, the rules whose boundary may follow
                       its last byte; bits 8-11, how many bytes of its last character stand in this block; bits 12-15,
                       that character's class
    tables   : see `addresses`; the masks are filled: bit i of masks[c], uint64, says whether byte i is of class c

    Returns (cuts, state): bit i of cuts says that a boundary stands before byte i. Cost: about 30 ns for ASCII.
    """
    masks_at = tables[4]
    high = mask_between(block_at, 128, 128)
    if HAS_LOOK_UP and high == 0:
        return ascii_cuts(block_at, tables[6], state & 0xFF)
    letters = mask_letters(block_at)
    upper = letters & mask_between(block_at, 65, 26)
    newline = mask_between(block_at, 10, 1) | mask_between(block_at, 13, 1)
    space = mask_between(block_at, 32, 1)
    blank = mask_between(block_at, 9, 5) & ~newline
    number = mask_between(block_at, 48, 10)
    apostrophe = mask_between(block_at, 39, 1)
    slash = mask_between(block_at, 47, 1)
    write_u64(masks_at + 8 * LOWER, letters ^ upper)
    write_u64(masks_at + 8 * UPPER, upper)
    write_u64(masks_at + 8 * CASELESS, np.uint64(0))
    write_u64(masks_at + 8 * MARK, np.uint64(0))
    write_u64(masks_at + 8 * NUMBER, number)
    write_u64(masks_at + 8 * APOSTROPHE, apostrophe)
    write_u64(masks_at + 8 * SLASH, slash)
    write_u64(masks_at + 8 * OTHER, ~(letters | newline | space | blank | number | apostrophe | slash | high))
    write_u64(masks_at + 8 * SPACE, space)
    write_u64(masks_at + 8 * NEWLINE, newline)
    write_u64(masks_at + 8 * BLANK, blank)
    inside = np.uint64(0)
    leaving = 0
    if high:
        inside, leaving = class_non_ascii(block_at, high, state, tables)
    cuts, entering = rule_cuts(masks_at, tables[0], tables[1], state)
    return cuts & ~inside, entering | leaving


@kernel
def mark_cuts(text, n, scanner, masks, is_cut):
    """Mark every certain boundary of a text: for tests, and for finding a place to cut a file.

    text   : uint8[n + PADDING], read
    masks  : scratch, see `new_masks`
    is_cut : uint8[n], filled    1 where a certain boundary stands before the byte, else 0; is_cut[0] is 0
    """
    tables = addresses(scanner, masks)
    state = 0
    for start in range(0, n, BLOCK):
        cuts, state = block_cuts(address_of(text) + start, state, tables)
        for bit in range(min(BLOCK, n - start)):
            is_cut[start + bit] = (cuts >> np.uint64(bit)) & _ONE
