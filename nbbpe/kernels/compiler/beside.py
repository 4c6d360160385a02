"""A second process that compiles some of the kernels that a job needs, while this process compiles the others.

The first use on a machine takes seconds, all of them in Numba, which uses one processor. The other process only stores the
kernels that it compiles: they are found, checked and loaded as any stored kernel. A thread that needs a kernel of its list
waits for it.

We must not wait in vain, leave a process running, or start too many. So this process works alone if there is only one
processor, no folder to store kernels in, or no Python to start (a frozen application); if it is a worker process; and if
another process has a second process for the same store, which a lock on the folder shows. If the second process dies, or is
not ready in time, the kernel is compiled here. It ends when its input ends: when this process ends, or no longer waits.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from . import kernel_files, obtain, plain, store
from .one_compiler import one_compiler

_MOST_SECONDS = 60.0  # to wait for a kernel
_END_SECONDS = 2.0  # to wait for the other process to end by itself
# With exactly the module search path of this process, and without the current folder, which may be a stranger's.
_SCRIPT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {module} import serve; serve(sys.argv[2:])"
_current: _Beside | None = None


class _Beside:
    """The process that compiles kernels, as seen by the process that waits for them.

    awaited : the names of the kernels that it has not stored yet
    """

    def __init__(self, kernels: Sequence[Any], lock: int) -> None:
        import json  # not at the top: most processes find their kernels stored, and need neither
        import subprocess

        self.awaited = {kernel.name for kernel in kernels}
        self._output = b""
        places = [f"{kernel.__module__}:{kernel.__name__}" for kernel in kernels]
        script = _SCRIPT.format(module=__name__)
        command = [sys.executable, "-I", *options_for_bytecode(), "-c", script, json.dumps(sys.path), *places]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=(lock,), bufsize=0
        )

    def wait_for(self, name: str) -> None:
        """Wait until a kernel is stored, or will not be. After an error, such as Ctrl-C, the other process has ended."""
        if name not in self.awaited:  # also after the process has ended, when there is no pipe to wait for
            return
        assert self.process.stdout is not None
        poll = select.poll()
        poll.register(self.process.stdout, select.POLLIN | select.POLLHUP)
        until = time.monotonic() + _MOST_SECONDS
        try:
            while name in self.awaited:
                ready = poll.poll(max(0.0, until - time.monotonic()) * 1000)
                data = os.read(self.process.stdout.fileno(), 4096) if ready else b""
                if not data:
                    self.end()
                self._output += data
                self.awaited.difference_update(self._output.decode().split("\n")[:-1])
                if not self.awaited:  # nobody else would wait for its end
                    self.end()
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """End the process: close its input, wait a moment, and kill it. It stores nothing more."""
        self.awaited.clear()
        self.let_go()
        until = time.monotonic() + _END_SECONDS
        while self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        self.process.kill()
        self.process.wait()

    def let_go(self) -> None:
        """Close this process's ends of the pipes."""
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()


def compile_beside(kernels: Sequence[Any]) -> None:
    """Start a process that compiles and stores these kernels, in this order, unless the first is stored; see above."""
    # Nothing to do while a thread obtains a kernel: it may be waiting for the process of an earlier call.
    lock = obtain.lock()
    if lock.acquire(blocking=False):
        try:
            _compile_beside(kernels)
        finally:
            lock.release()


def _compile_beside(kernels: Sequence[Any]) -> None:
    global _current
    if (
        (_current is not None and _current.awaited)  # one at a time
        or kernels[0].was_obtained
        or plain.is_plain()
        or kernel_files.read(kernels[0].name) is not None
    ):
        return
    _end()
    with contextlib.suppress(OSError, ValueError, TypeError):  # no such program, or a strange module search path
        lock = _lock() if may_start() else None
        if lock is not None:
            obtain.wait_before_forks()
            try:
                _current = _Beside(kernels, lock)
            finally:
                os.close(lock)
            obtain.wait_elsewhere = _current.wait_for
            atexit.unregister(_end)
            atexit.register(_end)


def options_for_bytecode() -> list[str]:
    """Options that make another Python write bytecode as this one does, since `-I` ignores the environment."""
    options = ["-B"] if sys.dont_write_bytecode else []
    return options + (["-X", f"pycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else [])


def is_python() -> bool:
    """Whether `sys.executable` starts another Python: not if Python is part of another program."""
    return os.path.basename(sys.executable or "").lower().startswith("python") and not getattr(sys, "frozen", False)


def may_start() -> bool:
    """Whether a second process can be started from this one, and has a processor to run on."""
    # A worker of multiprocessing has this imported. A daemonic worker must have no children, and there may be many others.
    processes = sys.modules.get("multiprocessing.process")
    if not is_python() or not hasattr(select, "poll") or (processes and processes.parent_process() is not None):
        return False
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return usable > 1 and _is_idle()


def _is_idle() -> bool:
    """Whether fewer threads run now than the machine has processors, as far as the system says that."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/loadavg", encoding="ascii") as file:
        return int(file.read().split()[3].partition("/")[0]) < (os.cpu_count() or 1)
    return True


def _lock() -> int | None:
    """Lock the folder of the store. Returns a descriptor that keeps it locked while any process has it open, or None."""
    folder = store.writable_folder()
    if folder is None:
        return None
    import fcntl  # systems with `poll` have it

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _end() -> None:
    global _current
    if _current is not None:
        obtain.wait_elsewhere = None
        _current.end()
        _current = None


def _after_fork() -> None:
    """Let go of the other process: it is no child of this forked process, and must be able to end while this one runs."""
    global _current
    if _current is not None:
        obtain.wait_elsewhere = None
        _current.let_go()
        _current.process.returncode = 0  # only its parent can wait for it
        _current = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# In the other process

_storing = threading.Lock()


def serve(places: Sequence[str]) -> None:
    """Compile and store kernels, each given as "module:name", and print the name of each when it is stored."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to us, too, but our parent decides
    threading.Thread(target=_end_with_input, daemon=True).start()
    for place in places:
        module, _, name = place.partition(":")
        kernel = getattr(importlib.import_module(module), name)
        with one_compiler(kernel_files.name_of(kernel.name)):
            if kernel_files.read(kernel.name) is None:
                content = obtain.compiled(kernel)
                with _storing:
                    obtain.store(kernel, content)
        print(kernel.name, flush=True)


def _end_with_input() -> None:
    """End this process when our parent has closed our input, but leave no half-written file."""
    os.read(0, 1)
    with _storing:
        os._exit(1)
