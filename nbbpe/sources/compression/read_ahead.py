"""Reads a stream in advance in a separate thread, so that text is decompressed while earlier text is encoded."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue

from ...system.starting import NoMoreThreads, start
from ...system.waiting import join, next_item
from ..inputs import Stream

_BLOCK = 1 << 18  # bytes
_N_BLOCKS = 4


@contextmanager
def read_ahead(source: Stream) -> Iterator[Stream]:
    """Yield a stream with the same bytes as `source`, and the same error if there is one.

    It is `source` itself if the system has no more threads. The thread ends with the context, so reading the source must
    not block forever.
    """
    ahead = _ReadAhead(source)
    stream: Stream = ahead
    try:
        try:
            start(ahead.thread)
        except NoMoreThreads:
            stream = source
        yield stream
    finally:
        try:
            ahead.stop()
        finally:
            ahead.end_next()  # again, in case Ctrl-C has interrupted `stop`
            join(ahead.thread)


class _ReadAhead:
    """Blocks circulate between two queues: `_free` has empty ones, `_full` filled ones with length and any error."""

    def __init__(self, source: Stream) -> None:
        self._source = source
        self._free: SimpleQueue[memoryview | None] = SimpleQueue()
        self._full: SimpleQueue[tuple[memoryview, int, BaseException | None]] = SimpleQueue()
        for _ in range(_N_BLOCKS - 1):
            self._free.put(memoryview(bytearray(_BLOCK)))
        self._block = memoryview(bytearray(_BLOCK))  # the block that `readinto` reads, from `_position` to `_end`
        self._position = self._end = 0
        self._is_last = False
        self._error: BaseException | None = None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        """Fill blocks until the source ends, or `stop` is called."""
        while (block := self._free.get()) is not None:
            n, error = 0, None
            try:
                while n < len(block) and (got := self._source.readinto(block[n:])):
                    n += got
            except BaseException as raised:
                error = raised
            self._full.put((block, n, error))
            if n < len(block):
                return

    def stop(self) -> None:
        """Make the thread end when it has filled its block."""
        with suppress(Empty):  # without waiting, as the thread may take the last block first
            while True:
                self._free.get_nowait()
        self.end_next()

    def end_next(self) -> None:
        """Make the thread end when it has filled the blocks that are empty now."""
        self._free.put(None)

    def readinto(self, buffer: memoryview, /) -> int:
        if self._position == self._end and not self._is_last:
            self._free.put(self._block)
            self._block, self._end, self._error = next_item(self._full, [self.thread])
            self._position = 0
            self._is_last = self._end < len(self._block)
        n = min(len(buffer), self._end - self._position)
        if n == 0 and self._error is not None:
            raise self._error
        buffer[:n] = self._block[self._position : self._position + n]
        self._position += n
        return n
