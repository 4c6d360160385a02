"""Special tokens that take the whitespace before or after them."""

import numpy as np

from ..compiler.jit import called, inlined, kernel
from ..compiler.signature import int64
from ..machine.intrinsics import address_of, read_u8, write_i64
from .breaks import BREAK_BYTES, end_of_break, id_of_break, start_of_break, write_break

# Added to the id of a special token that takes the whitespace before it, or after it.
BEFORE, AFTER = 1 << 40, 1 << 41
_ID = BEFORE - 1
_SEPARATOR = 0xFF  # the byte between two documents; no token begins with it
_LONGEST = 3  # bytes of a whitespace character


@inlined
def _space_at(text_at, place, end):
    """The length in bytes of the whitespace character that starts at a place; 0 if none does, or if `end` cuts it off."""
    first = np.int64(read_u8(text_at + place))
    if first == 0x20 or 0x09 <= first <= 0x0D:
        return 1
    if first < 0xC2 or first > 0xE3 or place + 2 > end:
        return 0
    second = np.int64(read_u8(text_at + place + 1))
    if first == 0xC2:
        return 2 if second == 0x85 or second == 0xA0 else 0
    if first < 0xE1 or place + 3 > end:
        return 0
    code = first << 16 | second << 8 | np.int64(read_u8(text_at + place + 2))
    if 0xE28080 <= code <= 0xE2808A or code == 0xE280A8 or code == 0xE280A9 or code == 0xE280AF:
        return 3
    return 3 if code == 0xE2819F or code == 0xE19A80 or code == 0xE38080 else 0


@called
def take_whitespace(text_at, end, breaks_at, n_breaks):
    """As `with_whitespace`, with the address of the breaks and their number."""
    floor = done = 0  # where the document starts; where the last token ends
    run_start, run_end = 0, -1  # the whitespace after the last token that took it, so that it is not read again
    n_left = 0
    for i in range(n_breaks):
        start, stop, marked = start_of_break(breaks_at, i), end_of_break(breaks_at, i), id_of_break(breaks_at, i)
        token_id = marked & _ID if marked >= 0 else marked
        if token_id < 0 or read_u8(text_at + start) == _SEPARATOR:
            floor = done = stop
            run_end = -1
        else:
            if marked & BEFORE:
                low = max(floor, done)
                length = 1
                while length <= _LONGEST and start - length >= low:
                    if _space_at(text_at, start - length, start) == length:
                        start -= length
                        length = 1
                    else:
                        length += 1
                start = max(start, done)
            if marked & AFTER:
                if stop < run_start or stop > run_end:
                    run_start = run_end = stop
                    while run_end < end:
                        length = _space_at(text_at, run_end, end)
                        if length == 0:
                            break
                        run_end += length
                stop = run_end
            if start >= stop:  # the token is whitespace, and the one before took all of it
                continue
            done = stop
        if n_left > 0 and end_of_break(breaks_at, n_left - 1) > start:  # the break before took the beginning of this one
            write_i64(breaks_at + BREAK_BYTES * (n_left - 1) + 8, start)
        write_break(breaks_at, n_left, start, stop, token_id)
        n_left += 1
    return n_left


@kernel(int64, int64, int64[:, :])
def with_whitespace(text_at, end, breaks):
    """Have special tokens take the whitespace beside them, and return how many breaks are left.

    text_at : address of a text of `end` bytes
    breaks  : int64[n, 3], changed in place: the start, end and id of each break. The ids of tokens that take whitespace
              come with BEFORE or AFTER added, which are subtracted. A break with a negative id, or whose text is a
              separator, ends a document, beyond which no token takes anything. Tokens that are whitespace, and that
              another token takes, are removed

    Cost: 3 ns for each break, and 1 ns for each byte of whitespace.
    """
    return take_whitespace(text_at, end, address_of(breaks), breaks.shape[0])
