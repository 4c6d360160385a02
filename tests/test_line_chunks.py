"""sources/compression/line_chunks.py: threads take lines of one file in turn; ids, errors and counts stay the same."""

from __future__ import annotations

import gzip
import io
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from records import compress, json_lines, needs, upload

import nbbpe
from nbbpe.sources import Tally
from nbbpe.sources.compression.line_chunks import LineChunks
from nbbpe.sources.optional_packages import ZSTD
from nbbpe.system.workers import Stopped

DOCUMENTS = [f"the cat number {i} sat on the mat" * (i % 5) for i in range(400)]


class Stream(io.BytesIO):
    """Bytes as a stream, which counts what is read of it, twice as fast as it is."""

    def __init__(self, data: bytes, tally: Tally) -> None:
        super().__init__(data)
        self._tally = tally

    def readinto(self, buffer: memoryview, /) -> int:
        n = super().readinto(buffer[:7])
        self._tally.n_read += 2 * n
        return n


@given(st.lists(st.binary(max_size=30)), st.integers(1, 40), st.integers(1, 12), st.integers(1, 4))
@example([b"a", b"x" * 30], 16, 2, 1)  # more is left of the first chunk than is read at a time
def test_lines_come_once_and_in_order_in_small_chunks_and_none_is_cut(sizes, lines, chunk_bytes, n_chunks, n_threads):
    data = b"\n".join(lines)
    opened = []

    @contextmanager
    def open_file(tally):
        opened.append("opened")
        yield Stream(data, tally)
        opened.append("closed")

    sizes(line_chunk=chunk_bytes)
    chunks = LineChunks(open_file, n_chunks)
    tallies = [Tally("raise") for _ in range(n_chunks)]

    def read(number: int) -> tuple[int, bytes]:
        text, buffer = b"", bytearray(5)
        with chunks.chunk(number, tallies[number]) as (stream, n_before):
            while n := stream.readinto(memoryview(buffer)):
                text += buffer[:n]
        return n_before, text

    with ThreadPoolExecutor(n_threads) as threads:
        found = list(threads.map(read, range(n_chunks)))
    assert b"".join(text for _, text in found) == data
    assert [n for n, _ in found] == [sum(len(text) for _, text in found[:i]) for i in range(n_chunks)]
    assert sum(tally.n_read for tally in tallies) == 2 * len(data)
    if n_threads == 1:  # what is read is told at once
        for i, n_read in enumerate(itertools.accumulate(tally.n_read for tally in tallies)):
            assert n_read >= 2 * sum(len(text) for _, text in found[: i + 1])
    assert opened == ["opened", "closed"]
    for i, (_, text) in enumerate(found):
        assert text.endswith(b"\n") or not any(text for _, text in found[i + 1 :])
    # A buffer only grows while no line ends in it.
    most = max([chunk_bytes, *(2 * len(line) + 2 for line in lines)])
    assert all(len(text) <= most for _, text in found[:-1])


@given(st.permutations(range(4)), st.integers(1, 9))
def test_chunks_are_the_same_in_whatever_order_they_are_taken(sizes, order, chunk_bytes):
    """So no thread waits for another, which may have failed before it took its chunk."""
    data = b"one\ntwo\nthree\nfour\nfive"

    @contextmanager
    def open_file(tally):
        yield Stream(data, tally)

    def read(order) -> list[tuple[int, bytes]]:
        chunks, found = LineChunks(open_file, 4), {}
        for number in order:
            with chunks.chunk(number, Tally("raise")) as (stream, n_before):
                buffer = bytearray(len(data))
                text = b""
                while n := stream.readinto(memoryview(buffer)):
                    text += buffer[:n]
                found[number] = n_before, text
        return [found[number] for number in range(4)]

    sizes(line_chunk=chunk_bytes)
    found = read(order)
    assert found == read(range(4))
    assert b"".join(text for _, text in found) == data


@pytest.mark.parametrize("n", [18, 30])  # of the next line, so that more is left of it than the memory holds, or less
def test_memory_to_which_an_old_stream_refers_is_not_made_larger(sizes, n):
    @contextmanager
    def open_file(tally):
        yield Stream(b"one\n" + b"2" * n + b"\n" + b"three" * 9, tally)

    sizes(line_chunk=4)
    chunks = LineChunks(open_file, 4)
    with chunks.chunk(0, Tally("raise")) as (old, _), chunks.chunk(1, Tally("raise")) as (stream, _):
        assert stream.readinto(bytearray(99)) == n + 1
    with chunks.chunk(2, Tally("raise")) as (stream, n_before):
        assert (stream.readinto(bytearray(99)), n_before) == (45, n + 5)
    assert old.readinto(bytearray(9)) == 4


def test_an_error_ends_the_others_even_if_the_file_cannot_be_closed():
    @contextmanager
    def open_file(tally):
        yield Stream(b"", tally)
        raise OSError("changed while it was read")

    chunks = LineChunks(open_file, 3)
    with pytest.raises(OSError, match="changed"), chunks.chunk(0, Tally("raise")):
        raise LookupError
    for number in 1, 2:
        with pytest.raises(Stopped), chunks.chunk(number, Tally("raise")):
            pass


def test_after_an_error_the_rest_is_not_read():
    @contextmanager
    def open_file(tally):
        yield Stream(b"one\ntwo\n", tally)

    chunks = LineChunks(open_file, 2)
    with chunks.chunk(1, Tally("raise")) as (rest, _):
        with pytest.raises(LookupError), chunks.chunk(0, Tally("raise")):
            raise LookupError
        with pytest.raises(Stopped):
            rest.readinto(bytearray(9))


