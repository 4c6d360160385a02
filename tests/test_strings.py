"""kernels/records/strings.py: strings as Arrow has them, put into a window from where they lie."""

from __future__ import annotations

import ctypes

import guard_pages
import naive
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nbbpe.kernels.machine.intrinsics import PADDING
from nbbpe.kernels.records.strings import take_strings

GUARD = 64


@given(
    st.lists(st.binary(max_size=10) | st.integers(0, 200).map(bytes), max_size=12),
    st.integers(0, 3),
    st.integers(0, 600),
    st.integers(1, 20),
)
@example([b"a"] * 5, 1, 600, 3)  # more strings than breaks
def test_strings_are_put_side_by_side_as_the_twin_does(strings, first, room, most):
    first = min(first, len(strings))
    data = np.frombuffer(b"before" + b"".join(strings) + b"behind", dtype=np.uint8)
    offsets = np.cumsum([6, *map(len, strings)])
    out = np.full(room + PADDING + GUARD, 0xAB, dtype=np.uint8)
    breaks = np.zeros((most, 3), dtype=np.int64)
    row, n_bytes = take_strings(data.ctypes.data, offsets, first, out[:-GUARD], breaks, 9)
    n, wanted, ends = naive.put_strings(strings[first:], room, most)
    assert (row - first, n_bytes, out[:n_bytes].tobytes()) == (n, len(wanted), wanted)
    assert breaks[:n].tolist() == [[end, end + 1, 9] for end in ends]
    assert not breaks[n:].any()
    assert (out[n_bytes:] == 0xAB).all()


@pytest.mark.skipif(not guard_pages.AVAILABLE, reason="needs mprotect")
def test_nothing_is_read_before_or_behind_the_strings():
    """Strings between two pages which nobody may read; the process would die."""
    page = guard_pages.PAGE
    at = guard_pages.new_pages(page)
    memory = np.frombuffer((ctypes.c_uint8 * page).from_address(at), dtype=np.uint8)
    memory[:] = np.arange(page) % 251
    out, breaks = np.empty(page + 1 + PADDING, dtype=np.uint8), np.empty((1, 3), dtype=np.int64)
    for n in [*range(200), page]:
        for begin in 0, page - n:
            assert take_strings(at, np.array([begin, begin + n]), 0, out, breaks, -1) == (1, n + 1)
            assert (out[:n] == memory[begin : begin + n]).all()
