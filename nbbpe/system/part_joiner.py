"""Concatenate parts that several threads write: one part at a time goes to the file, the others are buffered."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..kernels.machine.large_pages import zeros_of
from .waiting import wait_for
from .workers import Stopped

_HELD_BYTES = 16 << 20  # size of the buffer of a part whose turn has not come; untouched memory costs nothing
_KEPT_BYTES = 4 << 20  # a buffer that has held more is freed, not kept for the next Joiner


class Sink(Protocol):
    """Something that bytes can be written to."""

    def write(self, data: memoryview, /) -> None:
        """Append bytes."""


class PartWriter(Sink, Protocol):
    """Writes one part: by `write`, or once into `room`, after which `wrote` says how much."""

    def room(self, n_bytes: int, /) -> NDArray[np.uint8]:
        """Return a buffer of at least `n_bytes` to write to."""

    def wrote(self, n_bytes: int, /) -> None:
        """Append the first `n_bytes` of the last room to the part."""


class _Held:
    """The buffered bytes of a part whose turn has not come."""

    def __init__(self, n_bytes: int) -> None:
        # In large pages: NumPy's memory begins with small ones, and to touch each of them took 5 to 20 us.
        self.buffer: NDArray[np.uint8] = zeros_of(np.uint8, n_bytes)
        self.n = 0
        self.most = 0  # the most bytes it has held, and so the memory it takes


# Buffers of closed Joiners for the next one to use, as new memory is expensive. Append and pop are atomic.
_unused: deque[_Held] = deque(maxlen=8)


def _unused_or_new() -> _Held:
    while _unused:
        with suppress(IndexError):  # another thread has taken the last one
            held = _unused.pop()
            if len(held.buffer) == _HELD_BYTES:
                return held
    return _Held(_HELD_BYTES)


class Joiner:
    """Concatenates numbered parts in order. Each is written by one of several threads, which writes one part at a time.

    The part whose turn it is goes to the file at once. Other parts wait in memory, in `n_held` buffers. A thread that finds
    no room waits for its turn, which always comes, because the part whose turn it is needs no buffer.
    """

    def __init__(self, file: Sink, n_held: int, stopping: threading.Event | None = None) -> None:
        """`stopping` is set if some part will never end: then threads that wait for their turn raise Stopped."""
        self._file = file
        self._turn = 0
        self._ended: set[int] = set()
        self._held: dict[int, _Held] = {}
        self._idle = [_unused_or_new() for _ in range(n_held)]
        self._stopping = stopping or threading.Event()
        # `with` this lock, not the condition, whose methods are in Python: Ctrl-C inside one would leave the lock locked.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)

    def close(self) -> None:
        """Leave the buffers to the next Joiner. To be called only after all parts have ended without an error."""
        _unused.extend(held for held in self._idle if held.most <= _KEPT_BYTES)
        self._idle.clear()

    @contextmanager
    def part(self, number: int) -> Iterator[PartWriter]:
        """Yield a writer that appends bytes to part `number` (from 0), which ends with the context.

        If it ends with an error, threads that wait for their turn raise Stopped.
        """
        try:
            yield _Writer(partial(self.write, number), partial(self.room, number), partial(self.wrote, number))
            self._end(number)
        except BaseException:
            self._stopping.set()
            with self._lock:
                self._changed.notify_all()
            raise

    def room(self, number: int, n_bytes: int) -> NDArray[np.uint8]:
        """See PartWriter.room. The part must have nothing in a buffer yet."""
        is_large = n_bytes > _HELD_BYTES
        with self._lock:
            # The part that has its turn never waits: all buffers may be of parts that wait for it.
            self._wait_for(lambda: is_large or self._idle or number == self._turn)
            held = _Held(max(n_bytes, _HELD_BYTES)) if is_large or not self._idle else self._idle.pop()
            self._held[number] = held
        return held.buffer

    def wrote(self, number: int, n_bytes: int) -> None:
        self._held[number].n += n_bytes

    def write(self, number: int, data: memoryview) -> None:
        with self._lock:
            self._wait_for(lambda: number == self._turn or self._has_room(number, data.nbytes))
            has_turn = number == self._turn
            if not has_turn and number not in self._held:
                self._held[number] = self._idle.pop()
        # From here on without the lock: no other thread has this part, or the turn.
        if has_turn:
            self._write_held(number)
            self._file.write(data)
        else:
            held = self._held[number]
            held.buffer[held.n : held.n + data.nbytes] = np.frombuffer(data, dtype=np.uint8)
            held.n += data.nbytes

    def _wait_for(self, holds: Callable[[], object]) -> None:
        """Wait until `holds()` is true; raises Stopped if it may never be. The caller holds the lock."""
        wait_for(self._changed, lambda: self._stopping.is_set() or holds())
        if self._stopping.is_set():
            raise Stopped

    def _has_room(self, number: int, n_bytes: int) -> bool:
        held = self._held.get(number) or (self._idle[-1] if self._idle else None)
        return held is not None and held.n + n_bytes <= len(held.buffer)

    def _end(self, number: int) -> None:
        """Note that a part has ended. The thread that ends the part whose turn it is also writes the parts that waited."""
        with self._lock:
            self._ended.add(number)
            if number != self._turn:
                return
        while True:
            self._write_held(number)
            with self._lock:
                self._turn += 1
                self._changed.notify_all()
                number = self._turn
                if number not in self._ended:
                    return

    def _write_held(self, number: int) -> None:
        """Write the buffered bytes of the part whose turn it is."""
        with self._lock:
            held = self._held.pop(number, None)
        if held is not None:
            self._file.write(held.buffer[: held.n].data)
            held.most, held.n = max(held.most, held.n), 0
            with self._lock:
                if len(held.buffer) <= _HELD_BYTES:
                    self._idle.append(held)
                self._changed.notify_all()


class _Writer(NamedTuple):
    """See PartWriter."""

    write: Callable[[memoryview], None]
    room: Callable[[int], NDArray[np.uint8]]
    wrote: Callable[[int], None]
