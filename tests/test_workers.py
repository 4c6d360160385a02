"""Jobs in worker processes: results, errors that reach the parent, and nobody left running."""

from __future__ import annotations

import errno
import gzip
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection

import processes
import pytest
import warned
from interrupts import interrupted

import nbbpe
from nbbpe.system import kernel_threads, worker_processes, worker_threads
from nbbpe.system.arguments import argument, naming_options
from nbbpe.system.kernel_threads import run_together
from nbbpe.system.signals_later import signals_later
from nbbpe.system.workers import ENDED, Stopped, WorkerError, check_workers, default_workers, run_jobs


class Adder:
    """A job that squares numbers and remembers their sum; some tasks are special."""

    def __init__(self, first: int = 0) -> None:
        self.total = first

    def run(self, task):
        if task == "fail":
            raise LookupError("a task failed")
        if isinstance(task, Exception):
            raise task
        if task == "odd error":
            raise OddError("cannot", "be pickled")
        if task == "error of another type":
            raise UnlikeError("becomes text")
        if task == "no memory":
            raise MemoryError("for 5 bytes")
        if task == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if task == "exit":
            os._exit(7)
        if task == "die while sending":
            # More than a pipe holds, to a parent that does not read it before this process is dead.
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGKILL)).start()
            yield bytes(1 << 24)
        if task == "sleep":
            time.sleep(60)
        if task == "pid":
            yield os.getpid()
        else:
            self.total += task
            yield task
            yield task * task

    def finish(self):
        return self.total


class OddError(Exception):
    def __init__(self, one, two):
        super().__init__(one)
        self.lock = threading.Lock()


class UnlikeError(Exception):
    """An error whose pickle is none."""

    def __reduce__(self):
        return str, ("text",)


class NoJob(Adder):
    def __init__(self) -> None:
        raise ValueError("no job can be made")


class NoFinish(Adder):
    def finish(self):
        raise ValueError("cannot finish")


def results_of(items):
    """What the tasks yielded, in order of arrival."""
    return [result for number, result in items if number is not None and result is not ENDED]


@pytest.fixture(autouse=True)
def nobody_left():
    """No test may leave a child."""
    yield
    assert multiprocessing.active_children() == []


in_processes_and_threads = pytest.mark.parametrize("in_threads", [False, True], ids=["processes", "threads"])


def test_calls_run_together_and_give_their_results():
    assert run_together([]) == []
    assert run_together([lambda: 1]) == [1]
    meeting = threading.Barrier(3, timeout=30)
    assert [each >= 0 for each in run_together([meeting.wait] * 3)] == [True] * 3


def test_the_last_of_several_calls_runs_here_unless_it_is_long():
    here = threading.get_ident()
    assert [each == here for each in run_together([threading.get_ident] * 3)] == [False, False, True]
    assert here not in run_together([threading.get_ident] * 2, are_long=True)
    assert run_together([threading.get_ident]) == [here]


def test_nothing_holds_what_a_failed_call_used():
    class Held:
        def fail(self) -> None:
            raise ZeroDivisionError

    held = Held()
    gone = weakref.ref(held)
    with pytest.raises(ZeroDivisionError):
        run_together([held.fail, lambda: None])
    del held
    assert gone() is None


@pytest.fixture
def few_threads(monkeypatch):
    """A function that lets so many more threads be started."""
    start = threading.Thread.start

    def allow(n_threads: int) -> None:
        left = iter(range(n_threads))

        def start_or_fail(thread: threading.Thread) -> None:
            if next(left, None) is None:
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", start_or_fail)

    return allow


@pytest.mark.parametrize("n_threads", [0, 1, 2])
def test_where_no_thread_can_be_started_fewer_do_the_work(few_threads, n_threads):
    few_threads(n_threads)
    assert run_together([partial(pow, 2, i) for i in range(4)]) == [1, 2, 4, 8]
    few_threads(n_threads)
    assert kernel_threads.interruptible(lambda: 3) == 3
    few_threads(n_threads)
    results = list(run_jobs(Adder, range(10), 3, in_threads=True))
    assert sorted(number for number, result in results if result is ENDED) == list(range(10))
    assert len([number for number, _ in results if number is None]) == max(n_threads, 1)


