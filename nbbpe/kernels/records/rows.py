"""The end of a row in a window: a byte after its text, and a break for this byte."""

from ..compiler.jit import inlined
from ..machine.intrinsics import write_i64, write_u8

SEPARATOR = 0xFF  # as text/windows.py has it


@inlined
def end_row(out_at, n_bytes, row_at, break_id):
    """Write a SEPARATOR after the first `n_bytes` of a window, and a break for it; returns the number of bytes with it.

    row_at : address of int64[3], filled    the start, end and id of the break
    """
    write_u8(out_at + n_bytes, SEPARATOR)
    write_i64(row_at, n_bytes)
    write_i64(row_at + 8, n_bytes + 1)
    write_i64(row_at + 16, break_id)
    return n_bytes + 1
