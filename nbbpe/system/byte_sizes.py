"""Numbers of bytes as users write them: 4_000_000_000, "4000000000", or "4GB"."""

from __future__ import annotations

import math
import re

from .excerpt import shown

_UNITS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
# "4G" is read as 4GB; Slurm and Docker mean 4GiB by it. So a limit is never above what the user meant.
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i?)B?\s*", re.IGNORECASE | re.ASCII)  # the Kelvin sign is no K
_NUMBER = re.compile(r"\s*(\d{1,18})\s*", re.ASCII)  # from a command line, or from the environment


def byte_size(name: str, value: int | str) -> int:
    """Return an argument as a number of bytes: an int, or a str such as "4000000000", "4GB", "4G", "512 MiB", "512Mi".

    name : of the argument, for errors

    Raises TypeError or ValueError for another value.
    """
    if isinstance(value, bool) or not (isinstance(value, str) or hasattr(value, "__index__")):
        raise TypeError(f'{name} must be a number of bytes, or a size such as "4GB", not {shown(value)}')
    if not isinstance(value, str):
        return value.__index__()
    if number := _NUMBER.fullmatch(value):
        return int(number[1])
    found = _SIZE.fullmatch(value)
    size = float(found[1]) * _UNITS[found[2].upper()] if found else math.inf
    if math.isinf(size):
        raise ValueError(f'{name} must be a number of bytes, or a size such as "4GB" or "512MiB", not {shown(value)}')
    return int(size)
