"""A compressed file of lines that several threads read: each takes the next lines, which it decompresses itself.

A thread of its own that decompresses for one that encodes keeps one and a half processors busy, and not more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import NamedTuple

from ..system.workers import Stopped
from .compressed import Stream
from .tally import Tally

CHUNK_BYTES = 4 << 20  # of text that a thread takes at a time


class Chunk(NamedTuple):
    """Some lines of a file.

    stream  : their text
    n_before : the bytes of the text before them in the file
    """

    stream: Stream
    n_before: int


class LineChunks:
    """Chunks of whole lines of one stream, in order; the last one has all that is left."""

    def __init__(self, open_file: Callable[[Tally], AbstractContextManager[Stream]], n_chunks: int) -> None:
        """`open_file` opens the stream, which counts the bytes of the file in a Tally."""
        self._open_file = open_file
        self._n_chunks = n_chunks
        self._opened = ExitStack()
        self._file: Stream
        self._tally = Tally("raise")
        self._next = 0  # the chunk that is read next
        self._n_before = 0  # bytes of text before it
        self._left = b""  # of them what has been read already
        self._free: list[bytearray] = []  # buffers that no chunk uses: new memory is expensive
        self._is_stopped = False
        self._changed = threading.Condition()

    @contextmanager
    def chunk(self, number: int, tally: Tally) -> Iterator[Chunk]:
        """Chunk `number`, from 0, as soon as those before it have been read. Each is taken once.

        An error ends all chunks: those that wait raise Stopped.
        """
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._is_stopped or self._next == number)
                if self._is_stopped:
                    raise Stopped
            if number == 0:
                self._file = self._opened.enter_context(self._open_file(self._tally))
            n_before = self._n_before
            if number == self._n_chunks - 1:
                yield Chunk(_Rest(self._left, self._file, self._tally, tally), n_before)
                self._opened.close()
            else:
                buffer, n = self._read()
                tally.n_read += self._tally.newly_read()
                with self._changed:
                    self._next += 1
                    self._changed.notify_all()
                yield Chunk(_Lines(self._file.name, memoryview(buffer)[:n]), n_before)
                self._free.append(buffer)
        except BaseException:
            with self._changed:
                self._is_stopped = True
                self._changed.notify_all()
            self._opened.close()
            raise

    def _read(self) -> tuple[bytearray, int]:
        """The next lines, in a buffer, and how many bytes they have; 0 at the end."""
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
            buffer += bytes(len(buffer))  # for a line that fills it
        self._left = bytes(memoryview(buffer)[n:filled])
        self._n_before += n
        return buffer, n


class _Lines:
    """Text in memory as a stream."""

    def __init__(self, name: str, text: memoryview) -> None:
        self.name = name
        self._left = text

    def readinto(self, buffer: memoryview, /) -> int:
        """See Stream."""
        n = min(len(buffer), len(self._left))
        buffer[:n], self._left = self._left[:n], self._left[n:]
        return n


class _Rest:
    """What was read already, and all that comes after it, of which the bytes of the file are counted in `tally`."""

    def __init__(self, left: bytes, file: Stream, counted: Tally, tally: Tally) -> None:
        self.name = file.name
        self._left = _Lines(file.name, memoryview(left))
        self._file = file
        self._counted = counted
        self._tally = tally

    def readinto(self, buffer: memoryview, /) -> int:
        """See Stream."""
        n = self._left.readinto(buffer) or self._file.readinto(buffer)
        self._tally.n_read += self._counted.newly_read()
        return n
