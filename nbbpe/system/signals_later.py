"""Signals that are answered a moment later: while a process is forked, or a thread is started.

When a process is forked, Python runs functions before and after (`os.register_at_fork`, `logging` has some), and only
reports what is raised there. So an exception of a signal's handler, as Ctrl-C raises it, would be lost. One that comes
during the system call is answered in such a function, too, and the call takes long in a process with much memory.
"""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_BLOCKED = (signal.SIGINT, signal.SIGTERM)  # which a terminal, or who ends a job, sends to a worker process, too
_HAS_MASK = hasattr(signal, "pthread_sigmask")


@functools.cache
def _numbers() -> list[int]:
    """All signals, Ctrl-C first; asking Python takes longer than all the rest here."""
    return sorted(signal.valid_signals(), key=lambda number: (number != signal.SIGINT, number))


@contextmanager
def handlers_later() -> Iterator[None]:
    """A context in which no signal's handler runs: those of signals that come meanwhile run at its end.

    For what takes a moment, and can neither be left undone nor be done by half. A handler may still raise where the context
    begins, so who must clean up calls a function with this context in a `try`, and again in its `except`. That stands where
    it is needed: Python answers signals where a function begins, so one for both calls could end before its `try`.
    """
    came: list[int] = []
    handlers: dict[int, Any] = {}
    # Handlers run in the main thread only, but whichever thread gets the signal: blocking it in this one is not enough.
    numbers = _numbers() if threading.current_thread() is threading.main_thread() else []

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)

    try:
        for number in numbers:
            if callable(handler := signal.getsignal(number)):
                handlers[number] = handler
                signal.signal(number, note)
        yield
    finally:
        try:
            _set(handlers)
        finally:
            _send(came)


@contextmanager
def signals_later() -> Iterator[None]:
    """As `handlers_later`; and a process that is forked in it gets no SIGINT and SIGTERM until it calls
    `unblock_signals`."""
    with handlers_later():
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED) if _HAS_MASK else None
        try:
            yield
        finally:
            if blocked is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def unblock_signals() -> None:
    """Let a process that was forked in `signals_later` get signals."""
    if _HAS_MASK:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _BLOCKED)


def _set(handlers: dict[int, Any]) -> None:
    """Set all handlers, and empty the dict, also where one that is set already raises meanwhile."""
    try:
        for number in list(reversed(handlers)):
            signal.signal(number, handlers[number])
            del handlers[number]
    finally:
        if handlers:
            _set(handlers)


def _send(numbers: list[int]) -> None:
    """Send this process signals, all of them, also where the handler of one raises."""
    try:
        while numbers:
            signal.raise_signal(numbers.pop(0))
    finally:
        if numbers:
            _send(numbers)
