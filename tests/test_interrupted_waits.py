"""system/waiting.py: Ctrl-C ends every wait for other threads, also where a library has put its own signal handler first.

polars, for one, puts a handler with SA_RESTART before Python's: a wait without a timeout is then never interrupted. The
fixture does the same with what Python has for it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

import processes
import pytest
from interrupts import interrupted

from nbbpe.sources.compression.read_ahead import read_ahead
from nbbpe.system import kernel_threads, waiting, workers
from nbbpe.system.executors import run_on

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals restart no calls on Windows")


@pytest.fixture(autouse=True)
def restarting_handler() -> Iterator[None]:
    signal.siginterrupt(signal.SIGINT, False)
    try:
        yield
    finally:
        signal.siginterrupt(signal.SIGINT, True)


@pytest.fixture
def ends() -> Iterator[threading.Event]:
    """What the other threads wait for."""
    event = threading.Event()
    try:
        yield event
    finally:
        event.set()


@pytest.fixture
def later() -> Iterator[Callable[..., None]]:
    """`later(seconds, function, *arguments)`: calls a function in another thread, unless the test has ended before."""
    timers: list[threading.Timer] = []

    def begin(seconds: float, function: Callable[..., object], *arguments: object) -> None:
        timers.append(threading.Timer(seconds, function, arguments))
        timers[-1].start()

    try:
        yield begin
    finally:
        for timer in timers:
            timer.cancel()


@pytest.fixture(autouse=True)
def no_thread_goes_on(ends) -> Iterator[None]:
    """Other tests count threads: none of these must end among them."""
    before = set(threading.enumerate())
    yield
    ends.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)


def assert_interrupted(wait: Callable[[], object], n: int = 1) -> None:
    """Send this process Ctrl-C, `n` times. Each wait here lasts 10 s or more if nothing interrupts it."""
    answered: SimpleQueue[bool] = SimpleQueue()

    def answer(*_: object) -> None:
        answered.put(True)
        raise KeyboardInterrupt

    def send() -> None:
        for _ in range(n):
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)
            answered.get(timeout=60)  # two before the first is answered would be one

    before = signal.signal(signal.SIGINT, answer)
    began = time.monotonic()
    sender = threading.Thread(target=send, daemon=True)
    try:
        sender.start()
        with pytest.raises(KeyboardInterrupt):
            wait()
        assert time.monotonic() - began < 5
    finally:
        signal.signal(signal.SIGINT, before)
    sender.join(10)
    assert not sender.is_alive()


class Waits:
    """A job that waits for an event; in a process of its own, for 10 s."""

    def __init__(self, ends: threading.Event | None = None) -> None:
        self._ends = ends

    def run(self, task: int) -> Iterator[int]:
        if self._ends is not None:
            self._ends.wait(10)
        elif task:
            time.sleep(10)
        yield task

    def finish(self) -> None:
        pass

    def hand_over(self) -> Iterator[None]:
        yield None

    def take_over(self, gathered: None) -> None:
        pass


class Own(Waits):
    """The job of this process: has done its task while the other one's still lasts."""

    def run(self, task: int) -> Iterator[int]:
        yield task


def test_waiting_for_a_queue_and_a_thread(ends, later):
    queue: SimpleQueue[int] = SimpleQueue()
    later(12, queue.put, 1)
    assert_interrupted(lambda: waiting.next_item(queue))
    thread = threading.Thread(target=ends.wait, args=(12,), daemon=True)
    thread.start()
    assert_interrupted(lambda: waiting.join(thread))
    condition = threading.Condition()
    with condition:
        assert_interrupted(lambda: waiting.wait_for(condition, ends.is_set))


def test_waiting_for_a_call_that_looks_at_no_signal(ends):
    assert_interrupted(lambda: kernel_threads.interruptible(lambda: ends.wait(10)))


def test_waiting_for_jobs_in_threads(ends):
    """The first Ctrl-C ends the wait for results, the second one that for threads that do not stop."""
    assert_interrupted(lambda: list(workers.run_jobs(lambda: Waits(ends), [1, 2], 2, in_threads=True)), n=2)


def test_waiting_for_jobs_in_processes():
    assert_interrupted(lambda: list(workers.run_jobs(Waits, [1, 2], 2)))
    assert_interrupted(lambda: list(workers.run_jobs(Waits, [1, 0, 0], 2, own=Own())))


def test_waiting_for_an_executor(ends):
    with ThreadPoolExecutor(1) as threads:
        assert_interrupted(lambda: list(run_on(threads, lambda task: ends.wait(10), [1])))
        ends.set()


class OneThread:
    """An executor whose own code waits for nothing."""

    def __init__(self) -> None:
        self.tasks: SimpleQueue[tuple[Future[int], Callable[[int], int], int] | None] = SimpleQueue()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def submit(self, function: Callable[[int], int], task: int) -> Future[int]:
        future: Future[int] = Future()
        self.tasks.put((future, function, task))
        return future

    def _work(self) -> None:
        while (item := self.tasks.get()) is not None:
            future, function, task = item
            if future.set_running_or_notify_cancel():
                future.set_result(function(task))


def test_ctrl_c_wherever_it_comes_locks_no_future():
    """For which a thread of the executor would wait for ever, and the executor's own end for that thread."""
    executor = OneThread()
    tasks = list(range(12))
    files = ["executors.py", "waiting.py", "_base.py", "threading.py"]
    for end in interrupted(lambda: sorted(run_on(executor, abs, tasks)), files):
        assert isinstance(end.error, KeyboardInterrupt), end
        assert executor.submit(abs, -1).result(timeout=60) == 1, end.where
    assert sorted(run_on(executor, abs, tasks)) == list(enumerate(tasks))
    executor.tasks.put(None)
    executor.thread.join(60)
    assert not executor.thread.is_alive()


def test_waiting_for_a_source_that_is_read_ahead(ends):
    class Slow:
        def readinto(self, buffer: memoryview, /) -> int:
            ends.wait(10)
            return 0

    def read() -> None:
        with read_ahead(Slow()) as stream:
            stream.readinto(memoryview(bytearray(1)))

    assert_interrupted(read, n=2)


def test_what_was_waited_for_is_given_back(later):
    queue: SimpleQueue[int] = SimpleQueue()
    later(0.5, queue.put, 7)
    assert waiting.next_item(queue) == 7
    waiting.join(threading.Thread(target=print))
    condition, numbers = threading.Condition(), []

    def tell() -> None:
        with condition:
            numbers.append(1)
            condition.notify_all()

    later(0.5, tell)
    with condition:
        waiting.wait_for(condition, lambda: numbers)


def test_polars_takes_no_ctrl_c_away():
    pytest.importorskip("polars")
    script = """
import threading
import polars
from nbbpe.system.kernel_threads import interruptible
polars.DataFrame({"a": [1, 2]}).lazy().sum().collect()
print("begun", flush=True)
interruptible(lambda: threading.Event().wait(20))
"""
    processes.assert_ended_well(processes.interrupt(script))
