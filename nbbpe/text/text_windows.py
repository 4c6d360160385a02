"""Read a text in memory, or a stretch of it, as windows of UTF-8, without copying all of it."""

from __future__ import annotations

import ctypes
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .chunks import CutTables, Positioned, PositionedBytes, find_cuts
from .utf8 import LONGEST_CHARACTER, Data, to_bytes, widths_of
from .windows import Reader, TextReader, Windows

if TYPE_CHECKING:
    from ..kernels.pieces.pattern_tables import PatternTables
    from ..kernels.pieces.special_tokens import SpecialTokens

_LOOK = 1 << 9  # bytes or characters that are searched for a place to cut; in memory, another search costs little

_address_of_utf8 = ctypes.pythonapi.PyUnicode_AsUTF8
_address_of_utf8.restype, _address_of_utf8.argtypes = ctypes.c_void_p, [ctypes.py_object]


class StrSource:
    """The UTF-8 of a str from character `start` to `end`, made as it is read; for surrogates see `to_bytes`."""

    def __init__(self, text: str, start: int, end: int) -> None:
        from ..kernels.machine.text_argument import write_window

        self._write = write_window.entry_point()
        self._text = text
        self._next, self._end = start, end  # the character that comes next
        self._left = b""  # the rest of a character for which there was no room

    def readinto(self, buffer: memoryview, /) -> int:
        if self._left:
            n = min(len(buffer), len(self._left))
            buffer[:n], self._left = self._left[:n], self._left[n:]
            return n
        self._next, n = self._write(self._text, self._next, self._end, np.frombuffer(buffer, dtype=np.uint8))
        if not n and self._next < self._end:
            self._left = to_bytes(self._text[self._next])
            self._next += 1
            return self.readinto(buffer)
        return n


class _AsciiStr:
    """The bytes of an ASCII str in place, for NumPy, which keeps this object, and so the str, alive."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.__array_interface__ = {
            "data": (_address_of_utf8(text), True),  # the memory of the str itself, as it is ASCII
            "shape": (len(text),),
            "typestr": "|u1",
            "version": 3,
        }


def text_windows(text: str | Data, specials: SpecialTokens, start: int = 0, end: int | None = None) -> Windows:
    """The windows of a text; those of a str, which must not be of a derived type, are made when they are requested.

    start, end : the stretch to take, in bytes, or in characters of a str; None for all up to the end
    """
    end = len(text) if end is None else end
    if isinstance(text, str) and not text.isascii():
        reader = Reader(StrSource(text, start, end), None, specials)
        reader.n_expected = end - start  # at least: a character has one byte or more
        return reader
    return TextReader(_in_place(text)[start:end], specials)


def _in_place(text: str | Data) -> Data:
    """The bytes of a text where they are; a str must be ASCII."""
    return memoryview(np.asarray(_AsciiStr(text))) if isinstance(text, str) else memoryview(text)  # type: ignore[arg-type]


def cut_text(text: str | Data, n_parts: int, tables: PatternTables, specials: SpecialTokens) -> list[tuple[int, int]]:
    """Cut a text into about `n_parts` stretches, see `text_windows`, that can be encoded independently of each other.

    Cuts are at special tokens or certain boundaries, never in a special token. A text without such places is one stretch.
    """
    if isinstance(text, str) and not text.isascii():
        places: Positioned = _Characters(text)
    else:
        places = PositionedBytes(_in_place(text))
    return list(pairwise([0, *find_cuts(places, len(text), n_parts, CutTables(tables, specials), _LOOK), len(text)]))


class _Characters(Positioned):
    """The characters of a str."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read(self, begin: int, end: int) -> bytes:
        return to_bytes(self._text[begin:end])

    def place(self, begin: int, n_bytes: int) -> int:
        # `n_bytes` characters are enough, as each has a byte or more.
        ends = np.cumsum(widths_of(self._text[begin : begin + n_bytes]))
        return begin + int(np.searchsorted(ends, n_bytes)) + (n_bytes > 0)


def most_bytes(text: str | Data) -> int:
    """The most bytes that a text can have as UTF-8, without reading all of it."""
    if not isinstance(text, str) or text.isascii():
        return len(text)
    # In a str, all characters have 1, 2 or 4 bytes, as the greatest needs; one of 1 or 2 may need one more in UTF-8.
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
