"""The end of a row in a window: a byte after its text, and a break for this byte."""

from ..compiler.jit import inlined
from ..machine.intrinsics import write_u8
from ..pieces.breaks import write_break

SEPARATOR = 0xFF  # as text/windows.py has it


@inlined
def end_row(out_at, n_bytes, breaks_at, i, break_id):
    """Write a SEPARATOR after the first `n_bytes` of a window, and a break for it; returns the number of bytes with it.

    breaks_at, i : address of int64[n, 3], modified    the breaks, and the number of the one to write
    """
    write_u8(out_at + n_bytes, SEPARATOR)
    write_break(breaks_at, i, n_bytes, n_bytes + 1, break_id)
    return n_bytes + 1
