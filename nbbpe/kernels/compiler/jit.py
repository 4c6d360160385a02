"""How every kernel is compiled: one place for the options, so that no two kernels differ by accident."""

from collections.abc import Callable
from typing import Any

from .disk_cache import KernelCache
from .parts import compile_as_part, njit

KERNELS: list[Any] = []  # every kernel of the modules that are imported, in no order that matters

# `error_model="numpy"` leaves out the checks for division by zero, which no kernel does.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def _do_nothing() -> None:
    pass


def kernel(function: Callable[..., Any]) -> Any:
    """What Python calls: compiled on first call, kept on disk for later processes; the GIL is released while it runs."""
    compiled: Any = njit(no_cfunc_wrapper=True, **_OPTIONS)(function)
    compiled._cache = KernelCache(function)  # as njit(cache=True) does with Numba's own
    # Before its first kernel Numba imports what other packages have registered as extensions of it: 0.2 s for awkward. A
    # kernel that is read from disk needs none, and the compiler asks for them by itself.
    compiled._compilation_chain_init_hook = _do_nothing
    KERNELS.append(compiled)
    return compiled


def entry_point(kernel: Any, *kinds: Any) -> Callable[..., Any]:
    """A kernel's compiled code for arguments of these types, compiled if need be.

    It takes its arguments without a look at which code their types ask for: a call costs 0.1 µs instead of 0.3. That
    counts where a kernel is called for every short text.
    """
    code: Callable[..., Any] = kernel.compile(kinds)
    return code


def part(function: Callable[..., Any]) -> Any:
    """What kernels call and Python does not: compiled into each kernel that needs it, where LLVM may inline it or not."""
    return compile_as_part(function, **_OPTIONS)


def called(function: Callable[..., Any]) -> Any:
    """A part that LLVM must not inline: for a loop that should have all registers, and runs often enough for a call."""
    return compile_as_part(function, never_inline=True, forceinline=False, **_OPTIONS)


def inlined(function: Callable[..., Any]) -> Any:
    """A part that LLVM must inline: for what runs once a piece or more.

    LLVM judges most of them too large and would call them, with a change of reference count for each array passed.
    """
    return compile_as_part(function, forceinline=True, **_OPTIONS)
