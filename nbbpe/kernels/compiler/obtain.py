"""How every process gets a kernel: read it from disk and load it, or else compile, store and load it."""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from . import kernel_files, plain
from .collector import paused_collector
from .loader import load
from .notices import say
from .one_compiler import one_compiler
from .signature import Array, Scalar
from .symbols import UnknownObject, addresses, check, referred

T = TypeVar("T")
_JOIN_SECONDS = 0.2  # between two checks whether a thread is done; system/waiting.py says why waits have a timeout


class Obtained(NamedTuple):
    """A kernel that can be called.

    entry        : takes its arguments by position
    folder       : the folder that it was read from or written to; None for no folder
    was_compiled : whether this process compiled it
    direct       : the address that other kernels call, if the kernel was declared with the type of its result; else 0
    """

    entry: Callable[..., Any]
    folder: str | None
    was_compiled: bool
    direct: int = 0


# Set while a second process compiles kernels, see beside.py: waits until that has stored the kernel of this name, or will
# not store it.
wait_elsewhere: Callable[[str], None] | None = None
_direct: dict[str, Any] = {}  # kernels whose object code other kernels call, by their names in that code
_lock = threading.RLock()
_locked_for_forks: list[tuple[int, Any]] = []  # (id of the thread that holds the lock while it forks, the lock)
FIRST_USE = (
    "compiling kernels for the first use of this kind on this machine, 5 to 30 seconds (`python -m nbbpe warmup` compiles "
    "all) ..."
)
notice = FIRST_USE  # printed once; `nbbpe warmup` replaces it


# The thread that compiles now, perhaps for a call that was interrupted, and an event that is set when it is done. (After an
# interrupted `join`, a thread seems to have ended.)
_unfinished: tuple[threading.Thread, threading.Event] | None = None


def _after_fork() -> None:
    """Start afresh in a forked process, which has neither the thread that held the lock nor the one that compiles."""
    global _lock, _unfinished
    _lock, _unfinished = threading.RLock(), None
    _locked_for_forks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@functools.cache
def wait_before_forks() -> None:
    """Make forks wait until no thread compiles a kernel or starts a process, and keep threads from that until the fork.

    Otherwise a forked process would wait forever for Numba's lock, which no thread releases there. And it would keep open
    the pipes of a process that is just being started, so that nobody would see that process end.
    """
    # Hooks registered last run first: so a fork waits here before it takes the lock of `logging`, which Numba may need.
    importlib.import_module("logging")
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_lock_for_fork, after_in_parent=_unlock_after_fork)


def _lock_for_fork() -> None:
    lock = _lock
    if _unfinished is not None and _unfinished[0] is threading.current_thread():
        return  # this thread compiles, and the one that holds the lock waits for it
    while not lock.acquire(timeout=_JOIN_SECONDS):
        pass
    _locked_for_forks.append((threading.get_ident(), lock))
    _finish()


def _unlock_after_fork() -> None:
    # Not if Ctrl-C ended the wait (Python only prints that, and forks): then another thread may hold the lock.
    if _locked_for_forks and _locked_for_forks[-1][0] == threading.get_ident():
        _locked_for_forks.pop()[1].release()


def lock() -> Any:
    """The lock that a thread holds while it obtains a kernel."""
    return _lock


def direct_name_of(kernel: Any) -> str:
    """The name of a kernel in the object code of other kernels that call it."""
    return f"nbbpe_direct_{kernel.name.replace('.', '_')}"


def declare_direct(kernel: Any) -> None:
    """Let a kernel be found by its name in the object code of other kernels."""
    _direct[direct_name_of(kernel)] = kernel


def obtain(kernel: Any) -> Obtained:
    """Read or compile a kernel, see jit.Kernel, and load it."""
    with _lock:
        _finish()
        if not plain.is_plain():
            found = _stored(kernel)
            if found is None and wait_elsewhere is not None:
                wait_elsewhere(kernel.name)
                found = _stored(kernel)
            if found is not None:
                return found
            with one_compiler(kernel_files.name_of(kernel.name)):
                found = _stored(kernel)  # perhaps by the process that had the lock before
                if found is not None:
                    return found
                done = _uninterrupted(lambda: _compiled_and_stored(kernel, None))
            if not isinstance(done, Exception):
                try:
                    return loaded(kernel, *done, True)
                except UnknownObject as error:
                    done = error
            plain.take_over(done)
        return Obtained(*_uninterrupted(lambda: plain.compiled(kernel, _say_once)))


def obtain_object(kernel: Any, into: str | None = None) -> tuple[str | None, bool]:
    """Make sure that a kernel is stored in the folder `into`, by default in one that processes search. Returns (the folder,
    whether it was compiled).

    It is not loaded, as it may be for another processor. With `into`, raises RuntimeError if a plain `njit` compiles, which
    cannot compile for other processors.
    """
    with _lock, one_compiler(kernel_files.name_of(kernel.name, into)):
        _finish()
        content, folder = (b"", None) if plain.is_plain() else kernel_files.read(kernel.name) or (b"", None)
        if content and into is None:
            return folder, False
        if content:
            return kernel_files.write(kernel.name, content, into), False
        if not plain.is_plain():
            done = _uninterrupted(lambda: _compiled_and_stored(kernel, into))
            if not isinstance(done, Exception):
                return done[1], True
            plain.take_over(done)
        if into is not None:
            raise RuntimeError(
                "kernels that a plain njit compiles cannot be written to a folder for others: unset NUMBA_BOUNDSCHECK and "
                "NUMBA_DISABLE_JIT, and use a version of Numba that nbbpe knows"
            )
        found = kernel.obtained()
        return found.folder, found.was_compiled


