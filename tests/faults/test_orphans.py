"""Workers whose parent was killed end by themselves, whatever they are at."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import processes
import pytest
from effort import mostly_slow
from processes import beginning, children_of
from real_patterns import WITHOUT_PIECES

LINUX = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds the children of a process in /proc")
PROMISED = 5.0  # seconds; two are promised, on a machine that is not busy

# Kernels are compiled before a child is started, so that those seen are workers.
TRAIN = """
import sys, nbbpe
nbbpe.train(iter(["a warm up"]), 258, pattern=sys.argv[2])
print("begins", flush=True)
nbbpe.train(sys.argv[1], 300, ["<s>"], pattern=sys.argv[2], workers=2)
"""
ENCODE = """
import sys, nbbpe
tokenizer = nbbpe.train(iter(["a warm up"]), 258, ["<s>"], pattern=sys.argv[2])
tokenizer.encode("warm")
print("begins", flush=True)
tokenizer.encode_file(sys.argv[1], sys.argv[1] + ".bin", workers=2)
"""
# Workers amid tasks that never come back to the pipe to their parent.
JOBS = """
import multiprocessing, os, sys, time
from nbbpe.system import workers as parallel
class Busy:
    def run(self, task):
        print("busy", flush=True)
        while True:
            time.sleep(60)
        yield
    def finish(self): pass
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    multiprocessing.get_context = lambda method=None: context
    print("begins", flush=True)
    for _ in parallel.run_jobs(Busy, list(range(9)), 3): pass
"""


def is_alive(pid: int, began: str) -> bool:
    return beginning(pid) == began


def kill_parent(*command: str, n_workers: int, are_heard: bool = False) -> float:
    """Start Python, kill it when it has had its workers for a while, and return for how many seconds they outlive it.

    are_heard : whether workers say that they are busy
    """
    process = processes.started(*command)
    workers: dict[int, str] = {}
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        deadline = time.monotonic() + 60
        while len(workers) < n_workers:
            assert process.poll() is None, "the work was done before its workers were seen"
            assert time.monotonic() < deadline
            workers = {pid: beginning(pid) for pid in children_of(process.pid)}
            time.sleep(0.01)
        for _ in range(n_workers * are_heard):
            assert process.stdout.readline() == "busy\n"
        time.sleep(0.5)
        workers |= {pid: beginning(pid) for pid in children_of(process.pid)}
        assert process.poll() is None, "the work was done too soon"
        process.kill()
        process.wait()
        start = time.monotonic()
        while any(is_alive(pid, began) for pid, began in workers.items()) and time.monotonic() < start + 40:
            time.sleep(0.02)
        return time.monotonic() - start
    finally:
        process.kill()
        for pid, began in workers.items():
            if began and is_alive(pid, began):
                os.kill(pid, signal.SIGKILL)
        process.communicate()  # which waits for all that hold its end of the pipe


@pytest.fixture(scope="module")
def long_text(tmp_path_factory) -> Path:
    """A text that takes many seconds with a custom pattern, for which `regex` runs in worker processes."""
    path = tmp_path_factory.mktemp("long") / "text.txt"
    path.write_text(("the cat sat on the mat, and the dog did not. " * 50_000 + "<s>") * 30)
    return path


@LINUX
@pytest.mark.parametrize(("script", "n_workers"), [(TRAIN, 1), (ENCODE, 2)], ids=["train", "encode_file"])
def test_workers_end_soon_after_their_parent_was_killed(long_text, script, n_workers):
    """Training has one less, as it works itself."""
    assert kill_parent("-c", script, str(long_text), WITHOUT_PIECES, n_workers=n_workers) < PROMISED


@LINUX
@pytest.mark.parametrize("method", mostly_slow(["fork", "spawn"], usual=["fork"]))
def test_workers_that_are_at_no_pipe_of_theirs_end_as_soon(tmp_path, method):
    (tmp_path / "jobs.py").write_text(JOBS)
    # Spawned workers import nbbpe for a while, before which nothing of ours runs in them.
    assert kill_parent(str(tmp_path / "jobs.py"), method, n_workers=3, are_heard=True) < PROMISED


HELD = """
import os, sys, threading, time
from nbbpe.system import workers as parallel
class Busy:
    def run(self, task):
        yield os.getpid()
        while True:
            time.sleep(60)
    def finish(self): pass
results = parallel.run_jobs(Busy, list(range(9)), 2)
pids = {next(results)[1], next(results)[1]}
if not (other := os.fork()):  # a process of the user's keeps every pipe open that it has inherited
    time.sleep(50)
    os._exit(0)
print(other, *pids, flush=True)
time.sleep(60)
"""


@LINUX
def test_a_pipe_that_somebody_else_holds_open_keeps_no_worker():
    process = processes.started("-c", HELD)
    assert process.stdout is not None
    other, *pids = map(int, process.stdout.readline().split())
    began = {pid: beginning(pid) for pid in pids}
    try:
        process.kill()
        process.wait()
        start = time.monotonic()
        while any(is_alive(pid, began[pid]) for pid in pids) and time.monotonic() < start + 10:
            time.sleep(0.02)
        assert time.monotonic() - start < PROMISED
        assert all(began.values())
    finally:
        for pid in other, *(pid for pid in pids if is_alive(pid, began[pid])):
            os.kill(pid, signal.SIGKILL)
        process.stdout.close()
