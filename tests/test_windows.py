"""text/windows.py: sources read by windows, as bytes of UTF-8, with the special tokens found; documents joined."""

from __future__ import annotations

import io
import os
import random

import naive
import numpy as np
import pytest
import texts
from hypothesis import example, given
from hypothesis import strategies as st

from nbbpe.kernels.machine.intrinsics import PADDING
from nbbpe.kernels.pieces.special_tokens import new_special_tokens
from nbbpe.text import windows
from nbbpe.text.utf8 import to_bytes
from nbbpe.text.windows import Reader, TextReader, TextStream, concatenated

SPECIAL = texts.SPECIAL.encode()


class Trickle:
    """A source that gives a few bytes at a time, as pipes do."""

    def __init__(self, data: bytes, seed: int) -> None:
        self.data = data
        self.random = random.Random(seed)

    def readinto(self, buffer: memoryview) -> int:
        n = min(self.random.randrange(1, 9), len(buffer), len(self.data))
        buffer[:n] = self.data[:n]
        self.data = self.data[n:]
        return n


@given(
    data=st.lists(st.one_of(texts.data(40), st.sampled_from([SPECIAL, b"<|"])), max_size=8).map(b"".join),
    window=st.integers(1, 80),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(-1, 9),
)
@example(data=b"ab" * 50, window=8, share=1.0, seed=-1)  # windows shorter than what is not certain at their ends
def test_windows_show_all_of_a_source_once_and_every_special_token(sizes, data, window, share, seed):
    tokens = SPECIAL, b"<|"
    sizes(window=window, copied=window // 16, text_window=window)
    if seed < 0:
        data = data * 9  # longer than the padding
        reader = TextReader(data, new_special_tokens(tokens))
    else:
        reader = Reader(Trickle(data, seed), None, new_special_tokens(tokens))
    position = taken = 0
    found = []
    while (seen := reader.advance(taken)) is not None:
        assert seen.data[seen.start : seen.end].tobytes() == data[position : position + seen.end - seen.start]
        assert seen.start <= seen.limit <= seen.end
        assert len(seen.data) >= seen.end + PADDING
        last = position + seen.end - seen.start == len(data) and seen.limit == seen.end
        # Take some of what is certain, but no part of a special token.
        taken = seen.end if last else max(int(seen.limit * share), seen.start)
        for first, end, _ in seen.breaks.tolist():
            if first < taken < end:
                taken = first
        before = position - seen.start
        found += [(before + first, before + end) for first, end, _ in seen.breaks.tolist() if first < taken]
        position += taken - seen.start
    assert position == len(data)
    assert found == [(start, end) for start, end, _ in naive.find_specials(data, tokens)]


def test_a_reader_reads_no_more_than_it_is_told(sizes):
    data = bytes(range(1, 200))
    for window in 1, 7, 50, 100, 101, 1000:
        sizes(window=window)
        for n_bytes in 0, 1, 50, 99, 100, 101, 199:
            source = io.BytesIO(data)
            reader = Reader(source, n_bytes, new_special_tokens([]))
            out, taken = b"", 0
            while (seen := reader.advance(taken)) is not None:
                taken = seen.limit
                out += seen.data[:taken].tobytes()
            assert out == data[:n_bytes]
            assert source.tell() == n_bytes


def test_the_bytes_after_a_text_are_zero(sizes):
    sizes(window=64)
    for n in range(1, 200):
        reader = Reader(io.BytesIO(b"\xff" * 500), n, new_special_tokens([]))
        taken = 0
        while (seen := reader.advance(taken)) is not None:
            taken = seen.limit
            if seen.limit == seen.end:
                assert not seen.data[seen.end : seen.end + PADDING].any(), n


def test_a_source_that_is_wanted_at_once_is_one_window(sizes):
    sizes(window=10)
    data = texts.SAMPLE.encode()
    reader = Reader(Trickle(data, 1), None, new_special_tokens([]), at_once=True)
    seen = reader.advance(0)
    assert (seen.start, seen.end, seen.limit) == (0, len(data), len(data))
    assert seen.data[: seen.end].tobytes() == data
    assert reader.advance(seen.end) is None


def test_a_file_that_became_shorter_is_an_error(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"abc")
    with (
        open(path, "rb", buffering=0) as file,
        pytest.raises(OSError, match=r"f'.* became shorter while it was read"),
    ):
        Reader(file, 10, new_special_tokens([])).advance(0)


def test_a_window_holds_no_more_than_a_few_windows_of_a_long_text(sizes):
    sizes(window=1000)
    reader = Reader(io.BytesIO(b"the cat " * 50_000), None, new_special_tokens([SPECIAL]))
    longest = taken = 0
    while (seen := reader.advance(taken)) is not None:
        longest = max(longest, len(seen.data))
        taken = seen.limit
    assert longest <= 1000 + PADDING


def test_a_source_that_does_not_wait_is_not_taken_to_have_ended():
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.write(write_end, b"the cat")
    with (
        open(read_end, "rb", buffering=0) as source,
        open(write_end, "wb"),
        pytest.raises(BlockingIOError, match="is non-blocking and has no bytes yet: open it blocking"),
    ):
        Reader(source, None, new_special_tokens([SPECIAL])).advance(0)


@pytest.mark.parametrize("said", [11, 1000, -1])
def test_a_source_that_says_it_has_read_what_cannot_be_is_an_error(sizes, said):
    sizes(window=10)

    class Wrong(io.RawIOBase):
        def readinto(self, buffer) -> int:
            return said

    with pytest.raises(OSError, match=f"readinto of .* returned {said} of at most 10 bytes"):
        Reader(Wrong(), None, new_special_tokens([])).advance(0)


def test_a_text_in_memory_is_not_copied_but_for_its_end(sizes):
    sizes(copied=62)
    sizes(text_window=1000)
    data = b"the cat " * 1000
    reader = TextReader(data, new_special_tokens([SPECIAL]))
    views = np.frombuffer(data, dtype=np.uint8)
    copied = taken = 0
    while (seen := reader.advance(taken)) is not None:
        taken = seen.limit
        if not np.shares_memory(seen.data, views):
            copied += seen.end
    assert 0 < copied <= PADDING + 64


def test_a_stream_of_texts_is_their_bytes():
    items = ["ab", "", b"", "é", b"\xff", "\udc80", "x" * 100]
    stream = TextStream(iter(items))
    buffer = bytearray(7)
    out = b""
    while n := stream.readinto(memoryview(buffer)):
        out += buffer[:n]
    assert out == b"".join(map(to_bytes, items))


# Documents of iterables


@given(st.lists(st.one_of(texts.data(30), st.just(SPECIAL)), max_size=8))
def test_joined_documents_have_a_break_between_any_two(documents):
    window = concatenated(documents, new_special_tokens([SPECIAL]))
    stretches = [[]]
    for text, break_id in window.documents():
        stretches[-1].append(text)
        if break_id == -1:
            stretches.append([])
    assert stretches.pop() == []
    wanted = [[text for text, _ in naive.documents(document, [SPECIAL])] for document in documents]
    assert stretches == (wanted or [[b""]])
    starts = window.breaks[:, 0]
    assert (np.diff(starts) > 0).all()


@given(st.lists(texts.data(30), max_size=12), st.integers(1, 60))
def test_batches_hold_all_documents_in_order(sizes, documents, n):
    sizes(batch=n)
    reader = windows.DocumentReader(iter(documents), new_special_tokens([]), windows.NO_ID)
    found = list(iter(lambda: reader.advance(0), None))
    assert [text for window in found for text, _ in list(window.documents())[:-1]] == documents
    assert all(window.end <= n + 40 * 4 + len(documents) for window in found)
    assert all(window.end - len(window.breaks) >= n for window in found[:-1])
    assert all(len(window.breaks) for window in found)


def test_windows_of_rows_have_room_for_what_kernels_write_beyond():
    rows = windows.RowWindows(new_special_tokens([]), windows.NO_ID)
    for n in range(1, 500):
        rows._make_room(n)
        seen = rows._window(n, 0)
        assert len(seen.data) >= n + 2 * PADDING
        assert not seen.data[n : n + PADDING].any()
        seen.data[:] = 255
