"""A process that compiles kernels beside this one: what it stores is used, and if it fails, kernels are compiled here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import processes
import pytest
from effort import mostly_slow

from nbbpe.kernels.compiler import beside, obtain, plain
from nbbpe.kernels.compiler.jit import Kernel
from nbbpe.kernels.compiler.signature import int64

pytestmark = [
    pytest.mark.skipif(plain.is_plain(), reason="kernels are compiled by a plain njit"),
    pytest.mark.skipif(sys.platform == "win32", reason="there is no such process"),
]

START = """
import os, sys, time
import numpy as np
from nbbpe.kernels.compiler import beside, store
from nbbpe.kernels.training import linked_words, word_digest as words
beside.may_start = lambda: True
"""
BEGIN = "beside.compile_beside([words.digest_words])\n"
SILENT = 'beside._SCRIPT = "import os, signal; signal.signal(2, signal.SIG_IGN); os.read(0, 1)"\n'


def run(store: Path, before: str = "", after: str = "") -> list[str]:
    """What this process compiled, where another one should, with lines of Python before it starts and after."""
    return processes.run(START + before + BEGIN + after + processes.RUN_A_KERNEL, NUMBA_CACHE_DIR=str(store)).split()


def kernels_in(store: Path) -> int:
    paths = [path for path in (store / "nbbpe").iterdir() if path.suffix == ".nbk"]
    others = [path.suffix for path in (store / "nbbpe").iterdir() if path not in paths]
    assert set(others) <= {".json", ".lock"}  # what the processor is, and nothing half written
    return len(paths)


def test_what_the_other_process_compiles_is_used_and_not_compiled_again(tmp_path):
    assert run(tmp_path, after="assert beside._current is not None\n") == []
    assert kernels_in(tmp_path) == 1
    assert run(tmp_path, after="assert beside._current is None\n") == []


FAULTS = {
    "killed": ("", "beside._current.process.kill()\n"),
    "fails": ('beside._SCRIPT = "raise SystemExit(3)"\n', ""),
    "says something else": ('beside._SCRIPT = "print(12)"\n', ""),
    "silent": (SILENT + "beside._MOST_SECONDS = 0.2\n", "process = beside._current.process\n"),
    "cannot start": ('sys.executable = "/nowhere/python"\n', "assert beside._current is None\n"),
    "no store": ("store.writable_folder = lambda: None\n", "assert beside._current is None\n"),
    "forked": ("", "if os.fork(): os._exit(os.waitstatus_to_exitcode(os.wait()[1]))\nassert beside._current is None\n"),
}


@pytest.mark.parametrize("fault", mostly_slow(FAULTS, usual=["says something else", "silent", "cannot start", "forked"]))
def test_without_the_other_process_the_kernel_is_compiled_here(fault, tmp_path):
    assert run(tmp_path, *FAULTS[fault]) == ["digest_words"]
    assert kernels_in(tmp_path) == 1


def test_a_fork_of_another_thread_waits_until_the_other_process_is_started(tmp_path):
    script = START + (
        "import threading\n"
        "started, real = threading.Event(), beside._Beside.__init__\n"
        "def begin(self, *arguments):\n"
        "    started.set()\n"
        "    time.sleep(0.5)\n"
        "    real(self, *arguments)\n"
        "beside._Beside.__init__ = begin\n"
        "thread = threading.Thread(target=lambda: beside.compile_beside([words.digest_words]))\n"
        "thread.start()\n"
        "started.wait()\n"
        "child = os.fork()\n"
        "is_there = beside._current is not None\n"
        "if child == 0: os._exit(is_there)\n"
        "print(is_there, os.waitpid(child, 0)[1])\n"
        "thread.join()\n"
        "beside._end()\n"
    )
    assert processes.run(script, NUMBA_CACHE_DIR=str(tmp_path)).split() == ["True", "0"]


def test_one_process_of_a_store_has_another_beside_it(tmp_path):
    script = START + SILENT + BEGIN + "print(beside._current is not None, flush=True)\nsys.stdin.read()"
    environment = processes.environment(NUMBA_CACHE_DIR=str(tmp_path))
    command = [sys.executable, "-c", script]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, cwd=processes.PACKAGE, **pipes) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "True\n"
        assert run(tmp_path, after="assert beside._current is None\n") == ["digest_words"]
        first.communicate("")
    assert first.returncode == 0
    assert kernels_in(tmp_path) == 1


def test_ctrl_c_while_waiting_ends_both(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    ended = processes.interrupt(START + SILENT + BEGIN + "print('waiting', flush=True)\n" + processes.RUN_A_KERNEL)
    processes.assert_ended_well(ended)


def test_the_other_process_ends_when_this_one_is_killed(tmp_path):
    script = START + BEGIN + "print(beside._current.process.pid, flush=True)\ntime.sleep(60)"
    with processes.started("-c", script, NUMBA_CACHE_DIR=str(tmp_path)) as process:
        assert process.stdout is not None
        other = int(process.stdout.readline())
        process.kill()
    until = time.monotonic() + 30
    while is_left := bool(processes.beginning(other)) and time.monotonic() < until:
        time.sleep(0.1)
    if is_left:
        os.kill(other, signal.SIGKILL)
    assert not is_left


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setattr(sys, "frozen", True, raising=False),
        lambda patch: patch.setattr(sys, "executable", "/opt/blender"),
        lambda patch: patch.setattr(sys, "executable", None),
        lambda patch: patch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False),
        lambda patch: patch.setattr("multiprocessing.process.parent_process", lambda: 1),
        lambda patch: patch.setattr(beside, "_is_idle", lambda: False),
    ],
    ids=["frozen", "embedded", "no executable", "one processor", "worker", "busy"],
)
def test_where_no_other_process_should_be_started_none_is(change, monkeypatch, processors):
    monkeypatch.setattr(beside, "_is_idle", lambda: True)
    processors(2)
    assert beside.may_start()
    change(monkeypatch)
    assert not beside.may_start()


def test_another_list_is_given_when_the_former_is_stored_and_not_before(tmp_path):
    script = (
        START
        + BEGIN
        + (
            "first = beside._current\n"
            "beside.compile_beside([linked_words.link_symbols])\n"
            "assert beside._current is first\n"
            "first.wait_for(words.digest_words.name)\n"
            "beside.compile_beside([linked_words.link_symbols])\n"
            "assert beside._current is not first and first.process.returncode is not None\n"
            "beside._current.wait_for(linked_words.link_symbols.name)\n"
            "words.digest_words.obtained()\n"
            "print(words.digest_words.was_compiled)\n"
        )
    )
    assert processes.run(script, NUMBA_CACHE_DIR=str(tmp_path)).split() == ["False"]
    assert kernels_in(tmp_path) == 2


def test_nothing_of_the_other_process_is_left_when_its_last_kernel_is_stored(tmp_path):
    script = (
        START
        + BEGIN
        + (
            "process = beside._current.process\n"
            "words.digest_words.obtained()\n"
            "ended = process.returncode is not None, process.stdin.closed, process.stdout.closed\n"
            "print(*ended, words.digest_words.was_compiled)\n"
        )
    )
    assert processes.run(script, NUMBA_CACHE_DIR=str(tmp_path)).split() == ["True", "True", "True", "False"]


@pytest.mark.parametrize("ends", ["when its kernel is stored", "by a fault"])
def test_a_kernel_that_is_obtained_after_the_other_process_has_ended_is_compiled_here(ends, tmp_path):
    script = START + ("" if ends != "by a fault" else FAULTS["fails"][0]) + BEGIN
    script += "words.digest_words.obtained()\nlinked_words.link_symbols.obtained()\n"
    script += "print(linked_words.link_symbols.was_compiled)\n"
    assert processes.run(script, NUMBA_CACHE_DIR=str(tmp_path)).split() == ["True"]
    assert kernels_in(tmp_path) == 2


def test_a_process_that_a_thread_waits_for_is_not_ended_by_another_thread(monkeypatch):
    kernel = Kernel(abs, (int64,))
    started: list[object] = []
    monkeypatch.setattr(beside, "_compile_beside", started.append)
    with ThreadPoolExecutor(1) as waiting, obtain.lock():
        waiting.submit(beside.compile_beside, [kernel]).result()
    assert started == []
    beside.compile_beside([kernel])
    assert started == [[kernel]]


def test_the_other_process_writes_bytecode_only_where_this_one_does(monkeypatch, tmp_path):
    commands = []
    with monkeypatch.context() as changed:
        changed.setattr(subprocess, "Popen", lambda command, **_: commands.append(command))
        changed.setattr(sys, "dont_write_bytecode", True)
        changed.setattr(sys, "pycache_prefix", str(tmp_path))
        beside._Beside([], 0)
    ((*options, _, _),) = commands
    ask = "import sys; print(sys.dont_write_bytecode, sys.pycache_prefix)"
    assert options[-1] == "-c"
    assert subprocess.check_output([*options, ask], text=True).split() == ["True", str(tmp_path)]
    monkeypatch.setattr(sys, "dont_write_bytecode", False)  # as the environment of this run may say
    monkeypatch.setattr(sys, "pycache_prefix", None)
    assert beside.options_for_bytecode() == []
