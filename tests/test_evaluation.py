"""Figures of several tokenizers on several texts: against counting in Python, however a text is cut and stored."""

from __future__ import annotations

import os
import warnings

import pytest
import texts
from hypothesis import given
from hypothesis import settings as with_settings
from hypothesis import strategies as st
from vocabularies import tokenizer_json

import nbbpe
from nbbpe import inspection
from nbbpe.evaluation import Evaluation, evaluate


def is_partial(token: bytes) -> bool:
    return token.decode(errors="ignore").encode() != token


def expected(name: str, tokenizer: nbbpe.Tokenizer, text: str, documents: list[bytes], n_of_first: int) -> Evaluation:
    read = [document.decode(errors="surrogateescape") for document in documents]
    ids = [i for document in documents for i in tokenizer.encode(document)]
    n_bytes, n_characters, n_tokens = sum(map(len, documents)), sum(map(len, read)), len(ids)
    n_words = sum(len(each.split()) for each in read)
    n_partial = sum(is_partial(tokenizer.id_to_token(i)) for i in ids)
    ratios = (
        (n_bytes, n_tokens),
        (n_characters, n_tokens),
        (n_tokens, n_words),
        (n_partial, n_tokens),
        (n_tokens, n_of_first),
    )
    figures = n_bytes, n_characters, n_words, n_tokens, n_partial, *(part / of if of else None for part, of in ratios)
    return Evaluation(name, text, *figures)


DOCUMENTS = st.one_of(
    st.lists(st.sampled_from([" ", "a", "é", "中", "\n", "\u2003", "\x1c", "😀", "the cat"]), max_size=9).map(
        lambda parts: "".join(parts).encode()
    ),
    texts.texts().map(lambda text: text.encode(errors="surrogateescape")),
    texts.data(),
)


