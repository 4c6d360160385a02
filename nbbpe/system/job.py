"""The interface of jobs, which worker threads or processes run; and how a job runs without a worker."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from enum import Enum
from typing import Any, Protocol

# Least time between two messages of a worker, except at the ends of tasks in processes. A message costs both sides about
# 30 us, and the receiver takes a processor from a worker to read it.
SEND_SECONDS = 0.05


class Job(Protocol):
    """The work of a worker. It is made in the worker, so its state is never pickled."""

    def run(self, task: Any) -> Iterator[Any]:
        """Do one task, and yield a small result for each part of it."""

    def finish(self) -> Any:
        """Called once after the last task; returns the results that the worker has gathered."""


class SharedJob(Job, Protocol):
    """A job that can add to its own results those gathered by jobs of its kind in other processes."""

    def hand_over(self) -> Iterator[Any]:
        """Called once after the last task of a job in a worker process; yields its gathered results in parts."""

    def take_over(self, gathered: Any) -> None:
        """Add a part of the results that another job's `hand_over` has yielded."""


Results = Generator[tuple["int | None", Any], None, None]


class _Ended(Enum):
    ENDED = 0


ENDED = _Ended.ENDED  # what run_jobs yields when a task ends; pickling keeps the identity of an enum member


class Stopped(Exception):
    """Raised in a thread that waited for another one which failed; the other thread's error is reported."""


def run_tasks(job: Job, tasks: Sequence[Any]) -> Results:
    """Run all tasks on one job, here; see run_jobs."""
    for number, task in enumerate(tasks):
        for result in job.run(task):
            yield number, result
        yield number, ENDED


def run_here(make_job: Callable[[], Job], tasks: Sequence[Any]) -> Results:
    """Run all tasks on a new job, and finish it, here; see run_jobs."""
    job = make_job()
    yield from run_tasks(job, tasks)
    yield None, job.finish()


def out_of_memory(kind: str, error: MemoryError) -> MemoryError:
    """The error to report for a worker, "process" or "thread", that ran out of memory."""
    detail = f" ({error})" if str(error) else ""
    return MemoryError(f"a worker {kind} ran out of memory{detail}; use fewer workers")
