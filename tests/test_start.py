"""Starting: what a process needs of kernels that it finds on disk, whatever else it does and however it was started."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import compiled
import numpy as np
import processes
import pytest
from compiled import IS_PLACED_HERE
from effort import mostly_slow

from nbbpe.kernels.compiler import kernel_files, layouts, numba_internals, obtain, plain
from nbbpe.kernels.compiler.jit import Kernel, kernel
from nbbpe.kernels.compiler.signature import boolean, int64, reads, structure, uint8, uint64
from nbbpe.kernels.training import word_digest

SMALL = """
import sys
import nbbpe
tok = nbbpe.Tokenizer({i: bytes([i]) for i in range(256)} | {256: b"th"}, [(b"t", b"h")])
def use(text="the thing"):
    return tok.decode(tok.encode(text)) == text and len(tok.encode_ordinary(text)) == len(text) - 2
"""


@pytest.fixture(scope="module")
def stored():
    """Kernels that lie where all processes look."""
    if plain.is_plain():
        pytest.skip("kernels are compiled by a plain njit")
    assert processes.run(SMALL + "print(use())").split() == ["True"]


NOT_NEEDED = ("numba", "regex", "tqdm", "importlib.metadata", *(["llvmlite"] if IS_PLACED_HERE else []))


def test_importing_nbbpe_imports_next_to_nothing():
    script = "import sys, nbbpe; print(sorted({'numpy', 'regex', 'llvmlite', 'json'} & sys.modules.keys()))"
    assert processes.run(script).strip() == "[]"


@pytest.mark.usefixtures("stored")
def test_what_encoding_does_not_need_is_not_imported():
    names = ["multiprocessing", "numpy.ma", "concurrent.futures", *NOT_NEEDED]
    # NumPy 1 imports numpy.ma by itself.
    names = processes.run(f"import sys, numpy; print(*[name for name in {names} if name not in sys.modules])").split()
    assert processes.run(SMALL + f"print(use(), [name for name in {names} if name in sys.modules])").split() == [
        "True",
        "[]",
    ]


@pytest.mark.usefixtures("stored")
def test_what_training_does_not_need_is_not_imported():
    names = ("pyarrow", "fractions", *NOT_NEEDED)
    script = f"""
import sys
import nbbpe
tok = nbbpe.train(documents=["the cat sat"] * 9, vocab_size=260)
print(len(tok), [name for name in {names} if name in sys.modules])
"""
    processes.run(script)  # so that its kernels are stored
    assert processes.run(script).split() == ["260", "[]"]


OWN = """
import numba, numpy as np
@numba.njit
def add(a, b):
    return a + b
assert add(1, 2) == 3 and add(np.ones(3), 1.5).tolist() == [2.5] * 3
"""


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    "parts",
    mostly_slow([(OWN, SMALL), (SMALL + "assert use()", OWN), (SMALL, OWN)], usual=[(SMALL, OWN)]),
    ids=["before", "after", "between"],
)
def test_functions_of_the_users_own_work_beside_ours(parts):
    count = "sum(kernel.was_compiled for kernel in nbbpe.kernels.compiler.jit.KERNELS)"
    script = "\n".join([*parts, f"print(use(), add(2, 3), {count})"])
    assert processes.run(script).split() == ["True", "5", "0"]


WORK = """
def work(number):
    return use(), "numba" in sys.modules
if __name__ == "__main__":
    import multiprocessing
    assert sys.argv[1] != "fork" or use()
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(set(pool.map(work, range(8))))
"""


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"] if sys.platform != "win32" else ["spawn"])
def test_other_processes_find_kernels_however_they_are_started(method, tmp_path):
    file = tmp_path / "job.py"
    file.write_text(SMALL + WORK)
    done = processes.ended(file, method)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "{(True, False)}"


@pytest.mark.usefixtures("stored")
def test_threads_that_all_start_at_once_share_a_kernel():
    script = """
import threading
start, found = threading.Barrier(8), []
def work():
    start.wait()
    found.append(use())
