"""What holds encoding kernels to their buffers: that it sees a fault, and that encoding stays within every text."""

from __future__ import annotations

import ctypes
import faulthandler
import random
import signal
import sys
from collections.abc import Callable
from typing import Any

import guard_pages
import numpy as np
import processes
import pytest
import texts
from effort import EXHAUSTIVE
from guard_pages import at_page_end, guarded_memory, placed
from numba import njit

import nbbpe
from nbbpe.kernels.machine.intrinsics import address_of, write_u8

pytestmark = [
    pytest.mark.skipif(not guard_pages.AVAILABLE, reason="pages are guarded on Linux only"),
    pytest.mark.usefixtures("guarded_arrays"),
]


def ends_by(touch: Callable[[], object]) -> int:
    """How a copy of this process ends that does so: 0, or less the number of the signal."""

    def silently() -> None:
        faulthandler.disable()  # which would tell where, as of a fault in the tests
        touch()

    return processes.exit_code(processes.fork(silently))


@pytest.mark.parametrize("kind", ["array", "bytes", "str"])
def test_a_byte_beyond_ends_the_process(kind):
    if kind == "array":
        there: Any = np.ones(64, dtype=np.uint8)
        last = there.ctypes.data + 63
    else:
        there = placed(b"abc" if kind == "bytes" else "".join(["ab", "c"]))
        last = id(there) + sys.getsizeof(there) - 1
    beyond = last + (1 if kind == "array" else 8)  # objects of Python are aligned
    assert ends_by(lambda: ctypes.string_at(last, 1)) == 0
    assert ends_by(lambda: ctypes.string_at(beyond, 1)) == -signal.SIGSEGV


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


def test_an_array_that_changed_after_it_was_let_go_is_seen():
    def work() -> None:
        with guarded_memory().used():
            at = address_of_one()
            ctypes.memset(at + 50, 1, 1)
            for _ in range(1000):
                np.empty(10)

    def address_of_one() -> int:
        return np.empty(100, dtype=np.uint8).ctypes.data

    if EXHAUSTIVE:
        assert ends_by(work) == -signal.SIGSEGV
        return
    with pytest.raises(AssertionError, match="beside 1 arrays"):
        work()


@pytest.mark.parametrize("make", [np.zeros, np.ones, np.empty])
def test_arrays_are_made_in_pages_that_were_let_go(make):
    for n in range(0, 3000, 7):
        array = make(n, dtype=np.uint8)
        if make is np.empty:
            array[:] = n % 251
        assert (array == (n % 251 if make is np.empty else make is np.ones)).all()


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


@pytest.mark.parametrize("vocab_size", [400, 70_000])
def test_ids_that_fill_the_output_are_written_within_it(small, sizes, vocab_size):
    """Ids are copied 16 or 32 bytes at a time: the output needs room for what is copied after the last one."""
    vocab = small.vocab | {vocab_size - 1: b"<|wide|>"}  # ids of two bytes, or of four
    source = random.Random(3)
    # Known pieces and new ones, which have as many ids as bytes.
    data = b"".join(b"%d%s" % (source.randrange(10 ** source.randrange(1, 5)), b"?@\n"[i % 3 :][:1]) for i in range(20_000))
    wanted = small.encode_ordinary(data)
    assert len(wanted) == len(data)
    for out in 1 << 10, 1 << 12, (1 << 12) + 64, 5000:
        sizes(out=out)
        fresh = nbbpe.Tokenizer(vocab, small.merges, ["<|wide|>"], max_pieces=1000)
        assert list(fresh.encode_iterable([data])) == wanted
        assert fresh.count(data) == len(wanted)
