"""Sources of text: every format gives its documents, however it is cut and packed; what is bad is named or counted."""

from __future__ import annotations

import errno
import functools
import gc
import glob
import gzip
import http.server
import io
import itertools
import json
import lzma
import os
import pickle
import random
import re
import signal
import sys
import tempfile
import threading
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import frames
import numpy as np
import processes
import pytest
import texts
import warned
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from limits import takes_memory_below
from records import DOCUMENTS, compress, documents_of, encoded, filled_pipe, json_lines, needs, upload

import nbbpe
from nbbpe.counting import parallel_counting
from nbbpe.idfiles import writer as tokenfile
from nbbpe.kernels.pieces.special_tokens import new_special_tokens
from nbbpe.patterns.pattern import NAMED
from nbbpe.sources import Tally, find_inputs, optional_packages
from nbbpe.sources.compression.compressed import open_stream
from nbbpe.sources.files.local import find_local
from nbbpe.sources.files.path_patterns import find_matches
from nbbpe.sources.optional_packages import ZSTD
from nbbpe.sources.tables import arrow_files
from nbbpe.system.paths import is_url
from nbbpe.text.chunks import CutRules
from nbbpe.text.utf8 import to_bytes
from nbbpe.text.windows import NO_ID

PATTERNS = {"gpt2": "gpt2", "user": texts.SPLIT_WITH_GAPS, "none": None}


# Writing documents as others would


def write_parquet(path: Path, documents, field: str = "text", rows: int = 4, kind: str = "string", **options) -> None:
    needs("pyarrow")
    import pyarrow as arrow
    import pyarrow.parquet

    column = arrow.array([text and to_bytes(text) for text in documents], arrow.binary())
    if kind.startswith("dictionary"):
        column = column.cast(arrow.string()).dictionary_encode()
    else:
        column = column.cast(getattr(arrow, kind)())
    table = arrow.table({"id": list(range(len(documents))), field: column})
    arrow.parquet.write_table(table, path, row_group_size=rows, **options)


def write_arrow(path: Path, documents, field: str = "text", rows: int = 4, kind: str = "string", **options) -> None:
    """Write an Arrow file, or a stream where the name ends in .ipc."""
    needs("pyarrow")
    import pyarrow as arrow

    column = arrow.array([text and to_bytes(text) for text in documents], arrow.binary())
    if kind == "dictionary":
        column = column.dictionary_encode()
    elif kind == "runs":
        import pyarrow.compute

        column = arrow.compute.run_end_encode(column.cast(arrow.large_binary()))
    elif kind == "json":
        if not hasattr(arrow, "json_"):
            pytest.skip("this version of pyarrow has no JSON")
        column = arrow.ExtensionArray.from_storage(arrow.json_(), column.view(arrow.string()))
    else:
        column = column.cast(arrow.large_binary()).cast(getattr(arrow, kind)())
    if kind.endswith("view") and int(arrow.__version__.split(".")[0]) < 26:
        options["compression"] = None  # pyarrow 18 crashes while it compresses views
    table = arrow.table({"id": list(range(len(documents))), field: column, "more": [[1]] * len(documents)})
    new = arrow.ipc.new_stream if path.suffix == ".ipc" else arrow.ipc.new_file
    with new(path, table.schema, options=arrow.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows)


def write(path: Path, documents: list[str], **options) -> Path:
    """Write documents in the format that a path's name asks for; the options are of tables."""
    if path.suffix == ".parquet":
        write_parquet(path, documents, **options)
    elif path.suffix in (".arrow", ".ipc", ".feather"):
        write_arrow(path, documents, compression="lz4" if path.suffix == ".feather" else None, **options)
    else:
        path.write_bytes(compress(json_lines(documents), path.suffix))
    return path


FORMATS = [
    *("a.jsonl", "a.ndjson", "A.JSONL", "a.jsonl.gz", "a.jsonl.zst", "a.jsonl.bz2", "a.jsonl.xz", "a.ndjson.lzma"),
    *("a.parquet", "a.arrow", "a.feather", "a.ipc"),
]


@pytest.fixture(scope="module", params=PATTERNS.values(), ids=PATTERNS)
def tokenizer(request) -> nbbpe.Tokenizer:
    """A tokenizer with two special tokens, for each kind of pattern."""
    sample = [texts.SAMPLE, "the cat sat on the mat " * 3]
    return nbbpe.train(iter(sample), 380, [texts.SPECIAL, "<|sep|>"], pattern=request.param)


def ids_of(tokenizer: nbbpe.Tokenizer, documents, separator: str | None = None, plain: bool = False) -> list[int]:
    """The ids of each document alone, each with the separator after it; special tokens are known in plain text only."""
    encode = tokenizer.encode if plain else tokenizer.encode_ordinary
    after = [] if separator is None else [tokenizer.special_tokens[separator]]
    return [token_id for document in documents for token_id in [*encode(document), *after]]


# Documents


@pytest.mark.parametrize("separator", [None, "<|sep|>", texts.SPECIAL])
@pytest.mark.parametrize("name", FORMATS)
def test_the_ids_of_records_are_those_of_each_text_alone(tokenizer, tmp_path, name, separator):
    write(tmp_path / name, DOCUMENTS)
    wanted = ids_of(tokenizer, DOCUMENTS, separator)
    assert encoded(tokenizer, tmp_path / name, tmp_path, separator=separator) == wanted
    assert encoded(tokenizer, [str(tmp_path / name)] * 2, tmp_path, separator=separator) == wanted * 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.parquet", "a.arrow", "a.ipc"])
def test_workers_parts_and_blocks_change_nothing(tokenizer, tmp_path, cut_everywhere, name, workers, quiet):
    path = write(tmp_path / name, DOCUMENTS)
    wanted = ids_of(tokenizer, DOCUMENTS, "<|sep|>")
    trained = nbbpe.train(iter(DOCUMENTS), 400, [texts.SPECIAL], pattern=tokenizer.pattern)
    for n in examples((40, 3000), (40, 333, 3000)):
        cut_everywhere(n)
        assert encoded(tokenizer, [path, path], tmp_path, workers, separator="<|sep|>") == wanted * 2, n
        assert nbbpe.train(path, 400, [texts.SPECIAL], pattern=tokenizer.pattern, workers=workers) == trained, n


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.parquet", "a.arrow", None])
def test_records_without_a_separator_are_documents_all_the_same(tokenizer, tmp_path, cut_everywhere, name, workers):
    source = [write(tmp_path / name, DOCUMENTS)] * 3 if name else None
    options = {} if name else {"documents": DOCUMENTS * 3}
    for n in examples((40, 1 << 20), (40, 3000, 1 << 20)):
        cut_everywhere(n)
        tokenizer.encode_file(source, tmp_path / "ids.bin", workers, **options)
        data = nbbpe.TokenFile(tmp_path / "ids.bin", tokenizer)
        assert [ids.tolist() for ids in data.documents()] == list(map(tokenizer.encode_ordinary, DOCUMENTS)) * 3
        assert data.separator_ids == ()
        tokenizer.encode_file(source, tmp_path / "ids.bin", workers, allowed_special="all", **options)
        data = nbbpe.TokenFile(tmp_path / "ids.bin", tokenizer)
        assert [ids.tolist() for ids in data.documents()] == list(map(tokenizer.encode, DOCUMENTS)) * 3
        assert data.separator_ids == ()  # a special token in a record is a part of it


@pytest.mark.parametrize("workers", [1, 2])
def test_records_and_plain_text_together_have_documents_of_both_kinds(tokenizer, tmp_path, cut_everywhere, workers):
    records = write(tmp_path / "a.jsonl", ["one", "", f"two{texts.SPECIAL}", "x y"])
    (tmp_path / "a.txt").write_text(f"plain {texts.SPECIAL} text{texts.SPECIAL}")
    cut_everywhere(20)
    tokenizer.encode_file([records, tmp_path / "a.txt", records], tmp_path / "ids.bin", workers)
    data = nbbpe.TokenFile(tmp_path / "ids.bin", tokenizer)
    theirs = ["one", "", f"two{texts.SPECIAL}", "x y"]
    wanted = [*theirs, f"plain {texts.SPECIAL}", f" text{texts.SPECIAL}", *theirs]
    assert [tokenizer.decode(ids) for ids in data.documents()] == wanted


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("suffix", ["txt", "jsonl"])
def test_no_document_goes_on_in_another_file(tokenizer, tmp_path, cut_everywhere, suffix, workers):
    long = "the cat sat on the mat, " * 20
    for name, text in {"a": f"one{texts.SPECIAL}two", "b": f"three{texts.SPECIAL}", "empty": "", "c": long}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    first = write(tmp_path / "first.jsonl", ["x", "y"]) if suffix == "jsonl" else tmp_path / "c.txt"
    sources = [first, *(tmp_path / f"{name}.txt" for name in ("a", "b", "empty", "c")), first]
    theirs = ["x", "y"] if suffix == "jsonl" else [long]
    cut_everywhere(100)
    for options in {}, {"resume": True}:
        tokenizer.encode_file(sources, tmp_path / "ids.bin", workers, **options)
        data = nbbpe.TokenFile(tmp_path / "ids.bin", tokenizer)
        wanted = [*theirs, f"one{texts.SPECIAL}", "two", f"three{texts.SPECIAL}", "", long, *theirs]
        assert [tokenizer.decode(ids) for ids in data.documents()] == wanted
    tokenizer.encode_file(tmp_path / "a.txt", tmp_path / "ids.bin", workers)
    assert not (tmp_path / "ids.bin.ends").exists()  # of one file, the end is that of the ids


@given(st.lists(texts.texts(40), max_size=8), st.integers(1, 80), st.booleans())
def test_any_json_lines_cut_anywhere_give_their_texts(sizes, tmp_path, documents, n, ensure_ascii):
    path = tmp_path / "a.jsonl"
    path.write_bytes(json_lines(documents, ensure_ascii=ensure_ascii))
    sizes(block=n, batch=n)
    assert documents_of(path, part_bytes=3 * n) == [text.encode() for text in documents]


KINDS = ["binary", "large_binary", "binary_view", "dictionary", "runs"]


@given(
    st.lists(st.one_of(st.none(), texts.data(40)), min_size=1, max_size=12),
    st.integers(1, 5),
    st.integers(1, 100),
    st.sampled_from(["a.parquet", "a.arrow", "a.ipc"]),
    st.sampled_from(KINDS),
    st.sampled_from([None, "lz4", "zstd"]),
)
def test_any_table_cut_anywhere_gives_its_bytes(sizes, tmp_path, documents, rows, n, name, kind, compression):
    path = tmp_path / name
    if name == "a.parquet":
        write_parquet(path, documents, rows=rows, kind="binary")
    else:
        write_arrow(path, documents, rows=rows, kind=kind, compression=compression)
    sizes(block=n)
    with warnings.catch_warnings():
        assert documents_of(path, on_error="skip", part_bytes=n) == [text for text in documents if text is not None]


