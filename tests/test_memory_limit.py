"""A limit of memory: what exceeds it goes through runs on disk; words that cannot fit are an error before the merges."""

from __future__ import annotations

import gc
import gzip
import itertools
import json
import os
import re
import string
import tempfile
import warnings
import weakref
from pathlib import Path

import naive
import numpy as np
import pytest
import texts
from real_patterns import WITHOUT_PIECES
from vocabularies import BYTES

import nbbpe
from nbbpe.counting import gathering, word_table
from nbbpe.counting.counters import PieceCounter, WordRules, make_counter
from nbbpe.counting.parallel_counting import count_files
from nbbpe.counting.sorted_runs import RunFolder, n_bytes_of
from nbbpe.counting.word_counts import corpus_fingerprint, words_from_dict
from nbbpe.counting.word_table import WordTable, add_up
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.sources import find_inputs
from nbbpe.system import memory_limits
from nbbpe.system.memory_limits import memory_left, memory_limit_of
from nbbpe.text.chunks import CutRules
from nbbpe.training import merges
from nbbpe.words import words_in_memory

pytestmark = pytest.mark.usefixtures("quiet")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


# What limits are


@pytest.mark.parametrize(
    ("value", "n_bytes"),
    [
        *(("4GB", 4 * 10**9), ("1.5 gib", 3 * 2**29), ("512MiB", 2**29), ("100000KB", 10**8), ("1TB", 10**12)),
        *(("4G", 4 * 10**9), ("1.5 g", 15 * 10**8), ("512Mi", 2**29)),
        *((10**8, 10**8), ("4000000000", 4 * 10**9), (" 64000000 ", 64 * 10**6)),
    ],
)
def test_a_limit_is_a_number_or_has_a_unit(value, n_bytes):
    assert memory_limit_of(value) == n_bytes


@pytest.mark.parametrize(
    ("value", "error"),
    [
        *((value, TypeError) for value in (1.5e9, True, [1])),
        *((value, ValueError) for value in ("4", "GB", "G", "4 gigabytes", "-4GB", "63MB", 0, -1)),
        *((value, ValueError) for value in ("-4000000000", "4e9", "4B", "9" * 19)),
    ],
)
def test_other_limits_are_errors_before_any_work(value, error):
    with pytest.raises(error, match=re.escape(repr(value))):
        memory_limit_of(value)
    for size in "9" * 400 + "GB", "4\N{KELVIN SIGN}B", "\N{ARABIC-INDIC DIGIT FOUR}GB":
        with pytest.raises(ValueError, match="such as"):
            memory_limit_of(size)
    for function, more in (nbbpe.train, {"vocab_size": 300}), (nbbpe.count_words, {}):
        with pytest.raises(error, match="memory_limit"):
            function("missing.txt", memory_limit=value, **more)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def machine(root: Path, available: int = 10**9, groups: str = "") -> str:
    write(root / "proc/meminfo", f"MemTotal: {4 * available} kB\nMemAvailable: {available // 1000} kB\n")
    write(root / "proc/self/cgroup", groups)
    return str(root)


def test_what_the_machine_leaves(tmp_path):
    root = machine(tmp_path, 10**9)
    assert memory_left(root) == 10**6 * 1024
    assert memory_limit_of(None, root) == 3 * 10**6 * 1024 // 4
    assert memory_left(str(tmp_path / "nothing")) is None
    assert memory_limit_of(None, str(tmp_path / "nothing")) is None
    assert memory_left() is not None or not os.path.exists("/proc/meminfo")


