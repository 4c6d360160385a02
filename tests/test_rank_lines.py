"""Lines of rank files: the kernel reads what its twin reads, and refuses all else."""

from __future__ import annotations

import base64
import itertools

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbbpe.kernels.records.rank_lines import read_rank_lines

TOKENS = st.lists(st.binary(min_size=1, max_size=9), max_size=6)
RANKS = st.lists(st.integers(0, 2**31 - 2), min_size=6, max_size=6)


def read(data: bytes) -> tuple[list[bytes], list[int]] | None:
    """What the kernel reads, with no more room than it asks for."""
    n_lines = data.count(b"\n") + 1
    text = np.empty(3 * (len(data) // 4), dtype=np.uint8)
    starts, ranks = np.empty(n_lines + 1, dtype=np.int64), np.empty(n_lines, dtype=np.int32)
    n = read_rank_lines(np.frombuffer(data, dtype=np.uint8), text, starts, ranks)
    if n < 0:
        return None
    return [text[start:end].tobytes() for start, end in itertools.pairwise(starts[: n + 1])], ranks[:n].tolist()


def lines_of(tokens: list[bytes], ranks: list[int]) -> bytes:
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in zip(tokens, ranks, strict=False))


@given(TOKENS, RANKS)
def test_lines_are_read_as_they_were_written(tokens, ranks):
    data = lines_of(tokens, ranks)
    assert read(data) == (tokens, ranks[: len(tokens)])
    if data:
        assert read(data[:-1]) == (tokens, ranks[: len(tokens)])


@pytest.mark.parametrize(
    "data", [b"YQ== 0\nYWI= 19\nYWJj 2147483646\nYWJjZA== 7\n", b"YQ==YQ== 1", b"YWI=YWJj 1", b"YWJjYQ 1\n"]
)
def test_whatever_byte_is_changed_put_in_or_taken_out_it_is_read_as_by_the_twin(data):
    for at in range(len(data) + 1):
        changed = [data[:at], data[:at] + data[at + 1 :]]
        for byte in b"ABKRYgz019/:+=-_ \n\r\t\x00\xff":
            changed += [data[:at] + bytes([byte]) + data[after:] for after in (at, at + 1)]
        for each in changed:
            assert read(each) == naive.rank_lines(each), each


@given(st.text("AQg=+ 01\n", max_size=30))
def test_any_text_is_read_as_by_the_twin(text):
    assert read(text.encode()) == naive.rank_lines(text.encode())


def test_real_files_are_read_by_the_kernel(shared):
    for path in (shared / "vocabs").glob("*_base.tiktoken"):
        pairs = [line.split() for line in path.read_bytes().splitlines()]
        assert read(path.read_bytes()) == ([base64.b64decode(token) for token, _ in pairs], [int(n) for _, n in pairs])
