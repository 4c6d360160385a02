"""Jobs, which are the work of workers, whether these are threads or processes; and how one runs without a worker."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from enum import Enum
from typing import Any, Protocol

# Between two messages of a worker, but for the ends of tasks in processes. Each costs both sides about 30 us, and the one
# that waits for it a processor, which it takes from a worker.
SEND_SECONDS = 0.05


class Job(Protocol):
    """The work of a worker. It is made in the worker, so its state is never pickled."""

    def run(self, task: Any) -> Iterator[Any]:
        """Do one task, and yield a small result for each part of it."""

    def finish(self) -> Any:
        """Called once after the last task; returns the results that the worker has gathered."""


class SharedJob(Job, Protocol):
    """A job that can take over what others of its kind have gathered in other processes."""

    def hand_over(self) -> Iterator[Any]:
        """Called once after the last task of a job in a worker process; yields its gathered results, in parts to send."""

    def take_over(self, gathered: Any) -> None:
        """Add a part of the results that another job has gathered."""


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


def out_of_memory(what: str, error: MemoryError) -> MemoryError:
    """The error of a worker that lacks memory."""
    said = f" ({error})" if str(error) else ""
    return MemoryError(f"a worker {what} ran out of memory{said}; use fewer workers")
