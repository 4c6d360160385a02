"""Run jobs in threads of this process."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeAlias

from .job import ENDED, SEND_SECONDS, Job, Results, Stopped, out_of_memory, run_here
from .starting import NoMoreThreads, start
from .waiting import join, next_item

# Seconds to wait for threads that are to end: one may be reading from a pipe, or from a server, that sends nothing.
_PATIENCE = 5.0

_Mailbox: TypeAlias = "SimpleQueue[list[tuple[int | None, Any]]]"  # results; an exception is the last one of a thread


def run_in_threads(
    make_job: Callable[[], Job],
    tasks: Sequence[Any],
    n_workers: int,
    here: bool = False,
    stopping: threading.Event | None = None,
) -> Results:
    """See run_jobs. Fewer threads run if the system has no more.

    With `here`, this thread is one of the workers, and yields nothing before all tasks are done: for short tasks that wait
    for nothing. (With two new threads, Linux often let the second wait behind the first for 3 ms, though a processor was
    idle.)

    stopping : is set when the remaining tasks will not be done; a task that waits for another must then end. Ctrl-C may end
        this thread after it has taken a task and before it begins it
    """
    numbers = iter(range(len(tasks)))  # shared: each thread takes the next task when it is done with one
    results: _Mailbox = SimpleQueue()
    stopping = stopping or threading.Event()
    work = partial(_work, make_job, tasks, numbers, results, stopping)
    threads: list[threading.Thread] = []
    try:
        for _ in range(n_workers - here):
            threads.append(threading.Thread(target=work, daemon=True))
            try:
                start(threads[-1])
            except NoMoreThreads:
                threads.pop()
                break
        n_active = len(threads) + here
        if here:
            work()
        elif not threads:
            yield from run_here(make_job, tasks)
        while n_active:
            for number, result in next_item(results, threads):
                n_active -= number is None
                if not isinstance(result, BaseException):
                    yield number, result
                elif not isinstance(result, Stopped):
                    raise result
    finally:
        stopping.set()
        end = time.monotonic() + _PATIENCE
        for thread in threads:
            join(thread, end)


def _work(
    make_job: Callable[[], Job],
    tasks: Sequence[Any],
    numbers: Iterator[int],
    results: _Mailbox,
    stopping: threading.Event,
) -> None:
    """The main function of a thread: do one task after another until none is left, or `stopping` is set."""
    waiting: list[tuple[int | None, Any]] = []
    sent = 0.0
    try:
        job = make_job()
        for number in numbers:
            with closing(job.run(tasks[number])) as results_of_task:  # type: ignore[type-var]
                for result in itertools.chain(results_of_task, [ENDED]):
                    if stopping.is_set():
                        return
                    waiting.append((number, result))
                    if time.monotonic() - sent >= SEND_SECONDS:
                        results.put(waiting)
                        waiting = []
                        sent = time.monotonic()
        results.put([*waiting, (None, job.finish())])
    except BaseException as error:
        try:
            reported = out_of_memory("thread", error) if isinstance(error, MemoryError) else error
            results.put([*waiting, (None, reported)])
        finally:
            stopping.set()
