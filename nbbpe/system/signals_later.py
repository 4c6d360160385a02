"""Delay the handlers of signals for a moment, such as while a process is forked or a thread is started.

When a process is forked, Python runs hooks before and after (`os.register_at_fork`; `logging` has some), and only prints
an exception that is raised in them. So the KeyboardInterrupt of a Ctrl-C would be lost. A signal that comes during the
system call, which takes long in a process with much memory, is handled in such a hook, too.
"""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_BLOCKED = (signal.SIGINT, signal.SIGTERM)  # a terminal, or who ends a job, sends these to worker processes, too
_HAS_MASK = hasattr(signal, "pthread_sigmask")


@functools.cache
def _numbers() -> list[int]:
    """All signals, Ctrl-C first. Cached, as asking Python takes longer than the rest of this module."""
    return sorted(signal.valid_signals(), key=lambda number: (number != signal.SIGINT, number))


@contextmanager
def handlers_later() -> Iterator[None]:
    """Run no handler of a signal in this context; the handlers of signals that come meanwhile run at its end.

    For short work that must be done, and not by half. A handler may still raise as the context begins, so code that must
    clean up calls a function with this context in a `try`, and once more in its `except`. Each caller writes that out: a
    shared function for both calls could be interrupted as it begins, before its own `try`.
    """
    came: list[int] = []
    handlers: dict[int, Any] = {}
    # The main thread runs the handlers whichever thread gets the signal: blocking signals in this thread is not enough.
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
    """As `handlers_later`; and a process forked in this context gets no SIGINT or SIGTERM until it calls
    `unblock_signals`."""
    with handlers_later():
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED) if _HAS_MASK else None
        try:
            yield
        finally:
            if blocked is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def unblock_signals() -> None:
    """Let this process, which was forked in `signals_later`, get signals."""
    if _HAS_MASK:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _BLOCKED)


def _set(handlers: dict[int, Any]) -> None:
    """Set all handlers, and empty the dict, even if one that is already set raises meanwhile."""
    try:
        for number in list(reversed(handlers)):
            signal.signal(number, handlers[number])
            del handlers[number]
    finally:
        if handlers:
            _set(handlers)


def _send(numbers: list[int]) -> None:
    """Raise all these signals in this process, even if the handler of one raises."""
    try:
        while numbers:
            signal.raise_signal(numbers.pop(0))
    finally:
        if numbers:
            _send(numbers)
