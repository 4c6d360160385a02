"""The places in Python's and NumPy's objects that kernels read: found by inspecting objects whose content is known.

Kernels read str and arrays directly from memory, because calling the C API for each value would take longer than encoding a
short text. These places differ between versions. So they are found here, compiled in, and made part of the key under which
a kernel is stored: a process whose objects have another layout never finds a kernel that would misread them.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
from typing import Any, NamedTuple

import numpy as np


class UnknownLayout(RuntimeError):
    """An object has an unknown layout: kernels cannot read it directly."""

    def __init__(self, why: str) -> None:
        super().__init__(f"nbbpe's kernels do not run with this Python: {why}")


class Layouts(NamedTuple):
    """Offsets in bytes from the start of an object, unless stated otherwise.

    type_at       : the type, in every object
    text_length, text_state : of a str, the number of characters, and 32 bits that say how they are stored
    text_kind     : the lowest of the 3 bits of the state that say how many bytes a character has
    text_compact, text_ascii : the bits of the state that say whether the characters are in the object itself, and whether
                               all are ASCII
    ascii_at, units_at : where the characters begin, in a str that is ASCII, and in others
    bytes_length, bytes_at : the number of bytes in a bytes object, and where they begin
    tuple_at      : where the items of a tuple begin
    data, n_dimensions, dimensions, strides, dtype, flags : of an array
    kind, byte_order, item_size : of a dtype: two letters, and the bytes of an item as an int32
    """

    type_at: int
    text_length: int
    text_state: int
    text_kind: int
    text_compact: int
    text_ascii: int
    ascii_at: int
    units_at: int
    bytes_length: int
    bytes_at: int
    tuple_at: int
    data: int
    n_dimensions: int
    dimensions: int
    strides: int
    dtype: int
    flags: int
    kind: int
    byte_order: int
    item_size: int


@functools.cache
def layouts() -> Layouts:
    """The layouts in this process. Raises UnknownLayout."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8:
        raise UnknownLayout("it is not CPython with addresses of 64 bits")
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or "t" in getattr(sys, "abiflags", ""):
        raise UnknownLayout("it is free-threaded; use one with the global interpreter lock")
    type_at = object.__basicsize__ - 8
    _check(_word(object(), type_at) == id(object), "the type of an object")
    return Layouts(*[type_at, *_of_text(), *_of_bytes(), _of_tuple(), *_of_array()])


def _of_text() -> tuple[int, ...]:
    # A length that differs from all other numbers in the object. The texts are made here, so that they are not shared.
    n = 1237
    texts = [character * n for character in "aé中😀"]
    length = _first(range(16, 40, 8), lambda at: all(_word(text, at) == n for text in texts), "the length of a str")
    sizes = (1, 1, 2, 4)
    ascii_at, *others = (sys.getsizeof(text) - (n + 1) * size for text, size in zip(texts, sizes, strict=True))
    _check(len(set(others)) == 1, "the size of a str")
    for text, at, size in zip(texts, (ascii_at, *others), sizes, strict=True):
        data = ord(text[0]).to_bytes(size, sys.byteorder) * n
        _check(ctypes.string_at(id(text) + at, len(data)) == data, "the characters of a str")

    def states(at: int) -> list[int]:
        return [_word(text, at, 4) for text in texts]

    def is_state(at: int) -> bool:
        _, *rest = states(at)
        return any([state >> bit & 7 for state in rest] == [1, 2, 4] for bit in range(28))

    state = _first(range(length + 8, ascii_at, 4), is_state, "the state of a str")
    ascii_state, *rest = states(state)
    kind = _first(range(28), lambda bit: [each >> bit & 7 for each in rest] == [1, 2, 4], "the kind of a str")
    flags = range(kind + 3, kind + 5)
    is_compact = _first(flags, lambda bit: all(each >> bit & 1 for each in (ascii_state, *rest)), "a compact str")
    is_ascii = _first(
        flags, lambda bit: ascii_state >> bit & 1 == 1 and not any(each >> bit & 1 for each in rest), "an ASCII str"
    )
    return length, state, kind, is_compact, is_ascii, ascii_at, others[0]


def _of_bytes() -> tuple[int, int]:
    data = bytes(range(256)) * 5  # of a length as in `_of_text`
    length = _first(range(16, 40, 8), lambda at: _word(data, at) == len(data), "the length of bytes")
    bytes_at = sys.getsizeof(data) - (len(data) + 1)
    _check(ctypes.string_at(id(data) + bytes_at, len(data)) == data, "the content of bytes")
    return length, bytes_at


def _of_tuple() -> int:
    items = tuple(object() for _ in range(5))

    def are_items(at: int) -> bool:
        return all(_word(items, at + 8 * i) == id(item) for i, item in enumerate(items))

    return _first(range(16, 48, 8), are_items, "the items of a tuple")


def _of_array() -> tuple[int, ...]:
    array = np.zeros((3, 5, 7), dtype=np.int16)
    places = range(16, 80, 8)
    data = _first(places, lambda at: _word(array, at) == array.ctypes.data, "the data of an array")
    n_dimensions = _first(places, lambda at: _word(array, at, 4) == 3, "the dimensions of an array")
    # Any word may be read, but an address is followed only at the places where NumPy has always stored these two.
    shape, strides = n_dimensions + 8, n_dimensions + 16
    for at, expected in (shape, (3, 5, 7)), (strides, (70, 14, 2)):
        _check(struct.unpack("3q", ctypes.string_at(_word(array, at), 24)) == expected, "the shape of an array")
    dtype = _first(places, lambda at: _word(array, at) == id(array.dtype), "the type of an array's items")
    closed = np.zeros((3, 5, 7), dtype=np.int16)
    closed.flags.writeable = False
    parts = array[:, ::2]

    def is_flags(at: int) -> bool:
        whole = _word(array, at, 4)
        return whole & 0x501 == 0x501 and whole ^ _word(closed, at, 4) == 0x400 and not _word(parts, at, 4) & 1

    flags = _first(range(dtype + 8, 96, 4), is_flags, "the flags of an array")
    kinds = [np.dtype(each) for each in ("<i2", ">i2", "<u8", "?")]

    def of_kinds(at: int, size: int = 1) -> list[int]:
        return [_word(each, at, size) for each in kinds]

    letters, orders = [ord(each.kind) for each in kinds], [ord(each.byteorder) for each in kinds]
    kind = _first(range(16, 40), lambda at: of_kinds(at) == letters, "the kind of a dtype")
    order = _first(range(kind, 40), lambda at: of_kinds(at) == orders, "the byte order of a dtype")
    sizes = [each.itemsize for each in kinds]
    # The first place after the order that is a multiple of four.
    size = _first(range((order + 4) // 4 * 4, 64, 4), lambda at: of_kinds(at, 4) == sizes, "the size of an item")
    return data, n_dimensions, shape, strides, dtype, flags, kind, order, size


def _word(item: Any, at: int, size: int = 8) -> int:
    return int.from_bytes(ctypes.string_at(id(item) + at, size), sys.byteorder)


def _first(places: range, matches: Any, name: str) -> int:
    for place in places:
        if matches(place):
            return place
    raise UnknownLayout(f"{name} is not where it is in the versions that nbbpe knows")


def _check(is_known: bool, name: str) -> None:
    if not is_known:
        raise UnknownLayout(f"{name} is not where it is in the versions that nbbpe knows")
