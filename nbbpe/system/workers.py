"""Jobs in worker processes or threads: tasks are handed out one at a time, results come back, and all workers end."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from .integers import check_limit
from .job import ENDED, Job, Results, SharedJob, Stopped, run_here, run_tasks
from .lazy import imported_on_use
from .processors import usable_processors
from .worker_processes import WorkerError, run_in_processes, run_with_processes
from .worker_threads import run_in_threads

__all__ = ["ENDED", "Results", "SharedJob", "Stopped", "WorkerError", "check_workers", "default_workers", "run_jobs"]

multiprocessing: Any = imported_on_use("multiprocessing")


def default_workers() -> int:
    """The number of processors this process may use; 1 in a daemonic process, which must not start children."""
    return 1 if _is_daemonic() else usable_processors()


def _is_daemonic() -> bool:
    # A process that multiprocessing has started has it imported.
    return "multiprocessing.process" in sys.modules and bool(multiprocessing.current_process().daemon)


def check_workers(workers: int | None) -> int:
    """Return `workers`, or the default for None. Raises TypeError or ValueError unless it is a positive integer or None."""
    n_workers = check_limit("workers", workers)
    if n_workers is None:
        return default_workers()
    return min(n_workers, default_workers()) if _is_daemonic() else n_workers


def run_jobs(
    make_job: Callable[[], Job],
    tasks: Sequence[Any],
    n_workers: int,
    in_threads: bool = False,
    own: SharedJob | None = None,
    stopping: threading.Event | None = None,
) -> Results:
    """Run all tasks on `n_workers` jobs, each in its own process, or thread with `in_threads`; a single job runs here.

    Yields (number of the task, result) for each result, those of several tasks interleaved, and (number, ENDED) when a task
    ends; at last (None, what `finish` returned) for each job. An error in a task is raised here. Closing the iterator, an
    error or Ctrl-C ends the workers: processes at once, threads when they next yield; a thread that does not yield for long
    is abandoned, and its results are ignored.

    own      : for processes: one of the jobs, which does tasks here, so that one process less is started. At the end it has
        taken over what the other jobs, made by `make_job`, have gathered; `finish` is never called
    stopping : for threads, see run_in_threads

    `make_job` must be picklable where processes are not forked. If the system has no more processes or threads, there are
    fewer workers, or only this process, with a warning about processes.
    """
    n_workers = min(n_workers, len(tasks))
    if own is not None and n_workers > 1:
        yield from run_with_processes(own, make_job, tasks, n_workers - 1)
    elif own is not None:
        yield from run_tasks(own, tasks)
    elif n_workers <= 1:
        yield from run_here(make_job, tasks)
    elif in_threads:
        yield from run_in_threads(make_job, tasks, n_workers, stopping=stopping)
    else:
        yield from run_in_processes(make_job, tasks, n_workers)
