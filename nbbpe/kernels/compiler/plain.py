"""The fallback: compile kernels by a plain `njit(cache=True)`, with Numba's public API only.

It is used if Numba's internals are not as numba_internals.py expects them, with one warning, and if the user has set
NUMBA_BOUNDSCHECK or NUMBA_DISABLE_JIT (which does not keep kernels from being compiled). It is slower to start and to
compile; ids and merges are the same.
"""

from __future__ import annotations

import contextlib
import glob
import os
import sys
import types as python_types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from . import kernel_files, store
from .layouts import UnknownLayout
from .signature import Argument
from .target import UnknownProcessor
from .trusted_folders import PrivateFolder, Untrusted

_SETTINGS = ("NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT")
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_took_over = False
_made: dict[Any, Any] = {}  # Numba's objects for parts and intrinsics


def is_plain() -> bool:
    """Whether kernels are compiled by a plain `njit`."""
    return _took_over or any(os.environ.get(name, "") not in ("", "0") for name in _SETTINGS)


def take_over(error: BaseException) -> None:
    """Compile kernels by a plain `njit` from now on, with a warning. Raises the error if that would not help."""
    global _took_over
    # If memory, files, stack depth or a part of Numba are missing, they are missing for a plain njit, too.
    is_missing = isinstance(error, ImportError) and (
        error.name in ("numba", "llvmlite")
        or "numba" not in sys.modules  # its import has failed
        or not (error.path or ".py").endswith((".py", ".pyc"))  # a library that was not loaded, perhaps for its memory
    )
    if is_missing or isinstance(error, (UnknownLayout, UnknownProcessor, MemoryError, RecursionError, OSError)):
        raise error
    if not _took_over:
        _took_over = True
        first_line = next(iter(str(error).splitlines()), "")
        warnings.warn(
            f"nbbpe does not know this version of Numba ({type(error).__name__}: {first_line}): kernels are compiled by a "
            "plain njit, and each process needs Numba. Use a version of Numba that nbbpe was tested with, or report this",
            RuntimeWarning,
            stacklevel=2,
        )


def compiled(kernel: Any, before: Callable[[], None]) -> tuple[Callable[..., Any], str | None, bool]:
    """Compile a kernel, see jit.Kernel, by Numba; call `before` first, unless Numba's cache has the kernel.

    Returns a function that takes its arguments by position; the folder of Numba's cache, None if there is none; and whether
    the kernel was not in the cache before.
    """
    import numba

    from .numba_types import numba_type

    kinds = tuple(numba_type(each) for each in kernel.types)
    # Numba would use any folder, and takes cached code for outdated only if the kernel's own file has changed.
    folder = _trusted_folder()
    with jit_enabled(), _setting("CACHE_DIR", folder or ""):
        if folder is None or not _indices(folder, f"{kernel.name}-"):
            before()
        dispatcher: Any = numba.njit(cache=folder is not None, **_OPTIONS)(_with_made_globals(kernel.function))
        entry = dispatcher.compile(kinds)
        dispatcher.disable_compile()
    # The dispatcher's type check does not know our argument types, which take any object.
    takes_ours = any(isinstance(each, Argument) for each in kernel.types)
    return entry if takes_ours else dispatcher, folder, not dispatcher.stats.cache_hits


def count_stored() -> dict[str, int]:
    """The number of kernels in Numba's cache, in the folder that is used."""
    folder = _trusted_folder()
    n_kernels = len(_indices(folder)) if folder else 0
    return {folder: n_kernels} if folder and n_kernels else {}


def _indices(folder: str, beginning: str = "") -> list[str]:
    """The index files of the kernels in Numba's cache whose names begin with `beginning`."""
    return glob.glob(os.path.join(glob.escape(folder), "**", f"{beginning}*.nbi"), recursive=True)


def made(declared: Any) -> Any:
    """Numba's object for a part or an intrinsic, see jit.py."""
    if declared not in _made:
        import numba
        from numba.extending import intrinsic

        if hasattr(declared, "inlines"):
            with jit_enabled():
                njit = numba.njit(**_OPTIONS, forceinline=bool(declared.inlines))
                _made[declared] = njit(_with_made_globals(declared.function))
        else:
            _made[declared] = intrinsic(declared.function)
    return _made[declared]


def _with_made_globals(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a function that refers to Numba's objects in place of our declarations."""
    names = {**function.__globals__}
    for name in function.__code__.co_names:
        if _is_declared(names.get(name)):
            names[name] = made(names[name])
    cells = None
    if function.__closure__:
        contents = [cell.cell_contents for cell in function.__closure__]
        cells = tuple(python_types.CellType(made(each) if _is_declared(each) else each) for each in contents)
    copy = python_types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy


def _is_declared(value: Any) -> bool:
    return getattr(type(value), "is_declared", False)


def jit_enabled() -> contextlib.AbstractContextManager[None]:
    """Make Numba compile in this context, whatever DISABLE_JIT says: that applies only to the user's functions, as Python
    cannot run intrinsics."""
    return _setting("DISABLE_JIT", 0)


@contextlib.contextmanager
def _setting(name: str, value: Any) -> Iterator[None]:
    """Give a setting of Numba a value during this context."""
    from numba.core import config

    before = getattr(config, name)
    setattr(config, name, value)
    try:
        yield
    finally:
        setattr(config, name, before)


def _trusted_folder() -> str | None:
    """A folder for Numba's cache that is used for these sources and settings only; None if no folder can be trusted."""
    settings = "-".join(os.environ.get(name, "") or "0" for name in _SETTINGS)
    for folder in store.folders():
        if isinstance(folder, PrivateFolder):
            with contextlib.suppress(Untrusted, OSError):
                return PrivateFolder(os.path.join(folder.path, f"plain-{kernel_files.sources()}-{settings}")).make()
    return None
