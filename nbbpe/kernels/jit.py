"""How every kernel is compiled: one place for the options, so that no two kernels differ by accident."""

from collections.abc import Callable
from typing import Any

from numba import njit

from .disk_cache import KernelCache

KERNELS: list[Any] = []  # every kernel of the modules that are imported, in no order that matters


def _do_nothing() -> None:
    pass


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on first call, keep it on disk for later processes, and release the GIL while it runs.

    `error_model="numpy"` leaves out the checks for division by zero, which no kernel does.
    """
    compiled: Any = njit(nogil=True, error_model="numpy")(function)
    compiled._cache = KernelCache(function)  # as njit(cache=True) does with Numba's own
    # Before its first kernel Numba imports what other packages have registered as extensions of it: 0.2 s for awkward. A
    # kernel that is read from disk needs none, and the compiler asks for them by itself.
    compiled._compilation_chain_init_hook = _do_nothing
    KERNELS.append(compiled)
    return compiled


def inlined(function: Callable[..., Any]) -> Any:
    """A helper of kernels that LLVM must inline: for what runs once a piece or more.

    LLVM judges most of them too large and would call them, with a change of reference count for each array passed.
    """
    return njit(nogil=True, error_model="numpy", forceinline=True)(function)