@pytest.fixture
def few_processes(monkeypatch):
    """A function that lets so many more processes be forked."""
    fork = os.fork

    def allow(n_processes: int, number: int = errno.EAGAIN) -> None:
        left = iter(range(n_processes))

        def fork_or_fail() -> int:
            if next(left, None) is None:
                raise OSError(number, os.strerror(number))
            return fork()

        monkeypatch.setattr(os, "fork", fork_or_fail)

    return allow


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM])
@pytest.mark.parametrize("n_processes", [0, 1, 2])
def test_where_no_process_can_be_forked_fewer_do_the_work(few_processes, n_processes, number):
    few_processes(n_processes, number)
    said = rf"more than {n_processes} of 3 worker processes .*: use fewer workers"
    with pytest.warns(UserWarning, match=said) as seen:
        results = list(run_jobs(Adder, range(10), 3))
    assert len(warned.here(seen)) == 1
    assert sorted(number for number, result in results if result is ENDED) == list(range(10))
    assert len([number for number, _ in results if number is None]) == max(n_processes, 1)
    assert multiprocessing.active_children() == []


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EMFILE, "could not start worker process 1 of 3 .*Too many open files.*: use fewer workers"),
        (errno.ENFILE, "could not start worker process 1 of 3 .*Too many open files in system.*: use fewer workers"),
        (errno.EPERM, "Operation not permitted$"),
    ],
)
def test_another_reason_why_no_process_can_be_forked_is_an_error(few_processes, number, said):
    few_processes(0, number)
    with pytest.raises(OSError, match=said) as caught:
        list(run_jobs(Adder, range(10), 3))
    assert caught.value.errno == number


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
@pytest.mark.parametrize("n_files", range(1, 8))
def test_where_no_more_files_can_be_open_an_error_says_what_to_do(n_files):
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 20, limits[1]))
    taken = []
    try:
        with suppress(OSError):
            while True:
                taken.append(os.dup(0))
        for descriptor in taken[:n_files]:
            os.close(descriptor)
        said = r"could not start worker process \d of 9 .*: use fewer workers.* \(ulimit -n\)"
        with pytest.raises(OSError, match=said) as caught:
            list(run_jobs(Adder, range(10), 9))
    finally:
        for descriptor in taken[n_files:]:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert caught.value.errno == errno.EMFILE
    assert multiprocessing.active_children() == []


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
@pytest.mark.parametrize("n_processes", [0, 1])
@pytest.mark.parametrize("source", ["text.txt", "text.jsonl"])
def test_files_are_encoded_and_trained_on_by_the_processes_that_there_are(
    few_processes, small, sizes, tmp_path, source, n_processes
):
    sizes(chunk=2000, counted=2000, split=1, for_workers=0)
    text = "".join(f"The cat number {i} sat on {i * i} mats. " for i in range(900))
    path = tmp_path / source
    path.write_text(text if source == "text.txt" else "".join(json.dumps({"text": text[i::7]}) + "\n" for i in range(7)))
    small.encode_file(path, tmp_path / "one.bin", workers=1)
    expected = nbbpe.train(path, 300, workers=1)
    few_processes(n_processes)
    with pytest.warns(UserWarning, match=f"more than {n_processes} of 3 worker processes"):
        small.encode_file(path, tmp_path / "ids.bin", workers=3, resume=True)
    for suffix in "", ".json":
        assert (tmp_path / f"ids.bin{suffix}").read_bytes() == (tmp_path / f"one.bin{suffix}").read_bytes()
    assert not (tmp_path / "ids.bin.resume").exists()
    few_processes(n_processes)
    with pytest.warns(UserWarning, match=f"more than {n_processes} of 2 worker processes"):
        assert nbbpe.train(path, 300, workers=3) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
