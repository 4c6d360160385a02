"""Whether a text is in a Unicode normal form.

A kernel skips the characters that are inert in the form, so `unicodedata` checks only the text around others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import numpy as np

from .normal_characters import Form, inert_characters
from .utf8 import CHECKED_CHARACTERS, LONGEST_CHARACTER, has_surrogates, to_bytes, to_text

_FEW, _MANY = 1 << 12, 1 << 23  # bytes or characters: of a text, and of all texts, up to which `unicodedata` checks alone
# Bytes, about, that are left to `unicodedata` from a character on that is not inert: at first, and if many are not.
_LEAST, _MOST = 1 << 7, 1 << 16

_ASCII = re.compile("[\\x00-\\x7f]")
_n_checked = 0  # bytes or characters, so far


def is_normal(text: str | bytes, form: Form) -> bool:
    """Whether a text is in a normal form; bytes of invalid UTF-8 count as such. Mostly faster than normalizing it."""
    if text.isascii():
        return True
    if isinstance(text, str):
        if not _kernel_pays(len(text)):
            if has_surrogates(text):  # they may be the bytes of a character
                text = to_text(to_bytes(text))
            return unicodedata.is_normalized(form, text)
        return all(is_normal(to_bytes(part), form) for part in ascii_parts(text))
    parts = doubtful_parts(text, form)
    return all(unicodedata.is_normalized(form, to_text(text[start:end])) for start, end in parts)


def doubtful_parts(data: bytes, form: Form) -> Iterator[tuple[int, int]]:
    """The parts of a text that may not be in a normal form, as (start, end): each can be normalized alone.

    They are long, so that there are few of them; most of their text may be in the form.
    """
    if data.isascii():
        return
    n_bytes = len(data)
    if not _kernel_pays(n_bytes):
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
        yield start, at


def _kernel_pays(n: int) -> bool:
    """Whether to check `n` more bytes or characters by the kernel: making its table takes as long as checking 8 MB."""
    global _n_checked
    _n_checked += n
    return n > _FEW and _n_checked > _MANY


def ascii_parts(text: str) -> Iterator[str]:
    """Yield a text in parts that can be checked or normalized alone, as each but the first begins with ASCII; so not all
    of it is copied."""
    start = 0
    while start < len(text):
        found = _ASCII.search(text, start + CHECKED_CHARACTERS)
        stop = found.start() if found else len(text)
        yield text[start:stop]
        start = stop
