"""Run jobs in worker processes, or in this process and in worker processes beside it."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from .arguments import Options, name_options, options_in_messages
from .job import ENDED, SEND_SECONDS, Job, Results, SharedJob, out_of_memory, run_here
from .lazy import imported_on_use
from .signals_later import handlers_later, signals_later, unblock_signals
from .starting import NoMoreThreads, start
from .user_warnings import warn_user
from .waiting import join, next_item

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

multiprocessing: Any = imported_on_use("multiprocessing")
connections: Any = imported_on_use("multiprocessing.connection")
_LOOK_SECONDS = 0.5  # between two checks by a worker that its parent is alive
_NO_MORE = (
    "the system could not start {} ({}): use fewer workers, or let the user have more processes (ulimit -u), open files "
    "(ulimit -n) or memory"
)
# Forked workers have the compiled kernels at once. A new interpreter would take a second to load them; and it imports the
# script that started it, which multiprocessing refuses if the script starts workers again.
_FORKS = sys.platform == "linux"
_IMPORTED = "" if _FORKS else "; a script must use workers below `if __name__ == '__main__':`, as they import it"
_PATIENCE = 5.0  # seconds to wait for a killed process to end: a broken disk may delay it
_STOP_SECONDS = 0.05  # between two checks by the thread of `_Server` whether it is to stop


class WorkerError(RuntimeError):
    """A worker process died, or raised an error that cannot be sent between processes."""


def run_in_processes(make_job: Callable[[], Job], tasks: Sequence[Any], n_workers: int) -> Results:
    """See run_jobs."""
    with _processes(make_job, n_workers, False) as workers:
        dispatcher = _Dispatcher(workers, tasks)
        if not workers:
            yield from run_here(make_job, tasks)
        while dispatcher.active:
            yield from dispatcher.received(None)


def run_with_processes(own: SharedJob, make_job: Callable[[], Job], tasks: Sequence[Any], n_workers: int) -> Results:
    """See run_jobs. `own` works in this thread; another serves `n_workers` processes. So neither waits for the other."""
    with _processes(make_job, n_workers, True) as workers:
        server = _Server(workers, tasks)
        try:
            server.start()
            for number in server.numbers:
                for result in own.run(tasks[number]):
                    yield number, result
                    yield from server.results(own, wait=False)
                yield number, ENDED
            yield from server.results(own, wait=True)
        finally:
            # Before connections are closed: if the thread used a closed one, its number could be another file's by then.
            try:
                server.end()
            except BaseException:  # another Ctrl-C
                server.end()
                raise


@contextmanager
def _processes(make_job: Callable[[], Any], n_workers: int, hand_over: bool) -> Iterator[dict[Connection, Any]]:
    """Start worker processes, and yield them in a dict by their connections; all are killed at the end.

    They are fewer, or none, with a warning, if the system has no more, as by a limit of processes or of memory.

    hand_over : see `_work`
    """
    context: Any = multiprocessing.get_context("fork" if _FORKS else "spawn")
    workers: dict[Connection, Any] = {}
    try:
        for number in range(n_workers):
            pipe: tuple[Any, ...] = ()
            try:
                with signals_later():
                    ours, theirs = pipe = context.Pipe()
                    arguments = (theirs, make_job, hand_over, os.getpid(), options_in_messages())
                    process = context.Process(target=_work, args=arguments, daemon=True)
                    with warnings.catch_warnings():
                        # Python 3.12 warns of forking where other threads run. Workers take no lock that these could hold.
                        warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
                        process.start()
                    theirs.close()
                    workers[ours] = process
            except OSError as error:
                for end in pipe:
                    end.close()
                if error.errno in (errno.EMFILE, errno.ENFILE):  # the work needs open files, too
                    missing = f"worker process {number + 1} of {n_workers}"
                    raise OSError(error.errno, _NO_MORE.format(missing, error.strerror)) from None
                if error.errno not in (errno.EAGAIN, errno.ENOMEM):
                    raise
                missing = f"more than {len(workers)} of {n_workers} worker processes"
                warn_user(f"{_NO_MORE.format(missing, error.strerror)}; the work continues with these")
                break
        yield workers
    finally:
        try:
            _end(workers)
        except BaseException:  # another Ctrl-C
            _end(workers)
            raise


def _end(workers: dict[Connection, Any]) -> None:
    """End worker processes, and empty the dict. Ctrl-C takes effect before or after."""
    with handlers_later():
        for process in workers.values():
            process.kill()
        while workers:
            connection, process = workers.popitem()
            process.join(_PATIENCE)
            connection.close()
            if process.exitcode is None:
                # SIGCHLD is ignored, so the system does not report the end. multiprocessing would keep the process and its
                # files, and when this process exits it would kill whatever process has its id by then.
                process._popen.returncode = 0
            process.close()


class _Dispatcher:
    """Hands out tasks to workers and receives their results.

    numbers : of the tasks that no worker has yet; a worker that is free takes the next
    active  : the connections of the workers that have not finished
    """

    def __init__(self, workers: dict[Connection, Any], tasks: Sequence[Any]) -> None:
        """Hand a first task to each worker."""
        self.numbers = iter(range(len(tasks)))
        self.active = set(workers)
        self._workers = workers
        self._tasks = tasks
        for connection in workers:
            self._hand_out(connection)

    def _hand_out(self, connection: Connection) -> None:
        number = next(self.numbers, None)
        # Sending fails if the worker has ended; then recv returns its last message, or raises.
        with suppress(ConnectionError):
            connection.send(None if number is None else (number, self._tasks[number]))

    def received(self, seconds: float | None) -> Results:
        """Yield the results that workers have sent. Waits for the first message for `seconds`, or without limit if None."""
        ready: list[Any] = connections.wait(list(self.active), seconds)
        for connection in ready:
            try:
                kind, number, results = connection.recv()
            except (EOFError, OSError):  # OSError if it ended in the middle of a message
                process = self._workers[connection]
                process.join()
                # If SIGCHLD is ignored, the system does not report how it ended.
                how = "" if process.exitcode is None else f" with exit code {process.exitcode}"
                raise WorkerError(
                    f"a worker process ended{how}; if the system killed it for its memory, use fewer workers{_IMPORTED}"
                ) from None
            if kind == "error":
                raise results
            for result in results:
                if number is None and result is ENDED:
                    self.active.remove(connection)
                    self._workers[connection].kill()  # so that its memory is freed while others go on
                    continue
                if result is ENDED:
                    self._hand_out(connection)
                yield number, result


class _Server(_Dispatcher):
    """A dispatcher with its own thread, which serves the workers while the calling thread works."""

    def __init__(self, workers: dict[Connection, Any], tasks: Sequence[Any]) -> None:
        super().__init__(workers, tasks)
        self._results: SimpleQueue[tuple[int | None, Any]] = SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        try:
            start(self._thread)
        except NoMoreThreads as error:
            raise WorkerError(_NO_MORE.format(f"a thread for {len(self._workers)} worker processes", error)) from None

    def _serve(self) -> None:
        try:
            while self.active and not self._stopping.is_set():
                for item in self.received(_STOP_SECONDS):
                    self._results.put(item)
            self._results.put((None, ENDED))
        except BaseException as error:
            self._results.put((None, error))

    def results(self, own: SharedJob, wait: bool) -> Results:
        """Yield the results received so far; with `wait`, until all workers have ended. Those of no task go to `own`."""
        while wait or not self._results.empty():
            number, result = next_item(self._results, [self._thread])
            if isinstance(result, BaseException):
                raise result
            if number is not None:
                yield number, result
            elif result is ENDED:
                self._results.put((None, ENDED))  # again, for a later call with `wait`
                return
            else:
                own.take_over(result)

    def end(self) -> None:
        """End the thread, and the workers that it waits for. Ctrl-C takes effect before or after."""
        with handlers_later():
            self._stopping.set()
            for process in self._workers.values():
                process.kill()  # so that the thread waits for no message
            join(self._thread, time.monotonic() + _PATIENCE)


def _work(
    connection: Connection,
    make_job: Callable[[], Any],
    hand_over: bool,
    parent: int,
    options: Options | None,
) -> None:
    """The main function of a worker process: do the tasks that the parent sends, then send the gathered results.

    hand_over : whether the job's `hand_over` yields these, or else `finish` returns them
    parent    : the process id of its parent
    options   : the options that its messages name in place of arguments

    It sends ("done", number of the task or None, list of results), or ("error", None, exception). ENDED is the last result
    of each task, and with None the last of all.
    """
    name_options(options)
    # Ctrl-C reaches all processes of a terminal; only the parent handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever the parent does on SIGTERM, a worker has nothing to clean up.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    unblock_signals()
    try:
        threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    except RuntimeError as error:  # a limit of processes also counts threads
        connection.send(("error", None, WorkerError(_NO_MORE.format("a thread of a worker process", error))))
        return
    try:
        job = make_job()
        sent = 0.0
        while (message := connection.recv()) is not None:
            number, task = message
            results: list[Any] = []
            for result in job.run(task):
                results.append(result)
                if time.monotonic() - sent >= SEND_SECONDS:
                    connection.send(("done", number, results))
                    results = []
                    sent = time.monotonic()
            connection.send(("done", number, [*results, ENDED]))
        for gathered in job.hand_over() if hand_over else [job.finish()]:
            connection.send(("done", None, [gathered]))
        connection.send(("done", None, [ENDED]))
    except BaseException as error:
        with suppress(ConnectionError):  # the parent is gone
            connection.send(("error", None, _sendable(error)))


def _end_with_parent(parent: int) -> None:
    """End this process when its parent has ended, whatever its other threads do.

    The pipe to the parent alone would not show that: any process that was forked meanwhile may hold its other end open.
    """
    process = multiprocessing.parent_process()
    if process is None:
        raise RuntimeError("only a worker process can end with its parent")
    # The parent's id shows what the pipe may not; on Windows the id never changes, and the pipe is enough.
    while not connections.wait([process.sentinel], _LOOK_SECONDS) and (os.name == "nt" or os.getppid() == parent):
        pass
    os._exit(1)


def _sendable(error: BaseException) -> BaseException:
    """The error to send: itself if it can be pickled, else a WorkerError with its message; see also `out_of_memory`."""
    if isinstance(error, MemoryError):
        return out_of_memory("process", error)
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:
        pass
    return WorkerError(f"{type(error).__name__}: {error}")
