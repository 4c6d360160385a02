"""Python's collector of cycles, which is in the way of reading hundreds of thousands of small things."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """A context in which Python looks for no cycles; also a decorator.

    What a file of a vocabulary holds has none, and would be looked through again and again as it grows: a quarter of the
    time in which a large one is read.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
