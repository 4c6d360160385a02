"""A list of ids as an argument of a kernel: its numbers copied out of Python's objects, 3 ns each.

NumPy takes 20 ns or more for each, as it asks first what kinds of objects they are.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import NativeValue, make_attribute_wrapper, models, register_model, unbox

from .simd import I64, pointer

NO_LIST = -1  # as a number of ids; see IdsArgument
_TYPE_AT = object.__basicsize__ - 8  # in every object: its type is the last of what all objects have


class IdsArgument(types.Type):
    """What a kernel has of a list of ids.

    at : address of int64[n], there for as long as the kernel runs
    n  : how many there are; NO_LIST for an object that is no list, and for a list of anything but int (bool, say, or an
         integer of NumPy's) or of numbers of more than 64 bits

    Any object may be given; it is for the kernel to tell that it is no list.
    """

    def __init__(self):
        super().__init__("IdsArgument")


IDS_ARGUMENT = IdsArgument()
make_attribute_wrapper(IdsArgument, "at", "at")
make_attribute_wrapper(IdsArgument, "n", "n")


@register_model(IdsArgument)
class _Model(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("at", types.int64), ("n", types.int64)])


@unbox(IdsArgument)
def _unbox(kind, obj, c):
    builder, api = c.builder, c.pyapi
    of_object, i32 = api.pyobj, ir.IntType(32)

    def api_function(name, result, *arguments):
        return api._get_function(ir.FunctionType(result, arguments), name)

    def is_a(item, name):
        type_at = builder.add(builder.ptrtoint(item, I64), I64(_TYPE_AT))
        return builder.icmp_unsigned("==", builder.load(pointer(builder, type_at, of_object)), api.get_c_object(name))

    memory = cgutils.alloca_once_value(builder, cgutils.get_null_value(api.voidptr))
    n = cgutils.alloca_once_value(builder, I64(NO_LIST))
    overflow = cgutils.alloca_once(builder, i32)
    with builder.if_then(is_a(obj, "PyList_Type")):
        size = builder.call(api_function("PyList_Size", I64, of_object), [obj])
        allocate = api_function("PyMem_Malloc", api.voidptr, I64)
        ids = builder.call(allocate, [builder.mul(size, I64(8))])
        builder.store(ids, memory)
        with builder.if_then(cgutils.is_not_null(builder, ids)):
            builder.store(size, n)
            with cgutils.for_range(builder, size) as loop:
                # No code of Python's runs meanwhile, so that the list stays as it is.
                item = builder.call(api_function("PyList_GetItem", of_object, of_object, I64), [obj, loop.index])
                with builder.if_then(builder.not_(is_a(item, "PyLong_Type"))):
                    builder.store(I64(NO_LIST), n)
                    loop.do_break()
                to_number = api_function("PyLong_AsLongLongAndOverflow", I64, of_object, i32.as_pointer())
                number = builder.call(to_number, [item, overflow])
                with builder.if_then(cgutils.is_true(builder, builder.load(overflow))):
                    builder.store(I64(NO_LIST), n)
                    loop.do_break()
                builder.store(number, builder.gep(builder.bitcast(ids, I64.as_pointer()), [loop.index]))

    value = cgutils.create_struct_proxy(kind)(c.context, builder)
    value.at, value.n = builder.ptrtoint(builder.load(memory), I64), builder.load(n)

    def free():
        builder.call(api_function("PyMem_Free", ir.VoidType(), api.voidptr), [builder.load(memory)])

    return NativeValue(value._getvalue(), cleanup=free)