def test_a_worker_process_or_its_server_without_a_thread_is_an_error_with_what_to_do(few_threads, sizes, tmp_path):
    sizes(chunk=2000, counted=2000, split=1, for_workers=0)
    path = tmp_path / "text.txt"
    path.write_text("The cat sat on the mat. " * 900)
    few_threads(0)
    with pytest.raises(WorkerError, match=r"a thread of a worker process .*: use fewer workers"):
        list(run_jobs(Adder, range(10), 3))
    with pytest.raises(WorkerError, match=r"a thread for 2 worker processes .*: use fewer workers"):
        nbbpe.train(path, 300, workers=3)
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("n_threads", [0, 1])
def test_a_text_is_encoded_by_as_many_threads_as_there_can_be(few_threads, small, tmp_path, n_threads):
    text = "The cat sat on the mat. " * 120_000
    expected = small.encode_array(text, num_threads=1)
    (tmp_path / "text.gz").write_bytes(gzip.compress(text[:100_000].encode(), 1))
    few_threads(n_threads)
    assert (small.encode_array(text, num_threads=2) == expected).all()
    few_threads(n_threads)
    assert small.encode_file(tmp_path / "text.gz", tmp_path / "ids.bin") == len(small.encode(text[:100_000]))


def test_an_error_in_one_of_several_calls_is_raised_when_all_have_ended():
    ended = []

    def end_late() -> None:
        time.sleep(0.05)
        ended.append(True)

    with pytest.raises(ZeroDivisionError):
        run_together([lambda: 1 // 0, end_late])
    assert ended == [True]


@in_processes_and_threads
@pytest.mark.parametrize("n_workers", [1, 2, 3, 10])
def test_every_task_is_done_once_and_every_job_finished_once(n_workers, in_threads):
    results = list(run_jobs(Adder, list(range(20)), n_workers, in_threads))
    for i in range(20):
        # In order and complete, and only then ended.
        assert [result for number, result in results if number == i] == [i, i * i, ENDED]
    totals = [result for number, result in results if number is None]
    assert sum(totals) == sum(range(20))
    assert len(totals) == n_workers
    assert len(results) == 3 * 20 + n_workers
    assert results[-1][0] is None


def test_jobs_are_made_by_what_was_given():
    results = list(run_jobs(partial(Adder, 100), [1, 2, 3], 2))
    assert sum(result for number, result in results if number is None) == 206


def test_one_worker_or_one_task_needs_no_other_process():
    for tasks, n_workers in (["pid"] * 3, 1), (["pid"], 5):
        assert results_of(run_jobs(Adder, tasks, n_workers)) == [os.getpid()] * len(tasks)
    assert os.getpid() not in results_of(run_jobs(Adder, ["pid"] * 8, 2))


@pytest.mark.parametrize("n_workers", [1, 3])
def test_no_tasks_give_one_empty_job(n_workers):
    assert list(run_jobs(Adder, [], n_workers)) == [(None, 0)]


@in_processes_and_threads
@pytest.mark.parametrize("n_workers", [1, 2])
def test_an_error_in_a_task_reaches_the_parent_with_its_type(n_workers, in_threads):
    with pytest.raises(LookupError, match="a task failed"):
        list(run_jobs(Adder, [1, 2, "fail", 3, 4], n_workers, in_threads))


@pytest.mark.parametrize("error", [EOFError("no end"), ConnectionResetError(errno.ECONNRESET, "the server hung up")])
def test_an_error_of_a_tasks_own_files_is_not_taken_for_the_end_of_the_parent(error):
    with pytest.raises(type(error)) as caught:
        list(run_jobs(Adder, [1, error, 2], 2))
    assert caught.value.args == error.args


@in_processes_and_threads
@pytest.mark.parametrize(("job", "message"), [(NoJob, "no job can be made"), (NoFinish, "cannot finish")])
@pytest.mark.parametrize("n_workers", [1, 2])
def test_an_error_in_making_or_finishing_a_job_reaches_the_parent(job, message, n_workers, in_threads):
    with pytest.raises(ValueError, match=message):
        list(run_jobs(job, [1, 2, 3], n_workers, in_threads))


def test_threads_are_threads_of_this_process_and_end():
    before = threading.active_count()
    results = run_jobs(Adder, ["pid"] * 8, 2, in_threads=True)
    assert results_of(results) == [os.getpid()] * 8
    assert threading.active_count() == before


class Endless(Adder):
    """A job whose tasks go on until somebody stops them."""

    def run(self, task):
        while True:
            time.sleep(0.001)
            yield task


@pytest.mark.parametrize("error", [GeneratorExit, KeyboardInterrupt])
def test_threads_end_when_they_next_yield(error):
    before = threading.active_count()
    results = run_jobs(Endless, [1, 2, 3], 2, in_threads=True)
    next(results)
    assert threading.active_count() == before + 2
    with pytest.raises(error):
        results.throw(error)
    assert threading.active_count() == before


class Waiting(Adder):
    """A job one task of which fails, and the other as it waited for that one."""

    failed = threading.Event()

    def run(self, task):
        if task == "wait":
            self.failed.wait()
            raise Stopped
        self.failed.set()
        time.sleep(0.05)
        raise LookupError("a task failed")
        yield


def test_the_error_of_a_thread_counts_not_that_of_those_that_waited_for_it():
    with pytest.raises(LookupError, match="a task failed"):
        list(run_jobs(Waiting, ["wait", "fail"], 2, in_threads=True))


class Here(Adder):
    """A job that tells which thread does a task, and fails in this one, in another one, or in none."""

    def __init__(self, fails=None):
        super().__init__()
        self.fails = fails
        self.is_here = threading.current_thread() is threading.main_thread()

    def run(self, task):
        time.sleep(0.01)
        if self.fails == ("here" if self.is_here else "elsewhere"):
            raise LookupError("a task failed")
        if self.fails == "interrupted" and self.is_here:
            signal.raise_signal(signal.SIGINT)
        yield task, self.is_here


@pytest.mark.parametrize("n_threads", [0, 1, 2])
def test_the_calling_thread_is_one_of_the_workers(few_threads, n_threads):
    before = threading.active_count()
    few_threads(n_threads)
    found = list(worker_threads.run_in_threads(Here, range(20), 3, here=True))
    results = dict(results_of(found))
    assert [*sorted(results)] == [*range(20)]
    assert set(results.values()) == ({True, False} if n_threads else {True})
    assert [result for number, result in found if number is None] == [0] * (1 + n_threads)
    assert threading.active_count() == before


@pytest.mark.parametrize("fails", ["here", "elsewhere", "interrupted"])
def test_an_error_ends_the_calling_thread_and_the_others(fails):
    before = threading.active_count()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt if fails == "interrupted" else LookupError):
        list(worker_threads.run_in_threads(partial(Here, fails), range(10_000), 3, here=True))
    assert time.monotonic() - began < 20  # of 100 s, or 33 s where two threads go on
    assert threading.active_count() == before


class Reading(Adder):
    """A job one task of which waits for a pipe that nobody writes to, and the other fails or goes on."""

    def run(self, task):
        if task == "fail":
            raise LookupError("a task failed")
        yield "reading"
        os.read(task, 1)
        raise AssertionError("what comes after the end is seen by nobody")


@pytest.mark.parametrize("error", [GeneratorExit, KeyboardInterrupt, LookupError])
def test_a_thread_that_waits_for_a_pipe_keeps_nobody(monkeypatch, error):
    monkeypatch.setattr(worker_threads, "_PATIENCE", 0.2)
    before = threading.active_count()
    reads, writes = os.pipe()
    late = threading.Timer(20, os.write, [writes, b"so that a failure of this test is no hang"])
    late.daemon = True
    late.start()
    began = time.monotonic()
    try:
        results = run_jobs(Reading, [reads, "fail" if error is LookupError else reads], 2, in_threads=True)
        assert next(results) == (0, "reading")
        with pytest.raises(error):
            list(results) if error is LookupError else results.throw(error)
        assert time.monotonic() - began < 10
    finally:
        late.cancel()
        os.write(writes, b"ab")
        while threading.active_count() > before:
            time.sleep(0.01)
        os.close(reads)
        os.close(writes)


class Patient(Adder):
    """A job whose first task tells now and then that it goes on, until all other tasks are done."""

    def __init__(self, folder) -> None:
        self.folder = folder

    def run(self, task):
        end = time.monotonic() + 60
        while task == 0:
            time.sleep(0.06)
            yield "not yet"
            if len(os.listdir(self.folder)) == 6 or time.monotonic() > end:
                break
        if task:
            time.sleep(0.05)
            (self.folder / str(task)).touch()
        yield os.getpid()

    def finish(self):
        return None


def test_a_worker_gets_no_task_before_it_has_ended_the_last_one(tmp_path):
    results = list(run_jobs(partial(Patient, tmp_path), range(7), 2))
    assert (0, "not yet") in results
    by = {number: result for number, result in results if isinstance(result, int)}
    assert by[0] not in [by[number] for number in range(1, 7)]


# A job of this process that does tasks beside its workers


class Gatherer(Adder):
    """Gathers the tasks it has done, with the id of the process that did them, and hands them over one by one."""

    def __init__(self) -> None:
        self.gathered: list[tuple[int, int]] = []

    def run(self, task):
        if task == "slow" or (task == "slow here" and multiprocessing.parent_process() is None):
            time.sleep(0.5)
        elif task == "fail elsewhere" and multiprocessing.parent_process() is not None:
            raise LookupError("a task failed")
        elif task == "die elsewhere" and multiprocessing.parent_process() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        elif task == "fail here" and multiprocessing.parent_process() is None:
            raise LookupError("a task failed")
        time.sleep(0.001)
        self.gathered.append((task, os.getpid()))
        yield task
        yield os.getpid()

    def finish(self):
        raise AssertionError("nobody asks for this")

    def hand_over(self):
        yield from self.gathered

    def take_over(self, gathered):
        self.gathered.append(gathered)


@pytest.mark.parametrize(
    ("method", "n_workers"), [("fork", 1), ("fork", 2), ("fork", 3), ("fork", 50), ("spawn", 2), ("spawn", 3)]
)
def test_a_job_of_this_process_does_tasks_and_takes_over_the_rest(monkeypatch, method, n_workers):
    context = multiprocessing.get_context(method)
    monkeypatch.setattr(multiprocessing, "get_context", lambda other=None: context)
    own = Gatherer()
    results = list(run_jobs(Gatherer, list(range(40)), n_workers, own=own))
    assert sorted(task for task, _ in own.gathered) == list(range(40))
    by = {pid for _, pid in own.gathered}
    assert len(by) <= n_workers
    if n_workers <= 3:
        assert os.getpid() in by
    if n_workers > 1:
        assert by - {os.getpid()}
    for i in range(40):
        [task, pid, ended] = [result for number, result in results if number == i]
        assert (task, ended) == (i, ENDED)
        assert (i, pid) in own.gathered
    assert len(results) == 3 * 40


def test_nobody_waits_for_a_job_of_this_process_that_is_busy():
    own = Gatherer()
    list(run_jobs(Gatherer, ["slow here"] * 5, 2, own=own))
    assert [pid for _, pid in own.gathered].count(os.getpid()) == 1


def test_few_tasks_are_shared_fairly():
    own = Gatherer()
    list(run_jobs(Gatherer, ["slow"] * 2, 2, own=own))
    assert len({pid for _, pid in own.gathered}) == 2


@pytest.mark.parametrize("where", ["fail here", "fail elsewhere"])
def test_an_error_of_either_side_ends_the_other(where):
    with pytest.raises(LookupError, match="a task failed"):
        list(run_jobs(Gatherer, [where] * 20, 2, own=Gatherer()))


def test_an_error_of_a_worker_ends_a_job_of_this_process_before_its_tasks_are_done():
    own = Gatherer()
    with pytest.raises(LookupError, match="a task failed"):
        list(run_jobs(Gatherer, ["fail elsewhere"] * 3000, 2, own=own))
    assert len(own.gathered) < 2999


class Leaver(Gatherer):
    """A job that leaves its process, if that is a worker."""

    def run(self, task):
        if multiprocessing.parent_process() is not None:
            sys.exit("a task has left")
        return super().run(task)


def test_a_worker_that_leaves_beside_a_job_of_this_process_is_told():
    with pytest.raises(SystemExit, match="a task has left"):
        list(run_jobs(Leaver, list(range(20)), 2, own=Gatherer()))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
def test_nobody_is_left_where_another_process_holds_a_workers_end_of_its_pipe(monkeypatch):
    """As one does that was forked at the same time: the end of the worker ends no connection then."""
    context = multiprocessing.get_context("fork")
    pipe, held = context.Pipe, []

    def held_pipe():
        ours, theirs = pipe()
        held.append(os.dup(theirs.fileno()))
        return ours, theirs

    monkeypatch.setattr(context, "Pipe", held_pipe)
    before = threading.active_count()
    results = run_jobs(Gatherer, list(range(1000)), 2, own=Gatherer())
    next(results)
    results.close()
    assert threading.active_count() == before
    for descriptor in held:
        os.close(descriptor)


def test_a_worker_that_dies_beside_a_job_of_this_process_is_an_error():
    with pytest.raises(WorkerError, match=r"exit code -9.*fewer workers"):
        list(run_jobs(Gatherer, ["die elsewhere"] * 20, 2, own=Gatherer()))


@pytest.mark.parametrize("error", [GeneratorExit, KeyboardInterrupt])
def test_ctrl_c_beside_a_job_of_this_process_leaves_nobody(error):
    before = threading.active_count()
    results = run_jobs(Gatherer, list(range(1000)), 2, own=Gatherer())
    next(results)
    assert len(multiprocessing.active_children()) == 1
    with pytest.raises(error):
        results.throw(error)
    assert multiprocessing.active_children() == []
    assert threading.active_count() == before


# Ctrl-C at each step while workers are ended, as by an impatient user, whose first Ctrl-C has them ended.
INTERRUPTED_END = """
import multiprocessing, os, sys, threading
sys.path.insert(0, sys.argv[1])
from interrupts import interrupted
from test_workers import Adder, run_jobs
def begun():
    results = run_jobs(Adder, list(range(20)), 3, own=Adder() if sys.argv[2:] else None)
    next(results)
    return results
files = ["worker_processes.py", "process.py", "popen_fork.py", "threading.py", *(["waiting.py"] if sys.argv[2:] else [])]
n_files, n_threads = len(os.listdir("/proc/self/fd")), threading.active_count()
for end in interrupted(lambda results: results.close(), files, prepare=begun):
    assert isinstance(end.error, KeyboardInterrupt), end
    assert multiprocessing.active_children() == [], end
    assert threading.active_count() == n_threads, end
    assert len(os.listdir("/proc/self/fd")) == n_files, end
print("all ended")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere other modules start processes")
@pytest.mark.parametrize("beside", [[], ["a job of this process"]], ids=["alone", "beside"])
def test_ctrl_c_while_workers_are_ended_leaves_none(beside):
    """In a process of its own, which forks in less time than one that has run many tests."""
    assert processes.run(INTERRUPTED_END, os.path.dirname(__file__), *beside) == "all ended\n"


# Ctrl-C comes to each process right after a fork, while Python runs what was registered for that.
INTERRUPTED_FORK = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from test_workers import Adder, run_jobs
os.dup2(1, 2)
def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
os.register_at_fork(after_in_parent=interrupt, after_in_child=interrupt)
try:
    print(sorted(result for _, result in run_jobs(Adder, [1, 2], 2) if isinstance(result, int)))
except KeyboardInterrupt:
    print("answered")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
def test_ctrl_c_is_not_lost_while_a_worker_is_forked():
    assert processes.run(INTERRUPTED_FORK, os.path.dirname(__file__)) == "answered\n"


def test_signals_are_answered_later():
    def interrupted() -> None:
        with signals_later():
            signal.raise_signal(signal.SIGINT)
            reached.append(True)

    reached: list[bool] = []
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached
    assert signal.getsignal(signal.SIGINT) is before
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.fixture
def raises_on_usr2():
    """SIGUSR2, whose number is larger than that of SIGINT, raises LookupError in this process."""

    def fail(number, frame):
        raise LookupError

    before = signal.signal(signal.SIGUSR2, fail)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR2, before)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGUSR2")
@pytest.mark.usefixtures("raises_on_usr2")
@pytest.mark.parametrize(("number", "error"), [("SIGINT", KeyboardInterrupt), ("SIGUSR2", LookupError)])
def test_a_signal_at_any_step_of_that_leaves_no_handler_and_no_mask(number, error):
    def work() -> None:
        with signals_later():
            pass

    before = [signal.getsignal(each) for each in sorted(signal.valid_signals())]
    for end in interrupted(work, ["signals_later.py", "signal.py", "contextlib.py"], number=signal.Signals[number]):
        assert type(end.error) is error, end
        assert [signal.getsignal(each) for each in sorted(signal.valid_signals())] == before, end
        assert not signal.pthread_sigmask(signal.SIG_BLOCK, []), end


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGUSR2")
@pytest.mark.usefixtures("raises_on_usr2")
def test_each_of_several_signals_is_answered():
    def interrupted_twice() -> None:
        with signals_later():
            signal.raise_signal(signal.SIGUSR2)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted_twice()
    assert type(caught.value.__context__) is LookupError


def test_an_error_that_cannot_be_sent_is_told_in_words():
    with pytest.raises(WorkerError, match="OddError: cannot"):
        list(run_jobs(Adder, [1, "odd error"], 2))
    with pytest.raises(WorkerError, match="UnlikeError: becomes text"):
        list(run_jobs(Adder, [1, "error of another type"], 2))


def test_a_worker_without_memory_is_told():
    with pytest.raises(MemoryError, match=r"^a worker process ran out of memory \(for 5 bytes\); use fewer workers$"):
        list(run_jobs(Adder, [1, "no memory"], 2))


def test_a_worker_that_dies_is_an_error_that_says_how():
    with pytest.raises(WorkerError, match=r"exit code -9.*fewer workers"):
        list(run_jobs(Adder, [1, "die", 2], 2))
    with pytest.raises(WorkerError, match="exit code 7"):
        list(run_jobs(Adder, [1, "exit", 2], 2))


# This process would not learn that other children have ended.
IGNORES_CHILDREN = """
import multiprocessing, os, signal, sys
sys.path.insert(0, sys.argv[1])
from test_workers import Adder, WorkerError, run_jobs
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
try:
    list(run_jobs(Adder, [1, "die", 2], 2))
except WorkerError as error:
    print(error)
n_files = len(os.listdir("/proc/self/fd"))
list(run_jobs(Adder, [1, 2], 2))
assert not multiprocessing.active_children()
assert len(os.listdir("/proc/self/fd")) == n_files
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files as Linux shows them")
def test_where_the_system_does_not_tell_how_a_worker_died_nothing_is_said_of_it_or_kept():
    said = processes.run(IGNORES_CHILDREN, os.path.dirname(__file__))
    assert said.startswith("a worker process ended; if the system killed it")


# As on macOS, in a script that does not say that it must not be imported.
IMPORTED_BY_WORKERS = """
import sys
sys.platform = "darwin"
sys.path.insert(0, sys.argv[1])
from test_workers import Adder, WorkerError, run_jobs
try:
    list(run_jobs(Adder, [1, 2], 2))
except WorkerError as error:
    print(error)
"""


def test_a_script_that_its_workers_import_is_told_what_it_lacks(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(IMPORTED_BY_WORKERS)
    done = processes.ended(script, os.path.dirname(__file__))
    assert done.returncode == 0, done.stderr
    assert "ended with exit code 1; " in done.stdout
    assert "must use workers below `if __name__ == '__main__':`" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="a pipe of messages")
def test_a_worker_that_dies_while_it_sends_is_an_error_that_says_how(monkeypatch):
    receive = Connection._recv

    def receive_later(self, size, *more):
        if size > 1 << 20:
            time.sleep(0.3)
        return receive(self, size, *more)

    monkeypatch.setattr(Connection, "_recv", receive_later)
    with pytest.raises(WorkerError, match=r"exit code -9.*fewer workers"):
        list(run_jobs(Adder, [1, "die while sending"], 2))


def test_closing_the_iterator_ends_the_workers_at_once():
    results = run_jobs(Adder, [1, "sleep", 2, "sleep"], 2)
    assert next(results)[1] == 1
    pids = [process.pid for process in multiprocessing.active_children()]
    assert len(pids) == 2
    start = time.monotonic()
    results.close()
    assert multiprocessing.active_children() == []
    assert time.monotonic() - start < 5
    for pid in pids:  # nor is there one that has ended, and that nobody has waited for
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_an_error_ends_workers_that_are_still_at_work():
    start = time.monotonic()
    with pytest.raises(LookupError):
        list(run_jobs(Adder, ["sleep", "fail"], 2))
    assert time.monotonic() - start < 10


def test_an_error_of_whoever_takes_the_results_ends_the_workers():
    results = run_jobs(Adder, [1, "sleep", 2], 2)
    next(results)
    with pytest.raises(KeyboardInterrupt):
        results.throw(KeyboardInterrupt)
    assert multiprocessing.active_children() == []


ORPHANS = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from nbbpe.system.workers import run_jobs
from test_workers import Adder
results = run_jobs(Adder, ["pid"] * 1000, 2)
pids = set()
while len(pids) < 2:
    result = next(results)[1]
    if isinstance(result, int):
        pids.add(result)
other = os.fork()  # which has all files of this process open
if not other:
    os.closerange(0, 3)
    signal.pause()
print(other, *pids, flush=True)
os._exit(0)  # without a word to the workers, as if it were killed
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux shows them")
def test_workers_end_when_their_parent_is_killed():
    other, *pids = [int(pid) for pid in processes.run(ORPHANS, os.path.dirname(__file__)).split()]
    try:
        deadline = time.monotonic() + 10
        while any(map(processes.beginning, pids)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(map(processes.beginning, pids))
    finally:
        os.kill(other, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_a_worker_that_cannot_reach_its_parent_ends_without_a_word(capfd):
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    parent = os.getpid()

    def work() -> None:
        ours.close()
        worker_processes._work(theirs, Adder, False, parent, None)

    worker = context.Process(target=work)
    worker.start()
    ours.close()
    theirs.close()
    worker.join()
    assert worker.exitcode == 0
    assert capfd.readouterr() == ("", "")


def test_workers_ignore_ctrl_c_which_their_parent_answers():
    class Signals(Adder):
        def run(self, task):
            os.kill(os.getpid(), signal.SIGINT)
            yield signal.getsignal(signal.SIGINT) is signal.SIG_IGN

    assert results_of(run_jobs(Signals, [1, 2, 3], 2)) == [True] * 3


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
def test_workers_end_on_sigterm_whatever_their_parent_does_on_it():
    class Signals(Adder):
        def run(self, task):
            yield signal.getsignal(signal.SIGTERM), signal.pthread_sigmask(signal.SIG_BLOCK, [])

    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        assert results_of(run_jobs(Signals, [1, 2, 3], 2)) == [(signal.SIG_DFL, set())] * 3
    finally:
        signal.signal(signal.SIGTERM, before)


class Namer(Adder):
    """A job that tells how messages call an argument."""

    def run(self, task):
        yield argument("field")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_messages_of_workers_name_options_as_those_of_their_parent_do(monkeypatch, method):
    context = multiprocessing.get_context(method)
    monkeypatch.setattr(multiprocessing, "get_context", lambda other=None: context)
    with naming_options({"field": "--field"}):
        assert results_of(run_jobs(Namer, [1, 2], 2)) == ["--field"] * 2
    assert results_of(run_jobs(Namer, [1, 2], 2)) == ["field"] * 2


def test_the_number_of_workers_is_checked(processors):
    assert check_workers(3) == 3
    assert check_workers(None) == default_workers() >= 1
    processors(17)
    assert check_workers(None) == 17
    processors(1)
    assert default_workers() == 1
    for bad in 0, -1:
        with pytest.raises(ValueError, match="at least 1"):
            check_workers(bad)
    for bad in "2", 2.0, True, [2]:
        with pytest.raises(TypeError, match="positive integer or None"):
            check_workers(bad)


def in_daemon(connection):
    connection.send((default_workers(), check_workers(8), check_workers(None)))


def test_a_daemonic_process_has_no_workers_of_its_own():
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=in_daemon, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    assert ours.poll(60)
    assert ours.recv() == (1, 1, 1)
    process.join()


# Calls that Ctrl-C interrupts


def test_ctrl_c_is_answered_while_a_call_runs_that_looks_at_no_signal():
    ends = threading.Event()
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    began = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            kernel_threads.interruptible(lambda: ends.wait(60))
        assert time.perf_counter() - began < 30
    finally:
        ends.set()


def test_what_an_interruptible_call_returns_or_raises_is_the_callers():
    assert kernel_threads.interruptible(lambda: 5) == 5
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(kernel_threads.interruptible, threading.get_ident).result() != threading.get_ident()

    def fail() -> None:
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        kernel_threads.interruptible(fail)
