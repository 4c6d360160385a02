"""Copy adjacent strings, as Arrow stores them, into a window, with a break after each."""

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int64, uint8
from ..machine.intrinsics import BLOCK, PADDING, address_of, copy_64, read_u8, write_u8
from .rows import end_row


@inlined
def copy_bytes(from_at, to_at, n):
    """Copy `n` bytes from one address to another; no others are read or written."""
    done = 0
    while done + BLOCK <= n:
        copy_64(from_at + done, to_at + done)
        done += BLOCK
    if done < n and n >= BLOCK:  # the last BLOCK bytes, some of which are already copied
        copy_64(from_at + n - BLOCK, to_at + n - BLOCK)
        done = n
    while done < n:
        write_u8(to_at + done, read_u8(from_at + done))
        done += 1


@kernel(int64, int64[:], int64, uint8[:], int64[:, :], int64)
def take_strings(data_at, offsets, first, out, breaks, break_id):
    """Write strings one after another, each followed by a SEPARATOR, which is a break.

    data_at : address of the strings' bytes
    offsets : int64[n + 1], read    where each string starts in them; string i ends where string i + 1 starts
    first   : int64                 the first string to copy
    out     : uint8[*], filled      strings are copied as long as PADDING bytes remain
    breaks  : int64[m, 3], filled   start, end and id of the break after each string

    Returns (the first string that was not copied, bytes written). Cost: that of copying.
    """
    out_at, breaks_at = address_of(out), address_of(breaks)
    room = out.shape[0] - PADDING
    last = min(offsets.shape[0] - 1, first + breaks.shape[0])
    n_bytes = 0
    row = first
    while row < last:
        start = offsets[row]
        length = offsets[row + 1] - start
        if length + 1 > room - n_bytes:
            break
        copy_bytes(data_at + start, out_at + n_bytes, length)
        n_bytes = end_row(out_at, n_bytes + length, breaks_at, row - first, break_id)
        row += 1
    return row, n_bytes