@pytest.mark.parametrize("compression", ["", ".gz", ".zst", ".bz2", ".xz"])
@pytest.mark.parametrize("workers", [1, 2])
def test_packed_plain_text_is_its_text(tokenizer, tmp_path, cut_everywhere, compression, workers):
    data = (texts.SAMPLE + texts.SPECIAL + "the cat").encode() + b"caf\xc3 \xff" + b"y" * 900
    path = tmp_path / f"a.txt{compression}"
    path.write_bytes(compress(data, compression))
    cut_everywhere(200)
    sources = [path] * 3
    assert encoded(tokenizer, sources, tmp_path, workers) == ids_of(tokenizer, [data] * 3, plain=True)
    assert encoded(tokenizer, sources, tmp_path, workers, separator="<|sep|>") == ids_of(
        tokenizer, [data] * 3, "<|sep|>", True
    )
    options = {"special_tokens": [texts.SPECIAL], "pattern": tokenizer.pattern}
    assert nbbpe.train(sources, 300, workers=workers, **options) == nbbpe.train(iter([data] * 3), 300, **options)


def test_nothing_is_merged_across_documents_files_and_kinds(small, tmp_path):
    write(tmp_path / "a.jsonl", ["the ca", "t sat", "", "ab"])
    write(tmp_path / "b.jsonl.gz", ["ab"])
    (tmp_path / "c.txt").write_text("abthe c")
    (tmp_path / "d").write_text("at")
    wanted = ids_of(small, ["the ca", "t sat", "", "ab", "ab", "abthe c", "at"])
    assert wanted != small.encode("the cat sat" + "ab" * 3 + "the cat")
    assert encoded(small, [tmp_path / name for name in ("a.jsonl", "b.jsonl.gz", "c.txt", "d")], tmp_path) == wanted


@pytest.mark.parametrize("separator", [None, "<|sep|>"])
def test_an_iterable_is_encoded_document_by_document(tokenizer, tmp_path, separator, sizes):
    wanted = ids_of(tokenizer, DOCUMENTS, separator)
    mixed = [text if i % 2 else text.encode() for i, text in enumerate(DOCUMENTS)]
    for batch in 1, 100, 1 << 20:
        sizes(batch=batch)
        for source in iter(DOCUMENTS), (text for text in mixed):
            assert encoded(tokenizer, source, tmp_path, workers=2, separator=separator) == wanted
        for documents in DOCUMENTS, tuple(DOCUMENTS), mixed:
            assert encoded(tokenizer, None, tmp_path, documents=documents, separator=separator) == wanted
    assert encoded(tokenizer, None, tmp_path, documents=[], separator=separator) == []
    with pytest.raises(ValueError, match="input_path is an empty list: name at least one file"):
        encoded(tokenizer, [], tmp_path)
    assert encoded(tokenizer, iter([""]), tmp_path, separator=separator) == ids_of(tokenizer, [""], separator)


def test_a_plain_file_is_one_document_for_the_separator(small, tmp_path):
    (tmp_path / "a.txt").write_text(f"a{texts.SPECIAL}b")
    (tmp_path / "empty.txt").write_text("")
    sources = [tmp_path / "a.txt", tmp_path / "empty.txt"]
    special = small.special_tokens[texts.SPECIAL]
    assert encoded(small, sources, tmp_path, separator=texts.SPECIAL) == [97, special, 98, special, special]


def test_escapes_of_lone_surrogates_become_what_str_of_them_would(small, tmp_path):
    documents = ["a\udc80b", "\ud800", "\udc80\udcff", "\ud83d\ude00", "\ud83d"]
    (tmp_path / "a.jsonl").write_bytes(json_lines(documents))
    assert rb"\ud83d\ude00" in (tmp_path / "a.jsonl").read_bytes()
    wanted = [b"a\x80b", b"\xed\xa0\x80", b"\x80\xff", "😀".encode(), b"\xed\xa0\xbd"]
    assert documents_of(tmp_path / "a.jsonl") == wanted
    assert encoded(small, tmp_path / "a.jsonl", tmp_path) == ids_of(small, wanted)