def test_what_a_control_group_of_version_2_leaves(tmp_path):
    root = machine(tmp_path, groups="0::/job/task\n")
    top = tmp_path / "sys/fs/cgroup"
    write(top / "job/task/memory.max", "max\n")
    write(top / "job/task/memory.current", "5000\n")
    assert memory_left(root) == 10**6 * 1024
    write(top / "job/memory.max", "500000000\n")  # that of a group above counts too
    write(top / "job/memory.current", "100000000\n")
    write(top / "job/memory.stat", "anon 5\ninactive_file 20000000\n")
    assert memory_left(root) == 420_000_000
    write(top / "memory.max", "300000000\n")
    write(top / "memory.current", "400000000\n")
    assert memory_left(root) == 0
    assert memory_limit_of(None, root) == memory_limits.LEAST


def test_what_a_control_group_of_version_1_leaves(tmp_path):
    root = machine(tmp_path, groups="4:cpu,cpuacct:/x\n7:memory:/docker/abc\n0::/\n")
    top = tmp_path / "sys/fs/cgroup/memory"  # as in a container, where the path outside is not there
    write(top / "memory.limit_in_bytes", "200000000\n")
    write(top / "memory.usage_in_bytes", "50000000\n")
    write(top / "memory.stat", "total_inactive_file 1000\n")
    assert memory_left(root) == 150_001_000


def test_what_takes_memory_besides_words_counts_towards_the_limit(tmp_path):
    """Of each process, 48 MB; the words that are copied out of a table; those that are sorted, with their order."""
    limit = gathering.Limit(10**9, RunFolder(str(tmp_path)))
    own = 48 << 20
    for n_workers in 1, 2, 8:
        assert n_workers * (1.6 * limit.table_bytes(n_workers) + own) == pytest.approx(10**9, rel=1e-6)
    assert limit.table_bytes(100) > 5 * 10**6  # or every table would be full at once
    most = (10**9 - own) // 4
    assert [limit.is_reached(n) for n in (most, most + 1)] == [False, True]


# Runs on disk


@pytest.fixture
def tiny(sizes, monkeypatch, tmp_path) -> Path:
    """Has every table exceed its share of the memory at once; the folder in which runs are."""
    sizes(first_slots=16, run_block=200, runs=4, own=0, table_share=1e-9, table_of_text=10**9, counted_batch=100)
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def written(monkeypatch) -> list[int]:
    """The number of words of each run that this process writes."""
    found: list[int] = []
    write_run = gathering.RunFolder.write

    def write(self, batches):
        run = write_run(self, batches)
        found.append(run.n_words)
        return run

    monkeypatch.setattr(gathering.RunFolder, "write", write)
    return found


def words(n: int) -> str:
    """A text of about n distinct words, some of them in pieces of several pretokens."""
    return " ".join(f"w{i * i % 977}x's {i % 13} don't" for i in range(n)) + texts.SAMPLE


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", r"\w+(?<=a)|\w|\W+", None])
@pytest.mark.parametrize("split_with", [None, "regex"])
def test_counts_in_runs_are_those_in_memory(pattern, split_with, tiny, written, sizes, tmp_path):
    paths = [tmp_path / f"{i}.txt" for i in range(3)]
    for i, path in enumerate(paths):
        path.write_text(words(100 * i + 50) + texts.SPECIAL + "end", encoding="utf-8")
    options = {"pattern": pattern, "special_tokens": [texts.SPECIAL], "split_with": split_with}
    in_runs = nbbpe.count_words(paths, **options)
    assert len(written) > 4 or pattern is None  # whose words are few and long
    assert os.listdir(tiny) == []
    written.clear()
    sizes(table_share=1)
    assert nbbpe.count_words(paths, **options).combine_chunks().equals(in_runs.combine_chunks())
    assert not written


