"""Kernels of tests' own: compiled as nbbpe's are, in this process, and never stored.

They are compiled when a test calls them, as each process that runs tests imports all of these, whichever it runs.
"""

from __future__ import annotations

import functools
import platform
import sys
from collections.abc import Callable
from typing import Any

from nbbpe.kernels.compiler import obtain, plain
from nbbpe.kernels.compiler.jit import Kernel

# Whether the code of kernels is placed in memory by nbbpe, and not by LLVM.
IS_PLACED_HERE = sys.platform == "linux" and platform.machine() == "x86_64"


def compile_now(*types: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: as jit.kernel, but what is got calls the entry."""

    @functools.cache
    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        kernel = Kernel(function, types)
        if plain.is_plain():
            return plain.compiled(kernel, lambda: None)[0]
        return obtain.loaded(kernel, obtain.compiled(kernel), None, True).entry

    def called(function: Callable[..., Any]) -> Callable[..., Any]:
        return functools.wraps(function)(lambda *arguments: compiled(function)(*arguments))

    return called
