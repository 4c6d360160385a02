"""Counting words: equal to counting regex matches document by document, however the text comes and is cut."""

from __future__ import annotations

import random
from collections import Counter

import naive
import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st

from nbbpe.counting import parallel_counting
from nbbpe.counting.counters import PieceCounter, RegexCounter, WordRules
from nbbpe.counting.parallel_counting import count_files, run_counters
from nbbpe.counting.sorted_runs import RunFolder
from nbbpe.counting.word_counts import WordCounts
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.sources import Documents, Skipped, find_inputs
from nbbpe.system.workers import ENDED
from nbbpe.text.chunks import CutRules
from nbbpe.text.utf8 import to_bytes

pytestmark = pytest.mark.filterwarnings("ignore:.* contains NUL bytes", "ignore:.* begins like UTF-16")

SPECIALS = [texts.SPECIAL, "<|pad|>", "<|"]
PATTERNS = {"gpt2": "gpt2", "o200k": "o200k", "user": texts.SPLIT_WITH_GAPS, "none": None}


def as_counter(words: WordCounts) -> Counter[bytes]:
    """The words as a Counter; each comes once and has a count."""
    starts = words.starts.tolist()
    pairs = [(words.text[a:b].tobytes(), n) for a, b, n in zip(starts, starts[1:], words.counts.tolist(), strict=False)]
    assert len(dict(pairs)) == len(pairs)
    assert all(n > 0 for _, n in pairs)
    return Counter(dict(pairs))


def expected(documents: list[bytes], pattern: str | None, specials: list[str] = SPECIALS) -> Counter[bytes]:
    compiled = None if pattern is None else get_pattern(pattern).compiled
    return naive.count_words(documents, compiled, [token.encode() for token in specials])


def from_files(paths, pattern, specials=SPECIALS, workers=1, report=lambda n: None) -> Counter[bytes]:
    inputs = find_inputs(list(paths), None, "raise")
    rules = WordRules(get_pattern(pattern), [token.encode() for token in specials])
    return as_counter(count_files(inputs, rules, workers, report))


def from_documents(documents, pattern, specials=SPECIALS) -> Counter[bytes]:
    rules = WordRules(get_pattern(pattern), [token.encode() for token in specials])
    return as_counter(count_files([Documents(documents)], rules, 1, lambda n: None))


BROKEN = b"caf\xc3 \xe2\x82x \xff\xfe'\xc3\n\xf0\x9f\x98 \xed\xa0\x80 abc\xc3"
FILES = {
    "sample": texts.SAMPLE.encode(),
    "documents": texts.SPECIAL.join(["It's one.", "", "Two  \n", "three\n\n", texts.SAMPLE, " "]).encode(),
    "specials side by side": b"a<|endoftext|><|endoftext|><|pad|><|<|endoftext|> b <|endoftext|",
    "only a special": b"<|endoftext|>",
    "special at both ends": b"<|endoftext|>the cat<|endoftext|>",
    "almost specials": b"<|endoftext| ><|endoftex <<|endoftext|>> |endoftext|> <|pa",
    "broken": BROKEN,
    "broken around specials": BROKEN + b"<|endoftext|>" + BROKEN + b"\xe2<|pad|>\x82\xac",
    "one long piece": b"x" * 700 + b" " + "é".encode() * 300,
    "whitespace": b"   \r\n\r\n \t " * 30,
    "CRLF": b"one\r\ntwo \r\n\r\n three\r\n" * 10,
    "NUL": b"a\x00b \x00\x00 c\n\x00" * 5,
    "empty": b"",
}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize("name", FILES)
def test_words_of_a_file_are_those_of_its_documents(tmp_path, cut_everywhere, name, pattern):
    path = tmp_path / "text"
    path.write_bytes(FILES[name])
    assert from_files([path], pattern) == expected([FILES[name]], pattern)
    for n in 1, 2, 7, 16, 61, 64, 200:
        cut_everywhere(n)
        assert from_files([path], pattern) == expected([FILES[name]], pattern), n


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_the_number_of_workers_does_not_change_the_words(tmp_path, cut_everywhere, pattern):
    paths = []
    for i, data in enumerate(FILES.values()):
        paths.append(tmp_path / str(i))
        paths[-1].write_bytes(data * 3)
    wanted = expected([data * 3 for data in FILES.values()], pattern)
    cut_everywhere(300)
    for workers in 1, 2, 3:
        assert from_files(paths, pattern, workers=workers) == wanted
        assert from_files(paths[::-1], pattern, workers=workers) == wanted


@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_without_special_tokens_is_cut_and_counted_the_same(tmp_path, cut_everywhere, workers):
    data = (texts.SAMPLE * 40).encode() + BROKEN * 20 + b"x" * 500 + b" y" * 200
    path = tmp_path / "text"
    path.write_bytes(data)
    for n in 97, 1000:
        cut_everywhere(n)
        assert from_files([path], "gpt2", [], workers) == expected([data], "gpt2", [])


