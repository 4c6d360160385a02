"""split_with: whatever splits by a pattern, its automaton or `regex`, merges and ids are the same."""

from __future__ import annotations

import io
import itertools
import json
import pickle
import random
import re
from pathlib import Path

import pytest
import real_patterns
import texts
from automata import random_automata, random_strings
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import BYTES

import nbbpe
from nbbpe.counting.counters import WordRules
from nbbpe.counting.parallel_counting import count_files
from nbbpe.counting.word_counts import corpus_fingerprint
from nbbpe.patterns.automaton import split
from nbbpe.patterns.match_facts import has_stable_pretokens
from nbbpe.patterns.pattern import Pattern
from nbbpe.patterns.pattern_argument import get_pattern, splits_by_regex
from nbbpe.sources import Documents, find_inputs
from nbbpe.text import windows
from nbbpe.text.utf8 import to_bytes

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
    "all of the text": real_patterns.WITHOUT_PIECES,
    "none": None,
}
BATCH = windows.BATCH
BROKEN = b"caf\xc3 \xe2\x82x \xff\xfe'\xc3\n\xf0\x9f\x98 \xed\xa0\x80 abc\xc3" * 3


def words_of(documents, pattern, by_regex, specials=SPECIALS):
    inputs = [Documents(documents)]
    tokens = [token.encode() for token in specials]
    words = count_files(inputs, WordRules(get_pattern(pattern), tokens, by_regex=by_regex), 1, lambda n: None)
    starts = words.starts.tolist()
    spans = zip(starts, starts[1:], words.counts.tolist(), strict=False)
    return {words.text[start:end].tobytes(): count for start, end, count in spans}


def beginning_of(path: Path) -> bytes:
    """The beginning of a text, or all of it."""
    if not path.exists():
        pytest.skip(f"needs {path.name} among the shared texts")
    with path.open("rb") as source:
        return source.read(examples(300_000, 1_000_000))


# Training


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
@given(documents=st.lists(st.one_of(texts.texts(), texts.data()), max_size=5))
def test_words_are_the_same(sizes, pattern, documents):
    documents = [*map(to_bytes, documents), BROKEN]
    wanted = words_of(documents, pattern, False)
    for batch in BATCH, 7:
        sizes(batch=batch)
        assert words_of(documents, pattern, True) == wanted


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_merges_are_the_same(pattern, tmp_path):
    path = tmp_path / "text"
    path.write_bytes((texts.SAMPLE * 3).encode() + b"<|endoftext|>" + BROKEN + b"<|pad|>12 345  \r\n\n x")
    wanted = nbbpe.train(path, 320, SPECIALS, pattern=pattern)
    by_regex = nbbpe.train(path, 320, SPECIALS, pattern=pattern, split_with="regex")
    assert by_regex == wanted
    assert by_regex.provenance == wanted.provenance
    assert by_regex.pattern == wanted.pattern


@pytest.mark.exhaustive
@pytest.mark.parametrize("pattern", ["gpt2", "deepseek3", "kimi-k2"])
@pytest.mark.parametrize("file", texts.FILES)
def test_the_words_of_real_text_are_the_same(shared, file, pattern, tmp_path):
    path = tmp_path / f"{file}.txt"
    path.write_bytes(beginning_of(shared / "text" / path.name))
    found = []
    for by_regex in False, True:
        inputs = find_inputs([path], None, "raise")
        words = count_files(
            inputs, WordRules(get_pattern(pattern), [b"<|endoftext|>"], by_regex=by_regex), 1, lambda n: None
        )
        found.append((corpus_fingerprint(words), len(words.counts), int(words.counts.sum())))
    assert found[0] == found[1]


def test_workers_split_by_regex_too(tmp_path, sizes):
    path = tmp_path / "text"
    path.write_bytes((texts.SAMPLE * 60).encode() + BROKEN)
    sizes(for_workers=0, counted=1000, chunk=3000)
    wanted = nbbpe.train(path, 400, workers=1)
    for workers in 1, 3:
        assert nbbpe.train(path, 400, workers=workers, split_with="regex") == wanted


