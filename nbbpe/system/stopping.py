"""Ctrl-C and SIGTERM as a request to long work to stop early and keep its results, instead of an exception.

Two other modules replace handlers of signals: signals_later.py delays them for a moment; cli/signals.py makes them raise
exceptions, which end the command, as long as it runs.
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
    """Only note the first Ctrl-C or SIGTERM during this context; the next one has its usual effect.

    Nothing changes if not `wanted`, in threads other than the main one (they get no signals), and for a signal that is
    ignored.
    """
    stopping = Stopping()
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield stopping
        return
    # None stands for a handler that was not set from Python, and could not be set again.
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
