"""Numbers and nulls of Arrow arrays are those that pyarrow's own conversions give; and these are not called."""

from __future__ import annotations

import random

import numpy as np
import processes
import pytest

from nbbpe.sources.tables.arrow_numpy import arrow_numbers, is_valid, numpy_numbers, validity

pa = pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "nbbpe[data]"')

# Which of the slow modules does a call look for? Whether they are installed makes no difference.
WATCH = """
import sys
import nbbpe, numpy as np, pyarrow as pa
from nbbpe import arrow_functions
sought = []

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "pyarrow.compute"):
            sought.append(name)

sys.meta_path.insert(0, Finder())
tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
buffers = [None, pa.py_buffer(np.array([0, 7, 10], dtype=np.int32)), pa.py_buffer(b"the catthe")]
texts = pa.Array.from_buffers(pa.string(), 2, buffers)
table = pa.Table.from_arrays([texts], names=["text"])
buffers = [pa.py_buffer(bytes([0b101])), pa.py_buffer(np.array([0, 7, 7, 10], dtype=np.int32)), pa.py_buffer(b"the catthe")]
nulls = pa.Array.from_buffers(pa.string(), 3, buffers)
"""


@pytest.mark.parametrize(
    "call",
    [
        "tok.encode_arrow(texts)",
        "tok.encode_arrow(nulls)",
        "nbbpe.train(nulls, 258, on_error='skip')",
        "tok.decode_arrow(tok.encode_arrow(table))",
        "tok.decode_arrow(tok.encode_arrow(texts)[1:])",
        "nbbpe.train(table, 258)",
        "nbbpe.train(counts={'the': 3}, vocab_size=257, pattern='gpt2')",
        "nbbpe.train(counts=nbbpe.count_words(table), vocab_size=258)",
        "arrow_functions.encode_table(table, tokenizer=tok)",
        "arrow_functions.add_up_counts([arrow_functions.count_table(table)])",
    ],
)
def test_no_call_imports_what_it_does_not_need(call):
    assert processes.run(f"{WATCH}{call}\nprint(sought)").strip() == "[]"


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "int32", "int64", "uint8"])
def test_numbers_are_those_of_pyarrow(dtype):
    values = np.arange(300)[::3].astype(dtype)
    array = arrow_numbers(values)
    array.validate(full=True)
    assert array.equals(pa.array(values))
    for part in array, array[7:], array[7:9], array[:0], array[100:]:
        found = numpy_numbers(part)
        assert found.dtype == np.dtype(dtype)
        assert found.tolist() == part.to_pylist()


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_binary(), pa.int64(), pa.list_(pa.int8()), pa.string_view(), pa.null()]
)
def test_nulls_are_those_of_pyarrow(kind):
    rng = random.Random(1)
    some = {"null": None, "int64": 5, "list<item: int8>": [1], "string_view": "a"}.get(str(kind), b"a")
    some = some.decode() if kind == pa.string() else some
    for share in 0, 0.3, 1:
        array = pa.array([None if rng.random() < share else some for _ in range(100)], kind)
        for start in 0, 1, 7, 8, 9, 64, 100:
            for part in array[start:], array[start : start + 3], array[start : start + 20]:
                rows = is_valid(part)
                assert rows.dtype == np.bool_
                assert rows.tolist() == [row is not None for row in part.to_pylist()]


@pytest.mark.parametrize("n", [0, 1, 8, 13])
def test_marks_are_read_back(n):
    rng = np.random.default_rng(n)
    for rows in rng.random(n) < 0.5, np.ones(n, dtype=bool), np.zeros(n, dtype=bool):
        numbers = pa.array(np.arange(n))
        array = pa.Array.from_buffers(pa.int64(), n, [validity(rows), numbers.buffers()[1]])
        array.validate(full=True)
        assert is_valid(array).tolist() == rows.tolist()
        assert array.null_count == n - rows.sum()
