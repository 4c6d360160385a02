"""Breaks: the parts of a text that belong to no piece, which are special tokens and separators of documents.

They are int64[n, 3], ascending: the start, end and id of each. The id is negative if no id is written for the break.
"""

from typing import NamedTuple

from ..compiler.jit import inlined
from ..machine.intrinsics import read_i64, write_i64

BREAK_BYTES = 24  # start, end and id


class Breaks(NamedTuple):
    """The breaks of a text, for a scan.

    at    : address of int64[n, 3]
    first : the number of the first break that does not end before the position where the scan continues
    n     : their number
    """

    at: int
    first: int
    n: int


@inlined
def start_of_break(breaks_at, i):
    """Where a break starts."""
    return read_i64(breaks_at + BREAK_BYTES * i)


@inlined
def end_of_break(breaks_at, i):
    """Where a break ends."""
    return read_i64(breaks_at + BREAK_BYTES * i + 8)


@inlined
def id_of_break(breaks_at, i):
    """The id of a break; negative if it has none."""
    return read_i64(breaks_at + BREAK_BYTES * i + 16)


@inlined
def write_break(breaks_at, i, start, end, break_id):
    """Write a break."""
    write_i64(breaks_at + BREAK_BYTES * i, start)
    write_i64(breaks_at + BREAK_BYTES * i + 8, end)
    write_i64(breaks_at + BREAK_BYTES * i + 16, break_id)


@inlined
def first_break_after(breaks_at, n_breaks, start):
    """The number of the first break that ends after `start`, or `n_breaks`."""
    i = 0
    while i < n_breaks and end_of_break(breaks_at, i) <= start:
        i += 1
    return i
