"""A list of ids as a kernel argument: its numbers are copied out of the Python objects, 3 ns each.

NumPy takes 20 ns or more for each, as it checks the types of all objects first.
"""

from llvmlite import ir
from numba.core import cgutils
from numba.extending import NativeValue, unbox

from .intrinsics import I64
from .python_arguments import Argument, call_api, has_numbers, is_exactly

NO_LIST = -1  # in place of a number of ids; see IdsArgument


@has_numbers("at", "n")
class IdsArgument(Argument):
    """A list of ids in a kernel.

    at : address of int64[n], there for as long as the kernel runs
    n  : how many there are; NO_LIST for an object that is not a list, and for a list of anything but int (bool, say, or an
         integer of NumPy's) or of numbers of more than 64 bits

    Any object may be given; the kernel checks that it is a list.
    """


IDS_ARGUMENT = IdsArgument()


@unbox(IdsArgument)
def _unbox(kind, obj, c):
    builder, api = c.builder, c.pyapi
    memory = cgutils.alloca_once_value(builder, cgutils.get_null_value(api.voidptr))
    n = cgutils.alloca_once_value(builder, I64(NO_LIST))
    overflow = cgutils.alloca_once(builder, ir.IntType(32))
    with builder.if_then(is_exactly(c, obj, "PyList_Type")):
        size = call_api(c, "PyList_Size", I64, obj)
        ids = call_api(c, "PyMem_Malloc", api.voidptr, builder.mul(size, I64(8)))
        builder.store(ids, memory)
        with builder.if_then(cgutils.is_not_null(builder, ids)):
            builder.store(size, n)
            with cgutils.for_range(builder, size) as loop:
                # No Python code runs meanwhile, so the list cannot change.
                item = call_api(c, "PyList_GetItem", api.pyobj, obj, loop.index)
                with builder.if_then(builder.not_(is_exactly(c, item, "PyLong_Type"))):
                    builder.store(I64(NO_LIST), n)
                    loop.do_break()
                number = call_api(c, "PyLong_AsLongLongAndOverflow", I64, item, overflow)
                with builder.if_then(cgutils.is_true(builder, builder.load(overflow))):
                    builder.store(I64(NO_LIST), n)
                    loop.do_break()
                builder.store(number, builder.gep(builder.bitcast(ids, I64.as_pointer()), [loop.index]))

    value = cgutils.create_struct_proxy(kind)(c.context, builder)
    value.at, value.n = builder.ptrtoint(builder.load(memory), I64), builder.load(n)

    def free():
        call_api(c, "PyMem_Free", ir.VoidType(), builder.load(memory))

    return NativeValue(value._getvalue(), cleanup=free)
