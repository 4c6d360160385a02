"""Run kernels, and other calls that release the GIL, in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .starting import NoMoreThreads, start
from .waiting import join

T = TypeVar("T")


def interruptible(work: Callable[[], T]) -> T:
    """Run a long call that releases the GIL, such as a kernel, so that Ctrl-C works meanwhile; returns its result.

    After Ctrl-C the call continues to its end in a thread: nothing else may use the data of `work` then.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread is interrupted
        return work()
    return run_together([work], are_long=True)[0]


def run_together(calls: Sequence[Callable[[], T]], are_long: bool = False) -> list[T]:
    """Run calls that release the GIL, such as kernels, at once, each in a thread; returns their results.

    The last one runs in this thread: with two new threads, Linux mostly let the second wait behind the first for 2 to 3 ms,
    although a processor was idle. If the calls `are_long`, this thread only waits, so that Ctrl-C works (see
    `interruptible`).

    Where the system has no more threads, calls run one after another. An error in one is raised when all have ended.
    """
    results: list[Any] = [None] * len(calls)
    errors: list[BaseException] = []

    def run(i: int) -> None:
        try:
            results[i] = calls[i]()
        except BaseException as error:
            errors.append(error)

    threads: list[threading.Thread] = []
    for i in range(len(calls)):
        if are_long or i + 1 < len(calls):
            thread = threading.Thread(target=run, args=(i,), daemon=True)
            try:
                start(thread)
                threads.append(thread)
                continue
            except NoMoreThreads:
                pass
        run(i)
    for thread in threads:
        join(thread)
    try:
        if errors:
            raise errors[0]
    finally:
        errors.clear()  # tracebacks refer to this list: such a circle would keep what the calls hold
    return results
