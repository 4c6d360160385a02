"""What holds encoding kernels to their buffers: that it sees a fault, and that encoding stays within every text."""

from __future__ import annotations

import ctypes
import random
from pathlib import Path

import guard_pages
import numpy as np
import processes
import pytest
import texts
from effort import mostly_slow
from guard_pages import at_page_end, guarded_memory, placed
from numba import njit

import nbbpe
from nbbpe.kernels.machine.intrinsics import address_of, write_u8

pytestmark = [
    pytest.mark.skipif(not guard_pages.AVAILABLE, reason="pages are guarded on Linux only"),
    pytest.mark.usefixtures("guarded_arrays"),
]

TOUCH = """
import ctypes, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from guard_pages import guarded_memory, placed
kind, offset = sys.argv[2], int(sys.argv[3])
with guarded_memory().used():
    array = np.ones(64, dtype=np.uint8)
if kind == "array":
    ctypes.string_at(array.ctypes.data + offset, 1)
else:
    text = placed(b"abc" if kind == "bytes" else "".join(["ab", "c"]))
    ctypes.string_at(id(text) + sys.getsizeof(text) - 1 + offset, 1)
print("touched")
"""


@pytest.mark.parametrize("kind", mostly_slow(["array", "bytes", "str"], usual=["array"]))
def test_a_byte_beyond_ends_the_process(kind):
    last = 63 if kind == "array" else 0
    folder = str(Path(__file__).parent)
    assert processes.run(TOUCH, folder, kind, str(last)) == "touched\n"
    beyond = last + (1 if kind == "array" else 8)  # objects of Python are aligned
    with pytest.raises(AssertionError):
        processes.run(TOUCH, folder, kind, str(beyond))


@njit
def write_beyond(array, offset):
    write_u8(address_of(array) + offset, 1)


@pytest.mark.parametrize("offset", [-1, 100, 107])
def test_a_byte_beside_an_array_that_changed_is_seen(offset):
    def work() -> None:
        with guarded_memory().used():
            write_beyond(np.empty(100, dtype=np.uint8), offset)

    with pytest.raises(AssertionError, match="beside 1 arrays"):
        work()


def test_arrays_are_as_they_are_elsewhere():
    array = np.arange(1000)
    assert array.ctypes.data % 16 == 0
    array.resize(2000, refcheck=False)
    array.resize(500, refcheck=False)
    assert array.tolist() == list(range(500))
    assert not np.zeros((30, 1000)).any()
    assert np.empty(0).tolist() == []


def some_texts() -> list[bytes]:
    """ASCII of every length up to some blocks, of words that are known or not, whitespace, and with special tokens."""
    source = random.Random(1)
    found = []
    for n in [*range(1, 200), 255, 256, 257, 511, 512, 513, 4095, 4096, 5000]:
        parts = ["the ", "cat ", "'s", "\n", "  ", "1", "!", "x" * 70, texts.SPECIAL, *"abehst"]
        found.append("".join(source.choices(parts, k=n)).encode()[-n:])
    return found


def test_encoding_reads_nothing_beyond_a_text(small):
    pieces = some_texts()
    fresh = nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL], max_pieces=100)
    for data in pieces:
        wanted, ordinary = small.encode(data), small.encode_ordinary(data)
        for tokenizer in small, fresh:
            for text in data, data.decode():
                there = placed(text)
                assert tokenizer.encode(there) == wanted
                assert tokenizer.encode_array(there).tolist() == wanted
                assert tokenizer.encode_ordinary(there) == ordinary
                assert tokenizer.count(there) == len(wanted)
                assert list(tokenizer.encode_iterable([there])) == wanted
                assert tokenizer.encode_batch([there, there]) == [wanted, wanted]
            with at_page_end(len(data)) as at:
                ctypes.memmove(at, data, len(data))
                lent = memoryview((ctypes.c_uint8 * len(data)).from_address(at)).cast("B")
                assert tokenizer.encode(lent) == wanted
                assert tokenizer.count(lent) == len(wanted)


@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "deepseek3", None])
def test_encoding_new_pieces_touches_nothing_beyond_its_buffers(small, pattern):
    for data in some_texts()[::5]:
        fresh = nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL], pattern, max_pieces=17)
        text = "naïve 中文 " + data.decode() + "\udcff"
        ids = fresh.encode_array(text.encode(errors="surrogateescape"))
        assert fresh.decode_bytes(ids) == text.encode(errors="surrogateescape")
        flat, starts = fresh.encode_batch_flat([data, b"", data])
        assert flat[: starts[1]].tolist() == flat[starts[2] :].tolist() == fresh.encode(data)