def _stored(kernel: Any) -> Obtained | None:
    """Load a kernel from disk; None if no stored one can be used."""
    found = kernel_files.read(kernel.name)
    if found is None:
        return None
    content, folder = found
    try:
        return loaded(kernel, content, folder, False)
    except UnknownObject:
        return None


def loaded(kernel: Any, content: bytes, folder: str | None, was_compiled: bool) -> Obtained:
    """Load a kernel from its object code. Raises UnknownObject."""
    allowed = addresses(structures_of(kernel.types))
    for name in sorted(referred(content).intersection(_direct)):
        allowed[name] = _direct[name].obtained().direct
        if not allowed[name]:
            raise UnknownObject(f"{name} is compiled by a plain njit, which gives it no address")
    entry, (_, *direct) = load(content, _functions_of(kernel), kernel.__name__, allowed)
    return Obtained(entry, folder, was_compiled, *direct)


def _uninterrupted(work: Callable[[], T]) -> T:
    """Call `work` in a thread, where neither Ctrl-C nor a deep stack interrupts it, and return its result.

    An exception in the middle of an import of Numba, or of its set-up at the first use, would leave Numba unusable in this
    process.
    """
    global _unfinished
    wait_before_forks()
    results: list[T] = []
    errors: list[BaseException] = []

    begun = threading.Lock()  # whoever acquires it does the work, or sees that nobody does
    done = threading.Event()

    def run() -> None:
        if not begun.acquire(blocking=False):
            return
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=run, daemon=True)
    try:
        _unfinished = thread, done
        thread.start()
    except BaseException as error:
        # Ctrl-C in `start` may come before the thread runs, leave it waiting for ever in Python's code, or become a
        # RuntimeError of a lock while it runs.
        is_mine = begun.acquire(blocking=False)  # then the thread will not do the work
        if is_mine:
            _unfinished = None
        if not isinstance(error, RuntimeError):
            raise
        if is_mine:  # the system has no more threads
            return work()
    # LLVM must not be running when the process ends.
    atexit.unregister(_finish)
    atexit.register(_finish)
    _finish()
    if errors:
        raise errors[0]
    return results[0]


def _finish() -> None:
    """Wait for a thread that compiles for a call that was interrupted."""
    if _unfinished is not None:
        thread, done = _unfinished
        while thread is not threading.current_thread() and not done.wait(_JOIN_SECONDS):
            pass


def _compiled_and_stored(kernel: Any, into: str | None) -> tuple[bytes, str | None] | Exception:
    """Compile and store a kernel. Returns (object code, the folder that it was written to), or the compiler's exception.

    That is returned, not raised, to tell it from an exception that is raised while the caller waits: this may come from a
    signal's handler, such as a timeout, and says nothing about Numba.
    """
    try:
        content = compiled(kernel)
    except Exception as error:
        return error
    return content, store(kernel, content, into)


def store(kernel: Any, content: bytes, into: str | None = None) -> str | None:
    """Write compiled code, see kernel_files.write, unless it depends on settings that the file name does not show."""
    internals = sys.modules.get(f"{__package__}.numba_internals")  # missing only in tests: nothing is compiled without it
    settings = internals.settings_of_its_own() if internals else []
    if settings:
        _say_why_none_is_kept(", ".join(settings))
        return None
    return kernel_files.write(kernel.name, content, into)


@functools.cache
def _say_why_none_is_kept(settings: str) -> None:
    say(
        "kernels that are compiled now are not stored, as .numba_config.yaml or numba.config has other settings than the "
        f"environment ({settings}): set them in the environment, before nbbpe is imported"
    )


def compiled(kernel: Any) -> bytes:
    """Compile a kernel, and return its object code."""
    _say_once()
    from .entry import emit_functions
    from .numba_internals import compile_to_object

    emit = functools.partial(emit_functions, kernel)
    with paused_collector():
        content = compile_to_object(kernel.dispatcher(), kernel.types, _functions_of(kernel), emit)
    check(content, {*addresses(structures_of(kernel.types)), *_direct})
    return content


@functools.cache
def _say_once() -> None:
    """Tell the user that kernels are being compiled, because the first use then takes seconds."""
    say(notice)


def entry_of(kernel: Any) -> str:
    """The name of a kernel's entry in its object code."""
    return f"nbbpe_{kernel.name.replace('.', '_')}"


def _functions_of(kernel: Any) -> list[str]:
    """The names of the functions in a kernel's object code."""
    return [entry_of(kernel), *([direct_name_of(kernel)] if kernel.returns is not None else [])]


def structures_of(types: tuple[Any, ...]) -> list[type]:
    """The NamedTuples among the arguments of a kernel."""
    return [each for each in types if isinstance(each, type) and not isinstance(each, (Scalar, Array))]