@pytest.fixture
def seen(monkeypatch) -> list[str]:
    """The texts that `regex` splits."""
    found = []
    stream = Pattern.stream
    monkeypatch.setattr(Pattern, "stream", lambda self, text: found.append(text) or stream(self, text))
    return found


def test_regex_sees_each_distinct_piece_once(seen):
    tokenizer = nbbpe.train(iter(["the cat  the mat"] * 50), 260, split_with="regex")
    (text,) = seen
    # In some order; unless it is the first, "the" comes after a character that is put between words.
    assert len(text) - len("the" + " cat" + "  the" + " mat") in (0, 1)
    seen.clear()
    nbbpe.train(iter(["the cat the mat"] * 50), 260, split_with="compiled")
    assert seen == []
    assert tokenizer.vocab_size == 260


# Encoding


def both_ways(tokenizer):
    return tokenizer._splitting_with("compiled"), tokenizer._splitting_with("regex")


def with_pattern(small, pattern, **options):
    return nbbpe.Tokenizer(small.vocab, small.merges, SPECIALS, pattern, **options)


COMPILED = {name: pattern for name, pattern in PATTERNS.items() if name not in ("not compiled", "all of the text")}


@pytest.mark.parametrize("pattern", COMPILED.values(), ids=COMPILED)
@given(texts=st.lists(st.one_of(texts.texts(), texts.data()), min_size=1, max_size=5))
def test_ids_are_the_same(small, sizes, pattern, texts):
    compiled, by_regex = both_ways(with_pattern(small, pattern, max_pieces=20))
    for text in [*texts, BROKEN, *texts]:  # some cached by then
        wanted = compiled.encode(text)
        for ahead in 0, 20, 300:
            sizes(ahead=ahead)
            assert by_regex.encode(text) == by_regex.encode_array(text).tolist() == wanted
        assert by_regex.count(text) == len(wanted)
        assert by_regex.encode_ordinary(text) == compiled.encode_ordinary(text)
    assert by_regex.encode_batch(texts) == [compiled.encode(text) for text in texts]
    assert list(by_regex.encode_iterable(texts)) == list(compiled.encode_iterable(texts))


@pytest.fixture(scope="module", params=["r50k_base", "cl100k_base", "o200k_base"])
def vocabulary(request, shared):
    """A famous tokenizer that splits in both ways."""
    ranks = shared / "vocabs" / f"{request.param}.tiktoken"
    if not ranks.exists():
        pytest.skip(f"needs {ranks.name} among the shared vocabularies")
    return both_ways(nbbpe.Tokenizer.from_tiktoken(ranks))


@pytest.mark.exhaustive
@pytest.mark.parametrize("file", texts.FILES)
def test_the_ids_of_real_text_are_the_same(shared, file, vocabulary):
    compiled, by_regex = vocabulary
    text = beginning_of(shared / "text" / f"{file}.txt")
    wanted = compiled.encode_array(text)
    for _ in range(2):
        assert (by_regex.encode_array(text) == wanted).all()


@pytest.mark.parametrize("suffix", [".bin", ".npy"])
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_files_of_ids_are_the_same(small, pattern, suffix, tmp_path, sizes):
    path = tmp_path / "text"
    path.write_bytes((texts.SAMPLE * 5).encode() + b"<|endoftext|>" + BROKEN + b"<|pad|>12 345  \r\n\n x" * 20)
    tokenizer = with_pattern(small, pattern)
    tokenizer.encode_file(path, tmp_path / f"wanted{suffix}")
    wanted = (tmp_path / f"wanted{suffix}").read_bytes()
    sizes(for_workers=0)
    for workers in 1, 2:
        found = tmp_path / f"found{workers}{suffix}"
        tokenizer.encode_file(path, found, workers=workers, split_with="regex")
        assert found.read_bytes() == wanted
        sidecars = [json.loads(Path(f"{each}.json").read_text()) for each in (found, tmp_path / f"wanted{suffix}")]
        assert sidecars[0] == sidecars[1]


