"""Waiting for other threads so that Ctrl-C ends the wait, whatever other libraries do about signals.

Python answers a signal when the main thread runs Python code again. A wait for a lock without a timeout returns early for
that: the system call is interrupted. Where a library such as polars has put a handler of its own before Python's, with
SA_RESTART, the system call is restarted instead, and the wait goes on for ever. A wait with a timeout ends in any case.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")
_SECONDS = 0.2  # on Linux a wait with a timeout is not restarted, so that a signal is answered at once


def next_item(queue: SimpleQueue[T], threads: Collection[threading.Thread] = ()) -> T:
    """The next item of a queue, as soon as there is one.

    threads : those that put items into it, if they may end. Raises MemoryError where all have ended, and the queue is
        empty: they had no memory left to say so
    """
    while True:
        try:
            return queue.get(timeout=_SECONDS)
        except Empty:
            if threads and not any(thread.is_alive() for thread in threads) and queue.empty():
                raise MemoryError("a thread ended without a result: there was no memory left for it") from None


def wait_for(condition: threading.Condition, holds: Callable[[], object]) -> None:
    """Wait until something holds, as soon as the condition is notified of it; see threading.Condition.wait_for."""
    while not condition.wait_for(holds, _SECONDS):
        pass


def join(thread: threading.Thread, end: float = math.inf) -> None:
    """Wait until a thread has ended, or until a time of `time.monotonic`; one that was never started has ended."""
    while thread.is_alive() and (left := end - time.monotonic()) > 0:
        thread.join(min(left, _SECONDS))
