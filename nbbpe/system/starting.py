"""Starting threads so that Ctrl-C comes before or after."""

from __future__ import annotations

import threading

from .signals_later import handlers_later


class NoMoreThreads(RuntimeError):
    """The system has no more threads for this process."""


def start(thread: threading.Thread) -> None:
    """Start a thread. Where Ctrl-C raises here, the thread runs, or nothing was done yet.

    `Thread.start` waits by a condition until the thread runs. An exception in there may leave its lock locked, for which
    the thread then waits for ever, or become a RuntimeError of the lock, which looks like that of a system without threads.

    Raises NoMoreThreads where the system has none.

    >>> thread = threading.Thread(target=print, args=["done"])
    >>> start(thread)
    >>> thread.join()
    done
    """
    with handlers_later():
        try:
            thread.start()
        except RuntimeError as error:
            raise NoMoreThreads(*error.args) from None
