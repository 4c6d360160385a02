"""Text that is in open files: encoded and counted as the same bytes in memory are."""

from __future__ import annotations

import gzip
import io
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import texts

import nbbpe

OPENERS = {
    "unbuffered": partial(open, mode="rb", buffering=0),
    "buffered": partial(open, mode="rb"),
    "to be written, too": partial(open, mode="r+b"),
    "in memory": lambda path: io.BytesIO(path.read_bytes()),
    "packed": lambda path: gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(path.read_bytes()))),
    "packed file": lambda path: gzip.GzipFile(packed(path)),
}
TEXTS = ["", "a", texts.SAMPLE * 3 + texts.SPECIAL, texts.SPECIAL * 90 + "\U0001f600" * 99, "x" * 3000]


def packed(path):
    """A packed file with the text of another."""
    other = path.with_suffix(".gz")
    other.write_bytes(gzip.compress(path.read_bytes()))
    return other


@pytest.mark.parametrize("how", OPENERS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_file_that_is_open_for_reading_is_a_text(small, tmp_path, sizes, how, text):
    sizes(window=1 << 10)
    path = tmp_path / "text"
    path.write_bytes(text.encode() + b"\xff")
    wanted = small.encode(text.encode() + b"\xff")
    for encode in small.encode_array, small.encode:
        with OPENERS[how](path) as file:
            found = encode(file)
            assert list(found) == wanted
            assert file.read() == b""
    assert small.encode_array(OPENERS[how](path)).dtype == small.dtype
    assert small.count(OPENERS[how](path)) == len(wanted)
    ordinary = small.encode_ordinary(text.encode() + b"\xff")
    assert small.encode_ordinary(OPENERS[how](path)) == ordinary
    assert small.encode(OPENERS[how](path), allowed_special=set()) == ordinary


@pytest.mark.parametrize("how", OPENERS)
def test_a_file_is_a_text_from_where_it_stands_to_its_end(small, tmp_path, how):
    path = tmp_path / "text"
    path.write_bytes(b"one two three four")
    with OPENERS[how](path) as file:
        assert file.read(4) == b"one "
        assert small.encode(file) == small.encode("two three four")
        assert small.encode(file) == []
        file.seek(100)
        assert small.encode(file) == []


def test_what_was_written_to_a_file_is_read_though_the_system_does_not_have_it_yet(small, tmp_path):
    with open(tmp_path / "text", "w+b") as file:
        file.write(b"one two three")
        file.seek(3)
        assert small.encode(file) == small.encode(" two three")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system has no /proc")
def test_a_file_that_the_system_makes_up_has_no_size_and_is_read(small):
    with open("/proc/self/status", "rb") as file:
        assert small.decode(small.encode(file)).startswith("Name:")


def test_a_pipe_is_a_text(small):
    read, write = os.pipe()

    def fill() -> None:
        with open(write, "wb") as file:
            file.write(texts.SAMPLE.encode() * 50)

    with open(read, "rb") as file, ThreadPoolExecutor(1) as pool:
        writing = pool.submit(fill)
        assert small.encode(file) == small.encode(texts.SAMPLE * 50)
        writing.result()


@pytest.mark.parametrize("options", [{"pattern": r"\w+|\W"}, {"normalizer": "NFC"}])
def test_a_file_goes_by_pattern_and_normalizer(small, tmp_path, options):
    tok = nbbpe.Tokenizer(small.vocab, small.merges, small.special_tokens, **options)
    text = "e\u0301 <|end|>" + texts.SAMPLE
    (tmp_path / "text").write_text(text, encoding="utf-8", newline="")
    with open(tmp_path / "text", "rb") as file:
        assert tok.encode(file) == tok.encode(text)
        file.seek(0)
        assert tok.count(file) == len(tok.encode(text))


def test_a_file_of_str_is_no_text_and_what_to_do_is_said(small, tmp_path):
    (tmp_path / "text").write_text("one")
    with open(tmp_path / "text") as file:
        for encode in small.encode, small.count, small.encode_ordinary:
            with pytest.raises(TypeError, match=r'str or bytes \(of a file, open\(path, "rb"\)\), not TextIOWrapper'):
                encode(file)
    with pytest.raises(TypeError, match=r'\(of a file, open\(path, "rb"\)\), not \w*Path'):
        small.encode(tmp_path / "text")
    with open(tmp_path / "text", "rb") as file, pytest.raises(ValueError, match="disallowed_special cannot be checked"):
        small.encode(file, disallowed_special="all")


@pytest.mark.parametrize(
    "encode",
    [
        lambda tokenizer, file: tokenizer.tokenize(file),
        lambda tokenizer, file: tokenizer.show(file),
        lambda tokenizer, file: tokenizer.encode_batch([file]),
        lambda tokenizer, file: tokenizer.encode(file, dropout=0.1),
    ],
    ids=["tokenize", "show", "batch", "dropout"],
)
def test_where_no_file_is_taken_the_error_does_not_ask_for_one(small, tmp_path, encode):
    (tmp_path / "text").write_bytes(b"low")
    with open(tmp_path / "text", "rb") as file, pytest.raises(TypeError, match=r"not an open file \(.*\): read it first"):
        encode(small, file)


def test_a_file_that_cannot_be_read_raises_its_own_error(small, tmp_path):
    with open(tmp_path / "text", "wb") as file, pytest.raises(io.UnsupportedOperation):
        small.encode(file)
    with pytest.raises(ValueError, match="closed file"):
        small.encode(file)
