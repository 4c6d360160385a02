"""Whether a text is in a Unicode normal form.

A character is inert in a form if the form leaves it as it is, whatever is beside it: letters of most scripts, ideographs,
punctuation. A kernel skips such characters, and only what is around others is left to `unicodedata`.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .utf8 import CHECKED_CHARACTERS, LONGEST_CHARACTER, to_bytes, to_text

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")

_FEW, _MANY = 1 << 12, 1 << 21  # bytes or characters: of a text, and of all texts, up to which `unicodedata` checks alone
# Bytes, about, that `unicodedata` checks from a character on that is not inert: at first, and where there are many of them.
_LEAST, _MOST = 1 << 7, 1 << 12
_BLOCK = 64  # code points that are looked up together
_PLANES = range(0x80, 0x10000, _BLOCK), range(0x1F000, 0x20000, _BLOCK)  # with most characters in use, emoji among them
_JAMO = range(0x1100, 0x1200)  # the parts of Hangul, which are composed though they are letters

_ASCII = re.compile("[\\x00-\\x7f]")
_n_checked = 0  # bytes or characters, so far


def is_normal(text: str | bytes, form: Form) -> bool:
    """Whether a text is in a normal form; bytes of invalid UTF-8 are. Mostly faster than normalizing it."""
    if text.isascii():
        return True
    if isinstance(text, str):
        if not _kernel_pays(len(text)):
            return unicodedata.is_normalized(form, text)
        return all(is_normal(to_bytes(part), form) for part in _parts(text))
    return next(other_parts(text, form), None) is None


def other_parts(data: bytes, form: Form) -> Iterator[tuple[int, int]]:
    """The parts of a text that are not in a normal form, as (start, end): each can be normalized alone.

    They are long enough that there are few of them, and may have the most part in the form.
    """
    if data.isascii():
        return
    n_bytes = len(data)
    if not _kernel_pays(n_bytes):
        if not unicodedata.is_normalized(form, to_text(data)):
            yield 0, n_bytes
        return
    from ..kernels.pieces.inert_characters import skip_inert

    text, inert = np.frombuffer(data, dtype=np.uint8), inert_characters(form)
    at = done = n_ahead = 0
    while (at := skip_inert(text, at, n_bytes, inert)) < n_bytes:
        # From the character before, with which this one may be composed, up to a space: both are inert.
        start = next(i for i in range(max(at - LONGEST_CHARACTER, done), at + 1) if data[i] & 0xC0 != 0x80)
        n_ahead = _LEAST if at - done > n_ahead else min(2 * n_ahead + 1, _MOST)
        stop = data.find(b" ", at + n_ahead)
        at = done = n_bytes if stop < 0 else stop
        if not unicodedata.is_normalized(form, to_text(data[start:at])):
            yield start, at


def _kernel_pays(n: int) -> bool:
    """Whether to check so many bytes or characters by the kernel: to make its table takes as long as to check 2 MB."""
    global _n_checked
    _n_checked += n
    return n > _FEW and _n_checked > _MANY


def _parts(text: str) -> Iterator[str]:
    """A text in parts that may be checked one by one, so that not all of it is copied: each begins with ASCII."""
    start = 0
    while start < len(text):
        found = _ASCII.search(text, start + CHECKED_CHARACTERS)
        stop = found.start() if found else len(text)
        yield text[start:stop]
        start = stop


@functools.cache
def inert_characters(form: Form) -> NDArray[np.uint8]:
    """A bit for each code point that kernels look up, whether the character is inert in a form; for some that are, too, it
    is not set."""
    from ..kernels.pieces.inert_characters import CODE_POINTS

    found = np.zeros(CODE_POINTS, dtype=np.bool_)
    found[:0x80] = True
    for first in chain(*_PLANES):
        block = "".join(map(chr, range(first, first + _BLOCK)))
        # Only marks and jamo are composed with what comes before them, or moved before it.
        are_marks = [category[0] == "M" for category in map(unicodedata.category, block)]
        if not any(are_marks) and unicodedata.is_normalized(form, block):
            found[first : first + _BLOCK] = True
        else:
            found[first : first + _BLOCK] = [
                not is_mark and unicodedata.is_normalized(form, character)
                for is_mark, character in zip(are_marks, block, strict=True)
            ]
    found[_JAMO.start : _JAMO.stop] = False
    return np.packbits(found, bitorder="little")
