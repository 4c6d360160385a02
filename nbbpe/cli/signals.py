"""Signals that ask the command to end: each becomes an exception that cannot get lost, so that files are cleaned up."""

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

# A scheduler's request to end, or the loss of the terminal, is handled like Ctrl-C: no partial file is left.
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_AGAIN_AFTER = 0.02  # seconds


class Ended(KeyboardInterrupt):
    """A signal has asked the command to end. Code that does not catch KeyboardInterrupt does not catch this.

    left : what the message says of files that stay, as they are of use
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.left = ""


class _Answers:
    """Answers signals with an `Ended`, and raises it again if it got lost.

    Python drops an exception that is raised while it calls a destructor or a callback from C, or in code that catches
    everything. Loading kernels is full of such moments: there, one Ctrl-C of ten had no effect. An exception that is being
    raised is alive; one that was dropped is not, and a weak reference shows that.
    """

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None
        self._done = False

    def raise_ended(self, number: int, frame: FrameType | None) -> None:
        """The handler of a signal."""
        ended = Ended(number)
        self._alive = weakref.ref(ended, lambda _: self._again(number))
        try:
            raise ended
        finally:
            del ended  # else its traceback would keep it alive through this frame

    def _again(self, number: int) -> None:
        if not self._done:
            # From another thread and a little later: an exception raised here would be lost again.
            self._timer = threading.Timer(_AGAIN_AFTER, _send, [number])
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        """Stop answering signals."""
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
    """A context in which the signals that end a process raise `Ended`. Those that are ignored (nohup) stay so.

    Python shows no traceback of an `Ended` that it drops, as that is raised again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    answers = _Answers()
    usual = (signal.SIG_DFL, signal.default_int_handler, end_at_once)
    before = {number: handler for number in _ENDING if (handler := signal.getsignal(number)) in usual}
    show_usually = sys.unraisablehook

    def show(dropped: Any) -> None:
        if not isinstance(dropped.exc_value, Ended):
            show_usually(dropped)

    def restore() -> None:
        answers.stop()
        sys.unraisablehook = show_usually
        for number, handler in before.items():
            signal.signal(number, handler)

    try:
        sys.unraisablehook = show
        for number in before:
            signal.signal(number, answers.raise_ended)
        yield
    finally:
        try:
            restore()
        except KeyboardInterrupt:  # a signal came meanwhile: an `Ended`, unless Ctrl-C has its usual answer already
            restore()
            raise
