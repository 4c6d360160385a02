"""The kind of character that each code point is in the installed `regex`, and a digest of that for a provenance.

Text is not split by these classes: each pattern has its own (see determiniser.py). They are in this folder because the
digest is stored, under a name that depends on the modules of the folder.
"""

from __future__ import annotations

import functools
import hashlib

import numpy as np
from numpy.typing import NDArray

# Lower-case letter, upper-case (or title-case) letter, caseless letter, mark, digit or other number, apostrophe, slash,
# other, space, newline (\r and \n), other whitespace.
CLASSES = "lucmd'/osnb"
_DIGITS = 16  # of hex in a digest


@functools.cache
def classes_digest(into: str | None = None) -> str:
    """A digest of how the installed `regex` classes each code point, 16 hex digits.

    `regex` does not say which version of Unicode it has, and only its classes matter anyway. The digest is stored, in the
    folder `into` if that is given, as computing it takes 15 ms and the import of `regex`.
    """
    from .stored_tables import stored_text

    return stored_text("character classes", lambda: digest_of(character_classes()), into)


def digest_of(classes: NDArray[np.uint8]) -> str:
    """A digest of classes as `character_classes` gives them."""
    names = np.frombuffer(CLASSES.encode(), dtype=np.uint8)
    return hashlib.sha256(names[classes].tobytes()).hexdigest()[:_DIGITS]


@functools.cache
def character_classes() -> NDArray[np.uint8]:
    """The class of every code point, as an index into CLASSES, uint8[0x110000]. Takes about 20 ms, once."""
    from .code_points import N_CODE_POINTS, ranges_of, read_off  # here, as it needs `regex`

    classes = np.full(N_CODE_POINTS, CLASSES.index("o"), dtype=np.uint8)
    letters = (r"\p{Ll}", "l"), (r"\p{Lu}", "u"), (r"\p{Lt}", "u"), (r"\p{Lm}", "c"), (r"\p{Lo}", "c")
    for item, name in (*letters, (r"\p{M}", "m"), (r"\p{N}", "d"), (r"\s", "b")):
        for first, end in ranges_of(read_off(item)):
            classes[first:end] = CLASSES.index(name)
    for character, name in ("'", "'"), ("/", "/"), (" ", "s"), ("\r", "n"), ("\n", "n"):
        classes[ord(character)] = CLASSES.index(name)
    return classes
