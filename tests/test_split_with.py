"""split_with: whatever splits by a pattern, its automaton or `regex`, merges and ids are the same."""

from __future__ import annotations

import processes
import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st

import nbbpe
from nbbpe.sources import find_inputs
from nbbpe.text import windows
from nbbpe.text.pattern import get_pattern, splits_by_regex
from nbbpe.text.utf8 import to_bytes
from nbbpe.training import word_counts

FILES = ["bible_multilingual", "books_en", "cjk", "code_rails", "novels_de", "scripts_extra", "tinystories_sample"]
SPECIALS = [texts.SPECIAL, "<|pad|>", "<|"]
PATTERNS = {
    "gpt2": "gpt2",
    "o200k": "o200k",
    "deepseek3": "deepseek3",
    "custom": r"[A-Za-z]+| ?\d{1,3}|\s+|[^\s\w]+",
    "with gaps": texts.SPLIT_WITH_GAPS,
    "walks that fail": r"\s*\n|\s|\w+",
    "sequence": [r"\p{N}{1,2}", r"\s?\p{L}+", "gpt2"],
    "not compiled": r"\b\w+\b|(?s:.)",
}
BROKEN = b"caf\xc3 \xe2\x82x \xff\xfe'\xc3\n\xf0\x9f\x98 \xed\xa0\x80 abc\xc3" * 3


def words_of(documents, pattern, by_regex, specials=SPECIALS):
    inputs = [word_counts.Documents(documents)]
    tokens = [token.encode() for token in specials]
    words = word_counts.count_files(inputs, get_pattern(pattern), tokens, 1, lambda n: None, by_regex=by_regex)
    starts = words.starts.tolist()
    spans = zip(starts, starts[1:], words.counts.tolist(), strict=False)
    return {words.text[start:end].tobytes(): count for start, end, count in spans}


# Training


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
@given(documents=st.lists(st.one_of(texts.texts(), texts.data()), max_size=5))
def test_words_are_the_same(pattern, documents):
    documents = [*map(to_bytes, documents), BROKEN]
    wanted = words_of(documents, pattern, False)
    assert words_of(documents, pattern, True) == wanted
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "BATCH", 7)
        assert words_of(documents, pattern, True) == wanted


@pytest.mark.parametrize("pattern", [*PATTERNS.values(), None], ids=[*PATTERNS, "none"])
def test_merges_are_the_same(pattern, tmp_path):
    path = tmp_path / "text"
    path.write_bytes((texts.SAMPLE * 3).encode() + b"<|endoftext|>" + BROKEN + b"<|pad|>12 345  \r\n\n x")
    wanted = nbbpe.train(path, 320, SPECIALS, pattern=pattern)
    by_regex = nbbpe.train(path, 320, SPECIALS, pattern=pattern, split_with="regex")
    assert by_regex == wanted
    assert by_regex.provenance == wanted.provenance
    assert by_regex.pattern == wanted.pattern


@pytest.mark.parametrize("pattern", ["gpt2", "deepseek3", "kimi-k2"])
@pytest.mark.parametrize("file", FILES)
def test_the_words_of_real_text_are_the_same(shared, file, pattern):
    path = shared / "text" / f"{file}.txt"
    if not path.exists():
        pytest.skip(f"needs {path.name} among the shared texts")
    found = []
    for by_regex in False, True:
        inputs = find_inputs([path], "text", "raise")
        words = word_counts.count_files(
            inputs, get_pattern(pattern), [b"<|endoftext|>"], 1, lambda n: None, by_regex=by_regex
        )
        found.append((word_counts.corpus_fingerprint(words), len(words.counts), int(words.counts.sum())))
    assert found[0] == found[1]


def test_workers_split_by_regex_too(tmp_path, monkeypatch):
    path = tmp_path / "text"
    path.write_bytes((texts.SAMPLE * 60).encode() + BROKEN)
    monkeypatch.setattr(word_counts, "MIN_BYTES_FOR_WORKERS", 0)
    monkeypatch.setattr(word_counts, "BATCH", 1000)
    monkeypatch.setattr(word_counts, "_CHUNK_BYTES", 3000)
    wanted = nbbpe.train(path, 400, workers=1)
    for workers in 1, 3:
        assert nbbpe.train(path, 400, workers=workers, split_with="regex") == wanted


def test_regex_sees_each_distinct_piece_once(monkeypatch):
    pattern = get_pattern("gpt2")
    seen = []
    split = type(pattern).split
    monkeypatch.setattr(type(pattern), "split", lambda self, text: seen.append(text) or split(self, text))
    tokenizer = nbbpe.train(iter(["the cat  the mat"] * 50), 260, pattern=pattern, split_with="regex")
    assert sorted(seen) == sorted({"the", " cat", "  the", " mat"})
    seen.clear()
    nbbpe.train(iter(["the cat the mat"] * 50), 260, pattern=pattern, split_with="compiled")
    assert seen == []
    assert tokenizer.vocab_size == 260


# What may be given


@pytest.mark.parametrize(
    ("pattern", "split_with", "error", "message"),
    [
        ("gpt2", "automaton", ValueError, "split_with must be one of auto, compiled, regex, not 'automaton'"),
        ("gpt2", True, TypeError, "split_with must be a string or None, not True"),
        (r"\b\w+|\W", "compiled", ValueError, r"cannot be compiled: \\b"),
        (["gpt2", r"\b\w+|\W"], "compiled", ValueError, r"cannot be compiled: \\b"),
        (None, "compiled", ValueError, "a document is one pretoken"),
    ],
)
def test_what_cannot_be_meant_is_an_error(pattern, split_with, error, message):
    with pytest.raises(error, match=message):
        splits_by_regex(get_pattern(pattern), split_with)
    with pytest.raises(error, match=message):
        nbbpe.train(iter(["text"]), 300, pattern=pattern, split_with=split_with)


def test_by_default_what_can_be_compiled_is():
    for split_with in None, "auto", "compiled":
        assert not splits_by_regex(get_pattern("gpt2"), split_with)
    assert splits_by_regex(get_pattern("gpt2"), "regex")


def test_training_on_the_command_line(tmp_path):
    pytest.importorskip("click")
    path = tmp_path / "text.txt"
    path.write_text(texts.SAMPLE * 3, encoding="utf-8")
    script = "from nbbpe.cli import main; main(['train', {0!r}, '--vocab-size', '300', '-o', {1!r}, '--split-with', {2!r}])"
    for way in "compiled", "regex":
        processes.run(script.format(str(path), str(tmp_path / way), way))
    assert nbbpe.load(tmp_path / "compiled") == nbbpe.load(tmp_path / "regex")
