"""Emit LLVM's intermediate code that reads Python's objects, for the arguments of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from .layouts import Layouts
from .llvm import I8, I64, OBJECT, call


class Emitter:
    """Emits code at a position in a function.

    builder  : llvmlite's builder
    layouts  : the places in Python's objects that are read
    cleanups : called one after another by `clean_up`
    """

    def __init__(self, builder: ir.IRBuilder, layouts: Layouts) -> None:
        self.builder = builder
        self.layouts = layouts
        self.cleanups: list[Callable[[], None]] = []

    def clean_up(self) -> None:
        """Emit the code that runs after the kernel."""
        for emit in self.cleanups:
            emit()

    def call(self, name: str, result: ir.Type, *arguments: Any) -> Any:
        """Call a function of Python's C API, which symbols.py must allow; returns its result, of the type `result`."""
        return call(self.builder, name, result, *arguments)

    def address_of(self, name: str) -> Any:
        """The address of an object that Python's C API, or nbbpe, has a name for."""
        module = self.builder.module
        return module.globals.get(name) or ir.GlobalVariable(module, I8, name)

    def read(self, item: Any, at: int, kind: ir.Type) -> Any:
        """The value at an offset in an object."""
        place = self.builder.gep(item, [I64(at)])
        return self.builder.load(self.builder.bitcast(place, kind.as_pointer()))

    def type_of(self, item: Any) -> Any:
        """The type of an object."""
        return self.read(item, self.layouts.type_at, OBJECT)

    def is_exactly(self, item: Any, type_name: str) -> Any:
        """Whether an object is exactly of the type of this name in Python's C API, not of a derived one."""
        return self.builder.icmp_unsigned("==", self.type_of(item), self.address_of(type_name))
