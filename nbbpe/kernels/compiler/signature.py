"""The types that kernels are declared with: numbers, arrays, structures of arrays, and Python objects read in place.

    @kernel(int64, uint8[:], reads(int32[:, :]), PieceTable)

Nothing here needs Numba: kernels are declared in every process, and compiled in few.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T", bound=type)


@dataclass(frozen=True)
class Scalar:
    """A number; `int64[:]` and `int64[:, :]` are arrays of it.

    name : the name in NumPy and Numba
    kind, size : NumPy's letter for the kind, and the number of bytes
    """

    name: str
    kind: str
    size: int

    def __getitem__(self, dimensions: slice | tuple[slice, ...]) -> Array:
        return Array(self, len(dimensions) if isinstance(dimensions, tuple) else 1)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Array:
    """An array in C order, aligned and in the byte order of the machine. A kernel may write to it unless `read_only`."""

    item: Scalar
    n_dimensions: int
    read_only: bool = False

    def __str__(self) -> str:
        return f"{self.item}[{', '.join(':' * self.n_dimensions)}]"


class Argument:
    """A Python object that a kernel gets as numbers of 64 bits, which are read from it before the kernel runs.

    name    : the name of the type
    numbers : the names of the numbers, as attributes in the kernel
    take    : called when a kernel is compiled, as take(emitter, object), see emitter.py. It emits code that reads the
              object, and returns the numbers; functions that it appends to the emitter's `cleanups` emit code that frees
              memory afterwards
    """

    def __init__(self, name: str, numbers: tuple[str, ...], take: Callable[[Any, Any], list[Any]]) -> None:
        self.name = name
        self.numbers = numbers
        self.take = take

    def __str__(self) -> str:
        return self.name


int64, uint64 = Scalar("int64", "i", 8), Scalar("uint64", "u", 8)
int32, uint32 = Scalar("int32", "i", 4), Scalar("uint32", "u", 4)
uint16, uint8, boolean = Scalar("uint16", "u", 2), Scalar("uint8", "u", 1), Scalar("boolean", "b", 1)


def reads(array: Array) -> Array:
    """The type of an array that the kernel only reads, so that a read-only array can be given."""
    return Array(array.item, array.n_dimensions, read_only=True)


def structure(*fields: Scalar | Array) -> Callable[[T], T]:
    """Declare the types of the fields of a NamedTuple that kernels take; a decorator."""

    def add_types(cls: T) -> T:
        cls.kernel_fields = fields  # type: ignore[attr-defined]
        return cls

    return add_types
