"""How much memory hard texts take, and how much large arrays that are hardly used; too much is a MemoryError."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest
from processes import MEASURE, run
from vocabularies import BYTES

import nbbpe
from nbbpe.kernels.machine.large_pages import Room, zeros

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells how much memory a process takes")

HUGE_WORD = f"""{MEASURE}
n = 16_000_000
text = b"a" * n
tokenizer = nbbpe.Tokenizer(tokenizer.vocab, tokenizer.merges, max_pieces=1000)  # too few for this one
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count room before it is used, or do not")
def test_room_may_be_larger_than_the_memory_of_the_machine():
    room = Room(1 << 36, np.dtype(np.uint32))
    room.array[:3] = 1, 2, 3
    assert room.cut(3).tolist() == [1, 2, 3]


def test_memory_that_cannot_be_there_is_a_memory_error():
    with pytest.raises(MemoryError):
        Room(1 << 58, np.dtype(np.uint32))
    with pytest.raises(MemoryError):
        zeros(1 << 58)


@linux_only
def test_a_pretoken_of_many_megabytes_takes_few_bytes_of_memory_for_each_of_its_own():
    script = f"""{HUGE_WORD}
tokenizer.encode_array(b"a" * 10_000)
forget_peak()
before = status("VmRSS")
ids = tokenizer.encode_array(text)
assert len(ids) == n // 4 and (ids == 257).all()
print((status("VmHWM") - before) / n)
"""
    assert float(run(script)) < 20  # 8 for its rows, up to 5 for lists, 2 for what was merged, up to 3 for text and ids


@linux_only
def test_a_pretoken_of_many_megabytes_asks_for_no_more_memory_than_it_takes():
    script = f"""{HUGE_WORD}
import resource
tokenizer.encode_array(b"a" * 300_000)
most = status("VmSize") + 32 * n
resource.setrlimit(resource.RLIMIT_AS, (most, most))
print(len(tokenizer.encode_array(text)))
"""
    assert run(script) == "4000000\n"


@linux_only
def test_states_of_threads_that_have_ended_take_little_memory_together():
    script = f"""{MEASURE}
compiled_encoder._IDLE_BYTES = 1 << 20
compiled_encoder.default_workers = lambda: 16
text = "the cat " * 2000
wanted = tokenizer.encode(text)

def encode(seed):
    letters = np.random.default_rng(seed).integers(97, 123, (60_000, 9), dtype=np.uint8)
    letters[:, 0] = 32
    together.wait()
    tokenizer.encode_array(letters.tobytes())

before = status("VmRSS")
together = threading.Barrier(32)
threads = [threading.Thread(target=encode, args=(seed,)) for seed in range(32)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert tokenizer.encode(text) == wanted
after = status("VmRSS")
del tokenizer
print(after - before, status("VmRSS") - before)
"""
    after, at_last = map(int, run(script).split())
    assert after < 120 << 20  # with all states more than 300; the rest of the process takes about 40
    assert at_last < 80 << 20


def test_long_words_cost_not_much_more_than_those_just_short_of_being_long():
    # Each long piece ends a call of the kernel. A letter of a long word takes four times as long as one of a short word; to
    # search all that follows again after each call would cost ten times and more.
    tokenizer = nbbpe.Tokenizer(BYTES | {256: b"th"}, [(b"t", b"h")])
    source = np.random.default_rng(1)

    def seconds(length: int) -> float:
        letters = source.integers(97, 123, (2_000_000 // length, length), dtype=np.uint8)
        letters[:, 0] = 32
        start = time.thread_time()
        tokenizer.encode_array(letters.tobytes())
        return time.thread_time() - start

    seconds(1000)  # kernels are compiled or loaded
    long, short = zip(*((seconds(1000), seconds(250)) for _ in range(4)), strict=True)
    assert min(long) < 7 * min(short)


@linux_only
def test_training_on_one_word_of_many_megabytes_takes_few_bytes_of_memory_for_each_of_its_own():
    script = f"""{MEASURE}
n = 1 << 24
text = b"a" * n
nbbpe.train(iter([b"a" * 32]), 261)
forget_peak()
before = status("VmRSS")
merges = nbbpe.train(iter([text]), 280).merges
assert merges == [(b"a" * 2**i, b"a" * 2**i) for i in range(24)]
print((status("VmHWM") - before) / n)
"""
    assert float(run(script)) < 33  # 12 for its rows and words, 8 for lists, 4 for tokens as long as itself, 1 for text


def test_texts_of_parquet_are_not_in_memory_that_pyarrow_keeps(tmp_path):
    arrow = pytest.importorskip("pyarrow.parquet", reason="pyarrow writes the file")
    from pyarrow import table

    path = tmp_path / "a.parquet"
    arrow.write_table(table({"text": [f"the cat {i}" * 500 for i in range(2000)]}), path, row_group_size=500)
    script = f"""{MEASURE}
import pyarrow
tokenizer.encode_file({str(path)!r}, {str(path) + ".npy"!r}, progress=False)
print(pyarrow.default_memory_pool().max_memory())
"""
    assert int(run(script)) < 12 << 20  # one page of each thread, 3 MB, as it is decompressed; 16 MB with the texts