def test_training_in_runs_is_training_in_memory(tiny, written, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(words(700), encoding="utf-8")
    in_runs = nbbpe.train(path, 500, memory_limit="100MB")
    assert len(written) > 4
    counts = naive.count_words([path.read_bytes()], nbbpe.patterns.pattern.NAMED["gpt2"].compiled)
    assert in_runs.merges == naive.train(counts, 500)[0]
    assert os.listdir(tiny) == []


def test_workers_write_runs_too(tiny, sizes, tmp_path):
    sizes(for_workers=0, chunk=3000, counted=100)
    path = tmp_path / "a.txt"
    path.write_text(words(600), encoding="utf-8")
    one, two = (nbbpe.count_words(path, workers=n) for n in (1, 2))
    assert two.combine_chunks().equals(one.combine_chunks())
    assert os.listdir(tiny) == []


def test_words_are_added_up_by_sorting_where_a_table_of_them_would_be_too_large(monkeypatch):
    parts = [words_from_dict({b"the": 2, b"cat": 3}), words_from_dict({b"cat": 4})]
    n_bytes = sum(map(n_bytes_of, parts))
    tables = []
    monkeypatch.setattr(gathering, "add_up", lambda parts: tables.append(len(parts)) or add_up(parts))
    for limit, n_parts, wanted in (None, 2, [2]), (8 * n_bytes, 2, [2]), (8 * n_bytes - 1, 2, []), (1, 1, []):
        gathered = gathering.Gathering(gathering.Limit(limit))
        for part in parts[:n_parts]:
            gathered.add(part)
        (words,) = gathered.finish().sorted_batches()
        assert (words.counts.tolist(), tables) == ([7, 2] if n_parts == 2 else [3, 2], wanted)
        tables.clear()


def test_words_in_memory_are_passed_on_in_batches(sizes):
    sizes(counted_batch=100)
    words = {f"word{i:02}".encode(): i for i in range(49, 0, -1)}
    gathered = gathering.Gathered(words_from_dict(words), [], gathering.Limit(), [])
    batches = list(gathered.sorted_batches())
    assert max(len(batch.counts) for batch in batches) == 4  # of 6 bytes, and 16 of its start and its count
    assert np.concatenate([batch.counts for batch in batches]).tolist() == [*range(1, 50)]


def test_the_figures_of_words_are_the_same_in_runs(tmp_path):
    runs = [RunFolder(str(tmp_path)).write([words_from_dict(each)]) for each in ({b"a": 2, b"longest": 3}, {b"long": 4})]
    words = words_from_dict({b"a": 2, b"longest": 3, b"long": 4})
    for each in gathering.Gathered(words, [], gathering.Limit(), []), gathering.Gathered(None, runs, gathering.Limit(), []):
        assert (each.longest(), each.total(), each.n_text(), each.is_empty()) == (7, 9, 2 + 21 + 16, False)


def test_the_sum_of_counts_may_be_as_large_as_a_count_and_no_larger(tmp_path):
    most = gathering.MOST_COUNT
    run = RunFolder(str(tmp_path)).write([words_from_dict({b"a": most // 7})])
    gathered = gathering.Gathering(gathering.Limit())
    assert most % 7 == 0
    gathered.add_run(run, 6)
    gathered.add(words_from_dict({b"a": most // 7}))
    with pytest.raises(OverflowError, match="add up to 9,223,372,036,854,775,808 so far"):
        gathered.add(words_from_dict({b"a": 1}))


def test_words_that_come_after_a_run_are_added_to_it(sizes, tmp_path):
    """They wait in memory until they are as many again, or the last ones."""
    many, few = {f"word{i}".encode(): 1 for i in range(100)}, {b"word7": 2, b"new": 1}
    sizes(own=0, sort_room=1)
    gathered = gathering.Gathering(gathering.Limit(n_bytes_of(words_from_dict(many)) - 1, RunFolder(str(tmp_path))))
    for each, n_runs in (many, 1), (few, 1), (few, 1), (many, 2), (few, 2):
        gathered.add(words_from_dict(each))
        assert len(os.listdir(tmp_path)) == n_runs
    found = gathered.finish().in_memory()
    wanted = dict.fromkeys(many, 2) | {b"word7": 8, b"new": 3}
    assert corpus_fingerprint(found) == corpus_fingerprint(words_from_dict(wanted))


def test_a_table_is_freed_as_soon_as_its_words_are_taken(tmp_path):
    counter = PieceCounter(WordRules(get_pattern("gpt2")), RunFolder(str(tmp_path)), 10**9)
    table = weakref.ref(counter._words)
    gc.disable()
    try:
        counter.finish()
        assert table() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("pattern", ["gpt2", r"\w+(?<=a)|\w|\W+"])
@pytest.mark.parametrize("room", [(0, 0), (0, 10**9), (10**9, 0), (10**9, 10**9)])
def test_what_a_worker_hands_over_is_all_there_whoever_has_written_runs(pattern, room, sizes, tmp_path):
    sizes(first_slots=16, split=200)
    paths = [tmp_path / f"{i}.txt" for i in range(2)]
    split = get_pattern(pattern)
    runs = RunFolder(str(tmp_path))
    counters = []
    for n, path, most_bytes in zip((400, 700), paths, room, strict=True):
        path.write_text(words(n), encoding="utf-8")
        counter = make_counter(WordRules(split), runs, most_bytes)
        for part in find_inputs(path, None, "raise")[0].cut(1000, CutRules(split, [])):
            list(counter.run(part))
        counters.append(counter)
    ours, theirs = counters
    for gathered in theirs.hand_over():
        ours.take_over(gathered)
    found = ours.finish()
    assert bool(ours.written) == (0 in room)
    table = WordTable()
    for part in [*runs.merge(ours.written), found]:
        table.add(part)
    wanted = count_files(find_inputs(paths, None, "raise"), WordRules(split), 1, lambda n: None)
    assert corpus_fingerprint(table.take()) == corpus_fingerprint(wanted)


def test_tables_of_counts_in_runs_are_those_in_memory(written, sizes):
    tables = [nbbpe.count_words(documents=[words(n)]) for n in (10, 300, 700)]
    direct = nbbpe.train(counts=tables, weights=[1, 2, 3], vocab_size=400)
    assert not written
    sizes(sort_room=10**12)
    in_runs = nbbpe.train(counts=tables, weights=[1, 2, 3], vocab_size=400)
    assert len(written) > 3
    assert in_runs.merges == direct.merges
    assert in_runs.provenance["training"]["corpus"] == direct.provenance["training"]["corpus"]


def test_weighted_sources_in_runs(tiny, written, tmp_path):
    paths = [tmp_path / f"{i}.txt" for i in range(2)]
    for i, path in enumerate(paths):
        path.write_text(words(300 * i + 50), encoding="utf-8")
    counts = nbbpe.count_words(paths, weights=[3, 0.5])
    assert len(written) > 2
    parts = [naive.count_words([path.read_bytes()], nbbpe.patterns.pattern.NAMED["gpt2"].compiled) for path in paths]
    expected = {word: 6 * parts[0][word] + parts[1][word] for word in parts[0] | parts[1]}
    assert counts.to_pylist() == [{"word": word, "count": n} for word, n in naive.add_up(expected.items())]


@pytest.mark.parametrize("room", ["tables", "sources"])  # what has none in memory
@pytest.mark.parametrize("normalizer", [None, "NFC"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"weights": {"b": 3}},
        {"shares": {"a": 1, "b": 2, "c": 1}},
        {"held_out": 0.3, "seed": 5},
        {"parity": True},
        {"parity": nbbpe.Parity(parallel=dict.fromkeys("abc", "parallel.txt"), window=3)},
    ],
    ids=["weights", "shares", "held out", "parity", "parallel"],
)
def test_a_mixture_in_runs_is_that_in_memory(arguments, normalizer, room, tiny, written, sizes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for i, name in enumerate("abc"):
        lines = [f"{word}{name} the" for word in words(15 * i + 25).split(" ")]
        Path(f"{name}.txt").write_text("\n".join(lines + lines[10:]) + " e\u0301", encoding="utf-8")
    Path("empty.txt").touch()
    Path("parallel.txt").write_text(words(20), encoding="utf-8")
    sources = {name: f"{name}.txt" for name in "abc"}
    if "shares" not in arguments and not arguments.get("parity"):
        sources["empty"] = "empty.txt"
    start = nbbpe.Tokenizer(BYTES, [], normalizer=normalizer)
    sizes(first_slots=64)
    if room == "sources":
        sizes(table_share=1, sort_room=10**12)

    def trained():
        return start.extend(nbbpe.Mixture(sources, **arguments), 330, min_word_count=4, memory_limit="100MB")

    in_runs = trained()
    assert len(written) > 2
    assert os.listdir(tiny) == []
    written.clear()
    sizes(table_share=1, sort_room=4, table_of_text=0)
    in_memory = trained()
    assert not written
    assert in_runs.merges == in_memory.merges
    told = [tokenizer.provenance["training"] for tokenizer in (in_runs, in_memory)]
    for name in "mixture", "corpus", "left_out":
        assert told[0][name] == told[1][name]


def test_sources_that_fit_one_by_one_and_not_together_are_written_to_runs(written, sizes, tmp_path):
    sources = {name: tmp_path / name for name in ("empty", "a", "b", "c", "d")}
    for number, path in enumerate(sources.values()):
        path.write_text(" ".join(f"word{number}x{i} the" for i in range(200 * (number > 0))))
    counted = nbbpe.count_words(sources["a"])
    n_bytes = sum(map(len, counted["word"].to_pylist())) + 16 * counted.num_rows
    mixture = nbbpe.Mixture(sources, weights={"b": 3, "c": 0.5})
    in_memory = nbbpe.train(mixture, 400)
    assert not written
    sizes(own=0, table_of_text=10**9, sort_room=10**8 // n_bytes)
    in_runs = nbbpe.train(mixture, 400, memory_limit="100MB")
    assert written[:4] == [counted.num_rows] * 4
    assert in_runs.merges == in_memory.merges
    assert in_runs.provenance["training"] == in_memory.provenance["training"]


def test_text_that_a_tokenizer_prepares_is_counted_within_a_limit(tiny, written, sizes):
    sizes(first_slots=64)
    start = nbbpe.Tokenizer(BYTES, [], normalizer="NFC")
    documents = [words(100) + "e\u0301", words(150)]
    in_runs = start.extend(documents=documents, vocab_size=400)
    assert len(written) > 4
    assert os.listdir(tiny) == []
    sizes(table_of_text=0)
    assert start.extend(documents=documents, vocab_size=400).merges == in_runs.merges


def long_words(n: int) -> list[str]:
    """Different words of 10 kB, with a space before each."""
    endings = map("".join, itertools.product(string.ascii_lowercase, repeat=3))
    return [" " + "x" * 10_000 + ending for ending in itertools.islice(endings, n)]


@pytest.mark.parametrize("name", ["a.txt.gz", "a.jsonl.gz", "a.parquet", "a.arrow"])
def test_text_that_was_very_small_in_its_file_is_counted_within_a_limit(name, written, tmp_path):
    """So small that as much text would fit in any case."""
    documents = [" a", *long_words(1000)]
    path = tmp_path / name
    table = pa.table({"text": documents})
    if name == "a.parquet":  # which stores of each text only what differs from the one before
        options = {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}
        pq.write_table(table, path, **options)
    elif name == "a.arrow":
        with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            for batch in table[:1], table[1:]:
                writer.write_table(batch)
    else:
        lines = (json.dumps({"text": text}) if "json" in name else text for text in documents)
        path.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert path.stat().st_size < 250_000
    counts = nbbpe.count_words(path, memory_limit="64MB")
    assert len(written) > 1
    words = {word: n for word, n in zip(*counts.to_pydict().values(), strict=True) if word != b"\n"}
    assert words == {text.encode(): 1 for text in documents}


def test_long_words_that_regex_counts_are_counted_within_a_limit(written):
    documents = long_words(300)
    counts = nbbpe.count_words(documents=documents, pattern=WITHOUT_PIECES, memory_limit="64MB")
    assert len(written) > 1
    wanted = {text[1:].encode(): 1 for text in documents} | {b" ": 300}
    assert dict(zip(*counts.to_pydict().values(), strict=True)) == wanted


def test_few_pieces_at_a_time_are_python_objects(sizes, monkeypatch):
    """Which take ten times the memory."""
    sizes(split=1000)
    n_bytes: list[int] = []

    def words_from_texts(counts):
        n_bytes.append(sum(map(len, counts)))
        return words_from_dict({word.encode(): n for word, n in counts.items()})

    monkeypatch.setattr(word_table, "words_from_texts", words_from_texts)
    words = {f"word{'x' * (i % 50)}{chr(97 + i // 50)}".encode(): i for i in range(1, 400)}
    table = WordTable()
    table.add(words_from_dict(words))
    table.split_pieces(get_pattern("gpt2"), by_regex=True)
    assert max(n_bytes) < 1100
    assert len(n_bytes) < 20
    assert corpus_fingerprint(table.take()) == corpus_fingerprint(words_from_dict(words))


PIECES = {b"the cat": 2, b"cat!": 3}
WORDS = corpus_fingerprint(words_from_dict({b"the": 2, b" cat": 2, b"cat": 3, b"!": 3}))


def test_a_full_table_is_freed_before_regex_splits_its_pieces(monkeypatch):
    """The words need a table, too, and both are as large as the memory allows."""
    table = WordTable()
    table.add(words_from_dict(PIECES))
    slots = weakref.ref(table.table.slots)
    split_by_regex = word_table._split_by_regex

    def split(*arguments):
        assert slots() is None
        return split_by_regex(*arguments)

    monkeypatch.setattr(word_table, "_split_by_regex", split)
    (words,) = table.take_split(get_pattern("gpt2"), by_regex=True)
    assert corpus_fingerprint(words) == WORDS


def test_pieces_of_a_compiled_pattern_are_split_without_regex(monkeypatch):
    monkeypatch.setattr(word_table, "_split_by_regex", None)
    table = WordTable()
    table.add(words_from_dict(PIECES))
    table.split_pieces(get_pattern("gpt2"))
    assert corpus_fingerprint(table.take()) == WORDS
    table.add(words_from_dict(PIECES))
    assert corpus_fingerprint(add_up(table.take_split(get_pattern("gpt2"), by_regex=False))) == WORDS


def test_what_fails_leaves_no_run(tiny, written, sizes):
    sizes(batch=1000, window=1000)

    def documents():
        yield words(500)
        yield words(500)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        nbbpe.count_words(documents())
    assert written
    assert os.listdir(tiny) == []


def test_text_of_which_every_table_fits_needs_no_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    for n_bytes, most_text in (64 * 10**6, 10**6), (64 * 10**6, 0), (None, 10**12), (None, None):
        with gathering.limited(n_bytes, is_asked_for=True, most_text=most_text) as limit:
            assert limit == (n_bytes, None)
    for most_text in 10**6 + 1, None:
        with pytest.raises(FileNotFoundError, match="missing"), gathering.limited(64 * 10**6, True, most_text):
            pass


def test_a_folder_that_cannot_be_made_is_an_error_only_where_a_limit_was_asked_for(sizes, monkeypatch, tmp_path):
    sizes(table_of_text=10**12)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    (tmp_path / "a.txt").write_text("the cat")
    assert nbbpe.count_words(tmp_path / "a.txt").num_rows == 2
    with pytest.raises(FileNotFoundError, match="missing"):
        nbbpe.count_words(tmp_path / "a.txt", memory_limit="100MB")

    def nowhere():  # as in a container where nothing can be written
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    assert nbbpe.count_words(tmp_path / "a.txt").num_rows == 2
    with pytest.raises(FileNotFoundError, match="No usable temporary directory"):
        nbbpe.count_words(tmp_path / "a.txt", memory_limit="100MB")


def test_where_nobody_knows_the_memory_there_is_no_limit(monkeypatch):
    documents = ["the cat sat on the mat"] * 2
    expected = nbbpe.train(documents=documents, vocab_size=262).merges
    monkeypatch.setattr(memory_limits, "memory_left", lambda root: None)
    assert nbbpe.train(documents=documents, vocab_size=262).merges == expected
    assert nbbpe.train(documents=documents, vocab_size=262, min_word_count="auto").merges == expected
    assert nbbpe.train(nbbpe.Mixture({"a": iter(documents)}), vocab_size=262).merges == expected
    assert nbbpe.train(counts=nbbpe.count_words(documents=documents), vocab_size=262).merges == expected
    start = nbbpe.Tokenizer(BYTES, [], normalizer="NFC")
    assert start.extend(documents=documents, vocab_size=262).merges == expected


# Words that do not fit


def documents_of(counts: dict[str, int]) -> list[str]:
    return [word for word, n in counts.items() for _ in range(n)]


RARE = {f"word{i}": 1 for i in range(300)} | {f"more{i}": 3 for i in range(40)} | {"often": 50}


@pytest.fixture(params=["in memory", "in runs"])
def place(request, sizes) -> str:
    if request.param == "in runs":
        sizes(sort_room=10**12)
    return request.param


def lengthened(counts: dict[str, int], times: int) -> dict[str, int]:
    """The same with so long words for those of this count that 300 of them do not fit in the least limit."""
    return {word + "x" * 6000 * (n == times): n for word, n in counts.items()}


def test_words_that_do_not_fit_are_an_error_that_says_what_would(place):
    counts = nbbpe.count_words(documents=documents_of(lengthened(RARE, times=1)), pattern=None)
    limited = {"counts": counts, "vocab_size": 300, "memory_limit": "64MB"}
    with pytest.raises(
        MemoryError, match=r"there are 341 distinct words with 1,802,225 bytes, and to .*min_word_count=2 would make them"
    ):
        nbbpe.train(**limited)
    with pytest.warns(UserWarning, match=r"min_word_count=2 skips 300 of 341 distinct words, with 300 of 470 occurr"):
        auto = nbbpe.train(**limited, min_word_count="auto")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        said = nbbpe.train(**limited, min_word_count=2)
    kept = {word.encode(): n for word, n in RARE.items() if n > 1}
    assert auto.merges == said.merges == naive.train(kept, 300)[0]
    for model in auto, said:
        assert json.loads(json.dumps(model.provenance))["training"]["left_out"] == {
            "min_word_count": 2,
            "n_words": 300,
            "n_occurrences": 300,
            "n_all_words": 341,
            "n_all_occurrences": 470,
        }


def test_words_that_occur_often_enough_may_not_fit_either(place):
    often = {f"more{i}": 3 for i in range(300)} | {"rare": 1}
    counts = nbbpe.count_words(documents=documents_of(lengthened(often, times=3)), pattern=None)
    with pytest.raises(MemoryError, match=r"300 distinct words .* that occur often enough"):
        nbbpe.train(counts=counts, vocab_size=300, min_word_count=2, memory_limit="64MB")


def test_what_fits_leaves_nothing_out(place):
    counts = nbbpe.count_words(documents=documents_of(RARE), pattern=None)
    whole = nbbpe.train(counts=counts, vocab_size=300)
    assert nbbpe.train(counts=counts, vocab_size=300, min_word_count="auto").merges == whole.merges
    assert nbbpe.train(counts=counts, vocab_size=300, min_word_count=1).merges == whole.merges
    assert "left_out" not in whole.provenance["training"]


def test_a_threshold_counts_occurrences_whatever_the_denominator(place):
    counts = nbbpe.count_words(documents=documents_of(RARE), pattern=None)
    halves = nbbpe.train(counts=[counts], weights=[0.5], vocab_size=300, min_word_count=2)
    assert halves.provenance["training"]["left_out"]["n_words"] == 340
    assert halves.merges == naive.train({b"often": 50}, 300)[0]


@pytest.mark.parametrize("least", [1, 3])
def test_a_denominator_that_does_not_fit_in_64_bits_leaves_no_word(place, least):
    options = {"documents": ["the cat"], "weights": [5e-324], "vocab_size": 258}
    with pytest.raises(ValueError, match=f"min_word_count={least} skips every word"):
        nbbpe.train(**options, min_word_count=least)


def test_a_threshold_is_found_whatever_the_denominator(place):
    counts = nbbpe.count_words(documents=documents_of(lengthened(RARE, times=1)), pattern=None)
    limited = {"counts": [counts], "vocab_size": 300, "memory_limit": "64MB"}
    with pytest.raises(MemoryError, match=r"min_word_count=2 would make them fit"):
        nbbpe.train(**limited, weights=[1.000001])
    with pytest.warns(UserWarning, match=r"min_word_count=2 skips 300 of 341 distinct words, with 300 of 470 occurr"):
        auto = nbbpe.train(**limited, weights=[1.000001], min_word_count="auto")
    assert auto.merges == nbbpe.train(**limited, min_word_count=2).merges


def test_words_of_more_cells_than_can_be_numbered_are_an_error_that_says_what_would_fit(monkeypatch):
    text = "aa bb aa bb one two three four"
    monkeypatch.setattr(words_in_memory, "MOST_CELLS", 12)
    with pytest.raises(OverflowError, match=r"can be at most 11 together: .* min_word_count=2 would make them fit"):
        nbbpe.train(documents=[text], vocab_size=300)
    with pytest.warns(UserWarning, match="min_word_count=2 skips 6 of 7"):
        assert nbbpe.train(documents=[text], vocab_size=300, min_word_count="auto").vocab_size < 300


def test_no_threshold_may_help():
    limited = {"pattern": None, "vocab_size": 300, "memory_limit": "64MB"}
    for threshold in None, "auto":
        with pytest.raises(MemoryError, match="no min_word_count would make them fit"):
            nbbpe.train(documents=["often" * 400_000], min_word_count=threshold, **limited)


def test_a_threshold_that_leaves_no_word_is_an_error(place):
    with pytest.raises(ValueError, match="min_word_count=51 skips every word"):
        nbbpe.train(counts=nbbpe.count_words(documents=documents_of(RARE), pattern=None), vocab_size=300, min_word_count=51)


@pytest.mark.parametrize(("value", "error"), [(0, ValueError), (-1, ValueError), ("all", ValueError), (1.5, TypeError)])
def test_a_wrong_threshold_is_an_error(value, error):
    with pytest.raises(error, match="min_word_count"):
        nbbpe.train(documents=["a"], vocab_size=300, min_word_count=value)


def test_the_need_is_counted_from_above():
    """As much as the arrays that the merges begin with; more was measured, see n_bytes_needed."""
    arrays = 10**6 * (1 + 8 + 4 + 4 * 2 + 44 // 4) + 10**5 * 16
    assert merges.n_bytes_needed(10**5, 10**6, 32_000) > arrays


def test_the_name_of_a_control_group_may_be_any_bytes(tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_bytes(b"0::/b\xfcro\n")
    group = tmp_path / "sys/fs/cgroup" / os.fsdecode(b"b\xfcro")
    write(group / "memory.max", str(200 * 10**6))
    write(group / "memory.current", str(150 * 10**6))
    assert memory_left(str(tmp_path)) == 50 * 10**6
