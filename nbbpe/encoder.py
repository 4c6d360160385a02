"""Encoding behind the Tokenizer: windows of text to arrays of ids, with a memory of pieces for each thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .corpus import Reader, Window, padded, to_text
from .kernels import encode, piece_table
from .kernels.simd import N_CLASSES
from .patterns import Pattern

_OUT_IDS = 1 << 16  # ids written before they are copied out: small enough to stay in a core's cache


class _State:
    """What encoding changes as it goes; one thread has it at a time."""

    def __init__(self, max_pieces: int) -> None:
        self.table = piece_table.new_table(1 << 12, 1 << 14)
        self.memory = encode.Memory(np.empty(1 << 12, dtype=np.uint32), np.array([0, max_pieces], dtype=np.int64))
        self.scratch = encode.new_scratch(256)
        self.masks = np.empty(N_CLASSES, dtype=np.uint64)
        self.batch = piece_table.new_batch()
        self.out = np.empty(_OUT_IDS, dtype=np.uint32)

    def need_scratch(self, n_bytes: int) -> None:
        """Make room for merging a pretoken of so many bytes."""
        if n_bytes > len(self.scratch.ids):
            self.scratch = encode.new_scratch(2 * n_bytes)

    def need_memory(self, n_bytes: int) -> None:
        """Make room to remember one more piece of so many bytes."""
        self.table = piece_table.grown(self.table, n_bytes)
        used = int(self.memory.state[encode.POOL_USED])
        if used + n_bytes + encode.SPARE_IDS > len(self.memory.ids_pool):
            pool = np.empty(2 * len(self.memory.ids_pool) + n_bytes + encode.SPARE_IDS, dtype=np.uint32)
            pool[:used] = self.memory.ids_pool[:used]
            self.memory = self.memory._replace(ids_pool=pool)


class Encoder:
    """The compiled tables of one tokenizer. Safe to use from several threads: each borrows a state of its own."""

    def __init__(self, merges: encode.Merges, pattern: Pattern, dtype: np.dtype[Any], max_pieces: int) -> None:
        self._merges = merges
        self._pattern = pattern
        self._dtype = dtype
        self._max_pieces = max_pieces
        self._idle: list[_State] = []  # append and pop are atomic, so no lock that a fork could leave locked
        if pattern.cuts is not None:
            self._scanner = pattern.scanner()
            self._grammar = pattern.packed_grammar()

    @contextmanager
    def _borrowed_state(self) -> Iterator[_State]:
        try:
            state = self._idle.pop()
        except IndexError:
            state = _State(self._max_pieces)
        try:
            yield state
        finally:
            self._idle.append(state)

    @property
    def at_once(self) -> bool:
        """Whether a text must be one window: without a table of boundaries nothing is certain before its end."""
        return self._pattern.cuts is None

    def encode(self, window: Window) -> NDArray[Any]:
        """The ids of a window's text and breaks."""
        parts = [ids for ids, _ in self._parts(window)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def encode_all(self, reader: Reader) -> Iterator[tuple[NDArray[Any], int]]:
        """The ids of all that a reader reads, part by part, each with the number of bytes it took."""
        taken = 0
        while (window := reader.advance(taken)) is not None:
            taken = window.start
            for ids, position in self._parts(window):
                yield ids, position - taken
                taken = position

    def _parts(self, window: Window) -> Iterator[tuple[NDArray[Any], int]]:
        """The ids of a window in parts, each with the position up to which the window was used so far."""
        with self._borrowed_state() as state:
            if self.at_once:
                yield self._encode_documents(window, state), window.end
            else:
                yield from self._encode_pieces(window, state)

    def _encode_pieces(self, window: Window, state: _State) -> Iterator[tuple[NDArray[Any], int]]:
        position = window.start
        n_out = 0
        while True:
            status, position, piece_end, n_out = encode.encode_pieces(
                window.data,
                position,
                window.end,
                window.limit,
                window.breaks,
                len(window.breaks),
                self._scanner,
                self._grammar,
                state.masks,
                state.batch,
                self._merges,
                state.scratch,
                state.table,
                state.memory,
                state.out,
                n_out,
            )
            if status == encode.NEED_SCRATCH:
                state.need_scratch(piece_end - position)
            elif status == encode.NEED_MEMORY:
                state.need_memory(piece_end - position)
            else:
                yield state.out[:n_out].astype(self._dtype), int(position)
                n_out = 0
                if status == encode.DONE:
                    return
                if piece_end - position + encode.SPARE_IDS > len(state.out):
                    state.out = np.empty(piece_end - position + _OUT_IDS, dtype=np.uint32)

    def _encode_documents(self, window: Window, state: _State) -> NDArray[Any]:
        """The ids of a window where each document goes to `regex` whole."""
        parts = []
        for document, break_id in window.documents():
            if document:
                parts.append(self._encode_document(document, state))
            if break_id >= 0:
                parts.append(np.array([break_id], dtype=self._dtype))
        return np.concatenate(parts) if parts else np.empty(0, dtype=self._dtype)

    def _encode_document(self, document: bytes, state: _State) -> NDArray[Any]:
        """The ids of a document, each distinct pretoken worked out once."""
        pretokens = self._pattern.split(to_text(document))
        numbers: dict[str, int] = {}
        occurrences = np.array([numbers.setdefault(pretoken, len(numbers)) for pretoken in pretokens], dtype=np.int64)
        distinct = [pretoken.encode(errors="surrogateescape") for pretoken in numbers]
        state.need_scratch(max(map(len, distinct)))
        data = padded(b"".join(distinct))
        out = np.empty(len(data), dtype=np.uint32)
        starts = np.cumsum([0, *map(len, distinct)], dtype=np.int64)
        ends = np.empty(len(starts), dtype=np.int64)
        encode.encode_pretokens(data, starts, self._merges, state.scratch, out, 0, ends)
        # Gather the ids of every occurrence: out[ends[k]:ends[k + 1]] for pretoken k.
        counts = np.diff(ends)[occurrences]
        first = np.cumsum(counts) - counts
        index = np.repeat(ends[occurrences] - first, counts) + np.arange(counts.sum())
        return out[index].astype(self._dtype)
