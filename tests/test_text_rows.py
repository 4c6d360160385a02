"""Batches of texts: read where Python keeps them, measured, cut into parts, and put into windows as their twins do."""

from __future__ import annotations

import itertools
import sys
import threading

import guard_pages
import naive
import numpy as np
import pytest
import texts
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from texts import NO_TEXT, Data, Words, strings

import nbbpe
from nbbpe.kernels.machine.intrinsics import PADDING
from nbbpe.kernels.pieces.special_tokens import new_special_tokens
from nbbpe.kernels.records.texts import measure_texts, take_texts
from nbbpe.text.text_rows import RowsReader, cut_rows, rows_of
from nbbpe.text.windows import NO_ID

pytestmark = pytest.mark.usefixtures("guarded_arrays")

GUARD = 64


some = st.lists(strings(60) | st.binary(max_size=90), max_size=12)


@given(some, st.none() | st.sampled_from(NO_TEXT), st.integers(0, 12))
def test_texts_are_measured_as_the_twin_does(items, other, place):
    if other is not None:
        items.insert(min(place, len(items)), other)
    sizes = np.full(len(items), -1, dtype=np.int64)
    n = measure_texts(tuple(items), sizes)
    wanted = [naive.most_bytes(item) for item in items]
    assert n == (wanted.index(None) if None in wanted else len(items))
    assert sizes[:n].tolist() == wanted[:n]
    assert (sizes[n:] == -1).all()


@settings(max_examples=examples(200, 1000))
@given(
    some,
    st.none() | st.sampled_from(NO_TEXT),
    st.integers(0, 12),
    st.integers(0, 12),
    st.integers(0, 500),
    st.integers(1, 12),
)
@example(["é" * 40], None, 0, 1, 81, 1)
@example(["é" * 40], None, 0, 1, 80, 1)
@example(["a" * 64, b"b" * 63, "中" * 32, "\udcff" * 33, "😀" * 17], None, 0, 5, 500, 12)
def test_texts_are_put_side_by_side_as_the_twin_does(items, other, first, last, room, most):
    if other is not None:
        items.insert(len(items) // 2, other)
    first, last = min(first, len(items)), min(last, len(items))
    out = np.full(room + PADDING + GUARD, 0xAB, dtype=np.uint8)
    breaks = np.zeros((most, 3), dtype=np.int64)
    row, n_bytes = take_texts(tuple(items), first, last, out[:-GUARD], breaks, 9)
    n, wanted, ends = naive.put_texts(items, first, last, room, most)
    assert (row - first, n_bytes, out[:n_bytes].tobytes()) == (n, len(wanted), wanted)
    assert breaks[:n].tolist() == [[end, end + 1, 9] for end in ends]
    assert not breaks[n:].any()
    assert (out[room + PADDING :] == 0xAB).all()


@pytest.mark.parametrize("items", [None, [], ["a"], "a", b"a", {"a"}, 3], ids=repr)
def test_what_is_no_tuple_is_refused(items):
    sizes = np.full(1, -1, dtype=np.int64)
    assert measure_texts(items, sizes) == 0
    assert take_texts(items, 0, 1, np.empty(PADDING + 9, np.uint8), np.empty((1, 3), np.int64), -1) == (0, 0)
    assert sizes.tolist() == [-1]


def test_nothing_is_read_beyond_a_text():
    """Texts whose last byte lies before a page that may not be read; the process would die."""
    for n in [*range(200), 4000, 4095]:
        for text in "x" * n, b"y" * n:
            there = guard_pages.placed(text)
            out = np.empty(n + 1 + PADDING, dtype=np.uint8)
            assert take_texts((there,), 0, 1, out, np.empty((1, 3), np.int64), -1) == (1, n + 1)
            assert out[: n + 1].tobytes() == naive.utf8(text, n) + b"\xff"


def test_no_reference_is_kept_or_given_away():
    items = ("é" * 99, b"hello", "a" * 99, None)
    before = [sys.getrefcount(item) for item in items[:3]]
    for _ in range(100):
        measure_texts(items, np.empty(4, np.int64))
        take_texts(items, 0, 3, np.empty(999, np.uint8), np.empty((3, 3), np.int64), -1)
    assert [sys.getrefcount(item) for item in items[:3]] == before


def test_objects_of_any_kind_of_text_become_rows():
    items = ["a", b"b", bytearray(b"c"), memoryview(b"d"), np.frombuffer(b"e", np.uint8), Words("f"), Data(b"g"), "\udcff"]
    rows = rows_of(iter(items))
    assert [naive.utf8(text, 9) for text in rows.texts] == [b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"\xff"]
    assert rows.sizes.tolist() == [1] * 7 + [3]
    rows = rows_of(["é中😀", b"b", "é"])
    assert (rows.texts, rows.sizes.tolist()) == (("é中😀", b"b", "é"), [12, 1, 2])


@pytest.mark.parametrize("bad", [None, 3, ["a"], np.zeros(3)], ids=repr)
def test_what_is_not_a_text_is_named(small, bad):
    for call in small.encode_batch, small.encode_batch_flat, small.encode_batch_arrays, small.encode_ordinary_batch:
        with pytest.raises(TypeError, match=r"text must be str or bytes.*text 2 \(from 0\) is"):
            call(["a", b"b", bad, "c"])
    with pytest.raises(TypeError, match="not one str"):
        small.encode_batch_flat("abc")


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(1, 40))
def test_rows_are_cut_into_stretches_of_about_equal_size(lengths, part_bytes):
    bounds = cut_rows(rows_of([b"x" * n for n in lengths]), part_bytes)
    assert [i for first, last in bounds for i in range(first, last)] == list(range(len(lengths)))
    for first, last in bounds:
        assert last - first == 1 or max(lengths[first:last]) < part_bytes
        assert last - first == 1 or sum(lengths[first:last]) + last - first <= 2 * part_bytes


