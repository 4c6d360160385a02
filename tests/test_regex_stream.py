"""A pattern that is left to `regex` is split and encoded in parts, with the same result, and in little memory."""

from __future__ import annotations

import gzip
import random
import sys

import naive
import pytest
import regex
import texts
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from processes import MEASURE, run
from real_patterns import WITHOUT_PIECES

import nbbpe
from nbbpe.counting import counters
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.patterns.regex_splitter import RegexSplitter

# Look-behind, word boundaries, anchors, what leaves text between matches, and matches that are empty.
LEFT = [
    r"(?<=\s)\w+|\w+|\s+|[^\w\s]+",
    r"\b",
    r"(?<=a)b|a",
    r"\w*",
    r"a*?",
    r"(?=b)",
    r"^a|b+|$",
    r"x*|(?<!b)a",
    r"(?m)^.?",
]
ALPHABET = "aab x\n1é日🙂\udcff"


@pytest.mark.parametrize("pattern", LEFT)
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_parts_are_the_same_however_many_come_at_once(pattern, n, sizes):
    sizes(parts=n)
    splitter = RegexSplitter(pattern)
    rng = random.Random(n)
    for _ in range(80):
        text = "".join(rng.choices(ALPHABET, k=rng.randrange(40)))
        lists = list(splitter.stream(text))
        found = [part for parts in lists for part in parts]
        assert all(lists)
        data = text.encode(errors="surrogateescape")
        assert [part.encode(errors="surrogateescape") for part in found] == naive.split(data, regex.compile(pattern))
        if len(found) > 2 * n:
            assert len(lists) > 1


@pytest.mark.parametrize("pattern", ["(?a)(?i:k|\u017f)|x", r"(?a)[[:alpha:]]+|\d", r"(?a)\h+|a"])
def test_a_pattern_of_ascii_alone_is_one_within_a_run_too(pattern):
    """Within another regex, `regex` reads some of it as if it were of Unicode."""
    text = "s kK\u212a\u017fx aéI\u0131\xa0日É a1 " * 10
    wanted = naive.split(text.encode(), regex.compile(pattern))
    assert [part.encode() for part in RegexSplitter(pattern).split(text)] == wanted


@pytest.mark.parametrize("pattern", ["(?:ab){i<=1}|1", r"(?:\w\d){i<=2}|\s", "(?e)(?:a1){e}|x"])
def test_short_texts_are_searched_by_fuzzy_patterns_as_long_ones_are(pattern):
    """Where it searches, `regex` finds another match than where one must begin at the start of the text."""
    compiled = regex.compile(pattern)
    rng = random.Random(pattern)
    for text in ["_ab1", *("".join(rng.choices("ab1x_ ", k=rng.randrange(1, 9))) for _ in range(300))]:
        found = RegexSplitter(pattern).split(text)
        assert [part.encode() for part in found] == naive.split(text.encode(), compiled), text


@given(
    st.lists(st.sampled_from([LEFT[0], LEFT[2], r"\bx|a+", r"[^\n]+|\n", "b+"]), min_size=2, max_size=3),
    st.text(ALPHABET, max_size=40),
)
def test_a_sequence_is_split_alike_in_parts(sizes, regexes, text):
    sizes(parts=10_000)
    wanted = [text] if text else []
    for each in regexes:
        splitter = RegexSplitter(each)
        wanted = [inner for part in wanted for inner in splitter.split(part)]
    sizes(parts=3)
    assert get_pattern(regexes).split(text) == wanted


def test_a_pattern_that_gives_up_its_runs_goes_on_where_it_was(sizes):
    splitter = RegexSplitter(r"\w+|\W")
    runs = splitter._runs
    text = "ab cd " * 600

    class SlowInTheMiddle:
        def finditer(self, text, timeout):
            for number, match in enumerate(runs.finditer(text)):
                if number == 3:
                    raise TimeoutError
                yield match

    sizes(parts=300)
    splitter._runs = SlowInTheMiddle()
    assert splitter.split(text) == RegexSplitter(r"\w+|\W").split(text)
    assert splitter._runs is None


