"""kernels/compiler/obtain.py: Ctrl-C, forks, threads and errors while a kernel is compiled or loaded."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import processes
import pytest

from nbbpe.kernels.compiler import kernel_files, obtain, plain
from nbbpe.kernels.compiler.jit import Kernel
from nbbpe.kernels.training import word_digest

INTERRUPTED = """
import signal, sys
from nbbpe.kernels.compiler import obtain
from nbbpe.kernels.compiler.jit import Kernel, kernel
from nbbpe.kernels.compiler.signature import int64
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
def add_one(x):
    return x + 1
kernel = Kernel(add_one, (int64,))
try:
    kernel(1)
except KeyboardInterrupt:
    print("interrupted", kernel(1), obtain.plain.is_plain())
    print(Kernel(add_one, (int64,)).was_compiled)
"""


@pytest.mark.parametrize("module", ["numba.core.types", "numba.core.typed_passes"])
def test_after_ctrl_c_while_a_kernel_is_compiled_the_next_call_works(module, tmp_path):
    said = processes.run(INTERRUPTED, module, NUMBA_CACHE_DIR=str(tmp_path)).split()
    assert said == ["interrupted", "2", "False", "False"]


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_work_whose_thread_fails_to_start_is_done_once_or_left(monkeypatch, error, runs):
    start, done, has_begun = threading.Thread.start, [], threading.Event()

    def fail(thread: threading.Thread) -> None:
        if runs:
            start(thread)
            assert has_begun.wait(60)
        raise error

    def work() -> str:
        has_begun.set()
        time.sleep(0.3)
        done.append(True)
        return "a kernel"

    monkeypatch.setattr(obtain, "_unfinished", None)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        if error is RuntimeError:  # as where the system has no more threads
            assert obtain._uninterrupted(work) == "a kernel"
        else:
            with pytest.raises(error):
                obtain._uninterrupted(work)
    obtain._finish()
    assert len(done) == (runs or error is RuntimeError)
    assert obtain._uninterrupted(work) == "a kernel"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_waits_for_what_is_compiled_for_a_call_that_was_interrupted(monkeypatch):
    monkeypatch.setattr(obtain, "_unfinished", None)
    done, is_answered = [], threading.Event()

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        is_answered.wait(60)
        time.sleep(0.3)
        done.append(True)

    with pytest.raises(KeyboardInterrupt):
        obtain._uninterrupted(work)
    assert not done
    is_answered.set()
    child = processes.fork(lambda: None)
    assert done
    assert processes.exit_code(child) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_waits_for_what_another_thread_compiles(monkeypatch):
    compiling: list[bool] = []
    has_begun = threading.Event()

    def compile_slowly(_: Kernel) -> bytes:
        compiling.append(True)
        has_begun.set()
        time.sleep(0.1)
        compiling.pop()
        return b""

    monkeypatch.setattr(obtain, "_stored", lambda _: None)
    monkeypatch.setattr(obtain, "compiled", compile_slowly)
    monkeypatch.setattr(obtain, "store", lambda *_: None)
    monkeypatch.setattr(obtain, "loaded", lambda *_: None)
    thread = threading.Thread(target=lambda: [obtain.obtain(word_digest.digest_words) for _ in range(3)])
    thread.start()
    assert has_begun.wait(60)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
        child = os.fork()
    if child == 0:
        os._exit(len(compiling))
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    with obtain.lock():  # which nobody has kept
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_of_the_thread_that_compiles_does_not_wait_for_itself():
    script = (
        "import os\n"
        "from nbbpe.kernels.compiler import obtain\n"
        "from nbbpe.kernels.training import word_digest\n"
        "def fork(_):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        os._exit(0)\n"
        "    return b'' if os.waitpid(child, 0)[1] == 0 else None\n"
        "obtain._stored, obtain.compiled = lambda _: None, fork\n"
        "obtain.store, obtain.loaded = lambda *_: None, lambda *arguments: arguments[1]\n"
        "print(obtain.obtain(word_digest.digest_words))\n"
    )
    assert processes.run(script).split() == ["b''"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_that_did_not_wait_leaves_the_lock_to_the_thread_that_has_it(monkeypatch):
    monkeypatch.setattr(obtain, "_locked_for_forks", [])
    entered, leave = threading.Event(), threading.Event()

    def fork_slowly() -> None:
        obtain._lock_for_fork()
        entered.set()
        leave.wait(60)
        obtain._unlock_after_fork()

    thread = threading.Thread(target=fork_slowly)
    thread.start()
    assert entered.wait(60)
    obtain._unlock_after_fork()  # as after Ctrl-C while this thread waited
    leave.set()
    thread.join()
    assert obtain.lock().acquire(timeout=60)
    obtain.lock().release()


@pytest.mark.usefixtures("as_known")
def test_a_thread_deep_in_recursion_has_its_kernel_compiled(monkeypatch):
    depth = sys.getrecursionlimit() // 2 + 10

    def deep(function: Callable[[], Any], n: int = depth) -> Any:
        return deep(function, n - 1) if n else function()

    monkeypatch.setattr(obtain, "_stored", lambda _: None)
    monkeypatch.setattr(obtain, "compiled", lambda _: deep(lambda: b"compiled"))
    monkeypatch.setattr(obtain, "store", lambda *_: None)
    monkeypatch.setattr(obtain, "loaded", lambda *arguments: arguments[1])
    with ThreadPoolExecutor(1) as thread:
        found: Any = thread.submit(deep, lambda: obtain.obtain(word_digest.digest_words)).result()
    assert found == b"compiled"


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this system has no such signal")
@pytest.mark.usefixtures("as_known")
def test_an_error_of_a_signals_handler_is_not_taken_for_numbas(monkeypatch):
    is_answered = threading.Event()

    def end(*_: object) -> None:
        raise TimeoutError("that took too long")

    def compile_until_it_is_answered(_: Kernel) -> bytes:
        os.kill(os.getpid(), signal.SIGALRM)
        is_answered.wait(60)
        return b""

    monkeypatch.setattr(obtain, "_stored", lambda _: None)
    monkeypatch.setattr(obtain, "compiled", compile_until_it_is_answered)
    monkeypatch.setattr(obtain, "store", lambda *_: None)
    before = signal.signal(signal.SIGALRM, end)
    try:
        with pytest.raises(TimeoutError, match="that took too long"):
            obtain.obtain(word_digest.digest_words)
    finally:
        signal.signal(signal.SIGALRM, before)
        is_answered.set()
        obtain._finish()
    assert not plain.is_plain()


@pytest.mark.usefixtures("as_known")
@pytest.mark.parametrize("error", [RuntimeError("that took too long"), RecursionError()], ids=["handler", "recursion"])
@pytest.mark.parametrize("is_stored", [True, False])
def test_an_error_while_a_kernel_is_loaded_is_not_taken_for_a_bad_kernel(monkeypatch, error, is_stored):
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(kernel_files, "read", lambda _: (b"", "") if is_stored else None)
    monkeypatch.setattr(obtain, "compiled", lambda _: b"")
    monkeypatch.setattr(obtain, "store", lambda *_: None)
    monkeypatch.setattr(obtain, "loaded", fail)
    with pytest.raises(type(error)):
        obtain.obtain(word_digest.digest_words)
    assert not plain.is_plain()


@pytest.mark.usefixtures("as_known")
@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(24, "Too many open files"),
        RecursionError(),
        ImportError("failed to map segment from shared object", name="numba._helperlib", path="/numba/_helperlib.so"),
    ],
    ids=["memory", "files", "recursion", "memory for a library"],
)
def test_what_the_system_lacks_is_not_taken_for_another_numba(monkeypatch, error):
    def fail(_: Kernel) -> bytes:
        raise error

    monkeypatch.setattr(obtain, "_stored", lambda _: None)
    monkeypatch.setattr(obtain, "compiled", fail)
    with pytest.raises(type(error)):
        obtain.obtain(word_digest.digest_words)
    assert not plain.is_plain()
