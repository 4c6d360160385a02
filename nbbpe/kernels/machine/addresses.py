"""NamedTuples of addresses and sizes: parts of kernels take structures in this form, or read them from memory.

In compiled code such a tuple is only its numbers, each in a register if it is used: neither names nor unused fields cost
anything.
"""

from collections.abc import Iterator
from typing import Any

from ..compiler.jit import generic_intrinsic, llvm, types


def numbers_of(fields: tuple[Any, ...]) -> Iterator[int]:
    """Yield the numbers of a NamedTuple and of the NamedTuples in it, in the order in which `read_fields` expects them."""
    for field in fields:
        if isinstance(field, tuple):
            yield from numbers_of(field)
        else:
            yield field


def n_numbers(kind: type) -> int:
    """How many numbers a NamedTuple class has, with those of the NamedTuples in it; an `int` is one."""
    return 1 if kind is int else sum(map(n_numbers, kind.__annotations__.values()))


def offset_of(kind: type, name: str) -> int:
    """The offset in bytes of a field of a NamedTuple in memory."""
    offset = 0
    for field, field_kind in kind.__annotations__.items():
        if field == name:
            return offset
        offset += 8 * n_numbers(field_kind)
    raise AttributeError(f"{kind.__name__} has no field {name}")


def _type_of(kind: type) -> Any:
    """Numba's type of a NamedTuple of int64 and of such NamedTuples."""
    fields = [types.int64 if field is int else _type_of(field) for field in kind.__annotations__.values()]
    return types.BaseTuple.from_types(fields, kind)


@generic_intrinsic
def read_fields(typingctx, kind, address):
    """Read a NamedTuple whose numbers, int64, are adjacent in memory.

    kind    : its class, with fields of `int` or of such classes
    address : int64    of the first number
    """
    result = _type_of(kind.instance_class)

    def codegen(context, builder, signature, args):
        at = args[1]

        def read(kind):
            nonlocal at
            if kind is types.int64:
                value = llvm.load(builder, at, llvm.I64)
                at = builder.add(at, llvm.I64(8))
                return value
            return context.make_tuple(builder, kind, [read(field) for field in kind])

        return read(result)

    return result(kind, types.int64), codegen
