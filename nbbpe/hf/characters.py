"""Which characters `regex` and tokenizers know alike: they may have different versions of Unicode.

What one of them takes for a letter, and the other for a character that does not exist yet, hardly ever decides an id, but
it does decide where a word ends.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex
from tokenizers.normalizers import Replace

from ..system.lazy import imported_on_use, lazy

regex: Any = imported_on_use("regex")

_CATEGORIES = (
    *("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"),
    *("Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn"),
)


class SameCharacters:
    """The characters that have the same general category in both, as far as texts had them."""

    @lazy
    def _known(self) -> NDArray[np.bool_]:
        known = np.zeros(sys.maxunicode + 1, dtype=np.bool_)
        known[:128] = True
        return known

    def has_all(self, text: str) -> bool:
        """Whether a text, without surrogates, has only such characters."""
        if text.isascii():
            return True
        codes = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
        new = np.unique(codes[~self._known[codes]])
        characters = "".join(map(chr, new.tolist()))
        for category in _CATEGORIES if characters else ():
            of_category = rf"\p{{{category}}}"
            of_regex = "".join(regex.findall(of_category, characters))
            if of_regex and Replace(Regex(of_category), "").normalize_str(of_regex):
                return False
        self._known[new] = True
        return True


SAME_CHARACTERS = SameCharacters()
