"""Starting: what a process needs of kernels that it finds on disk, whatever else it does and however it was started."""

from __future__ import annotations

import sys

import processes
import pytest
from compiled import IS_PLACED_HERE
from effort import mostly_slow

from nbbpe.kernels.compiler import plain

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
def test_what_loading_does_not_need_is_not_imported(tmp_path):
    folder = str(tmp_path / "saved")
    processes.run(f"import nbbpe; nbbpe.train(documents=['the cat sat'] * 9, vocab_size=260).save({folder!r})")
    script = f"""
import sys
import nbbpe
tok = nbbpe.load({folder!r})
print(len(tok.encode("the cat")) > 0, [name for name in {NOT_NEEDED} if name in sys.modules])
"""
    assert processes.run(script).split() == ["True", "[]"]


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
