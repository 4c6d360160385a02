"""Numba's types for the types of signature.py."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numba
from numba.extending import NativeValue, make_attribute_wrapper, models, register_model, unbox

from .emitter import Emitter
from .layouts import layouts
from .signature import Argument, Array, Scalar


@functools.cache
def numba_type(declared: Any) -> Any:
    """Numba's type of an argument, or of a result."""
    if declared is None:
        return numba.types.void
    if isinstance(declared, tuple):
        return numba.types.BaseTuple.from_types([numba_type(each) for each in declared])
    if isinstance(declared, Scalar):
        return getattr(numba.types, declared.name)
    if isinstance(declared, Array):
        return numba.types.Array(numba_type(declared.item), declared.n_dimensions, "C", readonly=declared.read_only)
    if isinstance(declared, Argument):
        return _type_of_argument(declared)
    return numba.types.NamedTuple([numba_type(field) for field in declared.kernel_fields], declared)


def _type_by_name(module: str, name: str) -> Any:
    declared = vars(importlib.import_module(module)).values()
    return numba_type(next(each for each in declared if isinstance(each, Argument) and each.name == name))


def _type_of_argument(argument: Argument) -> Any:
    """A Numba type whose values are the numbers that are read from a Python object."""
    members = [(name, numba.types.int64) for name in argument.numbers]

    class Kind(numba.types.Type):
        def __reduce__(self) -> tuple[Any, ...]:
            # Otherwise Numba's cache on disk, see plain.py, would see a different type in each process.
            return _type_by_name, (argument.take.__module__, argument.name)

    @register_model(Kind)
    class Model(models.StructModel):
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, members)

    for name in argument.numbers:
        make_attribute_wrapper(Kind, name, name)

    # For `njit`, see plain.py; our entries call `take` directly.
    @unbox(Kind)
    def take(kind: Any, item: Any, c: Any) -> NativeValue:
        emitter = Emitter(c.builder, layouts())
        value = value_of(argument, c.context, emitter, item)
        return NativeValue(value, cleanup=emitter.clean_up if emitter.cleanups else None)

    return Kind(argument.name)


def value_of(argument: Argument, context: Any, emitter: Emitter, item: Any) -> Any:
    """The value that a kernel gets for a Python object."""
    numbers = argument.take(emitter, item)
    value = context.make_helper(emitter.builder, numba_type(argument))
    for name, number in zip(argument.numbers, numbers, strict=True):
        setattr(value, name, number)
    return value._getvalue()
