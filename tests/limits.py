"""Limits that work must keep: of memory, of time, and of how often garbage is collected."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def takes_memory_below(n_bytes: int) -> Iterator[None]:
    """A context in which Python and NumPy must never have so many bytes more than at its beginning."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < n_bytes
    finally:
        tracemalloc.stop()


@contextmanager
def takes_seconds_below(seconds: float) -> Iterator[None]:
    """A context that must take less of the processor's time: tests run beside each other."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


@contextmanager
def collects_at_most(n: int) -> Iterator[None]:
    """A context in which garbage may be collected so often, and at the end of which that is still done."""
    phases = []
    gc.collect()
    gc.callbacks.append(lambda phase, _: phases.append(phase))
    try:
        yield
        assert gc.isenabled()
    finally:
        gc.callbacks.pop()
    assert phases.count("start") <= n
