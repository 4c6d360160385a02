"""The byte-level alphabet of GPT-2 and Hugging Face: a visible character for each byte, and the order of bytes by these."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray


@functools.cache
def byte_characters() -> dict[int, str]:
    """The character that stands for each byte (GPT-2's bytes_to_unicode): visible Latin-1 stays, the rest is U+0100 on."""
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) for byte in visible} | {byte: chr(256 + i) for i, byte in enumerate(hidden)}


def byte_order() -> NDArray[np.int32]:
    """The place of each byte when all are sorted by their characters, as in Hugging Face's trainer, int32[256]."""
    order = np.empty(256, dtype=np.int32)
    order[sorted(range(256), key=byte_characters().__getitem__)] = np.arange(256)
    return order
