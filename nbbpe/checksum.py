"""The checksum of a file's ids: CRC-32, as zlib and other programs know it, of parts that come in any order."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

_BIT_0 = 1 << 31  # as CRC-32 writes polynomials over two elements, this is 1, the next lower bit x, and so on
_POLYNOMIAL = 0xEDB88320
_ZEROS = memoryview(bytes(1 << 16))  # below this, to read zeros is faster than to multiply


class Checksum(NamedTuple):
    """Of some bytes: their CRC-32, and how many they are."""

    crc32: int = 0
    n_bytes: int = 0

    def after(self, data: memoryview) -> Checksum:
        """The checksum of these bytes with others after them."""
        return Checksum(zlib.crc32(data, self.crc32), self.n_bytes + data.nbytes)


def concatenated(parts: Iterable[Checksum]) -> Checksum:
    """The checksum of bytes one after another, from that of each stretch; at most some 100 microseconds a stretch."""
    crc32 = n_bytes = 0
    for part in parts:
        crc32 = _moved(crc32, part.n_bytes) ^ part.crc32
        n_bytes += part.n_bytes
    return Checksum(crc32, n_bytes)


def _moved(crc32: int, n_bytes: int) -> int:
    """What bytes with this CRC-32 have in that of themselves and `n_bytes` more, which have the rest of it."""
    if n_bytes <= len(_ZEROS):
        zeros = _ZEROS[:n_bytes]
        return zlib.crc32(zeros, crc32) ^ zlib.crc32(zeros)
    # It is a remainder of polynomials, and each bit that follows multiplies it by x.
    return _times(crc32, _power_of_x(8 * n_bytes))


def _times(a: int, b: int) -> int:
    """The product of two polynomials, modulo the one of CRC-32."""
    product = 0
    while a:
        if a & _BIT_0:
            product ^= b
        a = (a << 1) & 0xFFFFFFFF
        b = (b >> 1) ^ (_POLYNOMIAL if b & 1 else 0)
    return product


def _power_of_x(n: int) -> int:
    """x to the power n, modulo the polynomial of CRC-32."""
    power = _BIT_0
    for k in range(n.bit_length()):
        if n >> k & 1:
            power = _times(power, _squared(k))
    return power


@cache
def _squared(k: int) -> int:
    """x squared k times."""
    return _times(_squared(k - 1), _squared(k - 1)) if k else _BIT_0 >> 1
