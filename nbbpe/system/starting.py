"""Start threads so that Ctrl-C takes effect before or after."""

from __future__ import annotations

import threading

from .signals_later import handlers_later


class NoMoreThreads(RuntimeError):
    """The system has no more threads for this process."""


def start(thread: threading.Thread) -> None:
    """Start a thread. If Ctrl-C raises here, the thread either runs or was not started.

    `Thread.start` waits on a condition until the thread runs. An exception inside that wait may leave the lock locked, so
    that the thread waits for ever, or turn into a RuntimeError that looks like that of a system with no more threads.

    Raises NoMoreThreads if the system has no more.

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
