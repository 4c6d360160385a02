"""Encoding by kernels from text to ids, for a pattern that they can split by, with a cache of pieces for each thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.encoding import encode_new_piece, encode_state, encode_text, piece_cache
from ..kernels.encoding.encode_text import ORDINARY, WITH_SPECIALS, WORK_ALONE
from ..kernels.encoding.merge_table import Merges
from ..kernels.machine.large_pages import Room
from ..kernels.pieces.pattern_tables import PatternTables
from ..kernels.pieces.special_tokens import SpecialTokens, new_special_tokens
from ..system.workers import default_workers
from ..text.byte_source import Source
from ..text.utf8 import Data, padded
from ..text.windows import Reader, TextReader, Window, Windows
from .encoder import Encoder
from .encoder_state import OUT_BYTES, EncoderState, Fixed
from .long_merges import interruptible_if_long

# What the states that no thread uses may take of memory, all together, for each processor; and how many they may be.
_IDLE_BYTES, _MOST_IDLE = 128 << 20, 64


class CompiledEncoder(Encoder):
    """The compiled tables of one tokenizer. Each thread borrows a state of its own."""

    at_once = False
    in_python = False

    def __init__(
        self, merges: Merges, pattern: PatternTables, dtype: np.dtype[Any], max_pieces: int, specials: SpecialTokens
    ) -> None:
        super().__init__(dtype)
        self.merges = merges
        self._specials = specials
        self._id_size = dtype.itemsize
        self._encode_pieces = encode_text.compiled_encode_pieces()
        # Append and pop are atomic, so no lock that a fork could leave locked. Where there is no room for another, the one
        # that was not used for longest goes.
        self._idle: deque[EncoderState] = deque(maxlen=_MOST_IDLE)
        self._idle_bytes = _IDLE_BYTES * default_workers()
        self._fixed = Fixed(merges, pattern, dtype, max_pieces)

    def _state(self) -> EncoderState:
        """A state that is nobody's; whoever takes it appends it to `_idle`, but for an error that may have left it half
        changed (Ctrl-C, say)."""
        try:
            return self._idle.pop()
        except IndexError:
            return EncoderState(self._fixed, self._specials)

    @contextmanager
    def _borrowed(self) -> Iterator[EncoderState]:
        """A state for the time of a `with`."""
        state = self._state()
        try:
            yield state
        except GeneratorExit:  # who borrowed it is asked for no more: nothing was under way
            self._give_back(state)
            raise
        self._give_back(state)

    def _give_back(self, state: EncoderState) -> None:
        state.trim()
        idle = self._idle
        idle.append(state)
        # What more threads have needed than there are processors is given back. The states that were used last are kept.
        room = self._idle_bytes
        for other in reversed(idle.copy()):
            room -= other.n_bytes
            if room < 0 and other is not state:
                with suppress(ValueError):  # another thread has it now
                    idle.remove(other)

    def encode_short(self, text: object, specials: SpecialTokens | None, form: type) -> Any:
        """See Encoder. What a call costs counts here: hence no helpers, and no more attributes than need be."""
        idle = self._idle
        try:
            state = idle.pop()
        except IndexError:
            state = EncoderState(self._fixed, self._specials)
        if specials is None:
            what = ORDINARY
        else:
            what = WITH_SPECIALS
            if specials is not state.specials:
                state.look_for(specials)
        n_ids = self._encode_pieces(state.at, text, what)
        ids: Any
        if n_ids < 0:
            ids = None
        elif form is list:
            ids = state.ids[:n_ids].tolist()
        elif form is int:
            ids = n_ids
        else:
            ids = state.out[:n_ids].copy()
        idle.append(state)
        return ids

    def encode_text(self, text: Data, specials: SpecialTokens | None) -> NDArray[Any]:
        if len(text) <= encode_text.SHORT_TEXT:
            ids: NDArray[Any] | None = self.encode_short(text, specials, np.ndarray)
            if ids is not None:
                return ids
        return self._encode_whole(TextReader(text, specials or new_special_tokens([], [])), len(text))

    def count(self, text: Data, specials: SpecialTokens | None) -> int:
        if len(text) <= encode_text.SHORT_TEXT:
            n_ids: int | None = self.encode_short(text, specials, int)
            if n_ids is not None:
                return n_ids
        return self._encode_windows(TextReader(text, specials or new_special_tokens([], [])), None, 0)

    def encode_source(self, source: Source, n_bytes: int | None, specials: SpecialTokens) -> NDArray[Any]:
        if n_bytes is None:
            return super().encode_source(source, n_bytes, specials)
        return self._encode_whole(Reader(source, n_bytes, specials), n_bytes)

    def count_source(self, source: Source, specials: SpecialTokens) -> int:
        return self._encode_windows(Reader(source, None, specials), None, 0)

    def encode_window(self, window: Window, marks: NDArray[np.int64] | None = None) -> NDArray[Any]:
        room = Room(window.end - window.start + piece_cache.SPARE_BYTES, self.dtype)
        with self._borrowed() as state:
            _, _, _, n_ids = self._advance(window, window.start, state, room.array, 0, self._id_size, marks)
        return room.cut(n_ids)

    def encode_all(self, reader: Windows) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        with self._borrowed() as state:
            taken = 0
            while (window := reader.advance(taken)) is not None:
                taken = window.start
                without_id = window.breaks[:, 2] < 0
                break_ends = window.breaks[without_id, 1]
                marks = np.empty(len(without_id), dtype=np.int64)
                status = encode_state.NEED_OUT
                while status == encode_state.NEED_OUT:
                    status, position, end, n_ids = self._advance(window, taken, state, state.out, 0, self._id_size, marks)
                    yield state.out[:n_ids], marks[without_id][(taken < break_ends) & (break_ends <= position)]
                    taken = position
                    if (end - position) * self._id_size > OUT_BYTES:
                        state.need_out((end - position) * self._id_size)

    def _encode_whole(self, reader: Windows, n_bytes: int) -> NDArray[Any]:
        """The ids of all windows of a reader, `n_bytes` of text, as an array of its own."""
        room = Room(n_bytes + piece_cache.SPARE_BYTES, self.dtype)
        return room.cut(self._encode_windows(reader, room.array, self._id_size))

    def _encode_windows(self, reader: Windows, out: NDArray[Any] | None, step: int) -> int:
        """Encode all windows of a reader into `out`, which has room for all, or with None count only; returns how many."""
        with self._borrowed() as state:
            n_ids = taken = 0
            while (window := reader.advance(taken)) is not None:
                taken = window.start
                status = encode_state.NEED_OUT
                while status == encode_state.NEED_OUT:
                    room = state.out if out is None else out
                    status, taken, end, n_ids = self._advance(window, taken, state, room, n_ids, step)
                    if status == encode_state.NEED_OUT:
                        state.need_out((end - taken) * self._id_size)
        return n_ids

    def _advance(
        self,
        window: Window,
        position: int,
        state: EncoderState,
        out: NDArray[Any],
        n_ids: int,
        step: int,
        marks: NDArray[np.int64] | None = None,
    ) -> tuple[int, int, int, int]:
        """Encode a window from a position on, until all is done that can be, or `out` is full.

        Returns DONE or NEED_OUT, how far it came, the end of the piece behind, and how many ids there are.
        """
        id_size = self._id_size
        out_at = out.ctypes.data
        state.work[: encode_state.PIECE_END] = (
            window.data.ctypes.data,
            position,
            window.end,
            window.limit,
            window.breaks.ctypes.data,
            len(window.breaks),
            0 if marks is None else marks.ctypes.data,
            out_at,
            out.nbytes,
            n_ids,
            id_size,
            step,
        )
        work = state.work.data  # of which single numbers are sooner read and written
        while True:
            status = -min(self._encode_pieces(state.at, b"", WORK_ALONE), 0)
            position, piece_end, n_ids = work[encode_state.POSITION], work[encode_state.PIECE_END], work[encode_state.N_IDS]
            if status == encode_state.NEED_LONG:
                n_bytes = self._encode_long(state, window.data[position:piece_end], out_at + n_ids * step)
                if n_bytes >= 0:
                    work[encode_state.POSITION], work[encode_state.N_IDS] = piece_end, n_ids + n_bytes // id_size
                    continue
                status = -n_bytes
            if status == encode_state.NEED_SCRATCH:
                state.need_scratch(piece_end - position)
            elif status == encode_state.NEED_CACHE:
                state.need_cache(piece_end - position)
            else:
                state.former = None  # a large table's slots are not kept longer than they are read
                return status, position, piece_end, n_ids

    def _encode_long(self, state: EncoderState, piece: NDArray[np.uint8], ids_at: int) -> int:
        """See encode_new_piece.encode_long_piece."""
        copy = padded(piece.data)  # of what may be somebody else's memory, and change

        def encode() -> int:
            return int(encode_new_piece.encode_long_piece(state.at, copy.ctypes.data, len(piece), ids_at, self._id_size))

        return interruptible_if_long(encode, len(piece))
