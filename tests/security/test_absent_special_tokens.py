"""Finding out where to cut a file costs one reading at most, however rare special tokens, boundaries and newlines are."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from functools import partial

import naive
import pytest
import texts

import nbbpe
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.sources.files.local import LocalFile
from nbbpe.sources.inputs import File
from nbbpe.sources.jsonl import JsonLines
from nbbpe.text import chunks
from nbbpe.text.chunks import Chunk, CutRules, cut_file

SPECIAL = texts.SPECIAL.encode()
MB = 1 << 20
ABSENT = {"one": [SPECIAL], "a thousand": [b"<|absent %d|>" % i for i in range(1000)]}
OWN = get_pattern(r"\w+|\W+")


class Counting(io.FileIO):
    """A file that counts the bytes that are read."""

    n_read = 0

    def read(self, n: int = -1) -> bytes:
        data = super().read(n)
        type(self).n_read += len(data)
        return data


@pytest.fixture
def counted(monkeypatch) -> Callable[[Callable[[], object]], int]:
    """How many bytes are read of the files that a call opens."""

    def count(call: Callable[[], object]) -> int:
        Counting.n_read = 0
        call()
        return Counting.n_read

    for module in (chunks,):
        monkeypatch.setattr(module, "open", lambda path, mode, **_: Counting(path, mode), raising=False)
    return count


@pytest.mark.parametrize("n_chunks", [2, 1000, 10**7])
@pytest.mark.parametrize("place", ["nowhere", "at the end", "everywhere", "in the first half"])
def test_boundaries_are_found_in_one_reading(tmp_path, counted, n_chunks, place):
    text = b"a story " * (MB // 4)
    data = {
        "nowhere": text,
        "at the end": text + SPECIAL,
        "everywhere": (b"ab" + SPECIAL) * (MB // 8),
        "in the first half": (b"a story" + SPECIAL) * (MB // 20) + text[:MB],
    }[place]
    (tmp_path / "f").write_bytes(data)
    with Counting(tmp_path / "f") as file:
        found: list[int] = []
        n_read = counted(lambda: found.extend(nbbpe.find_chunk_boundaries(file, n_chunks, SPECIAL)))
    assert n_read <= len(data) + len(data) // 50 + 100
    if n_chunks <= 1000:
        assert found == naive.find_chunk_boundaries(data, n_chunks, SPECIAL)
    else:
        assert found == sorted({0, len(data), *[at for at in range(len(data)) if data.startswith(SPECIAL, at)]})


@pytest.mark.parametrize("tokens", ABSENT.values(), ids=ABSENT)
def test_a_bounded_stretch_is_looked_through_where_there_are_boundaries(tmp_path, counted, tokens):
    (tmp_path / "f").write_bytes(b"It's a story. " * (32 * MB // 14))
    found = []
    n_read = counted(lambda: found.extend(cut_file(tmp_path / "f", MB, CutRules(get_pattern("gpt2"), tokens))))
    assert len(found) == 32
    assert n_read <= 32 * (1 << 17)


@pytest.mark.parametrize("tokens", ABSENT.values(), ids=ABSENT)
@pytest.mark.parametrize("what", ["no boundary", "a pattern without a table"])
def test_a_file_that_cannot_be_cut_is_read_once(tmp_path, counted, tokens, what):
    pattern, data = (get_pattern("gpt2"), b"a") if what == "no boundary" else (OWN, b" ")
    for n_bytes in 3 * MB, 16 * MB:
        (tmp_path / "f").write_bytes(data * n_bytes)
        cut = partial(cut_file, tmp_path / "f", n_bytes // 100, CutRules(pattern, tokens))
        n_read = counted(cut)
        assert len(cut()) == 1
        assert n_read <= n_bytes + n_bytes // 20


def test_a_long_special_token_makes_no_more_to_read(tmp_path, counted):
    data = b"a" * (8 * MB)
    (tmp_path / "f").write_bytes(data)
    for n in 1000, 100_000, MB, 9 * MB:
        token = b"a" * n + b"b"
        for chunk_bytes in 1 << 14, MB:
            n_read = counted(lambda token=token, size=chunk_bytes: cut_file(tmp_path / "f", size, CutRules(OWN, [token])))
            assert n_read <= 3 * len(data) + 100


def test_a_token_that_is_found_far_away_serves_all_places_before_it(tmp_path, counted):
    data = b" " * (6 * MB) + SPECIAL + b" " * MB + SPECIAL
    (tmp_path / "f").write_bytes(data)
    found: list[Chunk] = []
    n_read = counted(lambda: found.extend(cut_file(tmp_path / "f", MB // 4, CutRules(OWN, [SPECIAL]))))
    assert [chunk.start for chunk in found] == [0, 6 * MB, 7 * MB + len(SPECIAL)]
    assert n_read <= 1.1 * len(data) + MB


def test_json_lines_without_a_newline_are_read_once(tmp_path, counted):
    (tmp_path / "f").write_bytes(b" " * (8 * MB))
    file: File = LocalFile(tmp_path / "f")
    n_read = counted(lambda: JsonLines(file, "", "text").cut(MB // 16, CutRules(get_pattern("gpt2"), [])))
    assert n_read <= 1.1 * 8 * MB


@pytest.mark.parametrize("tokens", ABSENT.values(), ids=ABSENT)
def test_the_time_is_linear_in_the_file(tmp_path, tokens):
    def seconds(n_bytes: int) -> float:
        with open(tmp_path / "f", "wb") as file:
            file.truncate(n_bytes)
        began = time.process_time()
        assert len(cut_file(tmp_path / "f", MB, CutRules(OWN, tokens))) == 1
        return time.process_time() - began

    seconds(MB)
    assert seconds(256 * MB) < 32 * min(seconds(32 * MB) for _ in range(3)) + 0.2  # 64 times where each place reads on
