"""Special tokens found in text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens

_AT_ONCE = 1 << 20  # bytes of text that are searched between two checks for Ctrl-C
_FEW_ENDS = 8  # characters, for which a short text is searched in less time than for the tokens themselves


def find_breaks(
    data: NDArray[np.uint8], start: int, end: int, stop: int, specials: SpecialTokens, overlapping: bool = False
) -> NDArray[np.int64]:
    """The special tokens in data[start:end] that start before `stop`, as int64[n, 3]: start, end, id.

    With `overlapping`, tokens that begin inside an earlier one are listed, too.
    """
    from ..kernels.pieces.special_tokens import NO_ROOM, find_specials

    parts = []
    at_once, room = _AT_ONCE, 1 << 14
    breaks = np.empty((0, 3), dtype=np.int64)
    while specials.longest and start < stop:
        until = min(start + max(at_once, specials.longest), stop)
        if len(breaks) == 0:
            breaks = np.empty((min(room, until - start), 3), dtype=np.int64)
        found, going_on = find_specials(data.ctypes.data, start, end, until, specials, breaks, overlapping)
        if found == NO_ROOM:  # very many: search so few bytes at once that there is always room
            at_once = 1 << 16
            room = max(at_once, specials.longest)
            breaks = breaks[:0]
            continue
        if found:
            parts.append(breaks[:found].copy())
        start = going_on
    return np.concatenate(parts) if parts else np.empty((0, 3), dtype=np.int64)


def ends_of(specials: SpecialTokens) -> str | None:
    """The characters with which special tokens end, of which a text without these tokens mostly has none.

    None if there are many, or others than those of ASCII.
    """
    ends = [first + i for first, n in specials.last_bytes.tolist() for i in range(n)]
    return None if len(ends) > _FEW_ENDS or not all(end < 0x80 for end in ends) else bytes(ends).decode()


def may_have(text: str, ends: str | None) -> bool:
    """Whether a text may have one of the special tokens that have these ends, as `ends_of` gives them."""
    return ends is None or any(map(text.__contains__, ends))