LINES = {
    "CRLF": (b'{"text": "a"}\r\n{"text": "b\\r\\n"}\r\n', [b"a", b"b\r\n"]),
    "no newline at the end": (b'{"text": "a"}\n{"text": "b"}', [b"a", b"b"]),
    "blank lines": (b'\n\n{"text": "a"}\n  \t\r\n\n{"text": "b"}\n\n', [b"a", b"b"]),
    "a BOM": (b'\xef\xbb\xbf{"text": "a"}\n{"text": "b"}\n', [b"a", b"b"]),
    "a BOM alone": (b"\xef\xbb\xbf", []),
    "blanks in a record": (b' { "text" :\t"a" }  \n', [b"a"]),
    "the last of equal fields": (b'{"text": 1, "text": "a"}\n', [b"a"]),
    "a number of 5,000 digits": (b'{"n": ' + b"7" * 5000 + b', "text": "a"}\n', [b"a"]),
    "NaN beside it": (b'{"n": NaN, "text": "a"}\n', [b"a"]),
    "empty texts": (b'{"text": ""}\n{"text": ""}\n', [b"", b""]),
    "nothing": (b"", []),
    "line separators of other worlds": ('{"text": "a\u2028b\x85c"}\n'.encode(), ["a\u2028b\x85c".encode()]),
    "a long line": (b'{"text": "' + b"ab " * 300_000 + b'"}\n{"text": "c"}\n', [b"ab " * 300_000, b"c"]),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_of_all_sorts(small, tmp_path, sizes, name):
    data, wanted = LINES[name]
    for compression in "", ".gz":
        path = tmp_path / f"a.jsonl{compression}"
        path.write_bytes(compress(data, compression))
        assert encoded(small, path, tmp_path, separator=texts.SPECIAL) == ids_of(small, wanted, texts.SPECIAL)
        for n in 3, 1000:
            sizes(block=max(n, len(data) // 1000))
            assert documents_of(path, part_bytes=max(n, len(data) // 50)) == wanted


@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "large_binary", "dictionary"])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_columns_of_all_kinds_of_strings(tmp_path, kind, rows):
    documents = [text or None for text in DOCUMENTS]
    write_parquet(tmp_path / "a.parquet", documents, "content", rows, kind, compression="zstd")
    for n in 1, 500, 1 << 30:
        found = documents_of(tmp_path / "a.parquet", "content", "skip", part_bytes=n)
        assert found == [text.encode() for text in documents if text]


@pytest.mark.parametrize("kind", ["string", "string_view", "binary_view", "large_binary", "dictionary", "runs"])
@pytest.mark.parametrize("name", ["a.arrow", "a.ipc"])
@pytest.mark.parametrize("rows", [7, 1000])
def test_columns_of_arrow_files_of_all_kinds_of_strings(tmp_path, kind, name, rows, monkeypatch):
    documents = [text or None for text in DOCUMENTS]
    monkeypatch.setattr(arrow_files, "MAX_BATCH_ROWS", 3)
    for compression in None, "lz4", "zstd":
        write_arrow(tmp_path / name, documents, "content", rows, kind, compression=compression)
        for n in 1, 500, 1 << 30:
            found = documents_of(tmp_path / name, "content", "skip", part_bytes=n)
            assert found == [text.encode() for text in documents if text]


@pytest.mark.parametrize("kind", [*KINDS, "string_view", "json"])
def test_invalid_utf8_in_a_column_of_an_arrow_file_is_kept(tmp_path, kind):
    documents = [b"caf\xc3", None, b"\xff" * 30, b"the cat"]
    write_arrow(tmp_path / "a.arrow", documents, kind=kind.replace("string", "binary"))
    if kind == "string_view":  # as a program writes that does not look
        data = (tmp_path / "a.arrow").read_bytes()
        write_arrow(tmp_path / "a.arrow", [b"cafX", None, b"X" * 30, b"the cat"], kind=kind)
        text = (tmp_path / "a.arrow").read_bytes()
        data = text.replace(b"cafX", b"caf\xc3").replace(b"X" * 30, b"\xff" * 30).replace(b"XXXX", b"\xff" * 4)
        (tmp_path / "a.arrow").write_bytes(data)
    assert documents_of(tmp_path / "a.arrow", on_error="skip") == [text for text in documents if text is not None]


def test_broken_headers_of_arrow_files_with_runs_never_crash(tmp_path):
    path = tmp_path / "a.ipc"
    write_arrow(path, ["the cat", "the cat", None, "sat"], kind="runs")
    whole = path.read_bytes()
    outcomes = set()
    for place in range(8, len(whole), 8):
        for value in 0, 1 << 40:
            path.write_bytes(whole[:place] + value.to_bytes(8, "little") + whole[place + 8 :])
            try:
                documents_of(path, on_error="skip")
            except (OSError, ValueError) as error:
                outcomes.add(repr(str(path)) in str(error))
    assert outcomes == {True}


def test_an_arrow_file_is_cut_between_record_batches(tmp_path):
    write_arrow(tmp_path / "a.arrow", [f"{i:9}" * 50 for i in range(40)])
    (table,) = find_inputs(tmp_path / "a.arrow", "text", "raise")
    assert table.n_text() == pytest.approx(40 * 450, rel=0.01)
    for n, bounds in (1, range(0, 41, 4)), (1 << 30, [0, 40]), (450 * 8, range(0, 41, 8)):
        parts = table.cut(n, CutRules(NAMED["gpt2"], []))
        assert [part.span() for part in parts] == list(itertools.pairwise(bounds))
        assert sum(part.size for part in parts) == table.size()


@pytest.mark.parametrize("name", ["a.arrow", "a.ipc"])
@pytest.mark.parametrize("compression", [None, "zstd"])
def test_the_text_of_an_arrow_file_is_estimated_by_its_first_rows(tmp_path, name, compression):
    documents = [" ".join(map(str, range(i, 1000 * i, i))) for i in range(1, 200)]
    random.Random(0).shuffle(documents)
    write_arrow(tmp_path / name, documents, rows=40, compression=compression)
    (table,) = find_inputs(tmp_path / name, "text", "raise")
    assert table.n_text() == pytest.approx(sum(map(len, documents)), rel=0.1)


@pytest.mark.parametrize("name", ["a.arrow", "a.ipc"])
def test_arrow_files_without_rows_or_text(small, tmp_path, name):
    needs("pyarrow")
    import pyarrow as arrow

    for documents in [], [""] * 5:
        write_arrow(tmp_path / name, documents)
        assert documents_of(tmp_path / name) == [text.encode() for text in documents]
        assert len(encoded(small, tmp_path / name, tmp_path, separator=texts.SPECIAL)) == len(documents)
    schema = arrow.schema({"text": arrow.string()})
    rows = arrow.record_batch([["the cat"]], schema)
    none = rows.slice(0, 0)
    with (arrow.ipc.new_stream if name == "a.ipc" else arrow.ipc.new_file)(tmp_path / name, schema) as writer:
        for batch in none, none, rows, none, rows:
            writer.write_batch(batch)
    assert documents_of(tmp_path / name, part_bytes=1) == [b"the cat"] * 2
    table = arrow.table({"text": arrow.nulls(5000)})
    with (arrow.ipc.new_stream if name == "a.ipc" else arrow.ipc.new_file)(tmp_path / name, table.schema) as writer:
        writer.write_table(table)
    with pytest.warns(UserWarning, match="5,000 malformed records were skipped: .* row 0 .*: the column 'text' is null"):
        assert encoded(small, tmp_path / name, tmp_path, on_error="skip") == []


def test_documents_that_are_none_are_skipped_as_nulls_in_a_column_are(small, tmp_path):
    documents = [None, "the cat", b"the cat", None]
    reason = r"\(from 0\): the text is None, and must be str or bytes"
    told = f"2 malformed records were skipped: document 0 {reason}; document 3 {reason}"
    for each in (lambda: documents), (lambda: iter(documents)):
        with pytest.warns(UserWarning, match=told):
            trained = nbbpe.train(documents=each(), vocab_size=258, on_error="skip")
        assert trained == nbbpe.train(documents=["the cat"] * 2, vocab_size=258)
        with pytest.warns(UserWarning, match=told):
            small.encode_file(None, tmp_path / "a.bin", documents=each(), on_error="skip", separator=texts.SPECIAL)
        assert nbbpe.TokenFile(tmp_path / "a.bin", small).ids.tolist() == small.encode(f"the cat{texts.SPECIAL}") * 2
        with pytest.raises(TypeError, match=r"text must be str or bytes, not NoneType: document 0 \(from 0\) is None"):
            nbbpe.train(documents=each(), vocab_size=258)
    mixture = nbbpe.Mixture({"a": iter(documents)})
    with pytest.warns(UserWarning, match=told):
        assert nbbpe.train(mixture, 258, on_error="skip").merges == trained.merges
    says = pytest.raises(ValueError, match=r"there is no text.* and malformed records, which were skipped")
    with says, pytest.warns(UserWarning, match="1 malformed record was skipped: document 0"):
        nbbpe.train(documents=[None], vocab_size=258, on_error="skip")


def test_parquet_is_cut_at_the_row_group_where_a_part_comes_nearest_to_its_size(tmp_path):
    write_parquet(tmp_path / "a.parquet", [f"{i:9}" * 50 for i in range(40)], use_dictionary=False)
    (table,) = find_inputs(tmp_path / "a.parquet", "text", "raise")
    group = table.n_text() // 10
    rows = [4 * i for i in range(11)]
    of_some = (1.6, rows[::2]), (3.1, rows[::3] + rows[-1:]), (99, [0, 40])
    for n_groups, bounds in (0.01, rows), (0.7, rows), (1.4, rows), *of_some:
        parts = table.cut(int(n_groups * group), CutRules(NAMED["gpt2"], []))
        assert [part.span() for part in parts] == list(itertools.pairwise(sorted(set(bounds))))
        assert sum(part.size for part in parts) == table.size()


@pytest.mark.parametrize("rows", [1, 100])
def test_parquet_without_rows_or_text(small, tmp_path, rows):
    for documents in [], [""] * 5:
        write_parquet(tmp_path / "a.parquet", documents, rows=rows)
        assert documents_of(tmp_path / "a.parquet") == [text.encode() for text in documents]
        assert len(encoded(small, tmp_path / "a.parquet", tmp_path, separator=texts.SPECIAL)) == len(documents)


# Packed streams


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz"])
def test_zeros_are_no_part_of_a_compressed_file_but_behind_its_members(small, tmp_path, compression):
    member = compress(b"the cat", compression)
    path = tmp_path / f"a.txt{compression}"
    path.write_bytes(member + bytes(9) + member + bytes(9))
    small.encode_file(path, tmp_path / "a.bin")
    assert small.decode(nbbpe.TokenFile(tmp_path / "a.bin").ids) == "the catthe cat"
    for data in bytes(9) + member, bytes(9):  # Python's gzip refuses them, too
        path.write_bytes(data)
        with pytest.raises(OSError, match=rf"a\.txt{compression}' is broken or truncated"):
            small.encode_file(path, tmp_path / "a.bin")


def test_several_members_and_frames_are_one_stream(tmp_path):
    documents = [f"number {i} " * i for i in range(60)]
    halves = json_lines(documents[:30]), json_lines(documents[30:])
    wanted = [text.encode() for text in documents]
    (tmp_path / "a.jsonl.gz").write_bytes(b"".join(map(gzip.compress, (*halves, b""))) + bytes(100))
    assert documents_of(tmp_path / "a.jsonl.gz") == wanted
    for compression in ".bz2", ".xz":
        streams = [compress(half, compression) for half in (*halves, b"")]
        (tmp_path / f"a.jsonl{compression}").write_bytes(b"".join(streams))
        assert documents_of(tmp_path / f"a.jsonl{compression}") == wanted
    needs(ZSTD)
    pieces = [halves[0], b"", halves[1]]
    (tmp_path / "a.jsonl.zst").write_bytes(
        frames.SKIPPABLE + frames.SKIPPABLE.join(map(frames.zstd, pieces)) + frames.SKIPPABLE
    )
    assert documents_of(tmp_path / "a.jsonl.zst") == wanted
    # Its frame says no size, but the window.
    wide = frames.zstd(halves[0], knows_size=False, window_log=30, enable_long_distance_matching=1)
    (tmp_path / "a.jsonl.zstd").write_bytes(wide)
    assert documents_of(tmp_path / "a.jsonl.zstd") == wanted[:30]


@pytest.mark.parametrize("compression", [".gz", ".zst", ".bz2", ".xz", ".lzma"])
@pytest.mark.parametrize("suffix", [".jsonl", ".txt"])
def test_a_packed_file_that_was_cut_off_or_is_broken_is_an_error_that_names_it(small, tmp_path, compression, suffix):
    whole = compress(json_lines([f"{i * 7919} words" for i in range(400)]), compression)
    path = tmp_path / f"a{suffix}{compression}"
    for data in b"", whole[:1], whole[:9], whole[: len(whole) // 2], whole[:-3], whole[:-1], whole + b"junk", b"{}\n":
        path.write_bytes(data)
        for on_error in "raise", "skip":
            with pytest.raises(OSError, match=rf"a{suffix}{compression}' is (broken|empty)"):
                small.encode_file(path, tmp_path / "ids.bin", on_error=on_error)
            with pytest.raises(OSError, match=rf"a{suffix}{compression}' is (broken|empty)"):
                nbbpe.train([path, path], 300, on_error=on_error)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that can be opened and not read")
@pytest.mark.parametrize("compression", ["", ".gz", ".zst", ".xz"])
def test_an_error_of_the_system_while_a_file_is_read_names_it(tmp_path, compression):
    if compression == ".zst":
        needs(ZSTD)
    path = tmp_path / f"a.txt{compression}"
    path.symlink_to("/proc/self/mem")  # of which nothing begins at 0
    with (
        open_stream(find_local(path), compression, Tally("raise")) as stream,
        pytest.raises(OSError, match=os.strerror(errno.EIO)) as caught,
    ):
        stream.readinto(memoryview(bytearray(10)))
    assert caught.value.filename == str(path)


# Bad records

BAD = {
    b'{"text": "a"': "this is not JSON: Expecting ',' delimiter at character 13",
    b'{"text": "a': "this is not JSON: Unterminated string starting at character 10",
    b"text": "this is not JSON: Expecting value at character 1",
    b'{"text": "a"} {"text": "b"}': "this is not JSON: Extra data at character 15",
    b'{"text": "a\tb"}': "this is not JSON: Invalid control character",
    b'"a"': "the record is a string, and must be an object",
    b"[1]": "the record is an array, and must be an object",
    b"17": "the record is a number, and must be an object",
    b"null": "the record is null, and must be an object",
    b"true": "the record is a boolean, and must be an object",
    b"{}": "the record has no field 'text', but none at all",
    b'{"Text": "a", "id": 3}': "the record has no field 'text', but 'Text', 'id'",
    b'{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}': "the record has no field 'text', but 'a', 'b', 'c', 'd', 'e', ...",
    b'{"text": null}': "the field 'text' is null, and must be a string",
    b'{"text": 3}': "the field 'text' is a number, and must be a string",
    b'{"text": false}': "the field 'text' is a boolean, and must be a string",
    b'{"text": ["a"]}': "the field 'text' is an array, and must be a string: give texts from within records as an iterator",
    b'{"text": {"a": 1}}': "the field 'text' is an object, and must be a string: give texts from within records as",
    b'{"text": "caf\xe9"}': "byte 14 of it, 0xe9, is invalid UTF-8",
    b'{"text": "\xed\xa0\x80"}': "byte 11 of it, 0xed, is invalid UTF-8",
    b'\xff{"text": "a"}': "byte 1 of it, 0xff, is invalid UTF-8",
    b"[" * 100_000: "this is JSON that is nested too deeply",
}


@pytest.mark.parametrize("bad", BAD, ids=BAD.values())
def test_a_bad_record_is_named_by_file_and_line_or_left_out_and_counted(small, tmp_path, cut_everywhere, bad):
    good = [b'{"text": "the cat"}', b'{"text": ""}'] * 6
    wanted = ids_of(small, ["the cat", ""] * 6, texts.SPECIAL)
    for place in 1, 8, 13:
        lines = [*good[: place - 1], bad, *good[place - 1 :]]
        for compression, workers in ("", 1), ("", 2), (".gz", 1):
            path = tmp_path / f"a.jsonl{compression}"
            path.write_bytes(compress(b"\n".join(lines), compression))
            cut_everywhere(60)
            with pytest.raises(ValueError, match=r"a\.jsonl") as caught:
                small.encode_file(path, tmp_path / "ids.bin", workers)
            assert f"{str(path)!r}, line {place}: {BAD[bad]}" in str(caught.value)
            assert "on_error='skip'" in str(caught.value)
            assert [name for name in os.listdir(tmp_path) if not name.startswith("a.jsonl")] == []
            with pytest.warns(UserWarning, match="1 malformed record was skipped") as seen:
                ids = encoded(small, path, tmp_path, workers, on_error="skip", separator=texts.SPECIAL)
            assert ids == wanted
            (told,) = warned.here(seen)
            assert f"{str(path)!r}, line {place}: {BAD[bad]}" in str(told.message)


def test_many_bad_records_give_one_warning_with_the_first_places(small, tmp_path, cut_everywhere, quiet):
    lines = [b'{"text": "the cat"}', b"{", b'{"text": null}'] * 40
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"]
    paths[0].write_bytes(b"\n".join(lines))
    paths[1].write_bytes(gzip.compress(b"\n".join(lines)))
    messages = set()
    for workers in 1, 2, 3:
        for n in 30, 1000:
            cut_everywhere(n)
            with pytest.warns(UserWarning, match="160 malformed records were skipped") as seen:
                assert encoded(small, paths, tmp_path, workers, on_error="skip") == ids_of(small, ["the cat"] * 80)
            messages |= {str(warning.message) for warning in seen}
            assert [warning.filename for warning in seen] == [encoded.__code__.co_filename]
            with pytest.warns(UserWarning, match="160 malformed records were skipped") as seen:
                assert nbbpe.train(paths, 259, workers=workers, on_error="skip").vocab_size == 259
            messages |= {str(warning.message) for warning in seen}
            assert [warning.filename for warning in seen] == [__file__]
    (message,) = messages
    assert [f"{'a.jsonl'}', line {n}: " in message for n in (2, 3, 5, 6, 8, 9)] == [True] * 5 + [False]
    assert message.endswith("; and 155 more")


def test_of_many_skipped_records_the_first_places_alone_are_kept():
    tally = Tally("skip")
    for number in range(1000):
        tally.malformed(number, "null")
    assert tally.skipped() == (1000, [(number, "null") for number in range(5)])


def test_no_line_is_ended_by_what_was_in_memory_after_a_window(small, tmp_path, sizes, monkeypatch):
    sizes(window=len(b'{"text": "a"}'))
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "a"} x\n')
    with monkeypatch.context() as patched:
        patched.setattr(np, "empty", lambda shape, dtype=float: np.full(shape, ord("\n"), dtype))
        with pytest.warns(UserWarning, match="1 malformed record was skipped: .*, line 1: this is not JSON: Extra data"):
            assert encoded(small, tmp_path / "a.jsonl", tmp_path, on_error="skip") == []


def test_a_source_of_bad_records_alone_has_no_text_and_says_why(small, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"{}\n" * 3)
    with (
        pytest.warns(
            UserWarning, match="3 malformed records were skipped: .*line 1: .*line 3: the record has no field 'text'"
        ),
        pytest.raises(ValueError, match="there is no text"),
    ):
        nbbpe.train(tmp_path / "a.jsonl", 300, on_error="skip")
    with pytest.warns(UserWarning, match="3 malformed records"):
        assert encoded(small, tmp_path / "a.jsonl", tmp_path, on_error="skip") == []


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.ipc"])
def test_a_null_in_a_column_is_named_by_its_row_or_left_out(small, tmp_path, cut_everywhere, name, workers):
    documents = ["the cat", "", None, "sat", None, "on"]
    write(tmp_path / name, documents, rows=3)
    for n in 10, 1000:
        cut_everywhere(n)
        row = rf"{name}', row (2|4) \(from 0\): the column 'text' is null"
        with pytest.raises(ValueError, match=row):
            small.encode_file(tmp_path / name, tmp_path / "ids.bin", workers)
        with pytest.warns(UserWarning, match="2 malformed records were skipped: .* row 2 .*: .*; .* row 4 .*: ") as seen:
            ids = encoded(small, tmp_path / name, tmp_path, workers, on_error="skip")
        assert ids == ids_of(small, [text for text in documents if text])
        assert len(warned.here(seen)) == 1


def test_a_warning_that_is_an_error_leaves_no_output(small, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "a"}\n{}\n')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="1 malformed record"):
            small.encode_file(tmp_path / "a.jsonl", tmp_path / "ids.bin", on_error="skip")
    assert os.listdir(tmp_path) == ["a.jsonl"]


# What is told before long work


@pytest.fixture
def assert_refused(small, tmp_path, monkeypatch) -> Callable[..., None]:
    """A function that checks that train and encode_file refuse a source before any work, the latter leaving nothing."""

    def check(source, error: type[Exception], message: str, **options) -> None:
        before = sorted(os.listdir(tmp_path))
        with monkeypatch.context() as patch:
            for module in parallel_counting, tokenfile:
                patch.setattr(module, "run_jobs", lambda *args, **options: pytest.fail("work was begun"))
            with pytest.raises(error, match=message):
                nbbpe.train(source, 300, **options)
            with pytest.raises(error, match=message):
                small.encode_file(source, tmp_path / "ids.bin", **options)
        assert sorted(os.listdir(tmp_path)) == before

    return check


@pytest.mark.parametrize(
    ("name", "module"),
    [("a.parquet", "pyarrow"), ("a.arrow", "pyarrow"), ("a.txt.zst", ZSTD), ("a.jsonl.zst", ZSTD)],
)
def test_a_missing_package_is_told_with_the_extra_that_has_it(assert_refused, tmp_path, monkeypatch, name, module):
    (tmp_path / "ok.txt").write_text("text")
    (tmp_path / name).write_bytes(b"something")
    for missing in module, f"{module}.parquet", "fsspec", "fsspec.core":
        monkeypatch.setitem(sys.modules, missing, None)
    way_out = "this Python was built without it" if module == "compression.zstd" else r'pip install "nbbpe\[data\]"'
    message = rf"reading .*{name}' needs {module} .*{way_out}"
    assert_refused([tmp_path / "ok.txt", tmp_path / name], ImportError, message)
    message = r"^reading 's3://bucket/a.txt' needs fsspec .*pip install \"nbbpe\[data\]\""
    assert_refused("s3://bucket/a.txt", ImportError, message)
    assert optional_packages.require("json", "a") is json


@pytest.mark.parametrize(("name", "module"), [("a.txt.bz2", "bz2"), ("a.jsonl.xz", "lzma"), ("pipe.lzma", "lzma")])
def test_a_python_without_a_compression_is_told(assert_refused, tmp_path, monkeypatch, name, module):
    if name.startswith("pipe"):
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).write_bytes(compress(b"the cat", f".{name.rpartition('.')[2]}"))
    monkeypatch.setitem(sys.modules, module, None)
    message = rf"reading .*{name}' needs {module} .*: this Python was built without it"
    assert_refused(tmp_path / name, ImportError, message)


@pytest.mark.parametrize("size", [1 << 31, (1 << 32) - 1])
def test_a_dictionary_of_xz_that_is_too_large_is_told(assert_refused, tmp_path, size):
    data = bytearray(lzma.compress(b"the cat", lzma.FORMAT_ALONE))
    data[1:5] = size.to_bytes(4, "little")
    (tmp_path / "a.txt.lzma").write_bytes(data)
    assert_refused(tmp_path / "a.txt.lzma", OSError, r"a\.txt\.lzma' is broken .*: Memory usage limit exceeded")


@pytest.mark.parametrize("compression", [".gz", ".zst", ".bz2", ".xz"])
def test_no_more_of_a_compressed_file_is_read_than_was_decompressed(tmp_path, compression):
    text = np.random.default_rng(0).bytes(3 << 20)
    path = tmp_path / f"a.txt{compression}"
    path.write_bytes(compress(text, compression))
    (each,) = find_inputs(path, None, "raise")
    buffer = memoryview(bytearray(1 << 10))
    tally = Tally("raise")
    with open_stream(each.file, compression, tally, reads_ahead=False) as stream:
        for _ in range(100):
            assert stream.readinto(buffer)
    assert tally.n_read < 2 << 20  # a block of bzip2 is of 900 kB


def test_formats_that_are_not_read_are_refused_by_name(assert_refused, tmp_path):
    for name in "a.tar", "a.tar.bz2", "a.jsonl.lz4", "a.tar.gz", "a.txz", "a.zip", "A.7Z", "a.parquet.gz", "a.arrow.xz":
        (tmp_path / name).write_bytes(b"something")
        message = f"{name}' is an archive, or compressed in a way that nbbpe does not read: give the files in it"
        assert_refused(tmp_path / name, ValueError, message)


def test_a_field_that_the_first_record_does_not_have_is_told_before_the_other_files_are_read(assert_refused, tmp_path):
    write(tmp_path / "a.jsonl", ["a"] * 3)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(json_lines(["a"], field="content")))
    sources = [tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"]
    others = "'id', 'content', 'more'"
    message = rf"b\.jsonl\.gz', line 1: .* no field 'text', but {others}; name the right one with field=\.\.\. "
    assert_refused(sources, ValueError, message)
    assert_refused(sources, ValueError, r"a\.jsonl', line 1: .* no field 'content'", field="content")


def test_a_name_that_is_only_an_ending_says_what_the_file_holds(small, tmp_path, assert_refused):
    for name in ".jsonl", ".json", ".ndjson", ".jsonl.gz", ".JSONL.GZ":
        path = tmp_path / name
        path.write_bytes(compress(json_lines(DOCUMENTS), ".gz" if name.lower().endswith(".gz") else ""))
        assert encoded(small, path, tmp_path) == ids_of(small, DOCUMENTS)
    (tmp_path / ".zip").write_bytes(b"something")
    assert_refused(tmp_path / ".zip", ValueError, "is an archive, or compressed in a way that nbbpe does not read")


def test_a_field_of_another_name_is_read(small, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(json_lines(DOCUMENTS, field="the body"))
    write_parquet(tmp_path / "a.parquet", DOCUMENTS, field="the body")
    for name in "a.jsonl", "a.parquet":
        assert encoded(small, tmp_path / name, tmp_path, field="the body") == ids_of(small, DOCUMENTS)
    (tmp_path / "a.jsonl").write_text('{"": "of no name", "text": "another"}')
    assert encoded(small, tmp_path / "a.jsonl", tmp_path, field="") == ids_of(small, ["of no name"])


def test_a_parquet_file_that_cannot_be_meant_is_told(assert_refused, tmp_path):
    needs("pyarrow")
    import pyarrow as arrow
    import pyarrow.parquet

    path = tmp_path / "a.parquet"
    for data in b"", b"PAR1", b"not parquet at all", b"PAR1" + bytes(100) + b"PAR1":
        path.write_bytes(data)
        assert_refused(path, OSError, r"a\.parquet' cannot be read as parquet, or is broken: ")
    columns = {"number": [1], "list": [["a"]], "row": [{"text": "a"}], "none": [None]}
    arrow.parquet.write_table(arrow.table(columns), path)
    assert_refused(path, ValueError, r"a\.parquet' has no column 'text'; its columns are 'number', 'list', 'row', 'none'")
    for field in columns:
        assert_refused(path, ValueError, rf"column '{field}' of .*a\.parquet' is of type .*must hold strings", field=field)
    assert_refused(path, ValueError, "no column 'row.text'", field="row.text")
    twice = arrow.Table.from_arrays([arrow.array(["a"])] * 2, names=["text", "text"])
    arrow.parquet.write_table(twice, path)
    assert_refused(path, ValueError, "more than one column 'text'")
    arrow.parquet.write_table(arrow.table({"zqzq": ["a"], "text": ["a"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"zqzq", b"zq\xff\xfe"))
    assert_refused(path, OSError, r"a\.parquet' cannot be read as parquet, or is broken: 'utf-8'")


def test_a_column_of_parquet_is_told_from_a_part_of_another_of_the_same_path(small, tmp_path):
    needs("pyarrow")
    import pyarrow as arrow
    import pyarrow.parquet

    path = tmp_path / "a.parquet"
    columns = {"a": [{"b": "no"}, {"b": "no"}], "a.b": ["the", "cat"], "c.d": ["sat", "on"], "c": [{"d": "no"}, None]}
    arrow.parquet.write_table(arrow.table(columns), path, row_group_size=1)
    for field in "a.b", "c.d":
        small.encode_file(path, tmp_path / "ids.bin", field=field)
        assert small.decode(np.fromfile(tmp_path / "ids.bin", dtype=np.uint16)) == "".join(columns[field])


@pytest.mark.parametrize("name", ["a.arrow", "a.ipc"])
def test_an_arrow_file_that_cannot_be_meant_is_told(assert_refused, tmp_path, name):
    path = tmp_path / name
    for data in b"ARROW1", b"ARROW1\0\0" + bytes(100), b"\xff" * 50:
        path.write_bytes(data)
        assert_refused(path, OSError, rf"{name}' cannot be read as Arrow IPC, or is broken: ")
    for data in b"", b"FEA1" + bytes(100), b"not Arrow at all":
        path.write_bytes(data)
        assert_refused(path, OSError, rf"{name}' .*: it begins neither as an Arrow file nor as a stream")
    write_arrow(path, ["a"], "body")
    assert_refused(path, ValueError, rf"{name}' has no column 'text'; its columns are 'id', 'body', 'more'. Name")
    for field in "id", "more":
        assert_refused(path, ValueError, rf"column '{field}' of .*{name}' is of type .*must hold strings", field=field)
    os.remove(path)
    os.mkfifo(path)
    assert_refused(path, ValueError, rf"{name}' has no known size \(a pipe\?\), and an Arrow file cannot be read in order")


@pytest.mark.parametrize("name", ["a.arrow", "a.ipc"])
def test_an_arrow_file_that_was_cut_off_anywhere_is_an_error_that_names_it(small, tmp_path, name):
    path = tmp_path / name
    write_arrow(path, [f"{i} words" for i in range(9)], compression="zstd")
    whole = path.read_bytes()
    for n in range(0, len(whole), 8):
        path.write_bytes(whole[:n])
        with pytest.raises(OSError, match=rf"{name}' cannot be read as Arrow IPC, or is broken"):
            small.encode_file(path, tmp_path / "ids.bin", on_error="skip")
    if name == "a.ipc":
        path.write_bytes(whole[:-8])
        with pytest.raises(OSError, match=rf"{name}' .*: the stream has no end: it was truncated, or the program"):
            small.encode_file(path, tmp_path / "ids.bin")
        path.write_bytes(whole * 2)
        with pytest.raises(
            OSError, match=rf"{name}' .*: more follows after the end of the stream, at byte {len(whole):,}: "
        ):
            nbbpe.train(path, 300)
    assert os.listdir(tmp_path) == [name]


def test_a_parquet_file_that_breaks_later_is_named(small, tmp_path):
    path = tmp_path / "a.parquet"
    write_parquet(path, [f"{i} words" * 50 for i in range(300)], rows=100, compression="zstd", use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 400] = bytes(400)
    path.write_bytes(data)
    with pytest.raises(OSError, match=r"a\.parquet' cannot be read as parquet, or is broken"):
        small.encode_file(path, tmp_path / "ids.bin")
    assert os.listdir(tmp_path) == ["a.parquet"]


def test_options_that_cannot_be_meant_are_told(assert_refused, small, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    assert_refused(
        tmp_path / "a.txt", ValueError, "on_error must be one of 'raise', 'skip', not 'ignore'", on_error="ignore"
    )
    assert_refused(tmp_path / "a.txt", TypeError, "field must be the name of a field or a column, not 3", field=3)
    for separator, error, message in [
        ("<|no|>", ValueError, r"separator '<\|no\|>' is not a special token of the tokenizer; those are: '<\|endof"),
        ("the", ValueError, "is not a special token of the tokenizer"),
        ("", ValueError, "is not a special token of the tokenizer"),
        (7, TypeError, "separator must be a special token or None, not 7"),
    ]:
        with pytest.raises(error, match=message):
            small.encode_file(iter(["a"]), tmp_path / "ids.bin", separator=separator)
    plain = nbbpe.Tokenizer(small.vocab, small.merges)
    with pytest.raises(ValueError, match="those are: none"):
        plain.encode_file(iter(["a"]), tmp_path / "ids.bin", separator=texts.SPECIAL)
    for source in 5, None, b"text":
        with pytest.raises(TypeError, match="input_path must be a path, a list of paths, or an iterator of documents"):
            small.encode_file(source, tmp_path / "ids.bin")


# Names


def test_a_pattern_stands_for_its_files_by_name(small, tmp_path, monkeypatch, assert_refused):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "more.jsonl").mkdir(parents=True)
    for name, text in ("b.jsonl", "b"), ("a.jsonl", "a"), ("c.jsonl.gz", "c"), ("more.jsonl/d.jsonl", "d"):
        write(tmp_path / "data" / name, [text])
    (tmp_path / "data" / "e.txt").write_text("e")
    for pattern, wanted in [
        ("data/*.jsonl", "ab"),
        ("data/*.jsonl*", "abc"),
        ("data/[ac].*", "ac"),
        ("data/?.jsonl", "ab"),
        ("data/*", "abce"),
        ("data/**/*.jsonl", "abd"),
        ("data/**/**/*.jsonl", "abd"),
    ]:
        for source in pattern, Path(pattern), tmp_path / pattern, [pattern], (Path(pattern),):
            assert encoded(small, source, tmp_path) == list(wanted.encode())
    assert encoded(small, ["data/e.txt", "data/[ab].jsonl"], tmp_path) == list(b"eab")
    assert nbbpe.train("data/*", 256).merges == []
    for nothing in "data/*.parquet", "no/such/*.jsonl", "[x].txt":
        assert_refused(nothing, FileNotFoundError, "no file matches the pattern")
        assert_refused([nothing], FileNotFoundError, "no file matches the pattern")
    assert_refused("data/more*", FileNotFoundError, "no file matches")
    with pytest.raises(IsADirectoryError, match=r"'data' is a folder; give the text files in it, such as 'data/\*\.jsonl'"):
        nbbpe.train("data", 256, field="story")  # which would belong to plain text no more than to a folder
    for name in "README.md", "info.md":  # more files, of fewer bytes
        Path("data", name).write_text("")
    with pytest.raises(IsADirectoryError, match=r"such as 'data/\*\.jsonl'"):
        nbbpe.train("data", 256)
    with pytest.raises(FileNotFoundError, match="'data/none'"):
        nbbpe.train("data/none", 256, field="story")
    Path("empty").mkdir()
    assert_refused("empty", IsADirectoryError, r"'empty' is a folder; give the text files in it, such as 'empty/\*.txt'")
    Path("clone/data/en").mkdir(parents=True)
    Path("clone/.git").mkdir()
    for name, n in ("README.md", 10), (".git/a.pack", 1000), ("data/en/1.parquet", 100), ("data/en/.part.txt", 1000):
        Path("clone", name).write_text("a" * n)
    assert_refused("clone", IsADirectoryError, r"such as 'clone/\*\*/\*\.parquet'$")
    for source in "a\0.txt", Path("a\0.txt"):
        assert_refused(source, FileNotFoundError, r" is 'a\\x00\.txt', which is not a file")
    for source in "a\ud800.txt", Path("a\ud800.txt"), ["a\ud800.txt"]:
        assert_refused(source, FileNotFoundError, r"^'a\\ud800\.txt' is not the name of a file or folder")
    for name in "a\0.parquet", "a\ud800.parquet":
        with pytest.raises(FileNotFoundError, match=r"^'a\\.*\.parquet' is not the name of a file or folder"):
            nbbpe.train(counts=name, vocab_size=300)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders that may not be read are those of POSIX systems")
def test_folders_that_a_pattern_cannot_search_are_told(small, nobodys_folder):
    """What is in them would be missing, and nothing would say so."""
    folder, as_nobody = nobodys_folder
    for name in "open/a.txt", "closed/b.txt", "open/inner/c.txt", "open/shut/d.txt":
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    (folder / "open" / "link").symlink_to(folder / "closed" / "inner")
    for name in "closed", "open/shut":
        (folder / name).chmod(0)
    told = {
        "*/*.txt": (1, ["closed"]),
        "**/*.txt": (2, ["closed", "open", "open/shut"]),  # in `open` for the link
        "*/a.txt": (1, ["closed"]),
        "open/s*/?.txt": (0, ["open/shut"]),
        "clos*/**": (0, ["closed"]),
        "open/*.txt": (1, []),
        "op*/[a].txt": (1, []),
    }
    with as_nobody():
        for pattern, (n_files, closed) in told.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                if n_files:
                    assert small.frequencies(folder / pattern).sum() == n_files
                else:
                    with pytest.raises(FileNotFoundError, match="no file matches the pattern"):
                        small.frequencies(folder / pattern)
            names = ", ".join(repr(str(folder / name)) for name in closed)
            wanted = f"may be missing, as folders cannot be searched ({names}): get permission" if closed else ""
            assert [wanted in str(each.message) for each in caught] == [True] * bool(closed)
    (folder / "open" / "link").unlink()


def test_a_pattern_never_goes_round_in_a_circle(small, tmp_path):
    """Two symlinks to a folder above make more paths to a file than can be counted."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    for name, target in ("a/up", ".."), ("a/same", "."), ("a/b/up", "../.."), ("a/other", "../other"), ("other/a", "../a"):
        (tmp_path / name).symlink_to(target)
    for name in "a/x.txt", "a/b/y.txt", "other/z.txt":
        (tmp_path / name).write_text("x")
    found = [os.path.relpath(path, tmp_path) for path in find_matches(str(tmp_path / "a/**/*.txt")).files]
    assert found == ["a/b/up/other/z.txt", "a/b/y.txt", "a/other/z.txt", "a/up/other/z.txt", "a/x.txt"]
    assert small.frequencies(str(tmp_path / "a/**/x.txt")).sum() == 1


def test_a_pattern_leaves_out_files_of_ids(small, tmp_path, monkeypatch):
    """Else a run that is done again would encode what it wrote the first time."""
    monkeypatch.chdir(tmp_path)
    for name in "a.txt", "b.json", "b", "c", "d.json", "e.ends":
        Path(name).write_text("[]")
    Path("c.json").mkdir()
    sources = find_matches("*").files
    for _ in range(2):
        small.encode_file("*", "ids.bin")
        assert find_matches("*").files == sources == ["a.txt", "b", "b.json", "c", "d.json", "e.ends"]
    assert find_matches("*.json").files == ["b.json", "d.json"]
    assert find_matches("*.bin").files == ["ids.bin"]  # who means it gets it
    Path("ids.bin").unlink()
    assert find_matches("ids*").files == ["ids.bin.ends", "ids.bin.json"]


def test_what_is_no_folder_is_not_said_to_be_closed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("a")
    for link, to in ("here", "."), ("loop", "loop"), ("gone", "nowhere"):
        Path(link).symlink_to(to)
    assert find_matches("**/*.txt") == (["a.txt"], [])
    assert find_matches("*/a.txt") == (["here/a.txt"], [])
    for nothing in "a.txt/*", "gone/*", "a.txt/b", "none/*", "*/none/*":
        assert find_matches(nothing) == ([], [])
    assert find_matches("loop/*") == ([], ["loop"])


@pytest.mark.exhaustive
def test_a_pattern_matches_what_glob_finds(tmp_path, monkeypatch):
    chooser = random.Random(3)
    names = ["a", "b", ".c", "a.txt", "[a]", "a b", "é\n", ".d.txt", "A"]
    parts = ["**", "*", "?", "[ab]", "a", ".*", "*.txt", "[[]a]", ".", "..", "b*", "[!a]*", "**a", "", ".c", "é*"]
    for number in range(examples(30, 120)):
        folder = tmp_path / str(number) / "a"
        folders = [folder]
        folder.mkdir(parents=True)
        for _ in range(12):
            path = chooser.choice(folders) / chooser.choice(names)
            if path.exists():
                continue
            if chooser.random() < 0.5:
                path.write_text("x")
            else:
                path.mkdir()
                folders.append(path)
        (folder / "link").symlink_to(chooser.choice(names))
        monkeypatch.chdir(folder)
        for _ in range(20):
            chosen = chooser.choices(parts, k=chooser.randrange(1, 5))
            if chosen.count("..") > 1 or not glob.has_magic(os.sep.join(chosen)):
                continue
            for pattern in os.path.join(*chosen, ""), os.path.join(*chosen), os.path.join(folder, *chosen):
                found = glob.glob(pattern, recursive=True)
                wanted = {re.sub("/+", "/", path) for path in found if os.path.lexists(path) and not os.path.isdir(path)}
                assert find_matches(pattern).files == sorted(wanted), pattern


def test_an_output_with_a_nul_in_its_name_is_no_file_of_somebody_else(small, tmp_path):
    for write in small.save, lambda path: small.encode_file(documents=["a"], output_path=path):
        with pytest.raises(FileNotFoundError, match=r"\\x00b\.bin(\.ends)?' is not the name of a file or folder"):
            write(tmp_path / "a\0b.bin")
    assert not os.listdir(tmp_path)


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a[1].txt").write_text("brackets")
    Path("a1.txt").write_text("one")
    assert encoded(small, "a[1].txt", tmp_path) == small.encode("brackets")
    assert encoded(small, ["a[1].txt"], tmp_path) == small.encode("brackets")
    assert encoded(small, "a[0-9].txt", tmp_path) == small.encode("one")


def test_a_question_mark_or_a_hash_ends_no_name_but_that_of_a_web_page(small, tmp_path, monkeypatch, bucket):
    monkeypatch.chdir(tmp_path)
    for name in "a#1.jsonl", "what?.jsonl.gz", "http#1.jsonl":
        assert encoded(small, [write(Path(name), ["the cat"])], tmp_path) == small.encode("the cat")
    upload(f"{bucket}/a#1.jsonl", json_lines(["the cat"]))
    assert encoded(small, f"{bucket}/a#1.jsonl", tmp_path) == small.encode("the cat")


def test_a_str_that_is_no_file_is_taken_for_a_name_or_a_pattern_or_for_a_text(assert_refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "missing", "no/file", "a b.txt", "v1.5", Path("a b"):
        wanted = "is .*, which is not a file" if name in ("missing", "a b.txt") else "No such file"
        assert_refused(name, FileNotFoundError, wanted)
    for pattern in "a b*.txt", "*", "a?":
        assert_refused(pattern, FileNotFoundError, "no file matches the pattern")
    for text in "a b*\n", "a." * 2500, "*" * 5000, "*" * 4097:
        assert_refused(text, FileNotFoundError, "is .*, which is not a file")
    assert_refused("*" * 4096, FileNotFoundError, "no file matches the pattern")


def test_documents_with_stars_are_documents(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("file")
    documents = ["*", "?", "[a-z]", "**bold** words", "What is this?", "a * b", "\x00*", "http://"]
    assert encoded(small, iter(documents), tmp_path) == ids_of(small, documents)


@pytest.mark.filterwarnings("ignore:.* is not a text file by its name")
def test_the_output_is_none_of_the_inputs(small, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.bin").write_text("b")
    for source in tmp_path / "*", [tmp_path / "a.txt", tmp_path / "b.bin"]:
        with pytest.raises(ValueError, match=r"b\.bin' cannot be both input and output"):
            small.encode_file(source, tmp_path / "b.bin")
    assert (tmp_path / "b.bin").read_text() == "b"


@pytest.mark.filterwarnings("ignore:.* is not a text file by its name")
def test_a_url_of_this_machine_is_the_file_that_it_names(small, tmp_path, assert_refused):
    needs("fsspec")
    path = write(tmp_path / "a.jsonl", DOCUMENTS)
    for url in f"file://{path}", f"file://{tmp_path}/*.jsonl", f"local://{tmp_path}/a.jsonl", f"FILE://{path}":
        assert encoded(small, url, tmp_path) == ids_of(small, DOCUMENTS)
    (tmp_path / "b.bin").write_text("b")
    for scheme in "file", "local", "FILE":
        with pytest.raises(ValueError, match=r"b\.bin' cannot be both input and output"):
            small.encode_file(f"{scheme}://{tmp_path}/b.bin", tmp_path / "b.bin")
    assert (tmp_path / "b.bin").read_text() == "b"
    assert_refused(f"file://{tmp_path}/missing.txt", FileNotFoundError, "missing.txt")


@pytest.mark.parametrize("name", ["pipe.jsonl", "pipe.json"])
def test_a_pipe_of_json_lines_is_read(small, tmp_path, name):
    with filled_pipe(tmp_path / name, b"\n \n" + json_lines(DOCUMENTS)) as pipe:
        assert encoded(small, pipe, tmp_path) == ids_of(small, DOCUMENTS)


# Iterables


def test_an_error_of_an_iterable_reaches_the_user_as_it_is(small, tmp_path):
    for error in LookupError("half-way"), ConnectionResetError(104, "reset by peer"):

        def documents(error=error) -> Iterator[str]:
            yield "some text"
            raise error

        with pytest.raises(type(error)) as caught:
            small.encode_file(documents(), tmp_path / "ids.bin")
        assert caught.value is error
        assert "ids.bin" not in str(error)
    assert os.listdir(tmp_path) == []


def test_an_item_that_is_no_text_is_named(small, tmp_path):
    for on_error in "raise", "skip":
        with pytest.raises(TypeError, match=r"text must be str or bytes, not dict: document 1 \(from 0\) is {'text': 'a'}"):
            small.encode_file(iter(["a", {"text": "a"}]), tmp_path / "ids.bin", on_error=on_error)
    assert os.listdir(tmp_path) == []


def test_what_to_give_instead_of_batches_and_records_is_said(small):
    batches = [["the cat", "the hat"], ["the mat"]]
    one_by_one = r"document 0 \(from 0\) is .*: give its texts one by one, \(text for batch in batches for text in batch\)"
    of_each = r"document 1 \(from 0\) is .*: give the text of each, \(record\['text'\] for record in records\)"
    for texts_given, message in (batches, one_by_one), ([tuple(batches[0])], one_by_one), (["a", {"text": "a"}], of_each):
        for run in (
            lambda given: nbbpe.train(iter(given), 260),
            lambda given: nbbpe.train(documents=given, vocab_size=260),
            lambda given: nbbpe.count_words(iter(given)),
        ):
            with pytest.raises(TypeError, match=message):
                run(texts_given)
    with pytest.raises(TypeError, match=r"text 1 \(from 0\) is \['b'\]: give its texts one by one"):
        small.encode_batch(["a", ["b"]])
    with pytest.raises(TypeError, match=r"text 0 \(from 0\) is None$"):
        small.encode_batch([None])


def test_an_arrow_column_is_no_iterable_of_texts_and_where_to_give_it_is_said(small):
    """Its items are Arrow's scalars."""
    pa = pytest.importorskip("pyarrow")
    message = r"texts must be a list of texts, .*: encode_arrow takes Arrow data, and texts\.to_pylist\(\) is such a list"
    for column in pa.array(["the cat"]), pa.chunked_array([["the cat"]]):
        for take in small.encode_batch, small.encode_batch_flat, lambda data: list(small.encode_iterable(data)):
            with pytest.raises(TypeError, match=message):
                take(column)
        assert small.encode_arrow(column).to_pylist() == small.encode_batch(column.to_pylist())
        assert small.decode_arrow(small.encode_arrow(column)).to_pylist() == ["the cat"]


@pytest.mark.parametrize("how", ["text", "bytes", "packed", "temporary", "in memory"])
def test_an_open_file_is_refused_with_what_to_give_instead(assert_refused, small, tmp_path, how):
    path = tmp_path / "a.txt"
    path.write_text("the cat\nthe hat\n")
    openers = {
        "text": lambda: open(path),  # noqa: SIM115
        "bytes": lambda: open(path, "rb"),  # noqa: SIM115
        "packed": lambda: gzip.GzipFile(path),
        "temporary": lambda: tempfile.NamedTemporaryFile(dir=tmp_path),  # noqa: SIM115
        "in memory": lambda: io.StringIO("the cat\nthe hat\n"),
    }
    with openers[how]() as file:
        named = "" if how == "in memory" else ", '.*,"  # a long path is cut
        assert_refused(file, TypeError, f"is an open file{named} whose lines .* give its path, or documents=")
        assert_refused([path, file], TypeError, "item 1 of .* is an open file.* give its path")
        for refuses in (
            small.frequencies,
            nbbpe.count_words,
            lambda source: small.extend(source, len(small) + 1),
            lambda source: small.report(tmp_path / "r.html", {"a": source}),
            lambda source: nbbpe.train(nbbpe.Mixture({"a": source}), 300),
            lambda source: nbbpe.inspection.text_figures(small, source),
        ):
            with pytest.raises(TypeError, match="is an open file"):
                refuses(file)
    with open(path) as file:
        by_line = nbbpe.train((line for line in file), 260)
    assert by_line == nbbpe.train(documents=["the cat\n", "the hat\n"], vocab_size=260)


class Frame:
    """A table that gives the names of its columns, as a DataFrame does, also without Arrow's interface."""

    columns = ("text", "id")

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


@pytest.mark.parametrize("named", [{"train": "the cat"}, Frame()])
def test_names_of_texts_are_not_taken_for_texts(small, tmp_path, assert_refused, named):
    kind = type(named).__name__
    assert_refused(named, TypeError, rf"is {kind}, whose names would be .* its columns, or list\(.*nbbpe\.Mixture")
    for take in (
        lambda: nbbpe.train(documents=named, vocab_size=300),
        lambda: small.encode_file(None, tmp_path / "ids.bin", documents=named),
        lambda: small.encode_batch(named),
        lambda: small.encode_padded(named, pad_id=0),
    ):
        with pytest.raises(TypeError, match=f"not {kind}, of which only the names would be taken"):
            take()


class Splits(dict[str, Frame]):
    """Data sets by the names of splits, as `datasets` loads one."""

    column_names = ("text",)


def test_a_data_set_of_several_splits_is_refused_with_how_to_give_one(small):
    splits = Splits(train=Frame())
    with pytest.raises(TypeError, match=r"a column of one split, such as source\['train'\]\['text'\]$"):
        nbbpe.train(splits, 300)
    with pytest.raises(TypeError, match=r"a column of one split, such as texts\['train'\]\['text'\]$"):
        small.encode_batch(splits)
    one = Frame()
    one.column_names = one.columns
    for other in Splits(), one:
        with pytest.raises(TypeError, match=r"give one of its columns, or list\(texts\.values\(\)\)$"):
            small.encode_batch(other)


@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_is_taken_only_where_the_order_of_documents_does_not_matter(small, tmp_path, kind):
    documents = ["the cat", "the hat", "a cat"]
    output = tmp_path / "ids.bin"
    with pytest.raises(TypeError, match=rf"^documents must be .*, not {kind.__name__}, .*: give sorted\(documents\)"):
        small.encode_file(documents=kind(documents), output_path=output)
    with pytest.raises(TypeError, match=rf"^input_path must be .*, not {kind.__name__}, .*: give sorted\(input_path\)"):
        small.encode_file(kind(documents), output)
    assert not output.exists()
    assert small.encode_file(documents=dict.fromkeys(documents).keys(), output_path=output)
    assert nbbpe.train(documents=kind(documents), vocab_size=260) == nbbpe.train(documents=documents, vocab_size=260)


def test_names_of_files_in_an_iterable_are_texts_with_a_warning(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("the cat")
    for names in iter(["a.txt", "b"]), {"a.txt": 1}.keys(), np.array(["a.txt"]):
        with pytest.warns(UserWarning, match=r"the first text is the name of a file, 'a\.txt', .*give a list or a tuple"):
            small.encode_file(names, "ids.bin")
        assert small.decode(np.fromfile("ids.bin", dtype=small.dtype)).startswith("a.txt")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # only the first is looked for
        small.encode_file(iter(["b", "a.txt"]), "ids.bin")
    with pytest.raises(TypeError, match=r"gives paths \(.*a\.txt.*\), so it must be a list or a tuple of them"):
        nbbpe.train(tmp_path.glob("*.txt"), 300)


@pytest.mark.parametrize("parity", [False, True])
def test_an_iterator_that_was_used_before_is_told_by_name(small, tmp_path, parity):
    """Its documents would be missing without a word: in a mixture, from what the others teach."""
    again = iter(["the cat"])
    mixture = nbbpe.Mixture({"a": iter(["the dog"]), "b": again}, parity=parity)
    n_vocab = 257
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nbbpe.train(mixture, n_vocab)
        nbbpe.train(documents=["a dog", ""], vocab_size=n_vocab)
        small.frequencies(documents=[])  # a list that says what it has
    with pytest.warns(
        UserWarning, match=r"^sources\['b'\] is an iterator that gives no document: .*make a new one for each use"
    ):
        nbbpe.train(nbbpe.Mixture({"a": iter(["the dog"]), "b": again}, parity=parity), n_vocab)
    for use in (
        lambda: small.frequencies(again),
        lambda: small.unused(again),
        lambda: small.encode_file(again, tmp_path / "ids.bin"),
    ):
        with pytest.warns(UserWarning, match="^(source|input_path) is an iterator that gives"):
            use()
    with pytest.warns(UserWarning, match="^documents is an iterator"), pytest.raises(ValueError, match="there is no text"):
        nbbpe.train(documents=again, vocab_size=n_vocab)


@pytest.mark.parametrize("kind", ["string", "binary", "string_view", "dictionary"])
def test_names_of_files_in_a_column_are_texts_with_a_warning(small, tmp_path, monkeypatch, kind):
    """As of a table that lists files."""
    pa = pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("the cat")

    def column(*names: str):
        names = pa.array(names, pa.string())
        return names.dictionary_encode() if kind == "dictionary" else names.cast(getattr(pa, kind)())

    for data in column("a.txt", "b"), pa.chunked_array([column(), column("a.txt")]), pa.table({"text": column("a.txt")}):
        with pytest.warns(UserWarning, match=r"the first text is the name of a file, 'a\.txt', .*give a list or a tuple"):
            nbbpe.train(data, 257)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small.encode_file(column("b", "a.txt"), "ids.bin")
    assert small.encode_file(pa.array([b"\xff"]).view(pa.string()), "ids.bin") == 1


def test_an_iterable_is_encoded_as_it_comes(small, tmp_path, sizes):
    sizes(batch=1000)
    most_waiting = n_read = 0
    sizes(report=1)

    def documents() -> Iterator[str]:
        nonlocal n_read, most_waiting
        for _ in range(500):
            n_read += 100
            most_waiting = max(most_waiting, n_read - n_encoded)
            yield "word " * 20

    n_encoded = 0

    def told(stage: str, done: int, total: int | None) -> None:
        nonlocal n_encoded
        assert (stage, total) == ("encode", None)
        n_encoded = done

    small.encode_file(documents(), tmp_path / "ids.bin", progress=told)
    assert n_encoded == 50_000
    assert most_waiting < 2500


# Elsewhere


@pytest.mark.parametrize("workers", [1, 2] if sys.platform == "linux" else [1])  # others do not inherit the memory
def test_files_elsewhere_are_read_like_those_here(small, tmp_path, cut_everywhere, bucket, workers, quiet):
    names = "a.jsonl", "b.jsonl.gz", "c.jsonl.zst", "ca.jsonl.xz", "d.parquet", "da.arrow", "db.ipc"
    for name in names:
        upload(f"{bucket}/{name}", write(tmp_path / name, DOCUMENTS).read_bytes())
    upload(f"{bucket}/e.txt", "".join(DOCUMENTS).encode())
    upload(f"{bucket}/folder.txt/f.txt", b"not meant")
    wanted = ids_of(small, DOCUMENTS * len(names), texts.SPECIAL)
    wanted += ids_of(small, ["".join(DOCUMENTS)], texts.SPECIAL, plain=True)
    urls = [f"{bucket}/{name}" for name in (*names, "e.txt")]
    for n in 300, 1 << 20:
        cut_everywhere(n)
        for source in urls, f"{bucket}/*", [f"{bucket}/[a-d]*.*", urls[-1].replace("memory:", "MEMORY:")]:
            assert encoded(small, source, tmp_path, workers, separator=texts.SPECIAL) == wanted
        trained = nbbpe.train(urls[:3], 300, [texts.SPECIAL], workers=workers)
        assert trained == nbbpe.train(iter(DOCUMENTS * 3), 300, [texts.SPECIAL])
    here = write(tmp_path / "x.jsonl", ["here"])
    assert encoded(small, [here, urls[0]], tmp_path) == ids_of(small, ["here", *DOCUMENTS])


def test_a_file_elsewhere_whose_name_looks_like_a_pattern_is_that_file(small, tmp_path, bucket):
    upload(f"{bucket}/a[1].txt", b"brackets")
    upload(f"{bucket}/a1.txt", b"one")
    assert encoded(small, f"{bucket}/a[1].txt", tmp_path) == small.encode("brackets")
    for pattern in "a[0-9].txt", "a?.txt":
        assert encoded(small, f"{bucket}/{pattern}", tmp_path) == small.encode("one")


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("s3://bucket/a.txt", True),
        ("git+ssh://host/a.txt", True),
        ("file:///folder/two\nlines.txt", True),
        ("c://a.txt", False),  # a drive
        ("http://", False),
        ("http:// begins an address", False),
        ("see http://a.org", False),
    ],
)
def test_what_a_url_is(name, is_one):
    assert is_url(name) == is_one


def test_what_is_wrong_elsewhere_is_named(assert_refused, bucket):
    upload(f"{bucket}/a.parquet", b"no parquet")
    upload(f"{bucket}/folder/a.txt", b"text")
    upload(f"{bucket}/a.jsonl", b"{}\n")
    upload(f"{bucket}/a.txt.gz", b"no gzip")
    upload(f"{bucket}/a.lz4", b"text")
    for name, error, message in [
        ("missing.txt", FileNotFoundError, "memory://bucket/missing.txt' cannot be read: there is no such file"),
        ("*.csv", FileNotFoundError, "memory://bucket/.*csv' cannot be read: no file matches the pattern"),
        ("folder", IsADirectoryError, "memory://bucket/folder' cannot be read: it is a folder"),
        ("a.parquet", OSError, "memory://bucket/a.parquet' cannot be read as parquet"),
        ("a.jsonl", ValueError, "memory://bucket/a.jsonl', line 1: the record has no field"),
        ("a.txt.gz", OSError, "memory://bucket/a.txt.gz' is broken"),
        ("a.lz4", ValueError, "memory://bucket/a.lz4' is an archive, or compressed in a way that nbbpe does not read"),
    ]:
        assert_refused(f"{bucket}/{name}", error, message)
        assert_refused([f"{bucket}/folder/a.txt", f"{bucket}/{name}"], error, message)
    assert_refused("nowhere://a/b.txt", OSError, "nowhere://a/b.txt' cannot be read: ValueError: Protocol not known")


@pytest.mark.parametrize("step", ["_open", "readinto"])
@pytest.mark.parametrize(
    ("raised", "cause", "kind", "message"),
    [
        (LookupError("gone"), None, OSError, "LookupError: gone$"),
        (PermissionError("denied"), None, PermissionError, "denied$"),
        (ConnectionResetError("lost"), TimeoutError("late"), OSError, r"ConnectionResetError: lost \(late\)$"),
        (FileNotFoundError("/bucket/a.txt"), None, FileNotFoundError, "there is no such file$"),
        (FileNotFoundError("/bucket/a.txt"), TimeoutError("late"), FileNotFoundError, "late$"),
        (FileNotFoundError("no bucket"), None, FileNotFoundError, "no bucket$"),
        (ImportError("get it"), None, ImportError, None),
    ],
)
def test_an_error_while_a_file_elsewhere_is_read_names_it_and_the_cause(
    small, tmp_path, bucket, monkeypatch, step, raised, cause, kind, message
):
    upload(f"{bucket}/a.txt", b"the cat " * 1000)
    from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

    def fails(*_, **__):
        raise raised from cause

    monkeypatch.setattr(MemoryFileSystem if step == "_open" else MemoryFile, step, fails)
    wanted = f"^'memory://bucket/a.txt' cannot be read: {message}"
    if message is None:
        wanted = "^reading 'memory://bucket/a.txt' needs a package that is missing: get it$"
    with pytest.raises(kind, match=wanted) as caught:
        small.encode_file(f"{bucket}/a.txt", tmp_path / "ids.bin")
    assert type(caught.value) is kind
    assert os.listdir(tmp_path) == []


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args) -> None:
        pass


def test_web_addresses_are_read(small, tmp_path, assert_refused):
    needs("fsspec")
    needs("aiohttp")
    (tmp_path / "web").mkdir()
    write(tmp_path / "web" / "a.jsonl.gz", DOCUMENTS)
    (tmp_path / "web" / "a.txt").write_text("the cat")
    handler = functools.partial(QuietHandler, directory=str(tmp_path / "web"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            sources = [f"{url}/a.jsonl.gz?download=true", f"{url}/a.txt"]
            assert encoded(small, sources, tmp_path) == ids_of(small, [*DOCUMENTS, "the cat"])
            (tmp_path / "web" / "a.csv").write_text("the cat")
            with pytest.warns(UserWarning, match=r"a\.csv\?download=true' is a table"):
                encoded(small, f"{url}/a.csv?download=true", tmp_path)
            for missing in f"{url}/missing.txt", f"{url.replace('http', 'HTTP')}/missing.txt?download=true":
                assert_refused(missing, FileNotFoundError, f"{re.escape(missing)}' cannot be read: .*not found")
            # Python's server sends whole files only.
            write_parquet(tmp_path / "web" / "a.parquet", [f"{i} {i * i}" * 99 for i in range(3000)], compression="none")
            with pytest.raises(OSError, match=r"a\.parquet' cannot be read: its server does not send parts of files"):
                nbbpe.train(f"{url}/a.parquet", 300)
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked there")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_that_reads_from_the_web_leaves_the_connections_of_its_parent(small, tmp_path):
    needs("fsspec")
    needs("aiohttp")
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "a.txt").write_text("the cat")

    class KeepsConnections(QuietHandler):
        protocol_version = "HTTP/1.1"

    def read() -> None:
        assert encoded(small, f"http://127.0.0.1:{server.server_port}/a.txt", tmp_path) == small.encode("the cat")
        gc.collect()  # of what was the parent's

    handler = functools.partial(KeepsConnections, directory=str(tmp_path / "web"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            read()
            assert processes.exit_code(processes.fork(lambda: (signal.alarm(60), read()))) == 0
            again = threading.Thread(target=read, daemon=True)
            again.start()
            again.join(60)
            assert not again.is_alive()
        finally:
            server.shutdown()
            thread.join()


# Progress, parts, memory


@pytest.mark.parametrize(
    "name",
    ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.jsonl.bz2", "a.jsonl.xz", "a.parquet", "a.arrow", "a.ipc", "a.txt.gz"],
)
def test_progress_is_told_in_bytes_of_the_files_up_to_their_size(small, tmp_path, cut_everywhere, name):
    path = write(tmp_path / name, DOCUMENTS)
    size = 2 * path.stat().st_size
    for workers in 1, 2:
        cut_everywhere(300)
        for stage, work in [
            ("encode", lambda **options: small.encode_file([path] * 2, tmp_path / "ids.bin", **options)),
            ("count words", lambda **options: nbbpe.train([path] * 2, 260, **options)),
        ]:
            told = []
            work(workers=workers, progress=lambda *args, told=told: told.append(args))
            of_stage = [(done, total) for name, done, total in told if name == stage]
            assert of_stage[-1] == (size, size)
            assert of_stage == sorted(of_stage)
            assert len(of_stage) > 2


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.ipc"])
def test_progress_in_a_part_of_a_table_follows_its_rows(tmp_path, sizes, name):
    rows = [f"the cat {i}" for i in range(1000)]
    write(tmp_path / name, rows, rows=1000 if name == "a.parquet" else 10)
    sizes(block=100, window=100)
    (each,) = find_inputs(tmp_path / name, "text", "raise")
    (part,) = each.cut(1 << 20, CutRules(NAMED["gpt2"], []))
    tally = Tally("raise")
    told = []
    with part.open(new_special_tokens([], []), False, NO_ID, tally) as reader:
        while reader.advance(0) is not None:
            told.append(tally.n_read)
    size = os.path.getsize(tmp_path / name)
    assert told == sorted(told)
    assert any(size / 4 < n < 3 * size / 4 for n in told)
    assert tally.n_read == size


NOT_CUT = ("gz", "zst", "bz2", "xz", "lzma", "ipc")  # where the suffix .ipc is that of a stream


@pytest.mark.parametrize("name", FORMATS)
def test_parts_can_be_sent_to_other_processes_and_cover_the_file(tmp_path, name):
    path = write(tmp_path / name, DOCUMENTS)
    for n in 1, 500, 1 << 20:
        (each,) = find_inputs(path, "text", "raise")
        parts = each.cut(n, CutRules(NAMED["gpt2"], []))
        assert len(parts) == 1 if n == 1 << 20 or name.endswith(NOT_CUT) else len(parts) > 2
        found = []
        for part in pickle.loads(pickle.dumps(parts)):
            with part.open(new_special_tokens([], []), False, NO_ID, Tally("raise")) as reader:
                while (window := reader.advance(0)) is not None:
                    found += [document for document, _ in window.documents()][:-1]
        assert found == [text.encode() for text in DOCUMENTS]


def test_an_array_is_read_as_json_reads_it_wherever_a_block_ends(small, tmp_path, sizes):
    path = tmp_path / "a.json"
    # Numbers may go on in the next block, and an array that follows another one would be lost.
    items = [
        '{"text": "the cat", "n": [-1.5e+10, true]}',
        "-12.5E-10",
        "1234",
        '"text"',
        "null",
        "-Infinity",
        '{"text": "b\\u00e9"}',
    ]
    for block in range(1, 40):
        sizes(block=block)
        path.write_text(" [" + " , ".join(items) + "]\n ")
        assert documents_of(path, on_error="skip") == [b"the cat", "b\u00e9".encode()]
        for rest in "]", "{}", '\n[{"text": "more"}]', "1":
            path.write_text('[{"text": "the cat"}]' + rest)
            with pytest.raises(ValueError, match=r"a\.json': more follows after the end of the array"):
                small.encode_file(path, tmp_path / "ids.bin")
            assert os.listdir(tmp_path) == ["a.json"]
        for text, message in (
            ('[{"text": "the cat"} , ]', r", record 1 \(from 0\): this is not JSON"),
            ('{\n"text": "the cat"}', " must be a JSON array of records, or JSON lines"),
        ):
            path.write_text(text)
            with pytest.raises(ValueError, match=rf"a\.json'{message}"):
                small.encode_file(path, tmp_path / "ids.bin")
        for text in '[{"text": "the cat"}]', '{"text": "the cat"}':
            path.write_text("\ufeff" + text, encoding="utf-8")
            assert documents_of(path) == [b"the cat"]


def test_an_array_that_is_broken_is_told_before_the_rest_is_read(small, tmp_path, sizes):
    sizes(block=100)
    path = tmp_path / "a.json"
    path.write_text('[{"text" "the cat"}, ' + '{"text": "the cat"}, ' * 1000 + "]")
    (each,) = find_inputs(path, "text", "skip")
    (part,) = each.cut(1 << 30, CutRules(NAMED["gpt2"], []))
    tally = Tally("skip")
    with (
        pytest.raises(ValueError, match=r"record 0 \(from 0\): this is not JSON: Expecting ':' delimiter"),
        part.open(new_special_tokens([], []), False, NO_ID, tally) as reader,
    ):
        reader.advance(0)
    assert tally.n_read <= 200


def test_a_file_of_json_lines_that_shrinks_while_it_is_read_is_an_error(small, tmp_path):
    path = write(tmp_path / "a.jsonl", DOCUMENTS)
    (each,) = find_inputs(path, "text", "raise")
    (part,) = each.cut(1 << 30, CutRules(NAMED["gpt2"], []))
    path.write_bytes(b'{"text": "a"}\n')
    with (
        pytest.raises(OSError, match=r"a\.jsonl' changed while it was read: it has 14 bytes, and had"),
        part.open(new_special_tokens([], []), False, NO_ID, Tally("raise")),
    ):
        pytest.fail("it was opened")


@pytest.mark.parametrize(
    ("name", "kind"), [("a.parquet", "string"), *(("a.arrow", kind) for kind in ("dictionary", "runs"))]
)
def test_a_text_that_many_rows_repeat_is_in_memory_for_some_of_them(tmp_path, name, kind):
    needs("pyarrow")
    import pyarrow

    write(tmp_path / name, ["the cat " * 500] * 4000, rows=4000, kind=kind)
    assert (tmp_path / name).stat().st_size < (100_000 if name == "a.parquet" else 120_000)
    (each,) = find_inputs(tmp_path / name, None, "raise")
    (part,) = each.cut(1 << 40, CutRules(NAMED["gpt2"], []))
    before, most, n_documents = pyarrow.total_allocated_bytes(), 0, 0
    with part.open(new_special_tokens([], []), False, NO_ID, Tally("raise")) as reader:
        while (window := reader.advance(0)) is not None:
            most = max(most, pyarrow.total_allocated_bytes() - before)
            n_documents += len(window.breaks)
    assert n_documents == 4000
    assert most < 12 << 20


@pytest.mark.parametrize(
    "name",
    [
        *("a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.txt", "a.txt.gz", "a.txt.zst", "a.parquet"),
        *("a.txt.bz2", "a.txt.xz", "a.txt.lzma", "a.arrow", "a.ipc"),
    ],
)
def test_memory_does_not_grow_with_the_file(tmp_path, sizes, name):
    sizes(window=1 << 16, batch=1 << 16, block=1 << 16)
    documents = [f"{i} {texts.SAMPLE * 5}" for i in range(8000)]
    if name.endswith(("parquet", "arrow", "ipc")):
        if name == "a.parquet":
            write_parquet(tmp_path / name, documents, rows=1 << 20, use_dictionary=False)
        else:
            write_arrow(tmp_path / name, documents, rows=1000)
        import pyarrow

        arrow_bytes = pyarrow.total_allocated_bytes
    else:
        write(tmp_path / name, documents)
        arrow_bytes = int
    specials = new_special_tokens([], [])
    (each,) = find_inputs(tmp_path / name, None, "raise")
    (part,) = each.cut(1 << 40, CutRules(NAMED["gpt2"], []))
    n_bytes = most = 0
    tracemalloc.start()
    try:
        with part.open(specials, False, NO_ID, Tally("raise")) as reader:
            taken = 0
            while (window := reader.advance(taken)) is not None:
                taken = window.limit
                n_bytes += taken
                most = max(most, arrow_bytes())
        most += tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n_bytes > 16 << 20
    assert most < 6 << 20


@pytest.mark.parametrize("content", [json_lines(["the cat"]) + b"{}\n", b'[{"text": "the cat"}, {}]'])
def test_space_before_the_first_record_is_not_held(tmp_path, content):
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + (b" " * (1 << 20) + b"\n") * 40 + content))
    where = "line 42:" if content.startswith(b"{") else r"record 1 \(from 0\)"
    with takes_memory_below(20 << 20):
        assert documents_of(path, on_error="skip") == [b"the cat"]
    with pytest.raises(ValueError, match=where):
        documents_of(path, on_error="raise")


@pytest.mark.parametrize("name", ["train", "count_words", "extend", "frequencies", "encode_file", "mixture", "report"])
@pytest.mark.parametrize("is_iterator", [True, False])
def test_a_field_is_refused_beside_documents_which_have_none(small, tmp_path, name, is_iterator):
    texts = ["the end"]
    source = {"source": iter(texts)} if is_iterator else {"documents": texts}
    of_file = {"input_path": iter(texts)} if is_iterator else {"documents": texts}
    calls = {
        "train": lambda: nbbpe.train(**source, vocab_size=258, field="body"),
        "count_words": lambda: nbbpe.count_words(**source, field="body"),
        "extend": lambda: small.extend(**source, vocab_size=len(small) + 1, field="body"),
        "frequencies": lambda: small.frequencies(**source, field="body"),
        "encode_file": lambda: small.encode_file(**of_file, output_path=tmp_path / "ids.bin", field="body"),
        "mixture": lambda: nbbpe.train(nbbpe.Mixture({"a": iter(texts)}), 258, field="body"),
        "report": lambda: small.report(tmp_path / "r.html", {"a": iter(texts), "b": iter(texts)}, field="body"),
    }
    with pytest.raises(ValueError, match="field='body' names a field of records, and documents are texts themselves"):
        calls[name]()


def test_a_field_may_be_of_one_of_several_sources_beside_documents(small, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(json_lines(["the the the"], field="body"))
    sources = {"a": tmp_path / "a.jsonl", "b": iter(["the cat"])}
    assert nbbpe.train(nbbpe.Mixture(sources), 258, field="body").merges == [(b"t", b"h"), (b"th", b"e")]
    small.report(tmp_path / "r.html", {**sources, "b": iter(["the cat"])}, field="body")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("~/nowhere.txt", "`~` is not expanded in names of files"),
        (Path("s3://bucket/a.txt"), "if this is a URL, give it as a str: pathlib makes one slash of two"),
    ],
)
def test_a_home_folder_and_a_url_as_a_path_are_told(path, said):
    with pytest.raises(FileNotFoundError) as caught:
        nbbpe.train(path, 257)
    assert said in str(caught.value)
    assert caught.value.filename == os.fspath(path)
    with pytest.raises(FileNotFoundError, match="is missing") as caught:
        nbbpe.load(path)
    assert said in str(caught.value)
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: 'nowhere\.txt'$"):
        nbbpe.train("nowhere.txt", 257)
