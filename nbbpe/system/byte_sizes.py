"""Numbers of bytes as users write them: 4_000_000_000, or "4GB"."""

from __future__ import annotations

import math
import re

from .excerpt import shown

_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i?B)\s*", re.IGNORECASE | re.ASCII)  # no Kelvin sign for a K


def byte_size(name: str, value: int | str) -> int:
    """An argument that is a number of bytes, or a str such as "4GB" or "512 MiB".

    name : of the argument, for errors

    Raises TypeError or ValueError for another value.
    """
    if isinstance(value, bool) or not (isinstance(value, str) or hasattr(value, "__index__")):
        raise TypeError(f'{name} must be a number of bytes, or a str such as "4GB", not {shown(value)}')
    if not isinstance(value, str):
        return value.__index__()
    found = _SIZE.fullmatch(value)
    size = float(found[1]) * _UNITS[found[2].upper()] if found else math.inf
    if math.isinf(size):
        raise ValueError(f'{name} must be a number of bytes, or a str such as "4GB" or "512MiB", not {shown(value)}')
    return int(size)
