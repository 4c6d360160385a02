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
_AT_ONCE = 1 << 12  # bytes, about, that `unicodedata` checks around a character that is not inert
_BLOCK = 64  # code points that are looked up together
_PLANES = range(0x80, 0x10000, _BLOCK), range(0x1F000, 0x20000, _BLOCK)  # with most characters in use, emoji among them
_JAMO = range(0x1100, 0x1200)  # the parts of Hangul, which are composed though they are letters

_ASCII = re.compile("[\\x00-\\x7f]")
_n_checked = 0  # bytes or characters, so far


def is_normal(text: str | bytes, form: Form) -> bool:
    """Whether a text is in a normal form; bytes of invalid UTF-8 are. Mostly faster than normalizing it."""
    global _n_checked
    if text.isascii():
        return True
    _n_checked += len(text)
    if len(text) <= _FEW or _n_checked <= _MANY:  # to make the table takes as long as to check 2 MB
        return unicodedata.is_normalized(form, text if isinstance(text, str) else to_text(text))
    if isinstance(text, bytes):
        return _is_normal(text, form)
    return all(_is_normal(to_bytes(part), form) for part in _parts(text))


def _parts(text: str) -> Iterator[str]:
    """A text in parts that may be checked one by one, so that not all of it is copied: each begins with ASCII."""
    start = 0
    while start < len(text):
        found = _ASCII.search(text, start + CHECKED_CHARACTERS)
        stop = found.start() if found else len(text)
        yield text[start:stop]
        start = stop


def _is_normal(data: bytes, form: Form) -> bool:
    """The same by the kernel."""
    from ..kernels.pieces.inert_characters import skip_inert

    text, n_bytes, inert = np.frombuffer(data, dtype=np.uint8), len(data), inert_characters(form)
    at = 0
    while (at := skip_inert(text, at, n_bytes, inert)) < n_bytes:
        # From the character before, with which this one may be composed, up to a space: both are inert.
        start = next(i for i in range(max(at - LONGEST_CHARACTER, 0), at + 1) if data[i] & 0xC0 != 0x80)
        stop = data.find(b" ", at + _AT_ONCE)
        at = n_bytes if stop < 0 else stop
        if not unicodedata.is_normalized(form, to_text(data[start:at])):
            return False
    return True


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
