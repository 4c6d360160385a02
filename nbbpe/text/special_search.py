"""Find special tokens in text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens

_AT_ONCE = 1 << 20  # bytes of text that are searched between two checks for Ctrl-C
_FEW_ENDS = 8  # last bytes of tokens; a search of a short text for so few takes less time than for the tokens


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


class Sought(NamedTuple):
    """Special tokens to look for in short texts.

    ends : the last bytes of the tokens, of which most texts without a token have none; None if there are many
    """

    specials: SpecialTokens
    ends: bytes | None

    @classmethod
    def of(cls, specials: SpecialTokens) -> Sought:
        """From special tokens as kernels take them."""
        ends = [first + i for first, n in specials.last_bytes.tolist() for i in range(n)]
        return cls(specials, None if len(ends) > _FEW_ENDS else bytes(ends))

    def found_in(self, text: bytes) -> NDArray[np.int64]:
        """The tokens in a text, as `find_breaks` gives them, in a third of the time."""
        if self.ends is not None and not any(map(text.__contains__, self.ends)):
            return np.empty((0, 3), dtype=np.int64)
        from ..kernels.machine.intrinsics import PADDING
        from ..kernels.pieces.special_tokens import find_specials

        data = np.frombuffer(text + bytes(PADDING), dtype=np.uint8)
        breaks = np.empty((len(text), 3), dtype=np.int64)
        n_found, _ = find_specials(data.ctypes.data, 0, len(text), len(text), self.specials, breaks, False)
        return breaks[:n_found]


def between(text: bytes, tokens: Iterable[Sequence[int]]) -> list[tuple[bytes, int | None]]:
    """The stretches of a text between tokens, each with the id of the token behind it; of the last one None.

    tokens : start, end and id of each, in order

    >>> between(b"a<s>b", [(1, 4, 7)])
    [(b'a', 7), (b'b', None)]
    """
    found: list[tuple[bytes, int | None]] = []
    done = 0
    for start, end, token_id, *_ in tokens:
        found.append((text[done:start], token_id))
        done = end
    return [*found, (text[done:], None)]