@pytest.mark.parametrize("pattern", [LEFT[0], WITHOUT_PIECES])
@pytest.mark.parametrize("n", [1, 4, 10_000])
def test_ids_are_the_same_in_parts(n, pattern, sizes, tmp_path):
    documents = [texts.SAMPLE, "", "a  b", f"x{texts.SPECIAL}y", "\ud83d\udcff é", "the cat sat " * 30, ""]
    tokenizer = nbbpe.train(documents=documents, vocab_size=300, special_tokens=[texts.SPECIAL], pattern=pattern)
    assert not get_pattern(pattern).is_compiled
    merges = tokenizer.merges
    ids = {token: number for number, token in tokenizer.vocab.items()}
    sizes(parts=n)
    assert nbbpe.train(documents=documents, vocab_size=300, special_tokens=[texts.SPECIAL], pattern=pattern) == tokenizer
    compiled = regex.compile(pattern)
    for special in {}, {texts.SPECIAL.encode(): tokenizer.special_tokens[texts.SPECIAL]}:
        wanted = []
        for document in documents:
            data = nbbpe.text.utf8.to_bytes(document)
            # A stretch between special tokens is a text of its own for look-behind.
            row = naive.encode(data, merges, ids, compiled, special)
            encode = tokenizer.encode if special else tokenizer.encode_ordinary
            assert encode(document) == encode(data) == encode(memoryview(data)) == row
            wanted.append(row)
        allowed = "all" if special else ()
        assert tokenizer.encode_batch(documents, allowed_special=allowed) == wanted
        assert [tokenizer.count(each, allowed_special=allowed) for each in documents] == list(map(len, wanted))
        tokenizer.encode_file(iter(documents), tmp_path / "ids.bin", allowed_special=allowed)
        file = nbbpe.TokenFile(tmp_path / "ids.bin", tokenizer)
        assert [row.tolist() for row in file.documents()] == wanted
        tokenizer.encode_file(iter(documents), tmp_path / "ids.bin", separator=texts.SPECIAL, allowed_special=allowed)
        file = nbbpe.TokenFile(tmp_path / "ids.bin", tokenizer)
        separator = tokenizer.special_tokens[texts.SPECIAL]
        assert file.ids.tolist() == [token for row in wanted for token in (*row, separator)]


def test_training_holds_no_more_of_a_file_than_a_window_or_a_document(sizes, tmp_path, monkeypatch):
    sizes(window=100)
    held: list[int] = []
    count = counters.RegexCounter.count

    def counts(self, window):
        held.append(window.end - window.start)
        return count(self, window)

    monkeypatch.setattr(counters.RegexCounter, "count", counts)
    documents = ["the cat é " * (i % 40) + "aab" for i in range(200)]
    with gzip.open(tmp_path / "a.txt.gz", "wt", encoding="utf-8") as file:
        file.write(texts.SPECIAL.join(documents))
    options = {"vocab_size": 260, "special_tokens": [texts.SPECIAL], "pattern": WITHOUT_PIECES}
    tokenizer = nbbpe.train(tmp_path / "a.txt.gz", **options)
    assert max(held) < 3 * max(len(each.encode()) for each in documents) < 3000
    assert tokenizer == nbbpe.train(documents=documents, **options)


def test_encoding_holds_no_more_of_a_stream_than_a_window_or_a_document(sizes):
    documents = ["the cat é " * (i % 40) + "aab" for i in range(200)]
    tokenizer = nbbpe.train(documents=documents, vocab_size=260, special_tokens=[texts.SPECIAL], pattern=WITHOUT_PIECES)
    whole = texts.SPECIAL.join(documents)
    sizes(window=100)
    n_read = 0

    def pieces():
        nonlocal n_read
        for i in range(0, len(whole), 7):
            n_read = i
            yield whole[i : i + 7]

    ids, n_decoded = [], 0
    for each in tokenizer.encode_stream(pieces()):
        assert n_read - n_decoded < 3 * max(map(len, documents))
        n_decoded += len(tokenizer.decode(each))
        ids += each.tolist()
    assert ids == tokenizer.encode(whole)


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells how much memory a process takes")
@pytest.mark.parametrize("kind", ["str", "bytes", "file"])
def test_memory_is_bounded_by_the_document_and_a_constant(kind, tmp_path):
    """With all pretokens of a document in one list, 22.7 MB would take 592 MB in training and 882 in encoding."""
    n = examples(1_500_000, 4_000_000)
    (tmp_path / "text.txt").write_text(("the cat sat on a mat, " * (n // 22 + 1))[:n])
    script = f"""{MEASURE}
pattern = {WITHOUT_PIECES!r}
tokenizer = nbbpe.train(documents=["the cat sat on a mat, "] * 3, vocab_size=270, pattern=pattern)
assert tokenizer.count("a b") == 3
path = {str(tmp_path / "text.txt")!r}
text = open(path, "rb").read()
text = {{"str": text.decode(), "bytes": text, "file": None}}[{kind!r}]

def over(work):
    gc.collect()
    forget_peak()
    before = status("VmRSS")
    work()
    return status("VmHWM") - before

if text is None:
    print(over(lambda: nbbpe.train(path, 270, pattern=pattern, workers=1)))
    print(over(lambda: tokenizer.encode_file(path, path + ".bin", workers=1)))
else:
    print(over(lambda: nbbpe.train(documents=[text], vocab_size=270, pattern=pattern)))
    print(over(lambda: tokenizer.encode_array(text)))
    print(over(lambda: tokenizer.count(text)))
"""
    training, encoding, *counting = map(int, run(script).split())
    # The document as bytes, in a buffer that grows, and as str; and ids, of 2 bytes, twice. It was 19 and 43 documents.
    constant = 12 << 20
    assert training < 4 * n + constant
    assert encoding < 3.5 * n + constant
    assert all(each < n + constant for each in counting)
