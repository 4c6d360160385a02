"""num_threads: the same ids for any number, wherever texts are cut; nothing waits for ever."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from functools import partial
from itertools import pairwise

import naive
import numpy as np
import pytest
import texts
from effort import mostly_slow
from hypothesis import example, given
from hypothesis import strategies as st
from timing import interrupted, seconds
from vocabularies import BYTES

import nbbpe
from nbbpe.encoding import threads
from nbbpe.kernels.pieces.special_tokens import new_special_tokens
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.system import worker_threads
from nbbpe.text.text_windows import cut_text

SPECIALS = ["<|end|>", "<|", " a|b "]
HARD = [
    "",
    "a",
    "the cat<|end|>sat<|end|><|end|> on the mat" * 9,
    "x" * 700 + " the end",  # a long run without a certain boundary
    "\n\n \n" * 90 + "The",
    "и кот сидел <|end|> 猫が座った。\n犬も。 😀 the 🐈at  " * 9,
    "a\udc80\udcff b\ud800é <|e nd|> " * 9,
    "猫が座った" * 99,
    b"\xff\xe4\xb8 a\xe4\xb8<|end|>\xad \x80\x80 b" * 30,
    b"\xc3\xa9 \xf0\x9f\x98 " * 50 + b"\xf0\x9f\x98",
    " a|b  a|b " * 50,
    "'s don't I'll 12345 " * 40,
]
PATTERNS = ["gpt2", "o200k", texts.SPLIT_WITH_GAPS]


@pytest.fixture(scope="module", params=mostly_slow(PATTERNS, usual=["gpt2", texts.SPLIT_WITH_GAPS]), ids=repr)
def tokenizer(request) -> nbbpe.Tokenizer:
    return nbbpe.train(
        documents=[texts.SAMPLE, *(text for text in HARD if isinstance(text, str) and "\ud800" not in text)],
        vocab_size=400,
        special_tokens=SPECIALS,
        pattern=request.param,
    )


def long(text):
    """A text that is longer than a kernel takes at once (see encode_short)."""
    return text * (20_000 // max(len(text), 1) + 1)


@pytest.fixture(params=[40, 5000])
def cut(request, sizes, processors) -> int:
    """Parts of so many bytes, in threads."""
    sizes(for_threads=1, thread_part=request.param, held=max(request.param, 32), copied=16)
    processors(3)
    return request.param


@pytest.mark.parametrize("num_threads", [None, 5])
def test_one_text_has_the_same_ids_for_any_number_of_threads(tokenizer, cut, num_threads):
    for text in HARD:
        text = long(text) if cut > 1000 else text
        for choice in {}, {"allowed_special": {"<|"}}:
            wanted = tokenizer.encode(text, num_threads=1, **choice)
            given_number = {"num_threads": num_threads, **choice}
            assert tokenizer.encode_array(text, **given_number).tolist() == wanted
            assert tokenizer.encode_array(text, dtype="int64", **given_number).dtype == np.int64
            assert tokenizer.encode(text, **given_number) == wanted
            assert tokenizer.count(text, **given_number) == len(wanted)
        assert tokenizer.encode_ordinary(text, num_threads=num_threads) == tokenizer.encode_ordinary(text, num_threads=1)
        if isinstance(text, bytes):
            for lent in bytearray(text), memoryview(text), np.frombuffer(text, np.uint8):
                assert tokenizer.encode(lent, num_threads=num_threads) == tokenizer.encode(text, num_threads=1)


@pytest.mark.parametrize("num_threads", [None, 1, 9])
def test_a_batch_has_the_ids_of_each_text(tokenizer, cut, num_threads):
    huge = long(HARD[5]) if cut > 1000 else HARD[5] * 2
    batch = [*HARD, "", huge, *HARD, b"\xff", "<|end|>"]
    wanted = [tokenizer.encode(text, num_threads=1) for text in batch]
    assert tokenizer.encode_batch(batch, num_threads=num_threads) == wanted
    assert tokenizer.encode_batch(iter(batch), num_threads=num_threads) == wanted
    arrays = tokenizer.encode_batch_arrays(tuple(batch), num_threads=num_threads)
    assert [ids.tolist() for ids in arrays] == wanted
    ids, starts = tokenizer.encode_batch_flat(batch, num_threads=num_threads)
    assert (ids.dtype, starts.dtype) == (tokenizer.dtype, np.int64)
    assert [ids[start:end].tolist() for start, end in pairwise(starts)] == wanted
    ordinary = [tokenizer.encode_ordinary(text) for text in batch]
    assert tokenizer.encode_ordinary_batch(batch, num_threads=num_threads) == ordinary
    padded, mask = tokenizer.encode_padded(batch, pad_id=0, num_threads=num_threads)
    assert [row[here].tolist() for row, here in zip(padded, mask, strict=True)] == wanted
    assert tokenizer.encode_batch([], num_threads=num_threads) == []
    assert tokenizer.encode_batch(["", b""], num_threads=num_threads) == [[], []]


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("num_threads", [None, 9])
def test_an_arrow_column_has_the_ids_of_each_text(tokenizer, num_threads):
    pa = pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "nbbpe[data]"')
    rows = [text if text is None else naive.utf8(text, 10**6) for text in [None, *HARD, None, *HARD]]
    wanted = [None if row is None else tokenizer.encode(row) for row in rows]
    column = pa.array(rows, pa.binary())
    assert tokenizer.encode_arrow(column, num_threads=num_threads).to_pylist() == wanted
    assert tokenizer.encode_arrow(column[3:9], num_threads=num_threads).to_pylist() == wanted[3:9]
    chunked = pa.chunked_array([column, column[:0], column[5:]])
    assert tokenizer.encode_arrow(chunked, num_threads=num_threads).to_pylist() == wanted + wanted[5:]
    assert tokenizer.encode_arrow(column[:0], num_threads=num_threads).to_pylist() == []


@pytest.mark.parametrize("num_threads", [1, 3])
def test_many_texts_of_a_byte_have_room_for_their_ids(num_threads, sizes):
    single = nbbpe.Tokenizer(BYTES, [])
    pa = pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "nbbpe[data]"')
    for n, held in (1, 64), (300, 64), (5000, 1 << 20):
        sizes(for_threads=1, thread_part=1000, held=held)
        batch = ["a"] * n
        assert single.encode_batch(batch, num_threads=num_threads) == [[97]] * n
        assert single.encode_arrow(pa.array(batch), num_threads=num_threads).to_pylist() == [[97]] * n


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("normalizer", ["NFD", [{"type": "Prepend", "prepend": "▁▁▁"}]])
def test_ids_have_room_where_a_normalizer_makes_texts_longer(num_threads, normalizer):
    single = nbbpe.Tokenizer(BYTES, [], normalizer=normalizer)
    batch = ["é" * n for n in (1, 0, 700, 3)] * 20
    wanted = [single.encode(text, num_threads=1) for text in batch]
    assert sum(map(len, wanted)) > sum(len(text.encode()) for text in batch)
    assert single.encode_batch(batch, num_threads=num_threads) == wanted
    pa = pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "nbbpe[data]"')
    assert single.encode_arrow(pa.array(batch), num_threads=num_threads).to_pylist() == wanted


parts = st.sampled_from(
    [*SPECIALS, "the ", "cat", "\n\n", "  ", "é", "中", "😀", "\udcff", "\udcc3\udca9", "\ud800", "12", "'s"]
)


@given(st.lists(parts, max_size=300).map("".join), st.integers(1, 20), st.sampled_from(["gpt2", "o200k", "deepseek3"]))
@example("\udce4\udcb8\udcad a" * 60, 20, "gpt2")
def test_texts_are_cut_where_no_match_and_no_special_token_is(text, n_parts, name):
    pattern = get_pattern(name)
    specials = new_special_tokens([token.encode() for token in SPECIALS], [0] * len(SPECIALS))
    data = naive.utf8(text, 4 * len(text))
    for each in text, data, memoryview(data):
        stretches = cut_text(each, n_parts, pattern.tables, specials)
        assert [start for start, _ in stretches[1:]] == [end for _, end in stretches[:-1]]
        assert (stretches[0][0], stretches[-1][1]) == (0, len(each))
        assert len(stretches) <= n_parts
        whole = [pretoken.encode(errors="surrogateescape") for pretoken in split(data, pattern)]
        found = []
        for start, end in stretches:
            stretch = each[start:end]
            stretch = naive.utf8(stretch, 4 * len(stretch)) if isinstance(each, str) else bytes(stretch)
            found += [pretoken.encode(errors="surrogateescape") for pretoken in split(stretch, pattern)]
        assert found == whole


def split(data: bytes, pattern):
    """Pretokens and special tokens, as strings."""
    found, rest = [], data
    while rest:
        places = [(rest.find(token.encode()), -len(token)) for token in SPECIALS if token.encode() in rest]
        place, length = min(places, default=(len(rest), 0))
        found += pattern.split(rest[:place].decode(errors="surrogateescape"))
        found += [rest[place : place - length].decode()] * (length != 0)
        rest = rest[place - length :]
    return found


def test_a_long_text_without_spaces_is_cut_before_ascii():
    """As CJK has few characters of ASCII side by side."""
    text = "\n".join(["猫が座った。" * 20] * 50)
    stretches = cut_text(text, 5, get_pattern("gpt2").tables, new_special_tokens([], []))
    assert len(stretches) == 5
    assert len(cut_text(text.encode(), 5, get_pattern("gpt2").tables, new_special_tokens([], []))) == 5


@pytest.mark.parametrize(
    ("number", "error", "message"),
    [
        (0, ValueError, "num_threads must be at least 1, not 0"),
        (-3, ValueError, "num_threads must be at least 1, not -3"),
        (True, TypeError, "num_threads must be a positive integer or None, not True"),
        (2.0, TypeError, "num_threads must be a positive integer or None, not 2.0"),
        ("2", TypeError, "num_threads must be a positive integer or None, not '2'"),
    ],
)
def test_a_number_of_threads_that_cannot_be_is_refused_before_any_work(small, number, error, message):
    def never():
        raise AssertionError("the texts were asked for")
        yield

    for call in small.encode, small.encode_array, small.encode_ordinary, small.count:
        with pytest.raises(error, match=message):
            call("a", num_threads=number)
    for call in small.encode_batch, small.encode_batch_arrays, small.encode_batch_flat, small.encode_ordinary_batch:
        with pytest.raises(error, match=message):
            call(never(), num_threads=number)
    with pytest.raises(error, match=message):
        small.encode_arrow(None, num_threads=number)


def test_any_integer_is_a_number_of_threads(small):
    assert small.encode("the cat", num_threads=np.int64(2)) == small.encode("the cat")


def test_a_long_text_takes_threads_only_where_they_pay(small, monkeypatch, processors):
    used = []

    def run_in_threads(make_job, tasks, n_workers, **how):
        used.append(n_workers)
        return original(make_job, tasks, n_workers, **how)

    original = threads.run_in_threads
    monkeypatch.setattr(threads, "run_in_threads", run_in_threads)
    processors(4)
    text = texts.SAMPLE * (3 * threads.BYTES_PER_THREAD // len(texts.SAMPLE) + 1)
    wanted = small.encode(text, num_threads=1)
    assert used == []
    for num_threads, expected in (None, 3), (2, 2), (50, 3):
        used.clear()
        assert small.encode(text, num_threads=num_threads) == wanted
        assert used == [expected]
    used.clear()
    assert small.encode(text[: threads.BYTES_PER_THREAD]) == small.encode(text[: threads.BYTES_PER_THREAD], num_threads=1)
    assert used == []


def in_child(tokenizer, connection) -> None:
    connection.send(
        (tokenizer.encode_array(LONG, num_threads=2).tolist(), tokenizer.encode_batch([LONG] * 3, num_threads=2))
    )


LONG = texts.SAMPLE * ((2 << 20) // len(texts.SAMPLE))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
def test_a_fork_while_threads_encode_waits_for_nothing(small):
    wanted = small.encode(LONG, num_threads=1)
    stop = threading.Event()

    def encode() -> None:
        while not stop.is_set():
            small.encode_array(LONG, num_threads=2)

    thread = threading.Thread(target=encode)
    thread.start()
    try:
        for daemon in False, True:
            context = multiprocessing.get_context("fork")
            ours, theirs = context.Pipe()
            process = context.Process(target=in_child, args=(small, theirs), daemon=daemon)
            process.start()
            assert ours.poll(60), "the child waits"
            assert ours.recv() == (wanted, [wanted] * 3)
            process.join(30)
            assert process.exitcode == 0
    finally:
        stop.set()
        thread.join()


@pytest.mark.skipif(sys.platform == "win32", reason="signals reach no thread there")
@pytest.mark.parametrize("call", ["encode_array", "count", "encode_batch_flat"])
def test_ctrl_c_ends_all_threads_at_once(small, call):
    text = LONG * 40
    work = partial(getattr(small, call), [text] if call == "encode_batch_flat" else text, num_threads=2)
    whole = seconds(work, rounds=2)  # of two processors
    before = set(threading.enumerate())
    began = time.process_time()
    interrupted(work, whole / 8)
    assert time.process_time() - began < whole * 3 / 4
    assert {thread for thread in threading.enumerate() if thread not in before} == set()
    assert small.encode(LONG, num_threads=2) == small.encode(LONG, num_threads=1)


def test_ctrl_c_wherever_it_comes_leaves_no_thread(small, sizes, monkeypatch):
    """At each call of a function while this thread encodes parts; the others wait for its part then."""
    sizes(for_threads=1, thread_part=200, held=4000)
    monkeypatch.setattr(worker_threads, "_PATIENCE", 60.0)  # longer than an end may take
    text = "the cat 中文\n" * 600
    encode_part, here = threads._encode_part, threading.current_thread()

    def encode(*args):
        if threading.current_thread() is not here:
            time.sleep(0.0005)  # so that this thread has some parts
        return encode_part(*args)

    monkeypatch.setattr(threads, "_encode_part", encode)
    modules = ["part_joiner.py", "threads.py", "worker_threads.py", "contextlib.py", "threading.py"]
    before = threading.active_count()
    all_calls, n_interrupted = set(), 0
    for last in range(40):  # more calls than a part has
        calls: list[str] = []

        def interrupt(frame, event, _, calls=calls, last=last):
            name = os.path.basename(frame.f_code.co_filename)
            if event == "call" and name in modules and (calls or frame.f_code.co_name == "_work"):
                calls.append(f"{name} {frame.f_code.co_name}")
                if len(calls) > last:
                    sys.setprofile(None)
                    time.sleep(0.01)  # until the others wait
                    raise KeyboardInterrupt

        began = time.monotonic()
        sys.setprofile(interrupt)
        try:
            small.encode_array(text, num_threads=3)
        except KeyboardInterrupt:
            n_interrupted += 1
        else:
            assert len(calls) <= last  # on a busy machine the others may do most of its parts
        finally:
            sys.setprofile(None)
        assert time.monotonic() - began < 20, calls[-3:]
        assert threading.active_count() == before, calls[-3:]
        all_calls.update(calls)
    assert n_interrupted
    assert "part_joiner.py part" in all_calls


def test_a_text_that_was_lent_is_let_go_after_threads_have_failed(small, monkeypatch):
    data = bytearray(LONG.encode())

    def fail(*_):
        raise MemoryError("no room")

    monkeypatch.setattr(threads, "_encode_part", fail)
    with pytest.raises(MemoryError, match=r"a worker thread ran out of memory \(no room\); use fewer workers"):
        small.encode_array(data, num_threads=2)
    data.append(0)  # BufferError while somebody holds it
