"""Loads object code as a function that Python calls: on Linux with x86-64 by ourselves, else with llvmlite's binding."""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Mapping
from typing import Any

from .elf import NotPlaced, Placed, place
from .symbols import UnknownObject, addresses, check

_METH_FASTCALL = 0x80
_alive: list[Any] = []  # code and descriptions of functions, which must outlive these


class _MethodDef(ctypes.Structure):
    """Python's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def load(content: bytes, entry: str, called: str, structures: list[type]) -> Callable[..., Any]:
    """The function of an entry in object code, which Python calls by this name.

    structures : the NamedTuples that it takes

    Raises UnknownObject where the object code has no such entry, or refers to names that are not allowed.
    """
    allowed = addresses(structures)
    check(content, allowed)
    try:
        placed = place(content, entry, allowed)
    except (NotPlaced, struct.error, IndexError, ValueError):
        placed = place_with_llvm(content, entry, allowed)
    described = _MethodDef(called.encode(), placed.address, _METH_FASTCALL, None)
    _alive.append((placed, described))
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.argtypes, make.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p), ctypes.py_object
    function: Callable[..., Any] = make(ctypes.addressof(described), None, None)
    return function


def place_with_llvm(content: bytes, entry: str, allowed: Mapping[str, int]) -> Placed:
    """As elf.place, for any object code that LLVM knows. Raises UnknownObject, or RuntimeError, which is llvmlite's."""
    from llvmlite import binding

    for name, address in allowed.items():
        binding.add_symbol(name, address)
    # Each has its own engine, so that entries of the same name, as of two versions of a kernel, do not collide.
    machine = _target().create_target_machine(opt=0, reloc="default", codemodel="jitdefault", jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(content))
    engine.finalize_object()
    address = engine.get_function_address(entry)
    if not address:
        raise UnknownObject(f"object code without the entry {entry}")
    return Placed(address, engine)


@functools.cache
def _target() -> Any:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_triple(binding.get_process_triple())