@given(some, st.integers(1, 200), st.integers(0, 12), st.integers(0, 12))
def test_a_reader_gives_each_text_with_a_break_after_it(sizes, items, window, first, last):
    first = min(first, len(items))
    last = min(max(first, last), len(items))
    sizes(rows_window=window)
    reader = RowsReader(rows_of(items), first, last, nbbpe.kernels.pieces.special_tokens.new_special_tokens([], []), 5)
    found, taken = [], 0
    while (window_of := reader.advance(taken)) is not None:
        taken = window_of.end
        assert window_of.limit == window_of.end
        found += [document for document, break_id in window_of.documents() if break_id == 5]
    assert found == [naive.utf8(text, 999) for text in items[first:last]]


def test_a_list_that_changes_while_it_is_encoded_does_no_harm(small):
    """What is encoded is the list as it was at one moment."""
    kinds = [texts.SAMPLE * 3, "é" * 500, b"\xff" * 90]
    wanted = small.encode_batch(kinds)
    stop = threading.Event()
    shared = kinds * 400

    def change() -> None:
        for n in itertools.count():
            if stop.is_set():
                return
            turned = kinds[n % 3 :] + kinds[: n % 3]
            # Texts of its own, which nobody else keeps; they take the place of the former ones at once.
            shared[:] = [text[:1] + text[1:] for text in turned * (100 + n % 300)]

    thread = threading.Thread(target=change)
    thread.start()
    try:
        firsts = set()
        for n in range(1000):
            ids, starts = small.encode_batch_flat(shared)
            rows = [ids[start:end].tolist() for start, end in itertools.pairwise(starts)]
            first = wanted.index(rows[0])
            assert rows == (wanted[first:] + wanted[:first]) * (len(rows) // 3)
            firsts.add(first)
            if n >= 30 and len(firsts) == len(kinds):
                break
    finally:
        stop.set()
        thread.join()
    assert len(firsts) == len(kinds)  # the list did change


def test_each_text_is_measured_a_few_times_only():
    class Measured(np.ndarray):
        """Counts the numbers that are read."""

        n_read = 0

        def __getitem__(self, key):
            found = super().__getitem__(key)
            Measured.n_read += np.size(found)
            return found

    rows = rows_of(["ab"] * 200_000)
    reader = RowsReader(rows._replace(sizes=rows.sizes.view(Measured)), 0, len(rows.texts), new_special_tokens([]), NO_ID)
    n_texts = 0
    while (window := reader.advance(0)) is not None:
        n_texts += len(window.breaks)
    assert n_texts == len(rows.texts)
    assert Measured.n_read < 3 * n_texts
