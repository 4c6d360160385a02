"""Encode text to ids in kernels, for a pattern with certain boundaries; each thread has its own cache of pieces."""

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
from ..model.long_merges import interruptible_if_long
from ..system.workers import default_workers
from ..text.byte_source import Source
from ..text.text_windows import most_bytes, text_windows
from ..text.utf8 import Data, padded
from ..text.windows import Reader, Window, Windows
from .encoder import Encoder
from .encoder_state import OUT_BYTES, EncoderState, Fixed
from .id_lists import FEW, list_of

# Limits of all states that no thread uses: bytes for each processor, and their number.
_IDLE_BYTES, _MOST_IDLE = 128 << 20, 64


class CompiledEncoder(Encoder):
    """Encodes with the compiled tables of one tokenizer. Each thread borrows a state of its own."""

    at_once = False
    in_python = False

    def __init__(
        self, merges: Merges, pattern: PatternTables, dtype: np.dtype[Any], max_pieces: int, specials: SpecialTokens
    ) -> None:
        super().__init__(dtype)
        self.merges = merges
        self.cut_by = pattern
        self._specials = specials
        self._id_size = dtype.itemsize
        self._encode_pieces = encode_text.compiled_encode_pieces()
        # Append and pop are atomic, so no lock is needed, which a fork could leave locked. At the limit, the state that was
        # unused for longest is dropped.
        self._idle: deque[EncoderState] = deque(maxlen=_MOST_IDLE)
        self._idle_bytes = _IDLE_BYTES * default_workers()
        self._fixed = Fixed(merges, pattern, dtype, max_pieces)

    @contextmanager
    def _borrowed(self) -> Iterator[EncoderState]:
        """Lend a state that no other thread uses. It goes back to `_idle`, except after an error that may have left it half
        changed (such as Ctrl-C)."""
        try:
            state = self._idle.pop()
        except IndexError:
            state = EncoderState(self._fixed, self._specials)
        try:
            yield state
        except GeneratorExit:  # the borrower was closed between two calls: the state is complete
            self._give_back(state)
            raise
        self._give_back(state)

    def _give_back(self, state: EncoderState) -> None:
        state.trim()
        idle = self._idle
        idle.append(state)
        # If more threads than processors needed states, the extra ones are freed. Those that were used last are kept.
        room = self._idle_bytes
        for other in reversed(idle.copy()):
            room -= other.n_bytes
            if room < 0 and other is not state:
                with suppress(ValueError):  # another thread has taken it
                    idle.remove(other)

    def encode_short(self, text: object, specials: SpecialTokens | None, form: type) -> Any:
        """See Encoder. The cost of a call matters here: hence no helper functions, and as few attributes as possible."""
        idle = self._idle
        try:
            state = idle.pop()
        except IndexError:
            state = EncoderState(self._fixed, self._specials)
        if specials is None:
            mode = ORDINARY
        else:
            mode = WITH_SPECIALS
            if specials is not state.specials:
                state.look_for(specials)
        n_ids = self._encode_pieces(state.at, text, mode)
        ids: Any
        if n_ids < 0:
            ids = None
        elif form is list:
            ids = state.ids[:n_ids].tolist() if n_ids <= FEW else list_of(state.out[:n_ids])
        elif form is int:
            ids = n_ids
        else:
            ids = state.out[:n_ids].copy()
        idle.append(state)
        return ids

    def encode_text(self, text: str | Data, specials: SpecialTokens | None) -> NDArray[Any]:
        if len(text) <= encode_text.SHORT_TEXT:
            ids: NDArray[Any] | None = self.encode_short(text, specials, np.ndarray)
            if ids is not None:
                return ids
        return self._encode_whole(text_windows(text, specials or new_special_tokens([])), most_bytes(text))

    def count_given(self, text: str | Data, specials: SpecialTokens | None) -> int:
        if len(text) <= encode_text.SHORT_TEXT:
            n_ids: int | None = self.encode_short(text, specials, int)
            if n_ids is not None:
                return n_ids
        return self.count_windows(text_windows(text, specials or new_special_tokens([])))

    def encode_source(self, source: Source, n_bytes: int | None, specials: SpecialTokens) -> NDArray[Any]:
        if n_bytes is None:
            return super().encode_source(source, n_bytes, specials)
        return self._encode_whole(Reader(source, n_bytes, specials), n_bytes)

    def count_windows(self, reader: Windows) -> int:
        return self._encode_windows(reader, None)

    def encode_window(self, window: Window) -> NDArray[Any]:
        room = Room(window.end - window.start + piece_cache.SPARE_BYTES, self.dtype)
        with self._borrowed() as state:
            _, _, _, n_ids = self._advance(window, window.start, state, room.array, 0, self._id_size, None)
        return room.cut(n_ids)

    def encode_all(self, reader: Windows) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        with self._borrowed() as state:
            state.expect(reader.n_expected)
            taken = 0
            while (window := reader.advance(taken)) is not None:
                taken = window.start
                without_id = window.ends_document()
                break_ends = window.breaks[without_id, 1]
                marks = np.empty(len(without_id), dtype=np.int64)
                status = encode_state.NEED_OUT
                while status == encode_state.NEED_OUT:
                    status, position, end, n_ids = self._advance(window, taken, state, state.out, 0, self._id_size, marks)
                    yield state.out[:n_ids], marks[without_id][(taken < break_ends) & (break_ends <= position)]
                    taken = position
                    if (end - position) * self._id_size > OUT_BYTES:
                        state.need_out((end - position) * self._id_size)

    def encode_to(self, reader: Windows, room: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        ends: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        n_ids = self._encode_windows(reader, room, ends)
        return room[:n_ids], np.concatenate(ends)

    def _encode_whole(self, reader: Windows, n_bytes: int) -> NDArray[Any]:
        """The ids of all windows of a reader, `n_bytes` of text, as a new array."""
        room = Room(n_bytes + piece_cache.SPARE_BYTES, self.dtype)
        return room.cut(self._encode_windows(reader, room.array))

    def _encode_windows(
        self, reader: Windows, out: NDArray[Any] | None, ends: list[NDArray[np.int64]] | None = None
    ) -> int:
        """Encode all windows of a reader into `out`, which has room for all ids, or with None only count them. Returns the
        number of ids, and adds to `ends` arrays of how many there are up to each break without id."""
        step = 0 if out is None else self._id_size
        with self._borrowed() as state:
            state.expect(reader.n_expected)
            n_ids = taken = 0
            while (window := reader.advance(taken)) is not None:
                taken = window.start
                without_id = window.ends_document()
                marks = None if ends is None or not without_id.any() else np.empty(len(without_id), dtype=np.int64)
                status = encode_state.NEED_OUT
                while status == encode_state.NEED_OUT:
                    room = state.out if out is None else out
                    status, taken, end, n_ids = self._advance(window, taken, state, room, n_ids, step, marks)
                    if status == encode_state.NEED_OUT:
                        if out is not None:
                            raise RuntimeError(f"{len(out):,} ids are too few for a text of {window.end:,} bytes")
                        state.need_out((end - taken) * self._id_size)
                if ends is not None and marks is not None:
                    is_done = (window.start < window.breaks[:, 1]) & (window.breaks[:, 1] <= taken)
                    ends.append(marks[without_id & is_done])
        return n_ids

    def _advance(
        self,
        window: Window,
        position: int,
        state: EncoderState,
        out: NDArray[Any],
        n_ids: int,
        step: int,
        marks: NDArray[np.int64] | None,
    ) -> tuple[int, int, int, int]:
        """Encode a window from a position on, up to its last certain boundary, or until `out` is full.

        step : bytes of an id; or 0 to count the ids only (see encode_state.Work)

        Returns DONE or NEED_OUT, the position that was reached, the end of the text that needs room, and the number of ids.
        """
        state.expect(window.end - position)
        id_size = self._id_size
        state.work[:] = encode_state.Work(
            text=window.data.ctypes.data,
            position=position,
            end=window.end,
            limit=window.limit,
            breaks=window.breaks.ctypes.data,
            n_breaks=len(window.breaks),
            marks=0 if marks is None else marks.ctypes.data,
            out=out.ctypes.data,
            out_bytes=out.nbytes,
            n_ids=n_ids,
            id_size=id_size,
            step=step,
            piece_end=position,
        )
        work = state.work.data  # a memoryview, in which single numbers are read and written faster
        while True:
            status = -min(self._encode_pieces(state.at, b"", WORK_ALONE), 0)
            position, piece_end, n_ids = work[encode_state.POSITION], work[encode_state.PIECE_END], work[encode_state.N_IDS]
            if status == encode_state.NEED_LONG:
                n_bytes = self._encode_long(state, window, position, piece_end, out, n_ids * step)
                if n_bytes >= 0:
                    work[encode_state.POSITION], work[encode_state.N_IDS] = piece_end, n_ids + n_bytes // id_size
                    continue
                status = -n_bytes
            if status == encode_state.NEED_SCRATCH:
                state.need_scratch(piece_end - position)
            elif status == encode_state.NEED_CACHE:
                state.need_cache(piece_end - position)
            elif status != encode_state.NEED_LONG:
                return status, position, piece_end, n_ids

    def _encode_long(
        self, state: EncoderState, window: Window, position: int, piece_end: int, out: NDArray[Any], used: int
    ) -> int:
        """Encode a long piece (see encode_new_piece.encode_long_piece) into `out`, after its first `used` bytes.

        Returns the number of bytes written, or minus a status: NEED_LONG if the usual kernel can encode the piece now.
        """
        copy = padded(window.data[position:piece_end].data)  # the text may be in memory of another owner, who may change it
        n, ends_text = piece_end - position, window.ends_text(piece_end)

        # This closure keeps the arrays alive, as it runs to its end even if Ctrl-C has ended this method.
        def encode() -> int:
            at, ids_at = copy.ctypes.data, out.ctypes.data + used
            return int(encode_new_piece.encode_long_piece(state.at, at, n, ids_at, self._id_size, ends_text))

        return interruptible_if_long(encode, n)