threads = [threading.Thread(target=work) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
print(found == [True] * 8)
"""
    assert processes.run(SMALL + script).split() == ["True"]


def test_a_subinterpreter_is_refused():
    script = """
try:
    import _interpreters as interpreters  # Python 3.13
except ModuleNotFoundError:
    import _xxsubinterpreters as interpreters
    create = lambda: interpreters.create(isolated=False)
else:
    create = lambda: interpreters.create("legacy")
try:
    print(interpreters.run_string(create(), "import nbbpe; nbbpe.train(iter(['a b']), 257)"))
except interpreters.RunFailedError as error:
    print(error)
"""
    assert "nbbpe's kernels run in the main interpreter only" in processes.run(script)


# Arguments


@structure(uint8[:], int64)
class Two(NamedTuple):
    text: np.ndarray
    n: int


@compiled.compile_now(reads(uint8[:]), int64[:, :], boolean, uint64, Two)
def add_up(text, numbers, flag, big, pair):
    total = np.uint64(len(pair.text) + pair.n)
    for i in range(len(text)):
        total += np.uint64(text[i])
    for i in range(numbers.shape[0]):
        for j in range(numbers.shape[1]):
            total += np.uint64(numbers[i, j])
    if flag:
        total += big
    return total, flag, numbers.shape[1]


def arguments(**others):
    usual = {
        "text": np.arange(5, dtype=np.uint8),
        "numbers": np.ones((2, 3), dtype=np.int64),
        "flag": True,
        "big": 2**63,
        "pair": Two(np.zeros(2, dtype=np.uint8), 3),
    }
    return tuple((usual | others).values())


def test_arguments_reach_a_kernel_as_they_are():
    assert add_up(*arguments()) == (21 + 2**63, True, 3)
    assert add_up(*arguments(flag=False)) == (21, False, 3)
    assert add_up(*arguments(big=np.uint64(5), numbers=np.zeros((0, 7), dtype=np.int64))) == (20, True, 7)
    assert add_up(*arguments(text=np.frombuffer(b"\1\2", dtype=np.uint8))) == (14 + 2**63, True, 3)
    mapped = np.arange(5, dtype=np.uint8).view(np.memmap)
    assert add_up(*arguments(text=mapped, pair=Two(mapped, np.int64(-1))))[0] == 20 + 2**63
    assert [type(each) for each in add_up(*arguments())] == [int, bool, int]


def closed():
    array = np.ones((2, 3), dtype=np.int64)
    array.flags.writeable = False
    return array


def unaligned():
    return np.frombuffer(bytearray(49), dtype=np.uint8)[1:].view(np.int64).reshape(2, 3)


WRONG = [
    ({"text": np.zeros(3, dtype=np.int8)}, "takes uint8.:. as argument 1, in C order"),
    ({"text": np.zeros(3, dtype=bool)}, "takes uint8.:. as argument 1, in C order"),
    ({"text": np.zeros((3, 1), dtype=np.uint8)}, "takes uint8.:. as argument 1, in C order"),
    ({"text": np.zeros(6, dtype=np.uint8)[::2]}, "in C order"),
    ({"text": b"abc"}, "takes uint8.:. as argument 1, not another object"),
    ({"text": None}, "takes uint8.:. as argument 1, not another object"),
    ({"numbers": np.ones((2, 3), dtype=">i8")}, "in native byte order"),
    ({"numbers": np.ones((2, 3), dtype=np.uint64)}, "takes int64.:, :. as argument 2"),
    ({"numbers": np.ones((2, 3), dtype="m8[s]")}, "takes int64.:, :. as argument 2"),
    ({"numbers": np.ones((2, 3), order="F", dtype=np.int64)}, "in C order"),
    ({"numbers": closed()}, "that can be written to"),
    ({"numbers": unaligned()}, "aligned"),
    ({"big": 1.5}, "cannot be interpreted as an integer"),
    ({"big": "1"}, "cannot be interpreted as an integer"),
    ({"pair": (np.zeros(2, dtype=np.uint8), 3)}, "takes a Two as argument 5"),
    ({"pair": None}, "takes a Two as argument 5"),
    ({"pair": Two(np.frombuffer(b"\1", dtype=np.uint8), 3)}, "takes uint8.:. as text of argument 5"),
]


@pytest.mark.skipif(plain.is_plain(), reason="a plain njit has messages of its own")
@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_other_arguments_are_refused(wrong, message):
    with pytest.raises(TypeError, match=message):
        add_up(*arguments(**wrong))


@pytest.mark.skipif(plain.is_plain(), reason="a plain njit has messages of its own")
def test_numbers_that_do_not_fit_and_other_numbers_of_arguments_are_refused():
    for big in -1, 2**64:
        with pytest.raises(OverflowError):
            add_up(*arguments(big=big))
    with pytest.raises(OverflowError):
        add_up(*arguments(pair=Two(np.zeros(2, dtype=np.uint8), 2**63)))
    for n in 0, 4, 6:
        with pytest.raises(TypeError, match="takes 5 arguments"):
            add_up(*(*arguments(), 1)[:n])
    with pytest.raises(TypeError):
        add_up(*arguments()[:4], pair=None)


@pytest.mark.parametrize("others", [{}, {"text": None}, {"big": -1}, {"pair": None}], ids=repr)
def test_no_references_are_kept_or_lost(others):
    add_up(*arguments())  # where it is compiled first, this takes references of its own
    given = arguments(**others)
    before = [sys.getrefcount(each) for each in (*given, None, True)]
    for _ in range(300):
        try:
            add_up(*given)
        except (TypeError, OverflowError):
            assert others
    after = [sys.getrefcount(each) for each in (*given, None, True)]
    assert all(abs(now - then) < 100 for now, then in zip(after, before, strict=True))


# The plain way


def add_one(x):
    return x + 1


@pytest.fixture
def as_known(monkeypatch) -> None:
    """Numba is as it is known, so far; whatever a test finds is forgotten after it."""
    monkeypatch.setattr(plain, "_took_over", False)


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


@pytest.mark.usefixtures("as_known")
def test_what_is_not_as_known_in_numba_gives_one_warning_and_the_same_results(monkeypatch, tmp_path):
    def fail(*_: object) -> bytes:
        raise AttributeError("'Library' object has no attribute 'finalize'\nand more")

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("NUMBA_BOUNDSCHECK", raising=False)
    monkeypatch.setattr(numba_internals, "compile_to_object", fail)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for function, types in (word_digest.digest_words.function, word_digest.digest_words.types), (add_one, (int64,)):
            found = Kernel(function, types).obtained()
            assert found.was_compiled
    (warning,) = (each for each in caught if "plain njit" in str(each.message))
    assert "AttributeError: 'Library' object has no attribute 'finalize'): kernels" in str(warning.message)
    assert found.entry(1) == 2


@pytest.mark.usefixtures("as_known")
def test_where_a_program_has_disabled_the_jit_kernels_are_compiled_as_ever(monkeypatch):
    from numba.core import config

    def double(number):
        return 2 * number

    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.delenv("NUMBA_BOUNDSCHECK", raising=False)
    monkeypatch.setattr(obtain, "_stored", lambda _: None)
    monkeypatch.setattr(obtain, "store", lambda *_: None)
    config.reload_config()  # which would take it back
    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    assert Kernel(double, (int64,))(21) == 42
    assert config.DISABLE_JIT == 1
    assert not plain.is_plain()


@pytest.mark.parametrize(
    "why",
    [ImportError("No module named 'numba'", name="numba"), layouts.UnknownLayout("it is free-threaded")],
    ids=["no numba", "layout"],
)
@pytest.mark.usefixtures("as_known")
def test_what_a_plain_njit_cannot_help_is_an_error(why):
    with pytest.raises(type(why), match=r"No module named 'numba'|do not run with this Python: it is free-threaded"):
        plain.take_over(why)
    assert not plain._took_over
    with pytest.warns(RuntimeWarning, match="plain njit"):
        plain.take_over(ModuleNotFoundError("No module named 'numba.core.compiler_lock'", name="numba.core.compiler_lock"))


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False),
        lambda patch: patch.setattr(sys, "abiflags", "t"),
        lambda patch: patch.setattr(layouts, "_word", lambda *_: 0),
        lambda patch, read=layouts._word: patch.setattr(
            layouts, "_word", lambda item, at, size=8: ord("x") if size == 1 else read(item, at, size)
        ),
    ],
    ids=["no lock", "free-threaded build", "other objects", "other dtypes"],
)
def test_a_python_that_keeps_objects_elsewhere_is_refused(change, monkeypatch):
    assert layouts.layouts.__wrapped__() == layouts.layouts()
    change(monkeypatch)
    with pytest.raises(RuntimeError, match="nbbpe's kernels do not run with this Python: "):
        layouts.layouts.__wrapped__()


CORE = """
import sys
import nbbpe
from nbbpe.kernels.compiler import plain
if sys.argv[1:]:
    plain.take_over(AttributeError("tried"))
text = "It's the cat's mat, isn't it? 12 é 中文 \\n\\n  x/y 's" * 20 + "a" * 700 + " ".join(map(str, range(3000)))
for pattern, tie_break in ("gpt2", "bytes"), (r"\\w+|\\W+", "ids"), (None, "huggingface"):
    tok = nbbpe.train(iter([text, b"\\xff<|s|>"]), 400, ["<|s|>"], pattern=pattern, tie_break=tie_break)
    for each in text, "é" * 99, b"\\xff\\xfe", "", "a<|s|>b", "x" * 20_000:
        ids = tok.encode(each)
        assert tok.decode_bytes(ids) == (each if isinstance(each, bytes) else each.encode())
        print(hash(tuple(ids)), len(tok.encode_ordinary(each)), tok.count(each))
    print(tok.fingerprint, tok.decode([104, 105] * 20_000)[:30])
print(plain.is_plain())
"""
ONE_KERNEL = """
import sys
import numpy as np
from nbbpe.kernels.compiler import plain
from nbbpe.training import first_pairs
from nbbpe.counting.word_counts import WordCounts
if sys.argv[1:]:
    plain.take_over(AttributeError("tried"))
text = np.frombuffer(b"the cat sat", dtype=np.uint8)
words = WordCounts(text, np.array([0, 3, 7, 11], dtype=np.int64), np.array([1, 5, 2], dtype=np.int64))
linked, table = first_pairs.pairs_of_bytes(words, 300, 1)
n = int(table.state[0])
print(*(np.asarray(each).tolist() for each in linked), n, table.state[1])  # the other numbers are of a secret
print(*(getattr(table, name)[:n].tolist() for name in ("rows", "starts", "lengths", "occurrences")))
print(plain.is_plain())
"""


PLAIN = {
    "taken over": (["x"], {}),
    "disable_jit": ([], {"NUMBA_DISABLE_JIT": "1"}),
    "boundscheck": ([], {"NUMBA_BOUNDSCHECK": "1"}),
}


# All kernels take a plain njit twenty seconds.
@pytest.mark.parametrize("script", mostly_slow([ONE_KERNEL, CORE], usual=[ONE_KERNEL]), ids=["one kernel", "all"])
@pytest.mark.parametrize("way", mostly_slow(PLAIN, usual=["taken over", "boundscheck"]))
@pytest.mark.usefixtures("stored")
def test_the_plain_way_gives_the_same(script, way, tmp_path):
    argument, settings = PLAIN[way]
    expected = processes.run(script).splitlines()
    assert expected[-1] == "False"
    found = processes.run(script, *argument, **settings, NUMBA_CACHE_DIR=str(tmp_path)).splitlines()
    assert found[-1] == "True"
    assert found[:-1] == expected[:-1]
    assert list(tmp_path.glob("nbbpe/plain-*/**/*.nbi"))
    assert not list(tmp_path.glob("nbbpe/*.nbk"))


@pytest.mark.usefixtures("as_known")
def test_warmup_goes_the_plain_way_where_it_must_and_writes_nothing_for_others(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    folder, was_compiled = obtain.obtain_object(Kernel(add_one, (int64,)))
    assert folder is not None
    assert folder.startswith(str(tmp_path))
    assert was_compiled
    assert plain.count_stored() == {folder: 1}
    assert obtain.obtain_object(Kernel(add_one, (int64,))) == (folder, False)
    with pytest.raises(RuntimeError, match="cannot be written to a folder for others"):
        obtain.obtain_object(Kernel(add_one, (int64,)), str(tmp_path / "others"))


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_work_whose_thread_fails_to_start_is_done_once_or_left(monkeypatch, error, runs):
    start, done = threading.Thread.start, []

    def fail(thread: threading.Thread) -> None:
        if runs:
            start(thread)
            time.sleep(0.1)  # it has begun
        raise error

    def work() -> str:
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
    done = []

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)
        done.append(True)

    with pytest.raises(KeyboardInterrupt):
        obtain._uninterrupted(work)
    assert not done
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
    assert has_begun.wait(10)
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
        leave.wait(10)
        obtain._unlock_after_fork()

    thread = threading.Thread(target=fork_slowly)
    thread.start()
    assert entered.wait(10)
    obtain._unlock_after_fork()  # as after Ctrl-C while this thread waited
    leave.set()
    thread.join()
    assert obtain.lock().acquire(timeout=1)
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


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such signal")
@pytest.mark.usefixtures("as_known")
def test_an_error_of_a_signals_handler_is_not_taken_for_numbas(monkeypatch):
    def end(*_: object) -> None:
        raise TimeoutError("that took too long")

    monkeypatch.setattr(obtain, "_stored", lambda _: None)
    monkeypatch.setattr(obtain, "compiled", lambda _: time.sleep(0.5) or b"")
    monkeypatch.setattr(obtain, "store", lambda *_: None)
    before = signal.signal(signal.SIGALRM, end)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(TimeoutError, match="that took too long"):
            obtain.obtain(word_digest.digest_words)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
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


def test_a_kernel_that_declares_the_type_of_its_result_too_is_an_error_where_it_is_declared():
    def add_one(number):
        return number + 1

    with pytest.raises(TypeError, match=r"^@kernel of add_one declares 2 types for 1 arguments; the type of the result"):
        kernel(int64, int64)(add_one)
