"""Python's garbage collector, which slows down reading hundreds of thousands of small objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """A context manager, and a decorator, that turns garbage collection off.

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
