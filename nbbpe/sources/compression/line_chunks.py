"""Divides a compressed file of lines among threads: each takes the next lines, and decompresses them itself.

(One thread that only decompresses, and one that encodes, would together use only one and a half processors.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from ...system.workers import Stopped
from ...text.byte_source import BlockStream
from ..inputs import Stream
from ..tally import Tally

CHUNK_BYTES = 4 << 20  # of text that a thread takes at a time


class LineChunks:
    """Chunks of whole lines of one stream, in order. The last chunk has all the rest."""

    def __init__(self, open_file: Callable[[Tally], AbstractContextManager[Stream]], n_chunks: int) -> None:
        """`open_file` opens the stream; its argument counts the bytes read from the file."""
        self._open_file = open_file
        self._n_chunks = n_chunks
        self._opened = ExitStack()
        self._file: Stream
        self._tally = Tally("raise")
        self._next = 0  # the chunk that is read next
        self._n_before = 0  # bytes of text before that chunk
        self._left = b""  # the beginning of that chunk, which has been read with the chunk before
        self._read_already: dict[int, tuple[bytearray, int, int]] = {}  # chunks that no thread has taken, see _read
        self._free: list[bytearray] = []  # unused buffers, kept because new memory is expensive
        self._is_stopped = False
        self._lock = threading.Lock()  # held while reading, so that another thread's error does not close the file

    @contextmanager
    def chunk(self, number: int, tally: Tally) -> Iterator[tuple[Stream, int]]:
        """Yield (text of chunk `number`, from 0; bytes of text before it). Each chunk is taken once.

        Earlier chunks that no thread has taken yet are read first, and kept. (Waiting until their threads read them could
        last forever, if one has failed.) After an error, taking or reading any chunk raises Stopped.
        """
        is_last = number == self._n_chunks - 1
        try:
            with self._lock:
                self._check()
                while self._next <= number:
                    if self._next == 0:
                        self._file = self._opened.enter_context(self._open_file(self._tally))
                    self._read_already[self._next] = self._read(self._next == self._n_chunks - 1)
                    self._next += 1
                tally.n_read += self._tally.newly_read()
                buffer, n, n_before = self._read_already.pop(number)
            yield _Rest(self, tally) if is_last else BlockStream([memoryview(buffer)[:n]]), n_before
            if is_last:
                self._close()
            else:
                self._free.append(buffer)
        except BaseException:
            self._is_stopped = True
            self._close()
            raise

    def _check(self) -> None:
        if self._is_stopped:
            raise Stopped

    def _close(self) -> None:
        with self._lock:
            self._opened.close()

    def rest_into(self, buffer: memoryview, tally: Tally) -> int:
        """Read text after all other chunks into a buffer, see Stream. `tally` counts the bytes of the file."""
        with self._lock:
            self._check()
            if self._left:
                n = min(len(buffer), len(self._left))
                buffer[:n], self._left = self._left[:n], self._left[n:]
            else:
                n = self._file.readinto(buffer)
            tally.n_read += self._tally.newly_read()
        return n

    def _read(self, is_last: bool) -> tuple[bytearray, int, int]:
        """Read the next chunk: (buffer, bytes of its lines in the buffer, bytes of text before them).

        The last chunk gets no bytes: `rest_into` reads it.
        """
        n_before = self._n_before
        if is_last:
            return bytearray(), 0, n_before
        buffer = self._free.pop() if self._free else bytearray(CHUNK_BYTES)
        filled = len(self._left)
        if filled >= len(buffer):
            buffer = bytearray(2 * filled)
        buffer[:filled] = self._left
        while True:
            with memoryview(buffer) as view:
                while filled < len(buffer) and (got := self._file.readinto(view[filled:])):
                    filled += got
            is_end = filled < len(buffer)
            n = filled if is_end else buffer.rfind(b"\n") + 1
            if n or is_end:
                break
            # The line is longer than the buffer. It is copied, not resized, as an old stream may still refer to the memory.
            buffer = buffer + bytes(len(buffer))
        self._left = bytes(memoryview(buffer)[n:filled])
        self._n_before += n
        return buffer, n, n_before


class _Rest:
    """The last chunk, the rest of the file, as a stream."""

    def __init__(self, chunks: LineChunks, tally: Tally) -> None:
        self._chunks = chunks
        self._tally = tally

    def readinto(self, buffer: memoryview, /) -> int:
        return self._chunks.rest_into(buffer, self._tally)
