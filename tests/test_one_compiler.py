"""kernels/compiler/one_compiler.py: processes that need a kernel at the same time compile it once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import processes
import pytest

from nbbpe.kernels.compiler import one_compiler, plain, store

pytestmark = [
    pytest.mark.skipif(plain.is_plain(), reason="kernels are compiled by a plain njit"),
    pytest.mark.skipif(sys.platform == "win32", reason="no process waits"),
]

HOLD = """
import sys
from nbbpe.kernels.compiler.one_compiler import one_compiler
with one_compiler(sys.argv[1]):
    print("has it", flush=True)
    sys.stdin.read()
"""
ENTER = HOLD.replace("sys.stdin.read()", "")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


def holder(name: str) -> subprocess.Popen[str]:
    """A process that has the lock of a kernel until its input ends."""
    command = [sys.executable, "-c", HOLD, name]
    process = subprocess.Popen(
        command, env=processes.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "has it\n"
    return process


@pytest.mark.parametrize("how", ["ends", "is killed"])
def test_a_process_waits_for_another_that_compiles_the_kernel_and_for_no_other_kernel(how, folder):
    with holder("a.kernel") as first:
        with one_compiler.one_compiler("another.kernel"):
            pass
        entered = threading.Event()

        def enter() -> None:
            with one_compiler.one_compiler("a.kernel"):
                entered.set()

        thread = threading.Thread(target=enter)
        thread.start()
        assert not entered.wait(0.2)
        if how == "ends":
            first.communicate("")
        else:
            first.kill()
        assert entered.wait(60)
        thread.join()


def test_a_process_that_does_not_end_is_waited_for_for_a_limited_time(folder, monkeypatch):
    monkeypatch.setattr(one_compiler, "_MOST_SECONDS", 0.2)
    with holder("a.kernel") as first:
        begin = time.monotonic()
        with one_compiler.one_compiler("a.kernel"):
            assert time.monotonic() - begin >= 0.2
        first.communicate("")


def test_ctrl_c_ends_the_wait(folder):
    with holder("a.kernel") as first:
        script = "print('waiting', flush=True)\n" + ENTER
        processes.assert_ended_well(processes.interrupt(script, "a.kernel"))
        first.communicate("")


def test_without_a_folder_or_locks_no_process_waits(folder, monkeypatch):
    with holder("a.kernel") as first:
        with monkeypatch.context() as patch:
            patch.setattr(store, "writable_folder", lambda: None)
            with one_compiler.one_compiler("a.kernel"):
                pass
        with monkeypatch.context() as patch:
            patch.setattr("fcntl.lockf", no_locks)
            with one_compiler.one_compiler("a.kernel"):
                pass
        (folder / "nbbpe" / "compiling.lock").unlink()
        (folder / "nbbpe" / "compiling.lock").symlink_to("elsewhere")
        with one_compiler.one_compiler("a.kernel"):
            pass
        assert not os.path.exists(folder / "nbbpe" / "elsewhere")
        first.communicate("")


def test_the_lock_is_given_back_after_an_error(folder, monkeypatch):
    descriptors = []
    opened = one_compiler._open_lock_file
    monkeypatch.setattr(one_compiler, "_open_lock_file", lambda: descriptors.append(opened()) or descriptors[-1])
    with pytest.raises(LookupError), one_compiler.one_compiler("a.kernel"):
        raise LookupError
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptors[0])


def test_an_error_of_a_signals_handler_is_not_taken_for_the_systems(folder, monkeypatch):
    def interrupted(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr("fcntl.lockf", interrupted)
    with pytest.raises(TimeoutError), one_compiler.one_compiler("a.kernel"):
        pass


def no_locks(*_: object) -> None:
    raise OSError(37, "No locks available")


def test_of_processes_that_start_at_once_one_compiles(folder):
    script = (
        "import sys\n"
        "import numpy as np\n"
        "from nbbpe.kernels.training import word_digest as words\n"
        "print(flush=True)\n"
        "sys.stdin.readline()\n" + processes.RUN_A_KERNEL
    )
    command = [sys.executable, "-c", script]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    started = [subprocess.Popen(command, env=processes.environment(), **pipes) for _ in range(3)]
    for each in started:
        each.stdout.readline()
    for each in started:
        each.stdin.write("\n")
        each.stdin.flush()
    said = [each.communicate()[0] for each in started]
    assert sorted(said) == ["", "", "digest_words\n"]
    assert [each.returncode for each in started] == [0, 0, 0]
