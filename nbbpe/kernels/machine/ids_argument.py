"""A list of ids as an argument of a kernel: its numbers are copied out of Python's objects, 3 ns each.

NumPy takes 20 ns or more for each, as it first looks at the types of all objects.
"""

from ..compiler.jit import cgutils, ir, llvm
from ..compiler.signature import Argument

NO_LIST = -1  # in place of a number of ids; see IDS_ARGUMENT


def _take(emitter, item):
    builder = emitter.builder
    nothing = ir.Constant(llvm.OBJECT, None)
    values = (nothing, llvm.I64(NO_LIST), llvm.I32(0))
    memory, n, overflow = (cgutils.alloca_once_value(builder, value) for value in values)
    with builder.if_then(emitter.is_exactly(item, "PyList_Type")):
        size = emitter.call("PyList_Size", llvm.I64, item)
        ids = emitter.call("PyMem_Malloc", llvm.OBJECT, builder.mul(size, llvm.I64(8)))
        builder.store(ids, memory)
        with builder.if_then(builder.icmp_unsigned("!=", ids, nothing)):
            builder.store(size, n)
            with cgutils.for_range(builder, size) as loop:
                # No Python code runs in this loop, so the list cannot change.
                number = emitter.call("PyList_GetItem", llvm.OBJECT, item, loop.index)
                with builder.if_then(builder.not_(emitter.is_exactly(number, "PyLong_Type"))):
                    builder.store(llvm.I64(NO_LIST), n)
                    loop.do_break()
                value = emitter.call("PyLong_AsLongLongAndOverflow", llvm.I64, number, overflow)
                with builder.if_then(builder.icmp_signed("!=", builder.load(overflow), llvm.I32(0))):
                    builder.store(llvm.I64(NO_LIST), n)
                    loop.do_break()
                builder.store(value, builder.gep(builder.bitcast(ids, llvm.I64.as_pointer()), [loop.index]))
    emitter.cleanups.append(lambda: emitter.call("PyMem_Free", llvm.VOID, builder.load(memory)))
    return [builder.ptrtoint(builder.load(memory), llvm.I64), builder.load(n)]


# A list of ids in a kernel.
#
#   at : address of int64[n], valid while the kernel runs
#   n  : how many there are; NO_LIST for an object that is not a list, and for a list of anything but int (bool, say, or an
#        integer of NumPy's) or of numbers of more than 64 bits
#
# Any object may be given; the kernel checks that it is a list.
IDS_ARGUMENT = Argument("IdsArgument", ("at", "n"), _take)
