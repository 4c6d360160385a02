"""Attributes that are computed, and modules and methods that are imported, on first use."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, Generic, TypeVar, cast

from ..kernels.compiler.imported_on_use import imported_on_use as imported_on_use

T = TypeVar("T")


class lazy(Generic[T]):
    """Like functools.cached_property since Python 3.12, without a lock.

    Earlier versions have one lock for all instances; a process that is forked while another thread holds it would wait for
    ever. Threads that ask at the same time may compute the value several times; all get the first result.
    """

    def __init__(self, work_out: Callable[[Any], T]) -> None:
        self._work_out = work_out
        self._name = work_out.__name__
        self.__doc__ = work_out.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> T:
        if instance is None:  # accessed on the class
            return cast(T, self)
        # Now the instance has the attribute, and this is not called again.
        return cast(T, instance.__dict__.setdefault(self._name, self._work_out(instance)))


class method_on_use:
    """A method whose function is in a module that few processes need, and that is imported when the method is looked up."""

    def __init__(self, module: str, name: str) -> None:
        self._module = imported_on_use(module)
        self._name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        function = getattr(self._module, self._name)
        return function if instance is None else MethodType(function, instance)
