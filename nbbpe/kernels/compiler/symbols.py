"""The names that a kernel's object code may refer to, with their addresses, and those that it does refer to.

It may also refer to kernels that it calls, see obtain.py.

LLVM's loader uses address 0 for an unknown name. So the names to which object code refers are read from it, when it is made
and when it is loaded, and it is not used if it needs any other name.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Collection
from typing import Any

import numpy as np

from . import elf

# From Python's C API: functions that entries call, see entry.py, and objects that they need.
_FUNCTIONS = (
    *("PyBool_FromLong", "PyBytes_AsString", "PyBytes_Size", "PyErr_Occurred", "PyErr_SetString", "PyEval_RestoreThread"),
    *("PyEval_SaveThread", "PyList_GetItem", "PyList_Size", "PyLong_AsLongLong", "PyLong_AsLongLongAndOverflow"),
    *("PyLong_AsUnsignedLongLong", "PyLong_FromLongLong", "PyLong_FromUnsignedLongLong", "PyMem_Free", "PyMem_Malloc"),
    *("PyNumber_Index", "PyObject_IsTrue", "PyTuple_GetItem", "PyTuple_New", "PyTuple_SetItem", "PyTuple_Size"),
    *("PyType_IsSubtype", "Py_DecRef", "Py_IncRef"),
)
_OBJECTS = (
    *("PyBytes_Type", "PyExc_RuntimeError", "PyExc_TypeError", "PyList_Type", "PyLong_Type", "PyTuple_Type"),
    *("PyUnicode_Type", "_Py_NoneStruct"),
)
# From C's library: LLVM replaces loops by these.
_OF_C = ("memcpy", "memmove", "memset")
NDARRAY = "nbbpe_ndarray"  # NumPy's type of arrays
_STRUCTURE = "nbbpe_structure_"  # before the name of a NamedTuple


class UnknownObject(Exception):
    """Object code that cannot be read, or that refers to names that are not allowed."""


def symbol_of(structure: type) -> str:
    """The name of a structure's type."""
    return f"{_STRUCTURE}{structure.__name__}"


def addresses(structures: list[type]) -> dict[str, int]:
    """The allowed names, with their addresses."""
    return {**_fixed(), **{symbol_of(each): id(each) for each in structures}}


@functools.cache
def _fixed() -> dict[str, int]:
    found = {name: _address(getattr(ctypes.pythonapi, name)) for name in _FUNCTIONS}
    for name in _OBJECTS:
        found[name] = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, name))
    for name in _OF_C:
        if hasattr(ctypes.pythonapi, name):  # pythonapi finds names in all loaded libraries, except on Windows
            found[name] = _address(getattr(ctypes.pythonapi, name))
    return {**found, NDARRAY: id(np.ndarray)}


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def check(content: bytes, allowed: Collection[str]) -> None:
    """Raise UnknownObject if object code refers to a name that is not allowed."""
    others = referred(content).difference(allowed)
    if others:
        raise UnknownObject(f"object code that refers to {', '.join(sorted(others))}")


@functools.lru_cache(maxsize=1)  # obtain.loaded reads the same content twice, once by `check`
def referred(content: bytes) -> frozenset[str]:
    """The names that object code (64-bit little-endian ELF or Mach-O) refers to and does not define.

    Raises UnknownObject for any other.
    """
    try:
        if elf.is_elf(content):
            return frozenset(elf.referred(content))
        if content[:4] == b"\xcf\xfa\xed\xfe":
            return frozenset(_of_mach_o(content))
    except (struct.error, IndexError, OverflowError, ValueError) as error:
        raise UnknownObject(f"object code of an unknown format: {error}") from None
    raise UnknownObject("object code of an unknown format: neither ELF nor Mach-O")


def _of_mach_o(content: bytes) -> set[str]:
    (n_commands,) = struct.unpack_from("<I", content, 16)
    names = set()
    at = 32
    for _ in range(n_commands):
        command, n_bytes = struct.unpack_from("<2I", content, at)
        if command == 2:  # a table of symbols
            symbols_at, n_symbols, text_at, _ = struct.unpack_from("<4I", content, at + 8)
            for symbol_at in range(symbols_at, symbols_at + 16 * n_symbols, 16):
                name, kind = struct.unpack_from("<IB", content, symbol_at)
                if kind & 0xEF == 1:  # external, and not defined
                    names.add(elf.string_at(content, text_at + name).removeprefix("_"))
        at += n_bytes
    return names
