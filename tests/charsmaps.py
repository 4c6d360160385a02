"""Tables of sentencepiece's normalizer for tests, as sentencepiece compiles them (text/charsmap.py)."""

from __future__ import annotations

import struct
from collections.abc import Mapping


def compiled_charsmap(table: Mapping[str, str]) -> bytes:
    """A table, compiled: in the double array, each text has a block of 256 units of its own for what may follow."""
    new = b"".join(text.encode() + b"\0" for text in table.values())
    starts = [sum(len(text.encode()) + 1 for text in list(table.values())[:row]) for row in range(len(table))]
    values = {text.encode(): start for text, start in zip(table, starts, strict=True)}
    beginnings = sorted({text[:end] for text in values for end in range(len(text) + 1)})
    blocks = {text: 256 * (row + 1) for row, text in enumerate(beginnings)}
    units = [0] * 256 * (len(beginnings) + 1)
    for text, block in blocks.items():
        place = blocks[text[:-1]] + text[-1] if text else 0
        label = text[-1] if text else 0
        units[place] = (place ^ block) << 10 | (text in values) << 8 | label
        if text in values:
            units[block] = 1 << 31 | values[text]
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + new
