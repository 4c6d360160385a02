"""Arguments of kernels that are read off Python's objects by types of our own: what these types have in common.

Such a type has numbers of 64 bits for the kernel. Numba calls its unboxing with the GIL, before the kernel runs.
"""

from llvmlite import ir
from numba import types
from numba.extending import make_attribute_wrapper, models, register_model

from .intrinsics import I64, pointer

_TYPE_AT = object.__basicsize__ - 8  # in every object: its type is the last of what all objects have


class Argument(types.Type):
    """A type of such arguments, one for each class derived from it."""

    def __init__(self):
        super().__init__(type(self).__name__)


def has_numbers(*names):
    """Decorator of an Argument's class: which int64 a kernel has of it, as attributes."""

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
    """Whether an object is of the type of this name in Python's C API, and of none derived from it; for unboxing."""
    type_at = c.builder.add(c.builder.ptrtoint(item, I64), I64(_TYPE_AT))
    its_type = c.builder.load(pointer(c.builder, type_at, c.pyapi.pyobj))
    return c.builder.icmp_unsigned("==", its_type, c.pyapi.get_c_object(type_name))


def call_api(c, name, result, *arguments):
    """What a function of Python's C API returns, of that type; for unboxing."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return c.builder.call(c.pyapi._get_function(kind, name), arguments)
