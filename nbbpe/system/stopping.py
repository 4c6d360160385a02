"""Ctrl-C and SIGTERM as a request to long work to stop early and keep its results, instead of an exception.

Two other modules replace the handlers of signals: signals_later.py delays them while a process is forked, and, for the
whole time that the command runs, cli/signals.py makes them exceptions that end it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
ON_INTERRUPT = ("raise", "keep")


class Stopping:
    """Whether one of the signals has come, and which."""

    def __init__(self) -> None:
        self.number: int | None = None

    def __call__(self) -> bool:
        return self.number is not None


@contextmanager
def stopping_on_signals(wanted: bool) -> Iterator[Stopping]:
    """A context in which the first Ctrl-C or SIGTERM is only noted; the next one does what it did before.

    Nothing changes where it is not `wanted`, in a thread that is not the main one (which gets no signals), and for a
    signal that is ignored.
    """
    stopping = Stopping()
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield stopping
        return
    # Handlers that are not Python's (None) could not be set again.
    before: dict[int, Any] = {
        number: handler for number in _SIGNALS if (handler := signal.getsignal(number)) not in (signal.SIG_IGN, None)
    }

    def note(number: int, frame: FrameType | None) -> None:
        stopping.number = number
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in before:
        signal.signal(number, note)
    try:
        yield stopping
    finally:
        restore()
