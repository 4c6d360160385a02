"""How every kernel is compiled: one place for the options, so that no two kernels differ by accident."""

from collections.abc import Callable
from typing import Any

from numba import njit


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on first call, keep it on disk for later processes, and release the GIL while it runs.

    `error_model="numpy"` leaves out the checks for division by zero, which no kernel does.
    """
    return njit(cache=True, nogil=True, error_model="numpy")(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A helper of kernels that LLVM must inline: for what runs once a piece or more.

    LLVM judges most of them too large and would call them, with a change of reference count for each array passed.
    """
    return njit(nogil=True, error_model="numpy", forceinline=True)(function)
