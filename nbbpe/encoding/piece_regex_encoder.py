"""Encoding where pieces are found by certain boundaries, and `regex` splits each new one.

By a pattern that is not compiled; or, as the reference for the compiled way, by one that is.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.encoding.encode_new_piece import encode_split_piece
from ..kernels.encoding.merge_table import Merges
from ..kernels.machine.intrinsics import PADDING
from ..kernels.pieces.special_tokens import SpecialTokens
from ..model.long_merges import interruptible_if_long
from ..text.pattern import Pattern
from ..text.pattern_tables import tables_for_regex
from ..text.utf8 import to_text
from .compiled_encoder import CompiledEncoder
from .encoder_state import EncoderState

_PADDING = bytes(PADDING)


class PieceRegexEncoder(CompiledEncoder):
    """Finds and caches pieces as a CompiledEncoder does; `regex` finds the pretokens of a piece that is not cached."""

    in_python = True

    def __init__(
        self, merges: Merges, pattern: Pattern, dtype: np.dtype[Any], max_pieces: int, specials: SpecialTokens
    ) -> None:
        assert pattern.tables is not None
        # Words are not cut at seams: nothing that is derived from the automaton is used but certain boundaries.
        merges = merges._replace(joins=merges.joins[:0])
        super().__init__(merges, tables_for_regex(pattern.tables), dtype, max_pieces, specials)
        self.cut_by = None
        self._pattern = pattern

    def _encode_long(self, state: EncoderState, piece: NDArray[np.uint8], out: NDArray[Any], used: int, _: bool) -> int:
        """As of CompiledEncoder; the kernel leaves every new piece to this method."""
        copy = piece.tobytes()
        lengths = [
            len(pretoken.encode(errors="surrogateescape"))
            for pretokens in self._pattern.stream(to_text(copy))
            for pretoken in pretokens
        ]
        # The ends of the pretokens and then the piece in one array: for a word, the cost of these calls is most of the
        # time.
        joined = b"".join((array("q", accumulate(lengths)), copy, _PADDING))
        content = np.frombuffer(joined, dtype=np.uint8)

        def encode() -> int:
            ends_at, n, ids_at = content.ctypes.data, len(lengths), out.ctypes.data + used
            return int(encode_split_piece(state.at, ends_at + 8 * n, ends_at, n, ids_at, self._id_size))

        return interruptible_if_long(encode, len(piece))
