"""The secret key of hash tables, so that nobody can write a text or a tokenizer file whose keys collide.

Each table has a copy of it as data: as a constant of a kernel, it would be compiled in and stored on disk. Nothing that a
user sees depends on it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from numpy.typing import NDArray

HOME, LONG, PAIRS = 0, 3, 6  # indexes of the numbers for the home of a key, the hash of a long key, and pairs of symbols
SIZE = 7

_FOUR = np.uint64(4)


def fresh() -> NDArray[np.uint64]:
    """A new secret, uint64[SIZE], from the operating system."""
    numbers = np.frombuffer(os.urandom(8 * SIZE), dtype=np.uint64).copy()
    numbers[[HOME + 2, PAIRS]] |= np.uint64(1)  # factors that must be odd
    numbers[LONG + 2] >>= _FOUR  # see intrinsics.polynomial_step
    return numbers


_of_process = fresh()  # forked processes share it
_another: ContextVar[NDArray[np.uint64] | None] = ContextVar("_another", default=None)


def of_process() -> NDArray[np.uint64]:
    """The secret of this process, or within the context `another` the other one."""
    other = _another.get()
    return _of_process if other is None else other


@contextmanager
def another(numbers: NDArray[np.uint64] | None = None) -> Iterator[None]:
    """Give tables made in this context the secret `numbers`, by default a new one: for tables that leave nbbpe."""
    before = _another.set(fresh() if numbers is None else numbers)
    try:
        yield
    finally:
        _another.reset(before)
