"""system/starting.py: Ctrl-C while a thread is started is not lost, and no thread is left that nobody waits for."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial

import pytest
from interrupts import interrupted

from nbbpe.encoding import threads
from nbbpe.sources.compression.read_ahead import read_ahead
from nbbpe.system import worker_threads
from nbbpe.system.kernel_threads import run_together
from nbbpe.system.starting import start

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals reach no thread there")
FILES = ["threading.py", "starting.py", "signals_later.py", "signal.py"]


class Empty:
    """A source that ends at once."""

    def readinto(self, buffer: memoryview, /) -> int:
        return 0


def read() -> None:
    with read_ahead(Empty()) as stream:
        assert stream.readinto(memoryview(bytearray(1))) == 0


def running() -> set[threading.Thread]:
    """The threads that run; Python also lists those whose start was interrupted before there was a thread."""
    return {thread for thread in threading.enumerate() if thread.ident is not None}


def assert_ctrl_c_is_answered(work) -> None:
    before = running()
    for end in interrupted(work, FILES):
        assert isinstance(end.error, KeyboardInterrupt), end
        assert end.seconds < 20, end
        until = time.monotonic() + 20
        while (left := running() - before) and time.monotonic() < until:
            time.sleep(0.001)
        assert not left, end


@pytest.mark.parametrize(
    "work",
    [
        partial(threads.results_of, abs, [-1] * 9, 3),
        partial(run_together, [partial(abs, -1)] * 3, are_long=True),
        read,
    ],
    ids=["threads", "calls", "read ahead"],
)
def test_ctrl_c_while_threads_are_started_or_waited_for(monkeypatch, work):
    monkeypatch.setattr(worker_threads, "_PATIENCE", 60.0)  # longer than an end may take
    assert_ctrl_c_is_answered(work)


def test_a_handlers_own_error_is_not_that_of_the_system():
    def fail(number, frame):
        raise RuntimeError("too late")

    before = signal.signal(signal.SIGINT, fail)
    try:
        for end in interrupted(lambda: start(threading.Thread(target=int)), FILES):
            assert type(end.error) is RuntimeError, end
            assert end.error.args == ("too late",)
    finally:
        signal.signal(signal.SIGINT, before)
