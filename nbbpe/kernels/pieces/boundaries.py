"""Finding certain boundaries: the places in a text that no match of the split pattern can straddle.

Each byte gets the class of its character; where boundaries lie follows from the classes of characters that stand side by
side, by the rules of the pattern (see pattern_tables.py). For 64 bytes at a time there is one bit mask a class, so that all
boundaries of a block come from a few operations on vectors of masks, without a branch. ASCII is classed by vector compares,
other characters one at a time, by decoding UTF-8 and looking their code point up. A byte that is not part of valid UTF-8 is
a character of its own, exactly as Python's `surrogateescape` and `regex` see it.

Where the processor can look up 64 bytes at once, scan_look_up does the same in a tenth of the time.
"""

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int64, reads, uint8, uint64
from ..machine.intrinsics import BLOCK, address_of, mask_between, read_i64, read_u64, rule_cuts, write_u64
from ..machine.intrinsics_avx512 import HAS_LOOK_UP
from ..machine.large_pages import zeros
from .boundaries_avx512 import cuts_by_look_up
from .character_classes import class_each
from .pattern_tables import N_CLASSES, N_PAIR_RULES, N_RANGES, RANGES, REST_CLASS, RULE_LANES, number_of

# Of the state of a scan: rules that the last byte takes part in, for two and for three; then how many bytes of the last
# character stand in the next block, and its class.
ENTERED, ENTERED_CLASS, STATE_BITS = 16, 20, 26

_ONE = np.uint64(1)


def new_masks() -> NDArray[np.uint64]:
    """Make the scratch of a scan: a mask for each class, or the class of each byte of a block; 64-byte aligned."""
    return zeros(BLOCK)


@inlined
def add_to_mask(masks_at, character_class, bits):
    """masks[character_class] |= bits."""
    place = masks_at + 8 * character_class
    write_u64(place, read_u64(place) | bits)


@inlined
def block_cuts(block_at, state, pattern_at, masks_at):
    """Find the certain boundaries of the 64 bytes at an address.

    block_at   : the address; 3 bytes past the block are read too, and must exist
    state      : int64   what the block before left, 0 at the start of a text; the lowest STATE_BITS bits are ours
    pattern_at : address of the pattern's tables
    masks_at   : address of scratch (new_masks), filled: bit i of masks[c], uint64, says whether byte i is of class c

    Returns (cuts, more cuts, state): bit i of cuts says that a boundary stands before byte i; of more cuts, that one does
    if byte i + 1 belongs to the text. Cost: about 40 ns for ASCII.
    """
    if HAS_LOOK_UP:
        return cuts_by_look_up(block_at, state, pattern_at, masks_at)
    for i in range(number_of(pattern_at, N_CLASSES)):
        write_u64(masks_at + 8 * i, np.uint64(0))
    high = mask_between(block_at, 128, 128)
    left = ~high
    range_at = pattern_at + RANGES
    for _ in range(number_of(pattern_at, N_RANGES)):
        members = mask_between(block_at, read_i64(range_at), read_i64(range_at + 8)) & left
        add_to_mask(masks_at, read_i64(range_at + 16), members)
        left ^= members
        range_at += 24
    add_to_mask(masks_at, number_of(pattern_at, REST_CLASS), left)
    inside = np.uint64(0)
    leaving = 0
    if high:
        n_entered = (state >> ENTERED) & 15
        entered = (_ONE << np.uint64(n_entered)) - _ONE
        add_to_mask(masks_at, (state >> ENTERED_CLASS) & 63, entered)
        inside, leaving = class_each(block_at, high & ~entered, masks_at, pattern_at, add_to_mask)
        inside |= entered
    n_classes, n_pair_rules = number_of(pattern_at, N_CLASSES), number_of(pattern_at, N_PAIR_RULES)
    cuts, more_cuts, entering = rule_cuts(masks_at, pattern_at + RULE_LANES, n_classes, n_pair_rules, state & 0xFFFF)
    return cuts & ~inside, more_cuts & ~(inside | high), entering | leaving


@inlined
def class_bits(character_class, masks_at):
    """The bytes of a class of the block that `block_cuts` has looked at last, if not all of it is ASCII."""
    if HAS_LOOK_UP:
        return mask_between(masks_at, character_class, 1)
    return read_u64(masks_at + 8 * character_class)


@kernel(reads(uint8[:]), int64, reads(uint64[:]), uint64[:], uint8[:])
def mark_cuts(text, n, pattern, masks, is_cut):
    """Mark every certain boundary of a text: for tests, and for finding a place to cut a file.

    text    : uint8[n + PADDING], read
    pattern : uint64[*], read    see pattern_tables.py
    masks   : scratch, see `new_masks`
    is_cut  : uint8[n], filled    1 where a certain boundary stands before the byte, else 0; is_cut[0] is 0
    """
    pattern_at, masks_at = address_of(pattern), address_of(masks)
    state = 0
    for start in range(0, n, BLOCK):
        cuts, more_cuts, state = block_cuts(address_of(text) + start, state, pattern_at, masks_at)
        if n - start >= BLOCK:
            cuts |= more_cuts
        for bit in range(min(BLOCK, n - start)):
            is_cut[start + bit] = (cuts >> np.uint64(bit)) & _ONE
