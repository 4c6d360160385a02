"""Types of LLVM's intermediate code that intrinsics and entries use, and operations that they often emit.

Importing this imports llvmlite: see jit.llvm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

I1, I8, I16, I32, I64, I128 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64, 128))
OBJECT = I8.as_pointer()
VOID = ir.VoidType()
VECTOR = ir.VectorType(I8, 64)  # a block of text
CHOSEN = ir.VectorType(I1, 64)  # a bit for each byte of a block


def call(builder: ir.IRBuilder, name: str, result: ir.Type, *arguments: Any) -> Any:
    """Emit a call of the function of this name in LLVM or in C; returns its result, of type `result`."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, arguments)


def pointer(builder: ir.IRBuilder, address: Any, kind: ir.Type) -> Any:
    """An address as a pointer to a kind of value."""
    return builder.inttoptr(address, kind.as_pointer())


def load(builder: ir.IRBuilder, address: Any, kind: ir.Type, align: int = 1) -> Any:
    """The value at an address, which is a multiple of `align`."""
    return builder.load(pointer(builder, address, kind), align=align)


def store(builder: ir.IRBuilder, value: Any, address: Any, align: int = 1) -> None:
    """Write a value to an address, which is a multiple of `align`."""
    builder.store(value, pointer(builder, address, value.type), align=align)


def shuffled(builder: ir.IRBuilder, left: Any, right: Any, order: Sequence[int]) -> Any:
    """A vector of the elements with these indices, which count on from the left vector to the right one."""
    return builder.shuffle_vector(left, right, ir.VectorType(I32, len(order))(list(order)))


def copies(builder: ir.IRBuilder, value: Any, vector: ir.VectorType) -> Any:
    """A vector of copies of an integer, cut to the lower bits that an element has."""
    undefined = vector(ir.Undefined)
    single = builder.insert_element(undefined, builder.trunc(value, vector.element), I32(0))
    return shuffled(builder, single, undefined, [0] * vector.count)
