"""Text that `regex` has split before the kernels reach it, so that `regex` is called once for many new pieces.

If `regex` splits for a pattern, EncodeState.split is not the scratch of splitting, but this array of int64:

    FROM, TO   addresses of text: pieces between them are marked
    N_MARKED   how many bytes of new pieces were split by these marks
    LAST       position in the window of the piece for which `regex` was called last, or NOWHERE
    REACH      how many bytes to split ahead next
    marks      uint8[MOST_AHEAD] from offset MARKS on, one for each byte from FROM on: 1 where a pretoken ends after it
    text       uint8[MOST_AHEAD] from offset SPLIT on: the bytes from FROM on, as they were when `regex` split them
    own marks  from offset OWN_MARKS on: scratch for one piece of up to MOST_MARKED bytes that partial automata split
"""

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined
from ..machine.intrinsics import read_i64, read_u8, write_i64
from ..pieces.marked_pretokens import MARK_BYTES, MOST_MARKED, mark_pretokens

FROM, TO, N_MARKED, LAST, REACH = range(5)
NOWHERE = -1
MARKS = 40
MOST_AHEAD = 1 << 16  # bytes: `regex` takes 4 ms for as many
SPLIT = MARKS + MOST_AHEAD
OWN_MARKS = SPLIT + MOST_AHEAD


def new_split_ahead() -> NDArray[np.int64]:
    """Make the array, with nothing marked."""
    ahead = np.zeros((OWN_MARKS + MARK_BYTES * MOST_MARKED + 7) // 8, dtype=np.int64)
    clear_marks(ahead)
    return ahead


def clear_marks(ahead: NDArray[np.int64]) -> None:
    """Remove all marks, before other text can be in the same memory."""
    ahead[[FROM, TO, N_MARKED, LAST, REACH]] = 0, 0, 0, NOWHERE, 0


@inlined
def marks_of(ahead_at, at, length):
    """The address of the marks of the piece at an address, whose bytes are then added to N_MARKED; or 0 if it has none."""
    start = read_i64(ahead_at + 8 * FROM)
    if at < start or at + length > read_i64(ahead_at + 8 * TO):
        return np.int64(0)
    write_i64(ahead_at + 8 * N_MARKED, read_i64(ahead_at + 8 * N_MARKED) + length)
    return ahead_at + MARKS + (at - start)


@inlined
def own_marks(ahead_at, copy_at, length, pattern_at):
    """Mark the pretokens of a copy of a piece by partial automata; returns the address of the marks, and how many pretokens
    there are, or 0 for both if this is undecided."""
    if length > MOST_MARKED:
        return np.int64(0), 0
    marks_at = ahead_at + OWN_MARKS
    n = mark_pretokens(copy_at, copy_at + length, pattern_at, marks_at)
    return (marks_at if n > 0 else np.int64(0)), n


@inlined
def is_as_split(copy_at, length, marks_at):
    """Whether a copy of a marked piece has the bytes that `regex` split: another thread may have changed the text since."""
    split_at = marks_at + (SPLIT - MARKS)
    different = 0
    for i in range(length):
        different |= read_u8(copy_at + i) ^ read_u8(split_at + i)
    return different == 0
