"""Signals that are answered a moment later: not while a process is forked.

When a process is forked, Python runs functions before and after (`os.register_at_fork`, `logging` has some), and only
reports what is raised there. So an exception of a signal's handler, as Ctrl-C raises it, would be lost. One that comes
during the system call is answered in such a function, too, and the call takes long in a process with much memory.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_BLOCKED = (signal.SIGINT, signal.SIGTERM)  # which a terminal, or who ends a job, sends to a worker process, too
_HAS_MASK = hasattr(signal, "pthread_sigmask")


@contextmanager
def signals_later() -> Iterator[None]:
    """A context in which no signal's handler runs: those of signals that come meanwhile run at its end.

    A process that is forked in it gets no SIGINT and SIGTERM until it calls `unblock_signals`.
    """
    came: list[int] = []
    handlers: dict[int, Any] = {}
    # Handlers run in the main thread only, but whichever thread gets the signal: blocking it in this one is not enough.
    if threading.current_thread() is threading.main_thread():
        numbers = sorted(signal.valid_signals(), reverse=True)
        handlers = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED) if _HAS_MASK else None
    try:
        for number in handlers:
            signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if blocked is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number in came:
            signal.raise_signal(number)


def unblock_signals() -> None:
    """Let a process that was forked in `signals_later` get signals."""
    if _HAS_MASK:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _BLOCKED)
