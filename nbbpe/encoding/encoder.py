"""Encoding behind the Tokenizer: text to arrays of ids, with a memory of pieces for each thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..kernels.encoding import encode_new_piece, encode_state, encode_text, merge_pretoken, piece_cache
from ..kernels.encoding.encode_text import ORDINARY, WITH_SPECIALS, WORK_ALONE
from ..kernels.encoding.merge_short import SHORT
from ..kernels.encoding.merge_table import Merges
from ..kernels.encoding.pending_pieces import new_waiting
from ..kernels.machine.intrinsics import PADDING
from ..kernels.machine.large_pages import Room, longer
from ..kernels.pieces import piece_table
from ..kernels.pieces.boundaries import new_masks
from ..kernels.pieces.pattern_tables import PatternTables
from ..kernels.pieces.piece_batch import new_batch
from ..kernels.pieces.pretokens import new_split_scratch
from ..kernels.pieces.special_tokens import SpecialTokens, new_special_tokens
from ..system.workers import default_workers, interruptible
from ..text.byte_source import Source
from ..text.normalization import Form, NormalizingReader, is_normal, normal_window, normalized
from ..text.pattern import Pattern, get_pattern
from ..text.utf8 import Data, padded, to_text
from ..text.windows import Reader, TextReader, Window, Windows, join

T = TypeVar("T")

_FIRST_SCRATCH, _KEPT_SCRATCH = (
    SHORT,
    1 << 18,
)  # bytes of the longest pretoken there is scratch for, which takes 20 for each
_SHORT_BREAKS = 1024  # special tokens in a short text; one that has more is encoded as a long one
_LONG = 1 << 21  # bytes from which on merging takes long enough, 0.2 s, to be interrupted meanwhile
_OUT_BYTES = 1 << 18  # of ids written before they are handed on: few enough to stay in a core's cache
# What the states that no thread uses may take of memory, all together, for each processor; and how many they may be.
_IDLE_BYTES, _MOST_IDLE = 128 << 20, 64


def _merged(work: Callable[[], T], n_bytes: int) -> T:
    """What a call returns that merges so many bytes; see `interruptible`."""
    return work() if n_bytes < _LONG else interruptible(work)


def _encode_none(context_at: int, text: object, what: int) -> int:
    """In place of the kernel where a pattern has no table: no text is encoded by it alone."""
    return -1


class _Fixed(NamedTuple):
    """What encoding reads. A state has this and not the encoder, which has the states: so all go when the encoder does."""

    merges: Merges
    pattern_tables: PatternTables
    dtype: np.dtype[Any]
    max_pieces: int


class _State:
    """What encoding changes as it goes; one thread has it at a time."""

    def __init__(self, fixed: _Fixed, specials: SpecialTokens) -> None:
        self._fixed = fixed
        self.specials = specials
        # What is forgotten is overwritten with zeros: no more slots than the limit needs.
        self.table = piece_table.new_table(min(1 << 13, 4 << fixed.max_pieces.bit_length()), 1 << 16)
        self.ids_pool = np.empty(1 << 16, dtype=np.uint8)
        self.memory_state = np.array([0, fixed.max_pieces], dtype=np.int64)
        self._masks = new_masks()
        self._split_scratch = new_split_scratch(fixed.pattern_tables)
        self._batch = new_batch()
        self.work = encode_state.new_work()
        self._text = np.zeros(encode_text.SHORT_TEXT + PADDING, dtype=np.uint8)
        self._breaks = np.empty((_SHORT_BREAKS, 3), dtype=np.int64)
        self._waiting = new_waiting()
        self._longest = _FIRST_SCRATCH
        self._scratch = merge_pretoken.new_scratch(self._longest, fixed.merges)
        self.need_out(_OUT_BYTES)

    def need_out(self, n_bytes: int) -> None:
        """Make room in `out` for ids of so many bytes."""
        dtype = self._fixed.dtype
        self.out = np.empty((max(n_bytes, _OUT_BYTES) + piece_cache.SPARE_BYTES) // dtype.itemsize, dtype=dtype)
        self.ids = self.out.data  # the same, of which a few are sooner made a list
        self._renew_context()

    def need_scratch(self, n_bytes: int) -> None:
        """Make room for merging a pretoken of so many bytes."""
        if n_bytes > self._longest:
            self._longest = 2 * n_bytes
            self._scratch = merge_pretoken.new_scratch(self._longest, self._fixed.merges)
            self._renew_context()

    def trim(self) -> None:
        """Let go of what a huge piece needed and most texts do not."""
        if self._longest > _KEPT_SCRATCH or self.out.nbytes > 4 * _OUT_BYTES:
            self._longest = _FIRST_SCRATCH
            self._scratch = merge_pretoken.new_scratch(self._longest, self._fixed.merges)
            self.need_out(_OUT_BYTES)

    def need_memory(self, n_bytes: int) -> None:
        """Make room to remember one more piece of so many bytes. At the limits, all that was remembered is forgotten.

        The other way would be to learn no more. Measured on 80 MB of texts in many languages with room for 100,000 of some
        600,000 distinct pieces: where languages follow each other, 203 MB/s against 92; shuffled finely, 129 against 132.
        """
        n_entries, key_bytes = self.table.state[: piece_table.SECRET].tolist()
        limit = int(self.memory_state[piece_cache.LIMIT])
        if n_entries >= limit or key_bytes + n_bytes > piece_cache.BYTES_PER_PIECE * limit:
            piece_table.clear(self.table)
            self.memory_state[piece_cache.IDS_USED] = 0
            return
        self.table, former = piece_table.with_room(self.table, n_bytes)
        used = int(self.memory_state[piece_cache.IDS_USED])
        needed = n_bytes * self._fixed.dtype.itemsize + piece_cache.SPARE_BYTES
        if used + needed > len(self.ids_pool):
            self.ids_pool = longer(self.ids_pool, used, needed)
        self._renew_context(former)

    def _renew_context(self, former: NDArray[np.uint64] | None = None) -> None:
        fixed = self._fixed
        self.former = former  # which the next kernel reads
        # How much memory the state takes, but for what all states take alike.
        self.n_bytes = sum(
            part.nbytes for part in (self.table.slots, self.table.pool, self.ids_pool, self._scratch, self.out)
        )
        self._context = encode_state.new_context(
            fixed.pattern_tables,
            self._masks,
            self._split_scratch,
            fixed.merges,
            self._batch,
            self._scratch,
            self._longest,
            self.table,
            self.ids_pool,
            self.memory_state,
            self._text,
            self.out,
            self._waiting,
            former,
            self.work,
            self.specials,
            self._breaks,
        )
        self.context_at = self._context.ctypes.data

    def look_for(self, specials: SpecialTokens) -> None:
        """Have other special tokens found in short texts."""
        encode_state.put_specials(self._context, specials)
        self.specials = specials  # which keeps them as long as the context has their addresses


class Encoder:
    """The compiled tables of one tokenizer. Safe to use from several threads: each borrows a state of its own."""

    def __init__(
        self, merges: Merges, pattern: Pattern, dtype: np.dtype[Any], max_pieces: int, specials: SpecialTokens
    ) -> None:
        self.merges = merges
        self.specials = specials
        self.dtype = dtype
        self._pattern = pattern
        self.at_once = not pattern.is_compiled  # without a table of boundaries nothing is certain before a text's end
        self.in_python = self.at_once  # whether threads would wait for each other
        self._id_size = dtype.itemsize
        self._encode_pieces = _encode_none if self.at_once else encode_text.compiled_encode_pieces()
        # Append and pop are atomic, so no lock that a fork could leave locked. Where there is no room for another, the one
        # that was not used for longest goes.
        self._idle: deque[_State] = deque(maxlen=_MOST_IDLE)
        self._idle_bytes = _IDLE_BYTES * default_workers()
        # Where there is no table of boundaries, another pattern's stands in the context and is not used.
        tables = pattern.tables
        if tables is None:
            tables = get_pattern("gpt2").tables
        assert tables is not None
        self._fixed = _Fixed(merges, tables, dtype, max_pieces)

    def _state(self) -> _State:
        """A state that is nobody's; whoever takes it appends it to `_idle`, but for an error that may have left it half
        changed (Ctrl-C, say)."""
        try:
            return self._idle.pop()
        except IndexError:
            return _State(self._fixed, self.specials)

    @contextmanager
    def _borrowed(self) -> Iterator[_State]:
        """A state for the time of a `with`."""
        state = self._state()
        try:
            yield state
        except GeneratorExit:  # who borrowed it is asked for no more: nothing was under way
            self._give_back(state)
            raise
        self._give_back(state)

    def _give_back(self, state: _State) -> None:
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

    def _encode_short(self, text: object, specials: SpecialTokens | None, form: type) -> Any:
        """The ids of a short text, a str or bytes; None for any other object, which is for `encode_text` or an error.

        form : what is wanted: np.ndarray (an array of its own), list, or int (how many there are)

        What a call costs counts here: hence no helpers, and no more attributes than need be.
        """
        idle = self._idle
        try:
            state = idle.pop()
        except IndexError:
            state = _State(self._fixed, self.specials)
        if specials is None:
            what = ORDINARY
        else:
            what = WITH_SPECIALS
            if specials is not state.specials:
                state.look_for(specials)
        n_ids = self._encode_pieces(state.context_at, text, what)
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

    encode_short = _encode_short  # which a class that does more to a text overrides, and still uses the other

    def encode_text(self, text: Data, specials: SpecialTokens | None) -> NDArray[Any]:
        """The ids of a text, as an array of its own; of its special tokens those in `specials` are recognised."""
        ids: NDArray[Any] | None = self._encode_short(text, specials, np.ndarray)
        if ids is not None:
            return ids
        specials = specials or new_special_tokens([], [])
        if self.at_once:
            return self._encode_documents(self._window([bytes(text)], specials))
        return self._encode_whole(TextReader(text, specials), len(text))

    def count(self, text: Data, specials: SpecialTokens | None) -> int:
        """The number of ids of a text; arguments as of `encode_text`."""
        if self.at_once:
            return len(self.encode_text(text, specials))
        n_ids: int | None = self._encode_short(text, specials, int)
        if n_ids is not None:
            return n_ids
        return self._encode_windows(TextReader(text, specials or new_special_tokens([], [])), None, 0)

    def allowing(self, specials: SpecialTokens) -> tuple[Encoder, SpecialTokens]:
        """What encodes with a choice of special tokens, and those of them that readers look for."""
        return self, specials

    def encode_source(self, source: Source, n_bytes: int | None, specials: SpecialTokens) -> NDArray[Any]:
        """The ids of the next `n_bytes` of a source, or of all it has, as an array of its own. Its errors pass."""
        reader = Reader(source, n_bytes, specials, self.at_once)
        if n_bytes is None or self.in_python:
            parts = [ids.copy() for ids, _ in self.encode_all(reader)]
            return np.concatenate([np.empty(0, dtype=self.dtype), *parts])
        return self._encode_whole(reader, n_bytes)

    def count_source(self, source: Source, specials: SpecialTokens) -> int:
        """The number of ids of all that a source has."""
        reader = Reader(source, None, specials, self.at_once)
        if self.in_python:
            return sum(len(ids) for ids, _ in self.encode_all(reader))
        return self._encode_windows(reader, None, 0)

    def _window(self, documents: list[bytes], specials: SpecialTokens) -> Window:
        """One window of all documents, as they are to be encoded."""
        return join(documents, specials)

    def encode_window(self, window: Window, marks: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """The ids of a window that is whole, its breaks included.

        marks : int64[n_breaks], filled with the number of ids before each break without id
        """
        if self.at_once:
            return self._encode_documents(window, marks)
        room = Room(window.end - window.start + piece_cache.SPARE_BYTES, self.dtype)
        with self._borrowed() as state:
            _, _, _, n_ids = self._advance(window, window.start, state, room.array, 0, self._id_size, marks)
        return room.cut(n_ids)

    def encode_documents(self, documents: list[bytes], specials: SpecialTokens) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The ids of all documents, and int64[n + 1], where those of each start."""
        if self.at_once:
            parts = [self.encode_text(document, specials) for document in documents]
            starts = np.cumsum([0, *map(len, parts)], dtype=np.int64)
            return np.concatenate([np.empty(0, dtype=self.dtype), *parts]), starts
        window = self._window(documents, specials)
        marks = np.empty(len(window.breaks), dtype=np.int64)
        ids = self.encode_window(window, marks)
        between = marks[window.breaks[:, 2] < 0]
        return ids, np.concatenate([[0], between, [len(ids)]])

    def encode_all(self, reader: Windows) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """The ids of all that a reader reads, part by part, each with how many of them come before its breaks without id.

        A part is the caller's until the next one is asked for.
        """
        with self._borrowed() as state:
            taken = 0
            while (window := reader.advance(taken)) is not None:
                taken = window.start
                without_id = window.breaks[:, 2] < 0
                break_ends = window.breaks[without_id, 1]
                marks = np.empty(len(without_id), dtype=np.int64)
                if self.at_once:
                    yield self._encode_documents(window, marks), marks[without_id]
                    taken = window.end
                    continue
                status = encode_state.NEED_OUT
                while status == encode_state.NEED_OUT:
                    status, position, end, n_ids = self._advance(window, taken, state, state.out, 0, self._id_size, marks)
                    yield state.out[:n_ids], marks[without_id][(taken < break_ends) & (break_ends <= position)]
                    taken = position
                    if (end - position) * self._id_size > _OUT_BYTES:
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
        state: _State,
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
            status = -min(self._encode_pieces(state.context_at, b"", WORK_ALONE), 0)
            position, piece_end, n_ids = work[encode_state.POSITION], work[encode_state.PIECE_END], work[encode_state.N_IDS]
            if status == encode_state.NEED_LONG:
                n_bytes = self._learn_long(state, window.data[position:piece_end], out_at + n_ids * step)
                if n_bytes >= 0:
                    work[encode_state.POSITION], work[encode_state.N_IDS] = piece_end, n_ids + n_bytes // id_size
                    continue
                status = -n_bytes
            if status == encode_state.NEED_SCRATCH:
                state.need_scratch(piece_end - position)
            elif status == encode_state.NEED_MEMORY:
                state.need_memory(piece_end - position)
            else:
                state.former = None  # a large table's slots are not kept longer than they are read
                return status, position, piece_end, n_ids

    def _learn_long(self, state: _State, piece: NDArray[np.uint8], ids_at: int) -> int:
        """See learn.learn_long_piece."""
        copy = padded(piece.data)  # of what may be somebody else's memory, and change

        def learn_it() -> int:
            return int(
                encode_new_piece.learn_long_piece(state.context_at, copy.ctypes.data, len(piece), ids_at, self._id_size)
            )

        return _merged(learn_it, len(piece))

    def _encode_documents(self, window: Window, marks: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """The ids of a window where each document goes to `regex` whole; `marks` as in `encode_window`."""
        parts = [np.empty(0, dtype=self.dtype)]
        n_ids = 0
        for number, (document, break_id) in enumerate(window.documents()):
            if document:
                parts.append(self._encode_document(document))
                n_ids += len(parts[-1])
            if marks is not None and number < len(marks):
                marks[number] = n_ids
            if break_id >= 0:
                parts.append(np.array([break_id], dtype=self.dtype))
                n_ids += 1
        return np.concatenate(parts)

    def _encode_document(self, document: bytes) -> NDArray[Any]:
        """The ids of a document, each distinct pretoken worked out once."""
        pretokens = self._pattern.split(to_text(document))
        numbers: dict[str, int] = {}
        occurrences = np.array([numbers.setdefault(pretoken, len(numbers)) for pretoken in pretokens], dtype=np.int64)
        distinct = [pretoken.encode(errors="surrogateescape") for pretoken in numbers]
        starts = np.cumsum([0, *map(len, distinct)], dtype=np.int64)
        ends = np.empty(len(starts), dtype=np.int64)
        data = padded(b"".join(distinct))
        out = np.empty(len(data), dtype=self.dtype)
        with self._borrowed() as state:
            state.need_scratch(max(map(len, distinct)))

            def encode() -> None:
                encode_text.encode_pretokens(
                    state.context_at, data.ctypes.data, starts, out.ctypes.data, self._id_size, ends
                )

            _merged(encode, len(data))
        # Gather the ids of every occurrence: out[ends[k]:ends[k + 1]] for pretoken k.
        counts = np.diff(ends)[occurrences]
        first = np.cumsum(counts) - counts
        index = np.repeat(ends[occurrences] - first, counts) + np.arange(counts.sum())
        return out[index]


class NormalizingEncoder(Encoder):
    """An Encoder that puts text into a normal form first; apart from it, so that one without need not ask."""

    def __init__(
        self,
        merges: Merges,
        pattern: Pattern,
        dtype: np.dtype[Any],
        max_pieces: int,
        specials: SpecialTokens,
        form: Form,
    ) -> None:
        super().__init__(merges, pattern, dtype, max_pieces, specials)
        self._form = form
        self.in_python = True

    def encode_short(self, text: object, specials: SpecialTokens | None, form: type) -> Any:
        """None: `encode_text` is to see every text."""
        return None

    def encode_text(self, text: Data, specials: SpecialTokens | None) -> NDArray[Any]:
        """See Encoder."""
        text = bytes(text)
        if specials is None:
            return super().encode_text(normalized(text, self._form), None)
        if is_normal(text, self._form):  # and so is what lies between special tokens: it need not be copied
            return super().encode_text(text, specials)
        return self.encode_window(self._window([text], specials))

    def count(self, text: Data, specials: SpecialTokens | None) -> int:
        """See Encoder."""
        text = bytes(text)
        if is_normal(text, self._form):
            return super().count(text, specials)
        return len(self.encode_text(text, specials))

    def encode_all(self, reader: Windows) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """See Encoder."""
        return super().encode_all(NormalizingReader(reader, self._form))

    def _window(self, documents: list[bytes], specials: SpecialTokens) -> Window:
        return normal_window(super()._window(documents, specials), self._form)
