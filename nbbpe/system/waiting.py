"""Wait for other threads so that Ctrl-C ends the wait, whatever other libraries do about signals.

Python handles a signal when the main thread runs Python code again. Usually a signal interrupts the system call of a wait
for a lock, which then returns early. But if a library such as polars has put its own handler before Python's, with
SA_RESTART, the system call is restarted, and the wait goes on for ever. So every wait here has a timeout.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")
_SECONDS = 0.2  # on Linux a wait with a timeout is not restarted, so that a signal is handled at once


def next_item(queue: SimpleQueue[T], threads: Collection[threading.Thread] = ()) -> T:
    """Return the next item of a queue, as soon as there is one.

    threads : those that put items into it, if they may end. MemoryError is raised if all have ended and the queue is empty:
        they had no memory left to put an error into it
    """
    while True:
        try:
            return queue.get(timeout=_SECONDS)
        except Empty:
            if threads and not any(thread.is_alive() for thread in threads) and queue.empty():
                raise MemoryError("a thread ended without a result: there was no memory left for it") from None


def wait_for(condition: threading.Condition, holds: Callable[[], object]) -> None:
    """Wait until `holds()` is true, which is checked when the condition is notified; as threading.Condition.wait_for."""
    while not condition.wait_for(holds, _SECONDS):
        pass


def join(thread: threading.Thread, end: float = math.inf) -> None:
    """Wait until a thread has ended, or `time.monotonic` has reached `end`. A thread never started counts as ended."""
    while thread.is_alive() and (left := end - time.monotonic()) > 0:
        thread.join(min(left, _SECONDS))
