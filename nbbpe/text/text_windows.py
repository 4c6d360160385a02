"""A str as windows of UTF-8, without a copy of all of it."""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING

import numpy as np

from .utf8 import LONGEST_CHARACTER, Data, to_bytes
from .windows import Reader, TextReader, Windows

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens

_address_of_utf8 = ctypes.pythonapi.PyUnicode_AsUTF8
_address_of_utf8.restype, _address_of_utf8.argtypes = ctypes.c_void_p, [ctypes.py_object]


class StrSource:
    """The UTF-8 of a str, made as it is read; for surrogates see `to_bytes`."""

    def __init__(self, text: str) -> None:
        from ..kernels.machine.text_argument import compiled_write_window

        self._write = compiled_write_window()
        self._text = text
        self._next = 0  # the character that comes next
        self._left = b""  # of a character for which there was no room

    def readinto(self, buffer: memoryview, /) -> int:
        """See Source."""
        if self._left:
            n = min(len(buffer), len(self._left))
            buffer[:n], self._left = self._left[:n], self._left[n:]
            return n
        self._next, n = self._write(self._text, self._next, np.frombuffer(buffer, dtype=np.uint8))
        if not n and self._next < len(self._text):
            self._left = to_bytes(self._text[self._next])
            self._next += 1
            return self.readinto(buffer)
        return n


class _AsciiStr:
    """The bytes of an ASCII str in place, for NumPy, which keeps this object, and so the str, alive."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.__array_interface__ = {
            "data": (_address_of_utf8(text), True),  # of such a str, what it consists of itself
            "shape": (len(text),),
            "typestr": "|u1",
            "version": 3,
        }


def text_windows(text: str | Data, specials: SpecialTokens) -> Windows:
    """The windows of a text; those of a str, which must not be of a derived type, are made when they are requested."""
    if not isinstance(text, str):
        return TextReader(text, specials)
    if text.isascii():
        return TextReader(memoryview(np.asarray(_AsciiStr(text))), specials)  # type: ignore[arg-type]
    return Reader(StrSource(text), None, specials)


def most_bytes(text: str | Data) -> int:
    """The most bytes that a text can have as UTF-8, without reading all of it."""
    if not isinstance(text, str) or text.isascii():
        return len(text)
    # A str has as many bytes for each character as the greatest needs, and one of 1 or 2 needs one more as UTF-8.
    in_memory = sys.getsizeof(text) // len(text)
    return len(text) * min(in_memory + 1, LONGEST_CHARACTER)


def first_special(text: str | Data, specials: SpecialTokens) -> bytes | None:
    """The first of some special tokens in a text, the longest at its place; None where there is none."""
    reader = text_windows(text, specials)
    taken = 0
    while (window := reader.advance(taken)) is not None:
        for start, end, _ in window.breaks[:1].tolist():
            return window.data[start:end].tobytes()
        taken = window.limit
    return None
