"""The table by which sentencepiece normalizes text (normalization_rule_name): short texts, and what replaces each.

At each place, the longest of these texts that begins there is replaced; a character with which none begins is kept.
"""

from __future__ import annotations

import functools
import re
import struct
import sys
from collections.abc import Callable, Collection, Mapping
from itertools import chain

import numpy as np
from numpy.typing import NDArray

_MOST_TEXTS = 1 << 21  # of a table; sentencepiece's own tables have a tenth of that
_LONGEST_KNOWN, _MOST_KNOWN = 16, 1 << 14  # characters, and entries of the cache of what stretches become
_HAS_VALUE, _IS_FAR, _LABEL = 0x100, 0x200, 0x800000FF  # bits of a unit of the double array
_SINGLE, _FIRST, _LATER = 1, 2, 4  # where a character is in texts of a table: alone, first, later


def parsed_charsmap(data: bytes) -> dict[str, str]:
    """The texts of a compiled table, and what replaces each. Raises ValueError for invalid data.

    The data begin with a uint32, the number of bytes of the double array (a trie, see Darts) that follows. Its values are
    the places of the new texts in the rest, where each has a null byte behind it.
    """
    try:
        (n_bytes,) = struct.unpack_from("<I", data)
        units = np.frombuffer(data, dtype="<u4", count=n_bytes // 4, offset=4)
        new = data[4 + n_bytes :]
        texts = _texts_of(units)
        replaced = {at: new[at : new.index(b"\0", at)].decode() for at in {at for _, at in texts}}
        return {text.decode(): replaced[at] for text, at in texts}
    except (struct.error, ValueError, IndexError, RecursionError):
        raise ValueError("the table of replaced texts is not in the format of sentencepiece") from None


def _texts_of(units: NDArray[np.uint32]) -> list[tuple[bytes, int]]:
    """The texts of a double array, and the value of each.

    From a unit, a byte leads to the unit at base ^ byte, if that has the byte as its label. If a text ends at a unit, the
    unit at its base is the value.
    """
    places = np.arange(len(units))
    labels = units & _LABEL
    bases = (places ^ (units.astype(np.int64) >> 10 << np.where(units & _IS_FAR, 8, 0))).tolist()
    of_base: dict[int, list[tuple[bytes, int]]] = {}  # the bytes that lead from it to other units, and their places
    is_led_to = np.flatnonzero((labels > 0) & (labels < 256))
    for base, label, place in zip(
        (places ^ labels)[is_led_to].tolist(), labels[is_led_to].tolist(), is_led_to.tolist(), strict=True
    ):
        of_base.setdefault(base, []).append((bytes([label]), place))

    @functools.cache  # many units have the same ends of texts after them
    def after(base: int, has_value: bool) -> list[tuple[bytes, int]]:
        found = [(b"", int(units[base]) & 0x7FFFFFFF)] if has_value else []
        for byte, place in of_base.get(base, ()):
            found += [(byte + rest, value) for rest, value in after(bases[place], bool(units[place] & _HAS_VALUE))]
        if len(found) > _MOST_TEXTS:
            raise ValueError
        return found

    return after(bases[0], False)


def replacing(table: Mapping[str, str], kept: Collection[str] = ()) -> Callable[[str], str]:
    """A function that replaces the texts of a table.

    kept : texts that stay as they are, such as symbols of the user; if several begin at a place, the longest one counts.
        Raises ValueError for one that begins with a character that a text of the table may go on with
    """
    longest = max(map(len, table), default=0)
    roles = np.zeros(sys.maxunicode + 1, dtype=np.uint8)
    longer = [text for text in table if len(text) > 1]
    roles[[ord(text) for text in table if len(text) == 1]] |= _SINGLE
    roles[[ord(text[0]) for text in longer]] |= _FIRST
    roles[list(map(ord, set(chain.from_iterable(text[1:] for text in longer))))] |= _LATER
    for text in kept:
        if roles[ord(text[0])] & _LATER:
            raise ValueError(f"{text!r}, which is to be kept, may lie within a text that the table replaces")

    def replace(stretch: str) -> str:
        parts = []
        at = 0
        while at < len(stretch):
            ends = range(min(at + longest, len(stretch)), at, -1)
            end = next((end for end in ends if stretch[at:end] in table), None)
            parts.append(stretch[at] if end is None else table[stretch[at:end]])
            at = end or at + 1
        return "".join(parts)

    known = functools.lru_cache(_MOST_KNOWN)(replace)

    def replace_all(text: str) -> str:
        found = roles[np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype="<u4")]
        # Each text of the table lies within a stretch, which has single and later characters, and first ones before later.
        is_in_stretch = np.zeros(len(text) + 2, dtype=np.bool_)
        is_in_stretch[1:-1] = found & (_SINGLE | _LATER)
        is_in_stretch[1:-2] |= (found[:-1] & _FIRST > 0) & (found[1:] & _LATER > 0)
        edges = np.flatnonzero(is_in_stretch[1:] != is_in_stretch[:-1]).tolist()
        if not edges:
            return text
        parts = [text[start:end] for start, end in zip([0, *edges], [*edges, len(text)], strict=True)]
        parts[1::2] = [known(part) if len(part) <= _LONGEST_KNOWN else replace(part) for part in parts[1::2]]
        return "".join(parts)

    if not kept:
        return replace_all
    search = re.compile(f"({'|'.join(map(re.escape, sorted(kept, key=len, reverse=True)))})")

    def replace_between(text: str) -> str:
        parts = search.split(text)
        parts[::2] = map(replace_all, parts[::2])
        return "".join(parts)

    return replace_between
