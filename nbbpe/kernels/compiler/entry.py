"""A kernel's entry: the function that Python calls, `PyObject *entry(PyObject *self, PyObject *const *args, Py_ssize_t n)`.

It reads its arguments in place, and raises TypeError for anything that is not exactly as the kernel was declared. It
releases the interpreter's lock while the kernel runs. A kernel that others call has a second function, for them.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from .emitter import Emitter
from .layouts import layouts
from .llvm import I8, I32, I64, OBJECT, VOID
from .numba_internals import declare_compiled
from .numba_types import numba_type, value_of
from .signature import Argument, Array, Scalar
from .symbols import NDARRAY, symbol_of

# Flags of arrays.
_IN_C_ORDER, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
_FOREIGN_ORDER = ord(">" if sys.byteorder == "little" else "<")


def emit_functions(kernel: Any, module: ir.Module, context: Any, compiled: Any, functions: Sequence[str]) -> None:
    """Emit the entry of a kernel, see jit.Kernel, into a module; and the function for other kernels, if it has a name."""
    kind = ir.FunctionType(OBJECT, [OBJECT, OBJECT.as_pointer(), I64])
    function = ir.Function(module, kind, functions[0])
    _Entry(ir.IRBuilder(function.append_basic_block("entry")), context, kernel.name).emit(compiled, kernel.types)
    for name in functions[1:]:
        _emit_direct(module, context, compiled, name)


def _emit_direct(module: ir.Module, context: Any, compiled: Any, name: str) -> None:
    """Emit a function that takes and returns numbers as in C, for the object code of other kernels."""
    described = compiled.fndesc
    kinds = [context.get_value_type(each) for each in described.argtypes]
    function = ir.Function(module, ir.FunctionType(context.get_value_type(described.restype), kinds), name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    status, result = context.call_conv.call_function(
        builder, declare_compiled(module, context, compiled), described.restype, described.argtypes, function.args
    )
    # No kernel raises anything; if one did, the process would have to end, as its caller cannot take an error.
    with builder.if_then(status.is_error, likely=False):
        builder.call(module.declare_intrinsic("llvm.trap", (), ir.FunctionType(VOID, [])), [])
    builder.ret(result)


class _Entry(Emitter):
    """Emits the code of one entry."""

    def __init__(self, builder: ir.IRBuilder, context: Any, name: str) -> None:
        super().__init__(builder, layouts())
        self.context = context
        self.name = name

    def emit(self, compiled: Any, types: tuple[Any, ...]) -> None:
        """Emit the whole entry."""
        builder = self.builder
        _, arguments, n = builder.function.args
        is_wrong = builder.icmp_signed("!=", n, I64(len(types)))
        self.refuse_if(is_wrong, f"takes {len(types)} arguments")
        values = []
        for i, declared in enumerate(types):
            item = builder.load(builder.gep(arguments, [I64(i)]))
            values.append(self.value(item, declared, f"argument {i + 1}"))
        thread = self.call("PyEval_SaveThread", OBJECT)
        status, result = self.context.call_conv.call_function(
            builder, declare_compiled(builder.module, self.context, compiled), compiled.fndesc.restype,
            compiled.fndesc.argtypes, values, attrs=("noinline",),
        )  # fmt: skip
        self.call("PyEval_RestoreThread", VOID, thread)
        self.clean_up()
        # No kernel raises anything; but if the code that Numba adds to it fails, that must not be lost.
        with builder.if_then(status.is_error, likely=False):
            self.fail("PyExc_RuntimeError", "failed")
        builder.ret(self.boxed(result, compiled.fndesc.restype))

    def fail(self, error: str, text: str) -> None:
        """Emit code that raises an error."""
        self.clean_up()
        message = cgutils.make_bytearray(f"kernel {self.name} {text}".encode() + b"\0")
        constant = cgutils.global_constant(self.builder, "message", message)
        exception = self.builder.load(self.builder.bitcast(self.address_of(error), OBJECT.as_pointer()))
        self.call("PyErr_SetString", VOID, exception, self.builder.bitcast(constant, OBJECT))
        self.builder.ret(ir.Constant(OBJECT, None))

    def refuse_if(self, is_wrong: Any, text: str) -> None:
        """Emit code that raises TypeError if a condition is true."""
        with self.builder.if_then(is_wrong, likely=False):
            self.fail("PyExc_TypeError", text)

    def return_if(self, has_error: Any) -> None:
        """Emit code that returns if an error was raised."""
        with self.builder.if_then(has_error, likely=False):
            self.clean_up()
            self.builder.ret(ir.Constant(OBJECT, None))

    # From Python's objects to values

    def value(self, item: Any, declared: Any, name: str) -> Any:
        """An argument as the compiled kernel takes it; errors call it `name`."""
        if isinstance(declared, Argument):
            return value_of(declared, self.context, self, item)
        if isinstance(declared, Scalar):
            return self.number(item, declared)
        if isinstance(declared, Array):
            return self.array(item, declared, name)
        return self.fields(item, declared, name)

    def number(self, item: Any, declared: Scalar) -> Any:
        builder = self.builder
        if declared.kind == "b":
            truth = self.call("PyObject_IsTrue", I32, item)
            self.return_if(builder.icmp_signed("<", truth, I32(0)))
            return builder.trunc(truth, ir.IntType(1))
        nothing = ir.Constant(OBJECT, None)
        if declared.kind == "i":
            number = self.call("PyLong_AsLongLong", I64, item)
        else:
            # Unlike PyLong_AsLongLong, PyLong_AsUnsignedLongLong refuses NumPy's integers.
            index = self.call("PyNumber_Index", OBJECT, item)
            self.return_if(builder.icmp_unsigned("==", index, nothing))
            number = self.call("PyLong_AsUnsignedLongLong", I64, index)
            self.call("Py_DecRef", VOID, index)
        with builder.if_then(builder.icmp_signed("==", number, I64(-1)), likely=False):
            error = self.call("PyErr_Occurred", OBJECT)
            self.return_if(builder.icmp_unsigned("!=", error, nothing))
        return number

    def array(self, item: Any, declared: Array, name: str) -> Any:
        builder, where = self.builder, self.layouts
        kind = self.type_of(item)
        is_other = cgutils.alloca_once_value(builder, builder.icmp_unsigned("!=", kind, self.address_of(NDARRAY)))
        with builder.if_then(builder.load(is_other), likely=False):
            derives = self.call("PyType_IsSubtype", I32, kind, self.address_of(NDARRAY))
            builder.store(builder.icmp_signed("==", derives, I32(0)), is_other)
        self.refuse_if(builder.load(is_other), f"takes {declared} as {name}, not another object")
        dtype = self.read(item, where.dtype, OBJECT)
        needed = _IN_C_ORDER | _ALIGNED | (0 if declared.read_only else _WRITEABLE)
        checks = [
            (self.read(item, where.n_dimensions, I32), "==", I32(declared.n_dimensions)),
            (builder.and_(self.read(item, where.flags, I32), I32(needed)), "==", I32(needed)),
            (self.read(dtype, where.kind, I8), "==", I8(ord(declared.item.kind))),
            (self.read(dtype, where.item_size, I32), "==", I32(declared.item.size)),
            (self.read(dtype, where.byte_order, I8), "!=", I8(_FOREIGN_ORDER)),
        ]
        is_wrong = ir.Constant(ir.IntType(1), 0)
        for found, relation, expected in checks:
            is_wrong = builder.or_(is_wrong, builder.not_(builder.icmp_unsigned(relation, found, expected)))
        writable = "" if declared.read_only else " that can be written to"
        self.refuse_if(is_wrong, f"takes {declared} as {name}, in C order, aligned and in native byte order{writable}")
        value = self.context.make_array(numba_type(declared))(self.context, builder)
        shape, strides = (
            [
                builder.load(builder.gep(self.read(item, at, I64.as_pointer()), [I64(i)]))
                for i in range(declared.n_dimensions)
            ]
            for at in (where.dimensions, where.strides)
        )
        value.nitems, value.itemsize = functools.reduce(builder.mul, shape), I64(declared.item.size)
        value.shape, value.strides = (cgutils.pack_array(builder, numbers) for numbers in (shape, strides))
        value.data = self.read(item, where.data, value.data.type)
        # No references are counted: the caller keeps the array alive while the kernel runs.
        value.meminfo, value.parent = (ir.Constant(each.type, None) for each in (value.meminfo, value.parent))
        return value._getvalue()

    def fields(self, item: Any, declared: Any, name: str) -> Any:
        is_other = self.builder.icmp_unsigned("!=", self.type_of(item), self.address_of(symbol_of(declared)))
        self.refuse_if(is_other, f"takes a {declared.__name__} as {name}")
        values = []
        for i, field in enumerate(declared.kernel_fields):
            inside = self.call("PyTuple_GetItem", OBJECT, item, I64(i))
            self.return_if(self.builder.icmp_unsigned("==", inside, ir.Constant(OBJECT, None)))
            values.append(self.value(inside, field, f"{declared._fields[i]} of {name}"))
        return self.context.make_tuple(self.builder, numba_type(declared), values)

    # From values to Python's objects

    def boxed(self, result: Any, kind: Any) -> Any:
        """A result as a Python object: a number, a bool, None, or a tuple of these."""
        name = str(kind)
        if name in ("none", "void"):
            none = self.address_of("_Py_NoneStruct")
            self.call("Py_IncRef", VOID, none)
            return none
        if name in ("bool", "boolean"):
            return self.call("PyBool_FromLong", OBJECT, self.builder.zext(result, I64))
        if hasattr(kind, "bitwidth"):
            extend = self.builder.sext if kind.signed else self.builder.zext
            wide = extend(result, I64) if kind.bitwidth < 64 else result
            return self.call(f"PyLong_From{'' if kind.signed else 'Unsigned'}LongLong", OBJECT, wide)
        made = self.call("PyTuple_New", OBJECT, I64(len(kind)))
        for i, inside in enumerate(kind):
            item = self.boxed(self.builder.extract_value(result, i), inside)
            self.call("PyTuple_SetItem", I32, made, I64(i), item)
        return made
