"""Finds characters that `regex` and tokenizers put in different categories, as their versions of Unicode may differ.

If only one of them knows a character as a letter, that hardly ever changes an id, but it does change where a word ends.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex
from tokenizers.normalizers import Replace

from ..system.lazy import imported_on_use

regex: Any = imported_on_use("regex")

_CATEGORIES = (
    *("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"),
    *("Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn"),
)


@functools.cache
def _known() -> NDArray[np.bool_]:
    """bool[0x110000], by code point: True if both are known to agree. ASCII at first; `are_alike` adds more."""
    known = np.zeros(sys.maxunicode + 1, dtype=np.bool_)
    known[:128] = True
    return known


def are_alike(text: str) -> bool:
    """Whether `regex` and tokenizers give each character of a text (without surrogates) the same general category."""
    if text.isascii():
        return True
    known = _known()
    codes = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    is_known = known[codes]
    if is_known.all():
        return True
    new = np.unique(codes[~is_known])
    characters = "".join(map(chr, new.tolist()))
    for category in _CATEGORIES:
        of_category = rf"\p{{{category}}}"
        of_regex = "".join(regex.findall(of_category, characters))
        if of_regex and Replace(Regex(of_category), "").normalize_str(of_regex):
            return False
    known[new] = True
    return True
