"""Memory for large arrays: what is not used need not be there, and what cannot be there is said as others say it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from nbbpe.kernels.memory import Room, zeros


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count room before it is used, or do not")
def test_room_may_be_larger_than_the_memory_of_the_machine():
    room = Room(1 << 36, np.dtype(np.uint32))
    room.array[:3] = 1, 2, 3
    assert room.cut(3).tolist() == [1, 2, 3]


def test_memory_that_cannot_be_there_is_a_memory_error():
    with pytest.raises(MemoryError):
        Room(1 << 58, np.dtype(np.uint32))
    with pytest.raises(MemoryError):
        zeros(1 << 58)