@given(st.lists(st.lists(DOCUMENTS, max_size=3), min_size=1, max_size=3), st.sampled_from([8, 64, 1000]))
@with_settings(max_examples=60)
def test_rows_are_what_python_counts(small, other, tmp_path_factory, sizes, sources, size):
    """Of files of plain text, each of which is a document."""
    folder = tmp_path_factory.mktemp("texts")
    on: dict[str, list] = {}
    for number, documents in enumerate(sources):
        on[str(number)] = [folder / f"{number}-{place}" for place in range(len(documents))] or [folder / "empty"]
        for path, document in zip(on[str(number)], documents or [b""], strict=True):
            path.write_bytes(document)
    sizes(window=size, batch=size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NUL bytes, and marks of a byte order
        found = evaluate({"small": small, "other": other}, on)
    tokenizers = {"small": small, "other": other}
    n_of_first = {name: sum(map(tokenizer.count, sources[0])) for name, tokenizer in tokenizers.items()}
    assert found == [
        expected(name, tokenizer, str(number), documents, n_of_first[name])
        for number, documents in enumerate(sources)
        for name, tokenizer in tokenizers.items()
    ]


def test_words_and_characters_of_a_large_text_are_counted_across_its_parts(small, tmp_path):
    text = "中é word \U0001f600\n" * 300_000 + "x" * 3_000_000
    (tmp_path / "a.txt").write_bytes(text.encode() + b"\xe4\xb8")
    (row,) = evaluate({"small": small}, tmp_path / "a.txt")
    assert (row.n_characters, row.n_words) == (len(text) + 2, len(text.split()))
    (tmp_path / "b.txt").write_bytes(b"a \xe4")
    (row,) = evaluate({"small": small}, tmp_path / "b.txt")
    assert (row.n_bytes, row.n_characters, row.n_words, row.n_partial_utf8) == (3, 3, 2, 1)
    assert type(row.n_partial_utf8) is int


def test_progress_goes_on_within_a_file_and_reaches_its_size(small, tmp_path, sizes):
    path = tmp_path / "text.txt"
    path.write_text("the cat sat " * 500)
    sizes(window=500, batch=500)
    told = []
    evaluate({"small": small}, path, progress=lambda *said: told.append(said))
    for stage in "count words", "count tokens":
        done = [n for of, n, _ in told if of.startswith(stage)]
        assert len(done) > 3
        assert done[-1] == path.stat().st_size


def test_records_end_words_and_special_tokens_are_text(small, other, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "the c"}\n{"text": "at"}\n{"text": ""}\n')
    (tmp_path / "b.txt").write_text(f"the{texts.SPECIAL}cat")
    rows = evaluate({"small": small, "other": other}, [tmp_path / "a.jsonl", tmp_path / "b.txt"])
    assert [(row.text, row.n_bytes, row.n_words) for row in rows] == [("a.jsonl", 7, 3)] * 2 + [("b.txt", 19, 1)] * 2
    counted = inspection.count_tokens_of_each(small, [tmp_path / "a.jsonl", tmp_path / "b.txt"], None, "raise", None)
    assert [row.n_tokens for row in rows if row.tokenizer == "small"] == [n_tokens for n_tokens, _ in counted]


def test_bytes_are_those_of_the_text_before_a_normalizer(small, tmp_path):
    (tmp_path / "a.txt").write_text("\ufb01 \ufb01")
    nfkc = nbbpe.Tokenizer(small.vocab, small.merges, list(small.special_tokens), normalizer="NFKC")
    plain, normalized = evaluate({"plain": small, "nfkc": nfkc}, tmp_path / "a.txt")
    assert (plain.n_bytes, plain.n_characters, plain.n_words) == (7, 3, 2)
    assert (normalized.n_bytes, normalized.n_characters, normalized.n_words) == (7, 3, 2)
    assert normalized.n_tokens == nfkc.count("\ufb01 \ufb01") < plain.n_tokens


def test_a_table_is_read_for_each_tokenizer(small, other):
    arrow = pytest.importorskip("pyarrow")
    rows = evaluate({"small": small, "other": other}, {"t": arrow.table({"text": ["the cat", "a mat"]})})
    assert [row.n_tokens for row in rows] == [sum(map(each.count, ["the cat", "a mat"])) for each in (small, other)]
    assert [row.n_words for row in rows] == [4, 4]


def test_arrow_data_that_can_be_read_once_is_an_error(small):
    arrow = pytest.importorskip("pyarrow")

    class Stream:
        def __init__(self) -> None:
            self.reader = arrow.table({"text": ["the cat"]}).to_reader()

        def __arrow_c_stream__(self, requested_schema=None):
            return self.reader.__arrow_c_stream__(requested_schema)

    with pytest.raises(ValueError, match="'x' is read several times, and was empty after the first"):
        evaluate({"small": small}, {"x": Stream()})


def test_what_is_odd_about_a_text_is_told_once(small, other, tmp_path):
    (tmp_path / "a.csv").write_text("the cat")
    (tmp_path / "b.jsonl").write_text('{"text": null}\n')
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        evaluate({"small": small, "other": other}, [tmp_path / "a.csv", tmp_path / "b.jsonl"], on_error="skip")
    table, skipped = (str(each.message) for each in warned)
    assert "is a table" in table
    assert "1 malformed record was skipped" in skipped


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_invalid_arguments_are_errors(small, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.txt").write_text("the cat")
    for tokenizers, on, error, message in [
        ([small], tmp_path / "a.txt", TypeError, "tokenizers must be a dict from names to tokenizers, not list"),
        ({"a": "tok"}, tmp_path / "a.txt", TypeError, "tokenizers must be a dict .*, and has 'a': 'tok'"),
        ({1: small}, tmp_path / "a.txt", TypeError, "tokenizers must be a dict from names .*, and has 1: "),
        ({}, tmp_path / "a.txt", ValueError, "tokenizers is empty: give a dict"),
        ({"a": small}, {}, ValueError, "on names no text"),
        ({"a": small}, {"x": iter(["the cat"])}, TypeError, "'x' is read several times"),
        ({"a": small}, [tmp_path / "a.txt"] * 2, ValueError, "two texts have the name 'a.txt', so that one would be lost"),
        ({"a": small}, tmp_path / "pipe", ValueError, "read several times, and '.*pipe' is a pipe"),
        ({"a": small}, tmp_path / "none", FileNotFoundError, "none"),
    ]:
        with pytest.raises(error, match=message):
            evaluate(tokenizers, on)


def test_a_byte_that_a_vocabulary_lacks_is_told_with_tokenizer_and_file(small, tmp_path):
    lacking = tokenizer_json(tmp_path, lacking={0xFF})
    (tmp_path / "a.txt").write_text("the cat")
    (tmp_path / "b.txt").write_bytes(b"cat \xff")
    on = {"two files": [tmp_path / "a.txt", tmp_path / "b.txt"]}
    place = r"b\.txt: byte 4 of the text is 0xff, which is invalid UTF-8"
    with pytest.raises(ValueError, match=rf"^the tokenizer 'lacking' on 'two files': \S+{place}"):
        evaluate({"small": small, "lacking": lacking}, on)
    with pytest.raises(ValueError, match=rf"^\S+{place}"):
        inspection.text_figures(lacking, on["two files"])
    with pytest.raises(ValueError, match=r"^byte 4 of the text is 0xff"):
        inspection.text_figures(lacking, documents=[b"cat \xff"])