@pytest.mark.parametrize(
    "specials", [["<|end|>", "X<|end|>"], ["<|end|>", "<|end|>X"], ["=="], ["aba", "bab"], ["e", "the end"]]
)
def test_special_tokens_in_and_across_each_other_are_the_same_for_any_cut(tmp_path, cut_everywhere, specials):
    source = random.Random(7)
    parts = [*specials, *specials, "X", "=", "a", "b", " ", "ab", "the", "<|", "é"]
    data = "".join(source.choices(parts, k=300)).encode()
    path = tmp_path / "text"
    path.write_bytes(data)
    wanted = expected([data], "gpt2", specials)
    assert from_files([path], "gpt2", specials) == wanted
    for n in 7, 31, 100:
        cut_everywhere(n)
        assert from_files([path], "gpt2", specials) == wanted, n


def test_a_window_may_end_anywhere_in_a_special_token_or_a_character(tmp_path, cut_everywhere):
    path = tmp_path / "text"
    for shift in range(70):
        data = b"-" * shift + "ab😀é<|endoftext|>  中<|pad|>\n\n'sé".encode()
        path.write_bytes(data)
        cut_everywhere(64)
        assert from_files([path], "gpt2") == expected([data], "gpt2"), shift


def test_a_text_that_fills_its_last_window_ends_where_it_ends(tmp_path, cut_everywhere):
    # The spare bytes after the text must not complete a character that is broken off at its end.
    path = tmp_path / "text"
    cut_everywhere(64)
    for tail in b"\n\xc2", b"  \xc2", b"a\xc3", b"!\xe3\x80", b" \xf0\x9f\x98":
        for shift in range(130):
            data = b"\xc2\xa0\xa0\xa0" * 30 + b"z" * shift + tail
            path.write_bytes(data)
            assert from_files([path], "gpt2") == expected([data], "gpt2"), (tail, shift)


def test_a_character_broken_off_at_the_end_of_a_document_is_not_completed_by_another_ones_bytes():
    # Pieces are split in a buffer where the bytes of other pieces lie; \xc2\xa0 is a blank, \xc2 alone is none.
    letters = [bytes([letter]) for letter in b"abcdefghijklmnopqrstuvwxyz"]
    documents = [a + b"\xc3\xa0" + b for a in letters for b in letters] + [b"\n\xc2", b"  \xc2", b"\n\n\xe3\x80"]
    documents += [b"a" * (n % 2) + b"\xc3\xa0" * n for n in range(1, 60)] + [b" " * n + b"\xc2" for n in range(1, 40)]
    for order in documents, documents[::-1]:
        assert from_documents(order, "gpt2") == expected(order, "gpt2")


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
@given(documents=st.lists(st.one_of(texts.texts(), texts.data()), max_size=6))
def test_words_of_an_iterable_are_those_of_its_documents(pattern, documents):
    wanted = expected([to_bytes(document) for document in documents], pattern)
    assert from_documents(iter(documents), pattern) == wanted


@given(documents=st.lists(texts.data(), max_size=6), n=st.integers(1, 100))
def test_batches_of_any_size_give_the_same_words(sizes, documents, n):
    sizes(batch=n)
    assert from_documents(documents, "gpt2") == expected(documents, "gpt2")


@given(data=texts.data(max_size=200), n=st.integers(1, 100))
def test_files_of_any_bytes_cut_anywhere_give_the_same_words(sizes, tmp_path, data, n):
    path = tmp_path / "text"
    path.write_bytes(data)
    sizes(window=n, chunk=n)
    assert from_files([path], "gpt2") == expected([data], "gpt2")


@pytest.mark.parametrize("join", ["<|pad|>", " <|pad|>", "<|pad|> ", "<|pad|><|pad|>"])
def test_a_table_that_grows_between_special_tokens_counts_no_special_token(tmp_path, sizes, join):
    sizes(first_slots=2)
    words = ["x" * n for n in range(1, 400)] + [chr(0x4E00 + i) for i in range(200)]
    data = join.join(words).encode()
    (tmp_path / "text").write_bytes(data)
    assert from_files([tmp_path / "text"], "gpt2") == expected([data], "gpt2")
    assert from_documents([data, data], "gpt2") == expected([data, data], "gpt2")


def test_documents_of_an_iterable_never_join():
    documents = ["ab", "cd", "", " x", "x", "é"[:0], "\n", "\n", "3", "4", b"\xc3", b"\xa9", "<|endof", "text|>"]
    for pattern in PATTERNS.values():
        assert from_documents(documents, pattern) == expected([to_bytes(document) for document in documents], pattern)


def test_documents_that_hold_the_separator_are_counted_as_they_are():
    documents = [b"a\xffb", b"\xff", b"\xff\xff c", b"a", b"b\xff"]
    assert from_documents(documents, "gpt2") == expected(documents, "gpt2")


def test_files_are_documents_of_their_own(tmp_path):
    paths = []
    for i, data in enumerate([b"the c", b"at sat", b"", b" on"]):
        paths.append(tmp_path / str(i))
        paths[-1].write_bytes(data)
    assert from_files(paths, "gpt2") == expected([b"the c", b"at sat", b" on"], "gpt2")


