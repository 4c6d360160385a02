"""Kernel arguments of our own types, which are read directly from Python objects: what these types have in common.

A kernel gets 64-bit numbers for such an argument. Numba calls its unboxing with the GIL, before the kernel runs.
"""

from llvmlite import ir
from numba import types
from numba.extending import make_attribute_wrapper, models, register_model

from .intrinsics import I64, pointer

_TYPE_AT = object.__basicsize__ - 8  # the offset of an object's type, the last field that all objects have


class Argument(types.Type):
    """The Numba type of such an argument; one for each subclass."""

    def __init__(self):
        super().__init__(type(self).__name__)


def has_numbers(*names):
    """Class decorator of an Argument: the names of its int64 attributes in a kernel."""

    def register(kind):
        class Model(models.StructModel):
            def __init__(self, manager, argument):
                super().__init__(manager, argument, [(name, types.int64) for name in names])

        register_model(kind)(Model)
        for name in names:
            make_attribute_wrapper(kind, name, name)
        return kind

    return register


def is_exactly(c, item, type_name):
    """Whether an object is exactly of this type of Python's C API (not a subclass); for unboxing."""
    type_at = c.builder.add(c.builder.ptrtoint(item, I64), I64(_TYPE_AT))
    its_type = c.builder.load(pointer(c.builder, type_at, c.pyapi.pyobj))
    return c.builder.icmp_unsigned("==", its_type, c.pyapi.get_c_object(type_name))


def call_api(c, name, result, *arguments):
    """Call a function of Python's C API that returns this type; for unboxing."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return c.builder.call(c.pyapi._get_function(kind, name), arguments)
