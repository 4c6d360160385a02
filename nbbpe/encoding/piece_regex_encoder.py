"""Encode where pieces are found by certain boundaries, and `regex` splits each new one that partial automata do not.

This is for patterns that are not compiled. With any pattern, it is a reference for kernels: `regex` splits all new pieces.
"""

from __future__ import annotations

import time
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.encoding.encode_new_piece import encode_split_piece
from ..kernels.encoding.encode_state import NEED_LONG, TEXT
from ..kernels.encoding.merge_table import Merges
from ..kernels.encoding.pending_pieces import MOST_COPIED
from ..kernels.encoding.split_ahead import FROM, LAST, MARKS, MOST_AHEAD, N_MARKED, REACH, SPLIT, TO, clear_marks
from ..kernels.machine.intrinsics import PADDING
from ..kernels.pieces.marked_pretokens import MOST_MARKED
from ..kernels.pieces.pattern_tables import SEAM_LETTERS
from ..kernels.pieces.special_tokens import SpecialTokens
from ..model.long_merges import interruptible_if_long
from ..patterns.pattern import Pattern
from ..patterns.pattern_tables import tables_for_regex
from ..text.text_splitter import TextSplitter
from ..text.utf8 import padded, to_text
from ..text.windows import Window
from .compiled_encoder import CompiledEncoder
from .encoder_state import EncoderState

_PADDING = bytes(PADDING)
_LEAST_AHEAD = 256  # bytes of text that are split ahead, if any
_DENSE = 4  # text is split ahead if one in so many of the last bytes was in a new piece; best for six kinds of text
_SLOW = 0.5  # seconds of a call of `regex`, a hundred times as long as usual
_CONTEXT = 8  # bytes of two characters: whether a boundary is certain depends on at most two after it


class PieceRegexEncoder(CompiledEncoder):
    """Finds and caches pieces as a CompiledEncoder does; `regex` finds the pretokens of a piece that is not cached, unless
    they are decided by automata."""

    def __init__(
        self,
        merges: Merges,
        pattern: Pattern,
        by_regex: bool,
        dtype: np.dtype[Any],
        max_pieces: int,
        specials: SpecialTokens,
    ) -> None:
        assert pattern.tables is not None
        tables = tables_for_regex(pattern.tables) if by_regex else pattern.tables
        if not tables.view(np.int64)[SEAM_LETTERS]:
            merges = merges._replace(joins=merges.joins[:0])  # the pattern has no seams to look up
        super().__init__(merges, tables, dtype, max_pieces, specials)
        self.in_python = by_regex or not pattern.rarely_needs_regex
        if self.in_python:
            self.cut_by = None
        self._pattern, self._by_regex = pattern, by_regex
        self._splits_ahead = True

    def _advance(self, window: Window, position: int, state: EncoderState, *more: Any) -> tuple[int, int, int, int]:
        try:
            return super()._advance(window, position, state, *more)
        finally:
            clear_marks(state.split)

    def _encode_long(
        self, state: EncoderState, window: Window, position: int, piece_end: int, out: NDArray[Any], used: int
    ) -> int:
        """As in CompiledEncoder; the kernel leaves every new piece to this method, unless its text is split already and all
        its pretokens are short."""
        ahead, at = state.split.data, int(state.work[TEXT]) + position
        is_marked = ahead[FROM] <= at and at + piece_end - position <= ahead[TO]
        # For a longer piece the kernel has no room, but automata may decide it all the same (see `_ends`).
        is_short = piece_end - position <= (MOST_COPIED if self._by_regex else MOST_MARKED)
        if is_short and not is_marked:
            self._split_ahead(state, window, position, piece_end)
            return -NEED_LONG
        copy = window.data[position:piece_end].tobytes()
        ends = _marked_ends(state, at - ahead[FROM], copy) if is_marked else None
        if ends is None:
            ends = self._ends(copy)
        # The ends of the pretokens and then the piece in one array.
        joined = b"".join((ends.tobytes(), copy, _PADDING))
        content = np.frombuffer(joined, dtype=np.uint8)

        def encode() -> int:
            ends_at, n, ids_at = content.ctypes.data, len(ends), out.ctypes.data + used
            return int(encode_split_piece(state.at, ends_at + 8 * n, ends_at, n, ids_at, self._id_size))

        return interruptible_if_long(encode, len(copy))

    def _ends(self, piece: bytes) -> NDArray[np.int64]:
        """Where the pretokens of a long piece end."""
        if self._by_regex:
            return np.cumsum(self._lengths(piece), dtype=np.int64)
        found = TextSplitter(self._pattern).starts(padded(piece), 0, len(piece))
        return np.concatenate([starts[1:] for starts in found])

    def _lengths(self, text: bytes) -> list[int]:
        """How many bytes each pretoken of a text has."""
        return [
            len(pretoken.encode(errors="surrogateescape"))
            for pretokens in self._pattern.stream(to_text(text))
            for pretoken in pretokens
        ]

    def _split_ahead(self, state: EncoderState, window: Window, position: int, piece_end: int) -> None:
        """Mark the pretokens of a new piece; and of the text after it, if much of the last text was new.

        For each byte, one call of `regex` for all of a text takes a tenth of the time of a call for each new piece.
        """
        ahead = state.split.data  # a memoryview, in which single numbers are read and written faster
        is_dense = ahead[N_MARKED] * _DENSE >= position - ahead[LAST]  # false at first, as LAST is NOWHERE, before all text
        ahead[REACH] = min(max(2 * ahead[REACH], _LEAST_AHEAD), MOST_AHEAD) if is_dense and self._splits_ahead else 0
        stop, marked_end = _reached(window, position, position + ahead[REACH]) if ahead[REACH] else (piece_end, piece_end)
        if marked_end < piece_end:
            stop = marked_end = piece_end
        text = window.data[position:stop].tobytes()
        began = time.monotonic()
        lengths = self._lengths(text)
        if time.monotonic() - began > _SLOW:
            self._splits_ahead = False  # perhaps it tries all ways to match a word that is cut off
        data = state.split.view(np.uint8).data
        data[SPLIT : SPLIT + len(text)] = text
        data[MARKS : MARKS + len(text)] = bytes(len(text))
        for end in accumulate(lengths):
            data[MARKS + end - 1] = 1
        text_at = int(state.work[TEXT])
        ahead[FROM], ahead[TO] = text_at + position, text_at + marked_end
        ahead[LAST], ahead[N_MARKED] = position, 0


def _marked_ends(state: EncoderState, first: int, piece: bytes) -> NDArray[np.int64] | None:
    """Where the pretokens of a marked piece end; None if another thread has changed it since it was split.

    first : how many bytes before the piece were split together with it
    """
    data, n = state.split.view(np.uint8), len(piece)
    if data[SPLIT + first :][:n].tobytes() != piece:
        return None
    return np.append(1 + np.flatnonzero(data[MARKS + first :][: n - 1]), n)


def _reached(window: Window, position: int, stop: int) -> tuple[int, int]:
    """Where the text to split ahead ends, at about `stop`, and up to where its pieces are split as in the whole text.

    A piece in text that is cut off at `stop` is split rightly if the text has all characters after the piece that make its
    end certain. The end of a window needs no such margin: no piece is encoded that ends after its limit.
    """
    i = int(np.searchsorted(window.breaks[:, 0], position))
    end = int(window.breaks[i, 0]) if i < len(window.breaks) else window.end
    return (stop, stop - _CONTEXT) if stop < end else (end, end)
