"""Parts of kernels: what only other compiled code calls, and so needs neither machine code nor a face for Python.

Numba optimizes whatever it compiles, makes machine code of it and two wrappers, and then links it into each caller, where
it is optimized again. Of a hundred small functions only what the kernel at their top becomes is ever run: without the rest
an empty cache is filled in two thirds of the time, and the kernels run as fast as before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

njit: Any = numba.njit  # whose types do not know all of its options


class _LinkedOnly(JITCodeLibrary):
    """The intermediate code of one part, as its callers link it in."""

    def _optimize_final_module(self) -> None:
        """Leave it to the kernel, which optimizes all of its parts together."""

    def _finalize_final_module(self) -> None:
        # What CodeLibrary does, without handing the code to the engine that makes machine code of all it gets.
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Say that no such function has been made."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> _LinkedOnly:
        """What is asked to `set_env`, and that would look for the environment's place in machine code."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: only wrappers for Python read a function's environment."""


class _NeverInlined(_LinkedOnly):
    """That of a part which LLVM is to leave a function: an attribute that Numba has no option for."""

    def add_ir_module(self, ir_module: Any) -> None:
        for function in ir_module.functions:
            if not function.is_declaration:
                function.attributes.add("noinline")
        super().add_ir_module(ir_module)


class _PartCompiler(Compiler):
    """Numba's compiler, which puts what it makes into a library of ours."""

    library_class = _LinkedOnly

    def __init__(self, typing_context: Any, target_context: Any, _: None, *rest: Any) -> None:
        library = self.library_class(target_context.codegen(), "part")
        super().__init__(typing_context, target_context, library, *rest)


class _NeverInlinedCompiler(_PartCompiler):
    library_class = _NeverInlined


def compile_as_part(function: Callable[..., Any], never_inline: bool = False, **options: Any) -> Any:
    """A function for compiled code alone, with options of `numba.njit`; from Python it raises TypeError.

    What has no `forceinline` among its options takes it from the function that is compiled when it is first called.
    """

    def refuse(*_: Any, **__: Any) -> None:
        raise TypeError(f"{function.__module__}.{function.__name__} is a part of kernels: call it from compiled code")

    def add_overload(compiled: Any) -> None:
        part.overloads[tuple(compiled.signature.args)] = compiled

    compiler = _NeverInlinedCompiler if never_inline else _PartCompiler
    part: Any = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, pipeline_class=compiler, **options)(function)
    part._compile_for_args = refuse
    part.add_overload = add_overload  # as Numba does, but without telling its dispatcher of an address to call
    return part
