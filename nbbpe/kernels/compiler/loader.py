"""Loads object code as a function that Python calls, with llvmlite's binding alone."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from llvmlite import binding

from .symbols import UnknownObject, check, provide

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
    check(content, provide(structures))
    # Each has its own engine, so that entries of the same name, as of two versions of a kernel, do not collide.
    engine = _new_engine()
    engine.add_object_file(binding.ObjectFileRef.from_data(content))
    engine.finalize_object()
    address = engine.get_function_address(entry)
    if not address:
        raise UnknownObject(f"object code without the entry {entry}")
    described = _MethodDef(called.encode(), address, _METH_FASTCALL, None)
    _alive.append((engine, described))
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.argtypes, make.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p), ctypes.py_object
    function: Callable[..., Any] = make(ctypes.addressof(described), None, None)
    return function


def _new_engine() -> Any:
    machine = _target().create_target_machine(opt=0, reloc="default", codemodel="jitdefault", jit=True)
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


@functools.cache
def _target() -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_triple(binding.get_process_triple())
