"""Boundaries in white space that only show in what follows it.

Of the white space before a word, all but the last character is one pretoken, and the last one leads the word or is one by
itself. No table of two classes (see scan.py) says that, as it is so only where text follows: at its end all white space is
one pretoken. So an indented word would be another piece in each depth. Here boundaries are found where ASCII that is no
white space follows in the same block: 8 MB of code have 28,000 distinct pieces instead of 38,000 (GPT-2), and a first pass
takes 20 ms instead of 25.

Each part is split into pretokens as if it were a text, so it must be split by itself as it is among the others.
"""

import numpy as np

from .characters import ascii_white_space
from .jit import inlined
from .simd import leading_zeros, mask_between, trailing_zeros
from .split import LINES, LONE_DIGITS, WHOLE_END

_ONE = np.uint64(1)


@inlined
def blank_cuts(block_at, grammar):
    """Boundaries in the white space of a block of 64 bytes, all of them of one text.

    grammar : int64    see split.pretoken_end

    Bit i of the result, uint64, says that a boundary stands before byte i. Cost: 2 ns.
    """
    before_solid = mask_between(block_at, 0x21, 0x5E) >> _ONE
    space, newline, blank = ascii_white_space(block_at)
    if (grammar >> LONE_DIGITS) & 1 != 0:
        before_solid &= ~(mask_between(block_at, ord("0"), 10) >> _ONE)
    if (grammar >> LINES) & 1 == 0:
        # Only a space leads what follows.
        others = newline | blank
        return ((space | others) & before_solid) | ((others & before_solid) << _ONE)
    blank |= space
    if (grammar >> WHOLE_END) & 1 == 0:
        return blank & before_solid
    return blanks_after_lines(blank, newline, before_solid, mask_between(block_at, 128, 128))


@inlined
def blanks_after_lines(blank, newline, before_solid, high):
    """Boundaries before the first and the last of blanks, where white space at the end of a text is one pretoken even if it
    has newlines: so what is before the last blank must not have one.

    blank, newline, before_solid, high : uint64    which bytes are white space but no newline, newlines, before text, and
                                                   not ASCII
    """
    cuts = np.uint64(0)
    lasts = blank & before_solid & ((blank | newline) << _ONE)
    while lasts:
        last = trailing_zeros(lasts)
        before = ~blank & ((_ONE << np.uint64(last)) - _ONE)
        # Where blanks begin with the block, or after other than ASCII, there may be more of them before.
        if before:
            edge = _ONE << np.uint64(63 - leading_zeros(before))
            if high & edge == 0:
                cuts |= (edge << _ONE) | (_ONE << np.uint64(last))
        lasts &= lasts - _ONE
    return cuts
