"""Pause Python's garbage collector, which slows down making hundreds of thousands of small objects that last."""

import gc
import os
from _thread import get_ident
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

_MANY = 500  # objects; the collector first runs after 700 new ones
_NOT_PAUSED = nullcontext()
_pausing: set[int] = set()  # threads that have turned the collector off


@contextmanager
def paused_collector() -> Iterator[None]:
    """Turn garbage collection off; a context manager and a decorator.

    The collector looks through all objects again and again as their number grows. That took a quarter of the time to read
    a large vocabulary file, a sixth of the time to compile a kernel, and two thirds of the time to return the ids of many
    texts as lists.
    """
    if not gc.isenabled():
        yield
        return
    _pausing.add(get_ident())
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        _pausing.discard(get_ident())


def paused_for(n: int) -> AbstractContextManager[None]:
    """As `paused_collector`, but only if `n` objects are many, as turning the collector off and on takes a microsecond."""
    return paused_collector() if n > _MANY else _NOT_PAUSED


def _after_fork() -> None:
    """Turn the collector on again in a forked process if a thread that is not there had turned it off."""
    if _pausing and get_ident() not in _pausing:
        gc.enable()
    _pausing.intersection_update({get_ident()})


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
