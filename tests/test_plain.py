"""kernels/compiler/plain.py: where Numba is not as known, a plain njit compiles kernels, or an error says why none can."""

from __future__ import annotations

import sys
import warnings

import processes
import pytest
from effort import mostly_slow

from nbbpe.kernels.compiler import layouts, numba_internals, obtain, plain
from nbbpe.kernels.compiler.jit import Kernel
from nbbpe.kernels.compiler.signature import int64
from nbbpe.kernels.training import word_digest


def add_one(x):
    return x + 1


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
@pytest.mark.skipif(plain.is_plain(), reason="kernels are compiled by a plain njit")
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
