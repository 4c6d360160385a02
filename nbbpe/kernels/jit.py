"""How every kernel is compiled: one place for the options, so that no two kernels differ by accident."""

import functools
import os
from collections.abc import Callable
from typing import Any

from numba import njit


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on first call, keep it on disk for later processes, and release the GIL while it runs.

    `error_model="numpy"` leaves out the checks for division by zero, which no kernel does.
    """
    compiled = njit(cache=True, nogil=True, error_model="numpy")(function)
    # Numba takes a kernel on disk for good as long as the file that defines it is unchanged, whatever became of the
    # helpers in other files that were compiled into it. Here any change in this folder makes all of them anew, and so
    # does another choice of bounds checks. Where a version of Numba has no such attribute, its own rule remains.
    cache_file: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(cache_file, "_source_stamp"):
        cache_file._source_stamp = _stamp()
        cache_file._load_index = functools.partial(_load_or_forget, cache_file._load_index)
    return compiled


def inlined(function: Callable[..., Any]) -> Any:
    """A helper of kernels that LLVM must inline: for what runs once a piece or more.

    LLVM judges most of them too large and would call them, with a change of reference count for each array passed.
    """
    return njit(nogil=True, error_model="numpy", forceinline=True)(function)


def _load_or_forget(load_index: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    """What is in the index of a kernel on disk; nothing where it cannot be read.

    Numba unpickles an index before it looks whether it is out of date, and an older version's may name classes that are
    gone. An index that was cut short by a crash is no reason to fail either: the kernel is compiled anew.
    """
    try:
        return load_index()
    except Exception:
        return {}


@functools.cache
def _stamp() -> tuple[Any, ...]:
    """What the compiled kernels depend on: the files in this folder, and whether indices are checked."""
    with os.scandir(os.path.dirname(__file__)) as entries:
        sources = [(entry.name, entry.stat()) for entry in entries if entry.name.endswith(".py")]
    files = sorted((name, status.st_mtime_ns, status.st_size) for name, status in sources)
    return (os.environ.get("NUMBA_BOUNDSCHECK"), *files)
