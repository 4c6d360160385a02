"""Declare kernels and their parts: plain Python functions, which need Numba only to be compiled.

Python calls kernels. On the first call, a kernel's machine code is read from disk and loaded without Numba (see obtain.py);
only if none is stored, Numba is imported and compiles it. Kernels call parts and intrinsics: when Numba finds one of them
in code that it compiles, it reads its `_numba_type_`, and only then is a Numba object made for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .imported_on_use import imported_on_use
from .obtain import Obtained, declare_direct, direct_name_of, obtain
from .plain import is_plain, made
from .signature import Scalar

KERNELS: list[Kernel] = []  # every kernel of the modules that are imported, in any order

# Intrinsics use these only when they are compiled.
types: Any = imported_on_use("numba.types")
cgutils: Any = imported_on_use("numba.core.cgutils")
ir: Any = imported_on_use("llvmlite.ir")
llvm: Any = imported_on_use(f"{__package__}.llvm")


class Intrinsic:
    """A function that emits LLVM's intermediate code, as for `numba.extending.intrinsic`, declared without Numba."""

    is_declared = True  # recognised by plain.py without reading `_numba_type_`

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self._type: Any = None

    @property
    def _numba_type_(self) -> Any:
        if self._type is None:
            from .numba_internals import type_of_intrinsic

            self._type = type_of_intrinsic(self.function)
        return self._type

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"{self.__module__}.{self.__name__} is a part of kernels: call it from compiled code")


class Part(Intrinsic):
    """A function that kernels call and Python does not.

    inlines : True if LLVM must inline it, False if it must not, None to leave it to LLVM
    """

    def __init__(self, function: Callable[..., Any], inlines: bool | None = None) -> None:
        super().__init__(function)
        self.inlines = inlines
        self._dispatcher: Any = None

    def dispatcher(self) -> Any:
        """Numba's object for this function, made by a plain `njit` if that compiles, else by numba_internals.py."""
        if is_plain():
            return made(self)
        if self._dispatcher is None:
            from .numba_internals import dispatcher_of

            self._dispatcher = dispatcher_of(self.function, self.inlines)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher()._numba_type_


class Kernel(Part):
    """A function that Python calls: compiled once on a machine, and run without the GIL. Compiled code may call it, too.

    types   : the types of its arguments, see signature.py
    name    : the names of its module and of the function
    returns : the type of its result, if other kernels call its object code instead of compiling it into their own; then its
              arguments must be numbers
    """

    def __init__(self, function: Callable[..., Any], types: tuple[Any, ...], returns: Scalar | None = None) -> None:
        super().__init__(function)
        self.types = types
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self.returns = returns
        if returns is not None:
            declare_direct(self)
        self._obtained: Obtained | None = None
        self._entry: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._entry or self.entry_point())(*arguments)

    def entry_point(self) -> Callable[..., Any]:
        """The compiled code. Calling it costs less than calling the kernel, which matters for short texts."""
        return self.obtained().entry

    def obtained(self) -> Obtained:
        """The compiled code and where it came from, obtained if necessary."""
        if self._obtained is None:
            self._obtained = obtain(self)
            self._entry = self._obtained.entry
        return self._obtained

    @property
    def _numba_type_(self) -> Any:
        if self.returns is None or is_plain():
            return self.dispatcher()._numba_type_
        if self._type is None:
            from .numba_internals import type_of_direct

            self._type = type_of_direct(direct_name_of(self), self.returns, self.types)
        return self._type

    @property
    def was_obtained(self) -> bool:
        """Whether the compiled code is in this process."""
        return self._obtained is not None

    @property
    def was_compiled(self) -> bool:
        """Whether this process has compiled it."""
        return self._obtained is not None and self._obtained.was_compiled


def kernel(*types: Any, returns: Scalar | None = None) -> Callable[[Callable[..., Any]], Kernel]:
    """Declare a function that Python calls.

    types, returns : see Kernel
    """

    def declare(function: Callable[..., Any]) -> Kernel:
        n_arguments = function.__code__.co_argcount
        if len(types) != n_arguments:  # when compiled, this would look like an unknown Numba
            raise TypeError(
                f"@kernel of {function.__name__} declares {len(types)} types for {n_arguments} arguments; the type of the "
                "result is not one of them"
            )
        declared = Kernel(function, types, returns)
        KERNELS.append(declared)
        return declared

    return declare


def intrinsic(*types: Any, returns: Any = None) -> Callable[[Callable[..., Any]], Intrinsic]:
    """Declare an intrinsic. The function emits its code: it takes llvmlite's builder and the values of the arguments, and
    returns the value of the result.

    types, returns : the types of the arguments and the result, see signature.py; a tuple of types for a tuple, None for no
                     result
    """

    def declare(function: Callable[..., Any]) -> Intrinsic:
        @functools.wraps(function)  # Numba reads the parameters except the first
        def typed(typingctx: Any, *_: Any) -> Any:
            from .numba_types import numba_type

            def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                value = function(builder, *values)
                if returns is None:
                    return context.get_dummy_value()
                return context.make_tuple(builder, signature.return_type, value) if isinstance(returns, tuple) else value

            return numba_type(returns)(*map(numba_type, types)), codegen

        return Intrinsic(typed)

    return declare


def generic_intrinsic(function: Callable[..., Any]) -> Any:
    """Declare an intrinsic as `numba.extending.intrinsic` does: its types depend on those of its arguments."""
    return Intrinsic(function)


def part(function: Callable[..., Any]) -> Any:
    """Declare a function that only kernels call. It is compiled into each of them; LLVM decides whether it is inlined."""
    return Part(function)


def called(function: Callable[..., Any]) -> Any:
    """Declare a part that LLVM must not inline: for a loop that needs all registers, and is long enough for a call."""
    return Part(function, inlines=False)


def inlined(function: Callable[..., Any]) -> Any:
    """Declare a part that LLVM must inline: for code that runs once a piece or more often. LLVM thinks most too large."""
    return Part(function, inlines=True)
