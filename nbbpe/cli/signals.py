"""Turns signals that ask the command to end into an exception that cannot get lost, so that files are cleaned up."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ..early_interrupt import end_at_once

# A scheduler's request to end (SIGTERM) and the loss of the terminal (SIGHUP) are handled like Ctrl-C (SIGINT).
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_AGAIN_AFTER = 0.02  # seconds


class Ended(KeyboardInterrupt):
    """A signal has asked the command to end. Only code that catches KeyboardInterrupt catches this.

    left : the end of the message, about files that were kept
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.left = ""


class _Raiser:
    """Raises an `Ended` for a signal, and sends the signal again if the exception got lost.

    Python drops an exception that is raised while it calls a destructor or a callback from C, and so does code that catches
    everything. Loading kernels is full of such moments: one Ctrl-C in ten had no effect there. A dropped exception is
    deleted, which a weak reference reports, while one that is being raised is alive.
    """

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None
        self._done = False

    def raise_ended(self, number: int, frame: FrameType | None) -> None:
        """Raise `Ended`: the handler of a signal."""
        ended = Ended(number)
        self._alive = weakref.ref(ended, lambda _: self._again(number))
        try:
            raise ended
        finally:
            del ended  # else this frame, which the traceback holds, would keep it alive

    def _again(self, number: int) -> None:
        if not self._done:
            # From another thread and a little later: an exception raised here would be lost again.
            self._timer = threading.Timer(_AGAIN_AFTER, _send, [number])
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        """Send no more signals."""
        self._done = True
        if self._timer is not None:
            self._timer.cancel()


def _send(number: int) -> None:
    """Send a signal to this process's main thread, which may be waiting for input."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        _thread.interrupt_main(signal.Signals(number))


@contextmanager
def ending_signals() -> Iterator[None]:
    """A context in which the signals that end a process raise `Ended`. Ignored signals, as under nohup, stay ignored.

    When Python drops an `Ended`, it shows no traceback, because the exception is raised again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    raiser = _Raiser()
    usual = (signal.SIG_DFL, signal.default_int_handler, end_at_once)
    before = {number: handler for number in _ENDING if (handler := signal.getsignal(number)) in usual}
    show_before = sys.unraisablehook

    def show(dropped: Any) -> None:
        if not isinstance(dropped.exc_value, Ended):
            show_before(dropped)

    def restore() -> None:
        raiser.stop()
        sys.unraisablehook = show_before
        for number, handler in before.items():
            signal.signal(number, handler)

    try:
        sys.unraisablehook = show
        for number in before:
            signal.signal(number, raiser.raise_ended)
        yield
    finally:
        try:
            restore()
        except KeyboardInterrupt:  # by a signal meanwhile: an `Ended`, or if the handler of Ctrl-C is restored, Python's
            restore()
            raise