@pytest.mark.parametrize("is_last", [False, True])
def test_an_error_of_one_thread_does_not_close_the_file_while_another_reads(sizes, is_last):
    reading, may_go_on, said = threading.Event(), threading.Event(), []

    class Slow(Stream):
        """The second chunk takes until it may end."""

        def readinto(self, buffer: memoryview, /) -> int:
            if said:
                reading.set()
                assert may_go_on.wait(60)
                said.append("read")
            return super().readinto(buffer)

    @contextmanager
    def open_file(tally):
        yield Slow(b"line\n" * 9, tally)
        said.append("closed")

    sizes(line_chunk=5)
    chunks = LineChunks(open_file, 2 if is_last else 3)

    def read_next() -> None:
        with chunks.chunk(1, Tally("raise")) as (stream, _):
            while stream.readinto(memoryview(bytearray(9))):
                pass

    def fail() -> None:
        with chunks.chunk(0, Tally("raise")):
            said.append("begun")
            following.append(threads.submit(read_next))
            assert reading.wait(60)
            raise LookupError

    following = []
    with ThreadPoolExecutor(2) as threads:
        failing = threads.submit(fail)
        assert reading.wait(60)
        assert not failing.done()
        may_go_on.set()
        with pytest.raises(LookupError):
            failing.result(timeout=60)
        error = following[0].exception(timeout=60)
    assert error is None or isinstance(error, Stopped)
    assert said[-1] == "closed"
    assert said.count("closed") == 1


@pytest.fixture
def encoded(small, sizes, tmp_path):
    """A function: the ids of each document of a file, by several threads that take some bytes at a time."""

    def encode(path: Path, chunk_bytes: int, workers: int = 2, **options) -> list[list[int]]:
        sizes(line_chunk=chunk_bytes, for_workers=0, chunk=100)
        small.encode_file(path, tmp_path / "ids.bin", workers=workers, progress=False, **options)
        return [ids.tolist() for ids in nbbpe.TokenFile(tmp_path / "ids.bin", small).documents()]

    return encode


@pytest.mark.parametrize("compression", [".gz", ".zst"])
@pytest.mark.parametrize("n_frames", [1, 3])
@pytest.mark.parametrize("chunk_bytes", [1, 64, 1000, 1 << 22])
@pytest.mark.parametrize("workers", [2, 3])
def test_ids_of_a_file_are_those_of_its_documents(small, encoded, tmp_path, compression, n_frames, chunk_bytes, workers):
    if compression == ".zst":
        needs(ZSTD)
    documents = DOCUMENTS[:100] if chunk_bytes == 1 else DOCUMENTS  # each line is a chunk then
    data = b"\xef\xbb\xbf" + json_lines(documents).removesuffix(b"\n")
    cuts = [len(data) * i // n_frames for i in range(n_frames + 1)]
    path = tmp_path / f"a.jsonl{compression}"
    path.write_bytes(b"".join(compress(data[start:end], compression) for start, end in itertools.pairwise(cuts)))
    assert encoded(path, chunk_bytes, workers) == [small.encode_ordinary(text) for text in documents]


@pytest.mark.parametrize("chunk_bytes", [50, 3000, 1 << 20])
@pytest.mark.parametrize("n_frames", [1, 2])
def test_a_malformed_record_is_named_by_its_line(encoded, tmp_path, chunk_bytes, n_frames):
    lines = json_lines(DOCUMENTS).splitlines(keepends=True)
    lines[123] = b'{"text": 5}\n'
    lines[301] = b"no JSON\n"
    middle = len(lines) // n_frames
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(lines[:middle])) + gzip.compress(b"".join(lines[middle:])))
    with pytest.raises(ValueError, match=r"a.jsonl.gz', line 124: the field 'text' is a number"):
        encoded(path, chunk_bytes)
    with pytest.warns(UserWarning, match="2 malformed records were skipped: .*line 124: .*line 302: this is not JSON"):
        encoded(path, chunk_bytes, on_error="skip")


def test_a_byte_order_mark_is_one_at_the_beginning_of_the_file_only(encoded, tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "a"}\n\xef\xbb\xbf{"text": "b"}\n'))
    with pytest.raises(ValueError, match="line 2: this is not JSON"):
        encoded(path, 10)


@pytest.mark.parametrize("compression", [".gz", ".zst"])
@pytest.mark.parametrize("chunk_bytes", [100, 1 << 20])
def test_a_truncated_file_is_an_error_and_no_thread_stays(encoded, tmp_path, compression, chunk_bytes):
    if compression == ".zst":
        needs(ZSTD)
    path = tmp_path / f"a.jsonl{compression}"
    whole = compress(json_lines(DOCUMENTS), compression)
    before = threading.active_count()
    for n in len(whole) - 1, len(whole) // 2:
        path.write_bytes(whole[:n])
        with pytest.raises(OSError, match="broken or truncated"):
            encoded(path, chunk_bytes)
    assert threading.active_count() == before


def test_a_malformed_record_elsewhere_is_named_by_its_line(encoded, bucket):
    lines = json_lines(DOCUMENTS).splitlines(keepends=True)
    lines[301] = b"no JSON\n"
    upload(f"{bucket}/a.jsonl.gz", gzip.compress(b"".join(lines)))
    with pytest.warns(UserWarning, match=r"1 malformed record was skipped: .*a.jsonl.gz', line 302: this is not JSON"):
        encoded(f"{bucket}/a.jsonl.gz", 1000, on_error="skip")
