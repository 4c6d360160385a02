"""What Unicode normal forms do to single characters: which are changed, joined to the text before them, or inert."""

from __future__ import annotations

import functools
import sys
import unicodedata
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")

_PLANE, _BLOCK = 1 << 16, 1 << 7  # code points that are looked at together
_LAST_MARK = 0x345  # of the highest combining class: a normal form moves any other mark in front of it


def decomposed(form: Form) -> Form:
    """The form that decomposes what another one decomposes, and composes nothing."""
    return "NFKD" if form in ("NFKC", "NFKD") else "NFD"


@functools.cache
def changing_characters() -> tuple[str, ...]:
    """The characters that some normal form replaces, and those that one may move: marks with a combining class.

    Takes about 25 ms: most blocks of characters have none, and `unicodedata` tells so of a whole block.
    """
    found = [chr(_LAST_MARK)]
    codes = np.full((_PLANE, 2), _LAST_MARK, dtype="<u4")
    for plane in range(0, sys.maxunicode + 1, _PLANE):
        codes[:, 1] = np.arange(plane, plane + _PLANE)
        text = codes.tobytes().decode("utf-32-le", errors="surrogatepass")
        if unicodedata.is_normalized("NFKD", text):
            continue
        for first in range(0, _PLANE, _BLOCK):
            if not unicodedata.is_normalized("NFKD", text[2 * first : 2 * (first + _BLOCK)]):
                block = map(chr, range(plane + first, plane + first + _BLOCK))
                found += [each for each in block if not unicodedata.is_normalized("NFKD", chr(_LAST_MARK) + each)]
    return tuple(found)


def changed_to(form: Form) -> list[str]:
    """What a form makes of each of the changing characters."""
    return unicodedata.normalize(form, "\n".join(changing_characters())).split("\n")  # in one call, which takes a tenth


@functools.cache
def joining_characters(form: Form) -> str:
    """The characters that a normal form composes with the text before them, or moves before it, and a few more.

    Before any other character, a text can be cut, and both sides normalized alone.
    """
    later = set("".join([decomposition[1:] for decomposition in changed_to("NFD")]))
    pairs = zip(changing_characters(), changed_to(decomposed(form)), strict=True)
    # A character also joins if the first character of its decomposition does.
    return "".join(later.union([each for each, new in pairs if new[0] in later or unicodedata.combining(new[0])]))


JOINS, IS_DOUBTFUL = 1, 2


@functools.cache
def normal_table(form: Form) -> NDArray[np.uint8]:
    """What a form may do to each code point, uint8[0x110000]; 0 if it is inert.

    JOINS, IS_DOUBTFUL : whether it is one of `joining_characters`, and whether the form changes it, or may compose it with
        the text before
    the bits above     : a number in the order of its combining class
    """
    changing, new = changing_characters(), changed_to(form)
    classes = list(map(unicodedata.combining, changing))
    number_of = {each: number << 2 for number, each in enumerate(sorted({0, *classes}))}  # of which there are 57
    table = np.zeros(sys.maxunicode + 1, dtype=np.uint8)
    table[list(map(ord, changing))] = [number_of[each] for each in classes]
    table[list(map(ord, joining_characters(form)))] |= JOINS
    doubtful = {each for each, made in zip(changing, new, strict=True) if each != made}
    if form != decomposed(form):  # this form keeps composed characters, and may compose their parts
        composed = zip(changing, changed_to("NFC"), changed_to("NFD"), strict=True)
        doubtful.update("".join([parts[1:] for each, made, parts in composed if each == made]))
    table[list(map(ord, doubtful))] |= IS_DOUBTFUL
    return table


@functools.cache
def inert_characters(form: Form) -> NDArray[np.uint8]:
    """A bit for each code point that kernels look up, the lowest first: whether the character is inert in a form.

    The form leaves an inert character as it is, and never joins it to the text before it: letters of most scripts,
    ideographs, many vowel signs, punctuation.
    """
    from ..kernels.pieces.inert_characters import CODE_POINTS

    changed = [each for each, new in zip(changing_characters(), changed_to(form), strict=True) if each != new]
    codes = np.array(list(map(ord, chain(changed, joining_characters(form)))))
    found = np.ones(CODE_POINTS, dtype=np.bool_)
    found[codes[codes < CODE_POINTS]] = False
    return np.packbits(found, bitorder="little")
