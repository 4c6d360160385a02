"""Python's garbage collector, which slows down making hundreds of thousands of small objects that last."""

import gc
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

_MANY = 500  # objects; Python looks at new ones when there are 700
_NOT_PAUSED = nullcontext()


@contextmanager
def paused_collector() -> Iterator[None]:
    """A context manager, and a decorator, that turns garbage collection off.

    It would look through these objects again and again as there are more: what a file of a vocabulary holds, for a quarter
    of the time in which a large one is read; what Numba makes, for a sixth of the time in which a kernel is compiled; the
    ids of many texts as lists, for two thirds of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def paused_for(n: int) -> AbstractContextManager[None]:
    """As `paused_collector`, if `n` objects are many: to turn the collector off and on takes a microsecond."""
    return paused_collector() if n > _MANY else _NOT_PAUSED
