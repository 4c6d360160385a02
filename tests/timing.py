"""How long work takes, and Ctrl-C in the middle of it."""

from __future__ import annotations

import gc
import signal
import threading
import time
from collections.abc import Callable

import pytest


def seconds(work: Callable[[], object], rounds: int = 3) -> float:
    """The least time of the processor that some work took: tests run beside each other, and the first round may compile."""
    times = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def interrupted(work: Callable[[], object], after: float) -> None:
    """Do work that Ctrl-C must end: it comes after so many seconds of this process, however slow others make it."""

    def interrupt() -> None:
        while time.process_time() < end:
            time.sleep(0.001)
        signal.pthread_kill(main_thread, signal.SIGINT)

    end, main_thread = time.process_time() + after, threading.get_ident()
    # Python drops an exception that comes in one of these, such as hypothesis has.
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        gc.callbacks[:] = callbacks
    thread.join()