def test_without_special_tokens_their_text_is_text():
    documents = ["a<|endoftext|>b"]
    assert from_documents(documents, "gpt2", []) == expected([b"a<|endoftext|>b"], "gpt2", [])
    assert from_documents(documents, "gpt2", [])[b"endoftext"] == 1


def test_words_that_regex_has_split_are_written_before_they_exceed_the_memory(tmp_path):
    (tmp_path / "a.txt").write_text("".join(f" {i}" for i in range(30)))
    runs = RunFolder(str(tmp_path))
    counter = RegexCounter(WordRules(get_pattern("gpt2")), runs, 2000)
    counter.take_over({f" {i}": 2 for i in range(12)})
    assert [run.n_words for run in counter.written] == [12]
    [part] = find_inputs(tmp_path / "a.txt", None, "raise")[0].cut(1 << 20, CutRules(get_pattern("gpt2"), []))
    list(counter.run(part))
    assert len(counter.written) > 1
    found = sum(map(as_counter, [*runs.merge(counter.written), counter.finish()]), Counter())
    assert found == {f" {i}".encode(): 3 if i < 12 else 1 for i in range(30)}


class FewRuns(RunFolder):
    """Fails where words are written without end."""

    def write(self, batches):
        assert self._n_written < 20, "they are written without end"
        return super().write(batches)


def test_a_word_larger_than_the_memory_is_counted_all_the_same(tmp_path):
    (tmp_path / "a.txt").write_text("the cat " + "a" * 300_000 + " sat")
    runs = FewRuns(str(tmp_path))
    counter = PieceCounter(WordRules(get_pattern("gpt2")), runs, 1)
    [part] = find_inputs(tmp_path / "a.txt", None, "raise")[0].cut(1 << 20, CutRules(get_pattern("gpt2"), []))
    list(counter.run(part))
    found = sum(map(as_counter, [*runs.merge(counter.written), counter.finish()]), Counter())
    assert found == dict.fromkeys([b"the", b" cat", b" " + b"a" * 300_000, b" sat"], 1)


def test_nothing_has_no_words():
    assert from_documents([], "gpt2") == from_documents([""], "gpt2") == from_documents(["", b""], None) == Counter()


@pytest.mark.parametrize(
    ("n_text", "workers", "part_bytes", "n_workers"),
    [
        (10**9, 1, 16 << 20, 1),
        ((64 << 20) - 1, 4, 16 << 20, 1),  # too little for worker processes
        (64 << 20, 2, 4 << 20, 2),
        (64 << 20, 4, 2 << 20, 4),  # eight parts for each worker, so that they end at about the same time
        (64 << 20, 1000, 1 << 20, 1000),
        (10**12, 4, 4 << 20, 4),
    ],
)
def test_how_large_the_parts_are_and_for_how_many_processes(monkeypatch, n_text, workers, part_bytes, n_workers):
    class Half(Documents):
        def n_text(self):
            return n_text // 2 + n_text % 2 * (self is halves[0])

        def cut(self, part_bytes, rules):
            return [part_bytes]

    halves = [Half([]), Half([])]
    done = []
    monkeypatch.setattr(parallel_counting, "run_jobs", lambda make, *rest, own: done.append(rest) or [])
    monkeypatch.setattr(parallel_counting, "warm_up", lambda rules: done.append("kernels are compiled, or loaded"))
    run_counters(object, halves, WordRules(get_pattern("gpt2")), workers, lambda n: None)
    assert done[-1] == ([part_bytes] * 2, n_workers)
    assert len(done) == (1 if n_workers == 1 else 2)  # before processes are forked


def test_skipped_records_are_in_the_order_of_the_parts(monkeypatch):
    """Whichever worker ends first; of parts without any, nothing is kept."""
    second, first, none = Skipped(2, []), Skipped(1, []), Skipped(0, [])
    results = [(5, 10), (5, second), (5, ENDED), (3, none), (3, ENDED), (1, 20), (1, first), (1, ENDED), (None, none)]
    monkeypatch.setattr(parallel_counting, "run_jobs", lambda *arguments, own: results)
    told: list[int] = []
    _, skipped = run_counters(object, [], WordRules(get_pattern("gpt2")), 1, told.append)
    assert (skipped, told) == ([first, second], [10, 20])


@pytest.mark.parametrize("workers", [1, 2])
def test_the_bytes_reported_are_the_sizes_of_the_files(tmp_path, cut_everywhere, workers):
    path = tmp_path / "text"
    path.write_bytes(FILES["documents"] * 20)
    cut_everywhere(500)
    told: list[int] = []
    from_files([path, path], "gpt2", workers=workers, report=told.append)
    assert sum(told) == 2 * path.stat().st_size
    assert len(told) > 2


def test_a_real_file_gives_the_words_of_its_documents_with_any_number_of_workers(stories, sizes):
    data = stories.read_bytes()
    for special_tokens in [texts.SPECIAL], []:
        wanted = expected([data], "gpt2", special_tokens)
        assert from_files([stories], "gpt2", special_tokens) == wanted
    sizes(for_workers=0, counted=10_000)
    for workers in 2, 3:
        assert from_files([stories, stories], "gpt2", [], workers) == wanted + wanted
