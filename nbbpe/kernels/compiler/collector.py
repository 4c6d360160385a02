"""Python's garbage collector, which slows down making hundreds of thousands of small objects that last."""

import gc
import os
from _thread import get_ident
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

_MANY = 500  # objects; Python looks at new ones when there are 700
_NOT_PAUSED = nullcontext()
_pausing: set[int] = set()  # threads that have turned the collector off


@contextmanager
def paused_collector() -> Iterator[None]:
    """A context manager, and a decorator, that turns garbage collection off.

    It would look through these objects again and again as there are more: what a file of a vocabulary holds, for a quarter
    of the time in which a large one is read; what Numba makes, for a sixth of the time in which a kernel is compiled; the
    ids of many texts as lists, for two thirds of the time.
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
    """As `paused_collector`, if `n` objects are many: to turn the collector off and on takes a microsecond."""
    return paused_collector() if n > _MANY else _NOT_PAUSED


def _after_fork() -> None:
    """Turn the collector on again in a child, which has no thread but the one that forked."""
    if _pausing and get_ident() not in _pausing:
        gc.enable()
    _pausing.intersection_update({get_ident()})


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