def test_windows_stream_where_regex_splits_pieces(small, tmp_path, sizes):
    sizes(window=100)
    path = tmp_path / "text"
    path.write_bytes(b"the cat sat. " * 100)
    compiled, by_regex = both_ways(with_pattern(small, "gpt2"))
    assert not by_regex._encoder.at_once
    assert by_regex._encoder.cut_by is None  # as threads would wait for each other
    with path.open("rb") as file:
        assert by_regex.encode(file) == compiled.encode(path.read_bytes())


def test_a_long_piece_is_split_by_regex_too(small):
    compiled, by_regex = both_ways(with_pattern(small, "gpt2"))
    for text in "ab" * 50_000, " " * 70_000 + "x", "-" * 5000 + " the" * 10, " ab ü" + " abc" * 300 + "a" * 3000 + " cab":
        assert by_regex.encode(text) == compiled.encode(text)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "pattern",
    # To the last one, letters before a part of a character are one pretoken, and those before a letter are several.
    [*COMPILED.values(), r"\b\w+\b|(?s:.)", r"[a-z]+[^\w\s]+|(?s:.)"],
    ids=[*COMPILED, "not compiled", "letters"],
)
def test_text_that_is_split_ahead_has_the_same_ids(small, sizes, pattern):
    """Pieces that are new and cached in turn, characters and look-aheads that are cut, and texts in the same memory."""
    rng = random.Random(1)
    parts = [
        "the",
        " cat",
        "\n",
        "  ",
        " \n\n",
        "12",
        "é",
        " 日本語",
        "🙂",
        "'s",
        ".",
        "a\u0301",
        "\udcff",
        "x" * 300,
        SPECIALS[0],
    ]
    tokenizer = with_pattern(small, pattern)
    for ahead in 30, 100, 1 << 16:
        sizes(ahead=ahead, window=1000, text_window=1000, copied=200)
        by_regex = tokenizer._splitting_with("regex")
        for n in [5, 50, 2000] * examples(1, 20):
            new = ["".join(rng.choices("abcdé1 \n", k=rng.randrange(1, 9))) for _ in range(n // 5)]
            letters = ["".join(rng.choices("the", k=rng.randrange(5, 10))) for _ in range(n)]
            words = [each + rng.choice(["日", "é", SPECIALS[0]]) for each in letters]
            for text in "".join(rng.choices([*parts, *new], k=n)), "".join(words):
                split = [each.encode(errors="surrogateescape") for each in re.split("(<.endoftext.>)", text)]
                rows = [tokenizer.encode_ordinary(each) if i % 2 == 0 else [each] for i, each in enumerate(split)]
                special = [tokenizer.special_tokens[SPECIALS[0]]]
                wanted = [number for i, row in enumerate(rows) for number in (special if i % 2 else row)]
                data = text.encode(errors="surrogateescape")
                assert by_regex.encode(data) == wanted
                assert by_regex.encode(data) == wanted  # all is cached
                assert tokenizer._splitting_with("regex").encode(io.BytesIO(data)) == wanted  # windows in the same memory


def test_regex_is_called_once_for_much_new_text(small, seen):
    _, by_regex = both_ways(with_pattern(small, "gpt2"))
    text = " ".join(map(str, range(20_000)))
    assert by_regex.encode(text) == small.encode(text)
    n_calls = len(seen)
    assert n_calls < 40
    assert by_regex.encode(text) == small.encode(text)
    assert len(seen) == n_calls
    for n_cached, is_dense in (3, True), (8, False):  # what is mostly cached is not split
        seen.clear()
        text = "".join(f"{' the' * n_cached} {n_cached}{i}" for i in range(10_000, 11_000))
        assert by_regex.encode(text) == small.encode(text)
        assert (len(seen) < 40) == (sum(map(len, seen)) > len(text) / 4) == is_dense


def test_text_with_a_long_pretoken_is_not_split_ahead_again(small, seen):
    compiled, by_regex = both_ways(with_pattern(small, "gpt2"))
    rng = random.Random(1)
    text = " ".join("".join(rng.choices("abcd", k=n)) for n in rng.choices([3, 8, 300], k=1000))
    assert by_regex.encode(text) == compiled.encode(text)
    assert sum(map(len, seen)) < 3 * len(text)


def test_no_text_is_split_ahead_by_a_pattern_that_takes_long_over_a_word_that_is_cut(sizes):
    sizes(splitting=0.02, slow=0.01, ahead=3 * 41 + 35)
    pattern = get_pattern(r"\b(?:\w+)+;|\w|\s|;")
    rng = random.Random(1)
    text = "".join("".join(rng.choices("abcd", k=40)) + ";" for _ in range(40))
    tokenizer = nbbpe.Tokenizer(BYTES, [], [], pattern)
    by_regex = tokenizer._splitting_with("regex")
    assert by_regex.encode_array(text.encode()).tolist() == [*text.encode()]
    assert not by_regex._encoder._splits_ahead


def test_text_that_another_thread_changes_leaves_no_wrong_ids_in_the_cache(sizes, monkeypatch):
    sizes(copied=0)
    pattern = r"ab\b|\w|\s"
    tokenizer = nbbpe.Tokenizer(BYTES | {256: b"bb"}, [(b"b", b"b")], [], pattern)
    text = bytearray(b"abab b ab " * 200)
    stream = Pattern.stream

    def stream_and_change(pattern: Pattern, part: str):
        found = [*stream(pattern, part)]
        text[:] = text.replace(b"abab", b"abbb")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Pattern, "stream", stream_and_change)
        tokenizer.encode(text)
    assert get_pattern(pattern).split("abbb") == ["a", "b", "b", "b"]  # but "ab" would be the end of "abab"
    assert tokenizer.encode("abbb") == [*b"abbb"]


def test_regex_sees_each_new_piece_once(small, seen, sizes):
    sizes(ahead=0)
    _, by_regex = both_ways(with_pattern(small, "gpt2"))
    for _ in range(3):
        # Some pieces are new after others that are not.
        by_regex.encode_array(b"the cat  the" + b" cat the mat" * 5000)
    assert sorted(seen) == sorted({"the", " cat", " mat", " the", " "})
    sizes(ahead=20)
    seen.clear()
    long = [f" {i}" for i in range(10**20, 10**20 + 50)]  # which are longer than that
    by_regex.encode("".join(long))
    assert seen == long


def test_both_ways_are_the_same_tokenizer(small):
    compiled, by_regex = both_ways(with_pattern(small, "gpt2"))
    assert compiled == by_regex
    assert by_regex.fingerprint == compiled.fingerprint
    assert by_regex._splitting_with(None) == compiled
    assert not by_regex._splitting_with(None)._by_regex
    assert pickle.loads(pickle.dumps(by_regex))._by_regex
    assert not pickle.loads(pickle.dumps(compiled))._by_regex


def test_encoding_with_a_normalizer(small):
    compiled, by_regex = both_ways(with_pattern(small, "gpt2", normalizer="NFC"))
    for text in "e\u0301 the cat", "A\u030a" * 30:
        assert by_regex.encode(text) == compiled.encode(text)


def test_encode_file_refuses_what_cannot_be_meant(small, tmp_path):
    (tmp_path / "t").write_text("text")
    tokenizer = with_pattern(small, r"\b\w+|(?s:.)")
    with pytest.raises(ValueError, match=r"cannot be compiled: \\b"):
        tokenizer.encode_file(tmp_path / "t", tmp_path / "ids.bin", split_with="compiled")
    with pytest.raises(ValueError, match="split_with must be one of"):
        tokenizer.encode_file(tmp_path / "t", tmp_path / "ids.bin", split_with="x")
    assert not (tmp_path / "ids.bin").exists()


# Cached pieces as pretokens of others


@pytest.mark.parametrize(
    ("pattern", "first", "second", "pretokens"),
    [
        (r"ab(?=c)|a|b|c", "ab", "abc", ["ab", "c"]),
        ([r"[a-z]{3,}|[a-z]", "[a-z]{2}|[a-z]"], "ab", "abcd", ["ab", "cd"]),
        (r"ab(?=c)|bc|c", "ab", "abbcab", ["ab", "bc", "ab"]),
    ],
)
def test_a_pretoken_has_its_own_ids_and_not_those_of_an_equal_piece(pattern, first, second, pretokens):
    vocab = BYTES | {256: b"ab"}
    tokenizer = nbbpe.Tokenizer(vocab, [(b"a", b"b")], [], pattern)
    for each in both_ways(tokenizer):
        found = get_pattern(pattern).split(second)
        wanted = [token for part in found for token in ([256] if part == "ab" else list(part.encode()))]
        each.encode(first)
        assert each.encode(second) == wanted


@pytest.mark.exhaustive
def test_pretokens_that_are_said_to_be_stable_are():
    n_stable = 0
    for given_regexes in [*real_patterns.REAL.values(), r"ab(?=c)|a|b|c", [r"\s?\p{L}+", "gpt2"]]:
        pattern = get_pattern(given_regexes)
        if not has_stable_pretokens(pattern.automata):
            continue
        n_stable += 1
        for text in random_strings(tuple(pattern.regexes), examples(60, 1000)):
            for pretoken in pattern.split(text):
                assert pattern.split(pretoken) == [pretoken], (pattern, text)
    assert n_stable > 30
    for regex, automaton in random_automata(12, examples(100, 300)):
        if has_stable_pretokens([automaton]):
            n_stable += 1
            for text in itertools.product("ab1 \n", repeat=4):
                for pretoken in split(automaton, "".join(text)):
                    assert split(automaton, pretoken) == [pretoken], (regex, text)
    assert n_stable > examples(45, 80)
    for unstable in r"ab(?=c)|a|b|c", [r"[a-z]{3,}|[a-z]", "[a-z]{2}|[a-z]"], r"ab(?!c)|c.":
        assert not has_stable_pretokens(get_pattern(unstable).automata)


# What may be given


@pytest.mark.parametrize(
    ("pattern", "split_with", "error", "message"),
    [
        ("gpt2", "automaton", ValueError, "split_with must be one of auto, compiled, regex, not 'automaton'"),
        ("gpt2", True, TypeError, "split_with must be a string or None, not True"),
        (r"\b\w+|\W", "compiled", ValueError, r"cannot be compiled: \\b"),
        (["gpt2", r"\b\w+|\W"], "compiled", ValueError, r"cannot be compiled: \\b"),
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


def test_on_the_command_line(tmp_path):
    pytest.importorskip("click")
    from nbbpe.cli import main

    text = str(tmp_path / "text.txt")
    Path(text).write_text(texts.SAMPLE * 3, encoding="utf-8")
    for way in "compiled", "regex":
        folder = str(tmp_path / way)
        assert main(["train", text, "--vocab-size", "300", "-o", folder, "--split-with", way]) == 0
        assert main(["encode", text, "-t", folder, "-o", f"{folder}.bin", "--split-with", way]) == 0
    assert nbbpe.load(tmp_path / "compiled") == nbbpe.load(tmp_path / "regex")
    assert (tmp_path / "compiled.bin").read_bytes() == (tmp_path / "regex.bin").read_bytes()
