"""Load object code as a function that Python calls: by elf.py on Linux with x86-64, else by llvmlite's binding."""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from .elf import NotPlaced, defined, is_elf, place
from .symbols import UnknownObject, check

_METH_FASTCALL = 0x80


class _MethodDef(ctypes.Structure):
    """Python's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def load(content: bytes, functions: Sequence[str], called: str, allowed: Mapping[str, int]) -> tuple[Any, list[int]]:
    """Load object code. Returns the first of its `functions` as a function for Python, and the addresses of all of them.

    called  : the name of the function for Python
    allowed : the names that the object code may refer to, and their addresses

    Raises UnknownObject if it has no such functions, or refers to another name.
    """
    check(content, allowed)
    try:
        addresses, memory = place(content, functions, allowed)
    except (NotPlaced, struct.error, IndexError, ValueError):
        addresses, memory = place_with_llvm(content, functions, allowed)
    described = _MethodDef(called.encode(), addresses[0], _METH_FASTCALL, None)
    # Both must outlive the function. The code must even outlive the interpreter: a kernel may still run in a thread then.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object((memory, described)))
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.argtypes, make.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p), ctypes.py_object
    return make(ctypes.addressof(described), None, None), addresses


def place_with_llvm(content: bytes, functions: Sequence[str], allowed: Mapping[str, int]) -> tuple[list[int], Any]:
    """As elf.place, for any object code that LLVM supports. Raises UnknownObject."""
    # LLVM would end the process for object code that it cannot read, on ARM for any without sections.
    if is_elf(content) and not defined(content).issuperset(functions):
        raise UnknownObject(f"object code without {' or '.join(functions)}")
    from llvmlite import binding

    for name, address in allowed.items():
        binding.add_symbol(name, address)
    # Each object has its own engine, so that entries of the same name, as in two versions of a kernel, do not collide.
    machine = _target().create_target_machine(opt=0, reloc="default", codemodel="jitdefault", jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(content))
    engine.finalize_object()
    found = [engine.get_function_address(name) for name in functions]
    if not all(found):
        raise UnknownObject(f"object code without {' or '.join(functions)}")
    return found, engine


@functools.cache
def _target() -> Any:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_triple(binding.get_process_triple())
