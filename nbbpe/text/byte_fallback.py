"""Cut the characters that a vocabulary of characters lacks into bytes; see formats/tokenizer_json/characters.py."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..system.lazy import lazy
from .utf8 import inserted, to_bytes
from .windows import CUT, SEPARATOR

SIGN = "\u2581"  # ▁, the sign of a space in vocabularies of characters
_SIGN_BYTES = SIGN.encode()
_SHORT = 500  # characters, about; looking up so few in a set takes less time than the kernel
_FEW, _BYTES_A_PLACE = 256, 4  # room for places to cut at: so many, or one for as many bytes; most texts have fewer
_NOWHERE = np.empty(0, dtype=np.int64)


class ByteFallback:
    """Cuts a text within each unknown character, so that its bytes are not merged; ▁ counts as one, see `without_signs`.

    characters : those that the vocabulary has, with a space for ▁; ASCII may be missing, as it is never cut
    """

    def __init__(self, characters: Collection[str]) -> None:
        self._characters = characters

    @lazy
    def _known(self) -> frozenset[str]:
        return frozenset(self._characters).union(map(chr, range(0x80)))

    @lazy
    def _known_bits(self) -> NDArray[np.uint8]:
        from ..kernels.pieces.unknown_characters import KNOWN_BYTES

        is_known = np.zeros(8 * KNOWN_BYTES, dtype=np.bool_)
        is_known[list(map(ord, self._characters))] = True
        return np.packbits(is_known, bitorder="little")

    def leaves(self, text: str | bytes) -> bool:
        """Whether a text certainly stays as it is, as it has no unknown character and no ▁."""
        if text.isascii():
            return True
        if isinstance(text, bytes):
            return not self._find(text, _NOWHERE)
        return self._known.issuperset(text) if len(text) <= _SHORT else self.leaves(to_bytes(text))

    def places(self, data: bytes) -> NDArray[np.int64]:
        """The places of a text to cut at, ascending, see `find_unknown`."""
        if data.isascii():
            return _NOWHERE
        places = np.empty(max(_FEW, len(data) // _BYTES_A_PLACE), dtype=np.int64)  # memory that is not used is not taken
        n_places = self._find(data, places)
        if n_places > len(places):
            places = np.empty(n_places, dtype=np.int64)
            self._find(data, places)
        return places[:n_places]

    def _find(self, data: bytes, places: NDArray[np.int64]) -> int:
        from ..kernels.pieces.unknown_characters import find_unknown

        return int(find_unknown(np.frombuffer(data, dtype=np.uint8), self._known_bits, places))

    def parts(self, data: bytes) -> list[bytes]:
        """The parts of a text without ▁ between the places to cut at."""
        edges = [0, *self.places(data).tolist(), len(data)]
        return [data[start:end] for start, end in pairwise(edges)]

    def cut(self, data: bytes, breaks: NDArray[np.int64]) -> tuple[bytes, NDArray[np.int64]]:
        """Put a separator at each place to cut at; returns the text, and its breaks with one for each separator.

        breaks : int64[n, 3], see Window; no text in a break is cut
        """
        places = self.places(data)
        if len(breaks):
            row = np.searchsorted(breaks[:, 0], places, "right") - 1
            places = places[(row < 0) | (places >= breaks[row, 1])]
        if not len(places):
            return data, breaks
        cuts = np.empty((len(places), 3), dtype=np.int64)
        cuts[:, 0] = places + np.arange(len(places))
        cuts[:, 1], cuts[:, 2] = cuts[:, 0] + 1, CUT
        if len(breaks):
            moved = breaks.copy()
            moved[:, :2] += np.searchsorted(places, breaks[:, 0], "right")[:, np.newaxis]
            both = np.concatenate([moved, cuts])
            cuts = both[np.argsort(both[:, 0], kind="stable")]  # which merges two runs
        return inserted(data, places, SEPARATOR), cuts


def without_signs(data: bytes, breaks: NDArray[np.int64]) -> tuple[bytes, NDArray[np.int64]]:
    """Replace each ▁ outside of breaks by a space; returns the text, and the breaks at their new places."""
    if _SIGN_BYTES not in data:
        return data, breaks
    parts: list[bytes] = []
    moved = breaks.copy()
    done = n_bytes = 0
    for row, (start, end, _) in enumerate(breaks.tolist()):
        parts += [data[done:start].replace(_SIGN_BYTES, b" "), data[start:end]]
        moved[row, 0] = n_bytes = n_bytes + len(parts[-2])
        moved[row, 1] = n_bytes = n_bytes + len(parts[-1])
        done = end
    return b"".join([*parts, data[done:].replace(_SIGN_BYTES, b" ")]), moved
