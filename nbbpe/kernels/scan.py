"""Finding certain boundaries: the places in a text that no match of the split pattern can straddle.

Each byte gets the class of its character; a boundary stands between two characters whose classes the pattern's cut
table names. The table is given as *rules*: rule r says "after any class of one set, before any class of another". For 64
bytes at a time there is one bit mask a class, so that all boundaries of a block are the OR over the rules of
`(before << 1) & after`, without a branch. ASCII is classed by vector compares, other characters one at a time, by
decoding UTF-8 and looking their code point up. A byte that is not part of valid UTF-8 is a character of its own, of
class OTHER, exactly as Python's `surrogateescape` and `regex` see it.

Where the processor can look up 64 bytes at once, scan_look_up does the same in a tenth of the time.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .characters import (
    APOSTROPHE,
    BLANK,
    CASELESS,
    LOWER,
    MARK,
    NEWLINE,
    NUMBER,
    OTHER,
    SLASH,
    SPACE,
    UPPER,
    ascii_white_space,
    class_each,
)
from .jit import inlined, kernel
from .memory import zeros
from .scan_look_up import cuts_by_look_up
from .simd import (
    BLOCK,
    N_CLASSES,
    address_of,
    mask_between,
    mask_letters,
    read_u64,
    rule_cuts,
    write_u64,
)
from .simd_look_up import HAS_LOOK_UP

_ONE = np.uint64(1)


class Scanner(NamedTuple):
    """What a scan needs to know of a pattern and of Unicode; made by `patterns.scanner`, read only.

    before  : uint64[N_CLASSES * RULES]   all ones at [c * RULES + r] where class c may stand before rule r's boundary
    after   : uint64[N_CLASSES * RULES]   likewise for the class after it
    page_of : uint16[0x1100]              the page of classes that code points 256 * i to 256 * i + 255 use
    pages   : uint8[n_pages * 256]        the class of each code point of a page
    look_up : uint64[*]                   what scan_look_up needs, see look_up_tables
    """

    before: NDArray[np.uint64]
    after: NDArray[np.uint64]
    page_of: NDArray[np.uint16]
    pages: NDArray[np.uint8]
    look_up: NDArray[np.uint64]


def new_masks() -> NDArray[np.uint64]:
    """Make the scratch of a scan: room for a mask for each class, or for the class of each byte of a block."""
    return zeros(max(N_CLASSES, BLOCK // 8))


@inlined
def addresses(scanner, masks):
    """What the scanning helpers take: the addresses of four of the scanner's arrays, of `masks`, and of `look_up`."""
    return (
        address_of(scanner.before),
        address_of(scanner.after),
        address_of(scanner.page_of),
        address_of(scanner.pages),
        address_of(masks),
        address_of(scanner.look_up),
    )


@inlined
def add_to_mask(masks_at, character_class, bits):
    """masks[character_class] |= bits."""
    place = masks_at + 8 * character_class
    write_u64(place, read_u64(place) | bits)


@inlined
def class_non_ascii(block_at, high, state, tables):
    """Class the non-ASCII bytes of a block: set their bits in the masks.

    high  : uint64   the block's non-ASCII bytes
    state : int64    the scan's state, see block_cuts

    Returns (bits of bytes that continue a character, state with the part of a character that leaves the block).
    """
    entered = (_ONE << np.uint64((state >> 8) & 15)) - _ONE
    add_to_mask(tables[4], state >> 12, entered)
    inside, leaving = class_each(block_at, high & ~entered, tables[4], tables, add_to_mask)
    return inside | entered, leaving


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
    if HAS_LOOK_UP:
        return cuts_by_look_up(block_at, state, tables)
    masks_at = tables[4]
    letters = mask_letters(block_at)
    upper = letters & mask_between(block_at, 65, 26)
    space, newline, blank = ascii_white_space(block_at)
    number = mask_between(block_at, 48, 10)
    apostrophe = mask_between(block_at, 39, 1)
    slash = mask_between(block_at, 47, 1)
    high = mask_between(block_at, 128, 128)
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


@inlined
def class_bits(character_class, tables):
    """The bytes of a class of the block that `block_cuts` has looked at last, if not all of it is ASCII."""
    if HAS_LOOK_UP:
        return mask_between(tables[4], character_class, 1)
    return read_u64(tables[4] + 8 * character_class)


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
