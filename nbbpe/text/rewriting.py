"""Windows of text that is rewritten before it is split: put into a normal form, or prepared otherwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .utf8 import LONGEST_CHARACTER, padded
from .windows import Window, Windows

# From a text and its breaks to the rewritten text and its breaks.
Rewrite = Callable[[bytes, NDArray[np.int64]], tuple[bytes, NDArray[np.int64]]]


def rewritten_window(window: Window, rewrite: Rewrite) -> Window:
    """A whole window, rewritten; special tokens are looked for in the rewritten text only if `rewrite` does so."""
    text, breaks = rewrite(*_up_to(window, window.end))
    return Window(padded(text), 0, len(text), len(text), breaks)


def _up_to(window: Window, stop: int) -> tuple[bytes, NDArray[np.int64]]:
    """The text of a window up to `stop`, where it can be cut, and the breaks in it."""
    breaks = window.breaks[window.breaks[:, 0] < stop] - np.array([window.start, window.start, 0])
    return window.data[window.start : stop].tobytes(), breaks


class RewritingReader(Windows):
    """Windows of rewritten text, from windows of the text itself, in which special tokens are already found.

    last_cut : the last place of a window up to which it can be rewritten alone; its start if there is none
    rewrite  : rewrites the text up to such a place, which is not empty
    """

    def __init__(self, reader: Windows, last_cut: Callable[[Window], int], rewrite: Rewrite) -> None:
        self.n_expected = reader.n_expected
        self._reader = reader
        self._last_cut = last_cut
        self._rewrite = rewrite
        self._taken = 0  # how far the reader's last window was taken
        self._last = Window(padded(b""), 0, 0, 0, np.empty((0, 3), dtype=np.int64))

    def advance(self, taken: int) -> Window | None:
        data, _, end, _, breaks = self._last
        parts = [data[taken:end].tobytes()]
        rows = [breaks[breaks[:, 0] >= taken] - np.array([taken, taken, 0])]
        n_kept = n_bytes = end - taken
        whole = False
        # A window is twice as long as the text that was not taken, or a long piece would be searched again and again.
        while not whole and n_bytes < max(2 * n_kept, 1):
            window = self._reader.advance(self._taken)
            if window is None:
                return None
            whole = window.limit == window.end
            self._taken = window.end if whole else self._last_cut(window)
            if self._taken == window.start:
                continue
            text, found = self._rewrite(*_up_to(window, self._taken))
            parts.append(text)
            rows.append(found + np.array([n_bytes, n_bytes, 0]))
            n_bytes += len(text)
        # As in hold_back, except that special tokens are already found.
        limit = n_bytes if whole else max(n_bytes - LONGEST_CHARACTER, 0)
        self._last = Window(padded(b"".join(parts)), 0, n_bytes, limit, np.concatenate(rows))
        return self._last
