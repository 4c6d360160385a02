"""Counting and encoding in the workers of other engines: what is learned and encoded is what one process learns."""

from __future__ import annotations

import errno
import io
import os
import pickle
import signal
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import processes
import pytest
import texts
from conftest import ROOT
from effort import mostly_slow
from hypothesis import example, given
from hypothesis import strategies as st

import nbbpe
from nbbpe import arrow_functions
from nbbpe.counting import executor_counting
from nbbpe.counting.word_counts import WordCounts
from nbbpe.idfiles import block_writer, executor_encoding
from nbbpe.text.utf8 import padded

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

EXAMPLES = ROOT / "examples"
SPECIALS = [texts.SPECIAL]
pytestmark = pytest.mark.usefixtures("quiet")


@pytest.fixture
def text(tmp_path) -> Path:
    path = tmp_path / "text.txt"
    parts = [f"part {i} {texts.SAMPLE} the cat sat {'on the mat ' * (i % 7)}{texts.SPECIAL}" for i in range(300)]
    path.write_text("".join(parts), encoding="utf-8")
    return path


@pytest.fixture
def small_parts(sizes) -> None:
    sizes(executor_counting=2000)


@pytest.fixture
def table() -> pa.Table:
    rows = [texts.SAMPLE, "the cat", "", "the hat " * 50, "x" * 300] * 20
    return pa.table({"id": range(len(rows)), "text": rows})


def trained(table: pa.Table, vocab_size: int = 330) -> nbbpe.Tokenizer:
    """What one process learns from the texts of a table."""
    return nbbpe.train(documents=table["text"].to_pylist(), vocab_size=vocab_size)


# Executors


class Promise:
    """What clients of engines return, which is no future of Python's."""


class Client:
    """Looks like an executor, as a Dask client does."""

    def submit(self, *_) -> Promise:
        return Promise()


class Here:
    """An executor that runs what it gets at once, twice, after it was sent somewhere and back."""

    def __init__(self) -> None:
        self.n_tasks = 0

    def submit(self, function, *arguments) -> Future:
        self.n_tasks += 1
        future: Future = Future()
        for _ in range(2):
            sent, given = pickle.loads(pickle.dumps((function, arguments)))
            result = sent(*given)
        future.set_result(pickle.loads(pickle.dumps(result)))
        return future


@pytest.mark.usefixtures("small_parts")
def test_tasks_may_run_twice_and_elsewhere(text, monkeypatch):
    monkeypatch.chdir(text.parent)
    executor = Here()
    done: list[int] = []
    tok = nbbpe.train(
        text.name, 400, SPECIALS, executor=executor, progress=lambda stage, n, total: done.append((stage, n, total))
    )
    assert executor.n_tasks > 10
    assert tok.merges == nbbpe.train(text, 400, SPECIALS).merges
    assert [n for stage, n, _ in done if stage == "count words"][-1] == text.stat().st_size


@pytest.mark.parametrize("least", [500, 1000, 2000, 3000, 10**6])
def test_a_file_is_cut_into_an_even_number_of_like_parts(text, sizes, least):
    """So that two workers, or four, end together, however few parts there are."""
    sizes(executor_counting=least)
    found = []

    class Noting(Here):
        def submit(self, function, *arguments) -> Future:
            future = super().submit(function, *arguments)
            found.append(future.result().n_read)
            return future

    nbbpe.train(text, 300, SPECIALS, executor=Noting())
    assert len(found) % 2 == 0
    assert sum(found) == text.stat().st_size
    longest = max(map(len, text.read_bytes().split(texts.SPECIAL.encode()))) + len(texts.SPECIAL)
    assert max(found) - min(found) < 2 * longest  # a part ends at a special token here


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=300), st.integers(1, 2**62)), max_size=30))
@example([(b"a", 256)])  # one more than fits in a byte
@example([(b"a" * 256, 65_536)])
def test_words_arrive_as_they_were_sent(items):
    text = b"".join(word for word, _ in items)
    words = WordCounts(
        padded(text),
        np.cumsum([0, *(len(word) for word, _ in items)], dtype=np.int64),
        np.array([count for _, count in items], dtype=np.int64),
    )
    sent = executor_counting.SentWords.of(words)
    assert sent.lengths.itemsize <= 2
    for ours, theirs in zip(words, pickle.loads(pickle.dumps(sent)).words(), strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.tolist() == theirs.tolist()


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("pool", [ThreadPoolExecutor, partial(ProcessPoolExecutor, mp_context=get_context("spawn"))])
def test_pools_count_what_one_process_counts(pool, text, tmp_path):
    (tmp_path / "b.jsonl").write_text('{"text": "the cat"}\n{"no": 1}\n' * 50)
    parquet.write_table(pa.table({"text": ["the hat", "that"] * 50}), tmp_path / "c.parquet")
    source, options = [text, tmp_path / "*.jsonl", tmp_path / "c.parquet"], {"weights": [1, 2, 0.5], "on_error": "skip"}
    with pytest.warns(UserWarning, match="50 malformed records were skipped"):
        expected = nbbpe.count_words(source, **options)
    with pool(2) as executor, pytest.warns(UserWarning, match="50 malformed records were skipped"):
        assert nbbpe.count_words(source, executor=executor, **options).equals(expected, check_metadata=True)


def test_an_error_in_a_worker_is_raised_here_and_names_the_file_as_it_was_given(tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"text": 3}\n')
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(2) as executor:
        with pytest.raises(ValueError, match=r"^'a\.jsonl', line 2"):
            nbbpe.train("a.jsonl", 300, executor=executor)
        with pytest.warns(UserWarning, match=r"skipped: 'a\.jsonl', line 2"):
            nbbpe.count_words("a.jsonl", executor=executor, on_error="skip")


def test_the_first_record_that_was_skipped_is_named_whichever_part_is_done_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "a", "b":
        Path(f"{name}.jsonl").write_text('{"text": "the cat"}\n{"text": 1}\n')

    first: Future[Any] = Future()
    result: list[Any] = []

    class Done(Future[Any]):
        def add_done_callback(self, function):
            super().add_done_callback(function)
            first.set_result(result[0])

    class LastFirst(Here):
        def submit(self, function, task):
            result.append(function(task))
            if len(result) == 1:
                return first
            done = Done()
            done.set_result(result[1])
            return done

    with pytest.warns(UserWarning, match=r"2 malformed records were skipped: 'a\.jsonl', line 2"):
        nbbpe.count_words(["a.jsonl", "b.jsonl"], executor=LastFirst(), on_error="skip")


def test_a_file_that_changes_is_refused_elsewhere_too(text):
    class Late(Here):
        def submit(self, function, *arguments):
            text.write_text("something else")
            return super().submit(function, *arguments)

    with pytest.raises(OSError, match="changed while it was read"):
        nbbpe.train(text, 300, executor=Late())


def test_what_is_no_executor_and_what_cannot_be_sent_are_errors(text, table):
    for function, more in (nbbpe.train, {"vocab_size": 300}), (nbbpe.count_words, {}):
        with pytest.raises(TypeError, match=r"executor must be a concurrent\.futures\.Executor"):
            function(text, executor=2, **more)
        with pytest.raises(TypeError, match=r"not the class ThreadPoolExecutor: give ThreadPoolExecutor\(\)"):
            function(text, executor=ThreadPoolExecutor, **more)
        with pytest.raises(TypeError, match=r"client\.get_executor\(\), not Client, whose submit returns .*\.Promise"):
            function(text, executor=Client(), **more)
    with ThreadPoolExecutor(1) as executor:
        for source in iter(["a"]), table:
            with pytest.raises(TypeError, match="executor= needs a source of files"):
                nbbpe.count_words(source, executor=executor)


def despite_a_race(call: Callable[[], Any]) -> Any:
    """What a call gives, which is repeated after an error of distributed's own: its executor takes a result for an error if
    the worker that has it is removed just before it looks at the state of the task."""
    for _ in range(4):
        try:
            return call()
        except AttributeError as error:
            if "with_traceback" not in str(error):
                raise
    return call()


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_dask_with_two_workers_of_which_one_is_killed_half_way(text, tmp_path, sizes):
    sizes(for_workers=0, chunk=3000)
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        assert len(set(pids)) == 2
        killed: list[int] = []

        def kill_one(stage: str, done: int, total: int | None) -> None:
            if not killed and done * 4 > total:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(done)

        tok = despite_a_race(lambda: nbbpe.train(text, 400, SPECIALS, executor=client.get_executor(), progress=kill_one))
        assert killed
        assert killed[0] < text.stat().st_size
        killed_while_it_encodes: list[int] = []

        def kill_the_other(stage: str, done: int, total: int | None) -> None:
            if not killed_while_it_encodes and done * 4 > total:
                os.kill(pids[1], signal.SIGKILL)
                killed_while_it_encodes.append(done)

        path = tmp_path / "ids.bin"
        n_ids = despite_a_race(lambda: tok.encode_file(text, path, executor=client.get_executor(), progress=kill_the_other))
        assert killed_while_it_encodes
        assert killed_while_it_encodes[0] < text.stat().st_size
        counts = nbbpe.count_words(text, special_tokens=SPECIALS, executor=client.get_executor())
    assert tok.merges == nbbpe.train(text, 400, SPECIALS).merges
    assert n_ids == tok.encode_file(text, tmp_path / "own.bin")
    assert path.read_bytes() == (tmp_path / "own.bin").read_bytes()
    assert counts.equals(nbbpe.count_words(text, special_tokens=SPECIALS), check_metadata=True)


# Files of ids


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("name", mostly_slow(["ids.bin", "ids.npy"], usual=["ids.npy"]))
def test_an_executor_writes_the_file_that_workers_write(text, tmp_path, name, resume, sizes):
    sizes(for_workers=0, chunk=3000)
    (tmp_path / "b.jsonl").write_text('{"text": "the cat"}\n{"no": 1}\n' * 50)
    source, options = [text, tmp_path / "b.jsonl"], {"on_error": "skip"}
    tok = nbbpe.train(text, 300, SPECIALS)
    for folder in "own", "theirs":
        (tmp_path / folder).mkdir()
    with pytest.warns(UserWarning, match="50 malformed records were skipped"):
        n_ids = tok.encode_file(source, tmp_path / "own" / name, **options)
    executor = Here()
    with pytest.warns(UserWarning, match="50 malformed records were skipped"):
        # The number of nbbpe's own workers says nothing of those of an executor.
        n_theirs = tok.encode_file(source, tmp_path / "theirs" / name, 1, executor=executor, resume=resume, **options)
    assert n_theirs == n_ids
    assert executor.n_tasks > 10
    found = sorted(os.listdir(tmp_path / "theirs"))
    assert found == sorted(os.listdir(tmp_path / "own"))
    for each in found:
        assert (tmp_path / "theirs" / each).read_bytes() == (tmp_path / "own" / each).read_bytes()


@pytest.mark.parametrize("name", ["ids.bin", "ids.npy"])
def test_an_executor_writes_files_for_which_no_workers_pay(text, tmp_path, name):
    (tmp_path / "b.txt").write_text("the cat")
    tok = nbbpe.train(text, 300, SPECIALS)
    source = [text, tmp_path / "b.txt", text]
    executor, told = Here(), []
    n_ids = tok.encode_file(source, tmp_path / name, progress=lambda _, *n: told.append(n), executor=executor)
    assert n_ids == tok.encode_file(source, tmp_path / f"own_{name}")
    assert executor.n_tasks == 3
    assert (tmp_path / name).read_bytes() == (tmp_path / f"own_{name}").read_bytes()
    n_bytes = sum(os.path.getsize(path) for path in source)
    assert told[-1] == (n_bytes, n_bytes)


@pytest.mark.parametrize("at_open", [False, True])
@pytest.mark.parametrize("module", [block_writer, executor_encoding], ids=["the worker's", "of the output"])
def test_a_disk_that_is_full_is_named(text, tmp_path, monkeypatch, module, at_open):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    def open_full(path, mode):
        if mode != "wb":
            return open(path, mode)
        if at_open:
            raise OSError(errno.ENOSPC, "No space left on device", path)
        return Full()

    tok = nbbpe.train(text, 300, SPECIALS)
    monkeypatch.setattr(module, "open", open_full, raising=False)
    with pytest.raises(OSError, match="No space left on device") as caught:
        tok.encode_file(text, tmp_path / "ids.bin", executor=Here())
    assert caught.value.filename == (tempfile.gettempdir() if module is block_writer else str(tmp_path / "ids.bin"))
    assert os.listdir(tmp_path) == [text.name]


def test_a_pool_of_processes_encodes_and_its_errors_leave_nothing(text, tmp_path, sizes):
    sizes(for_workers=0, chunk=3000)
    tok = nbbpe.train(text, 300, SPECIALS)
    (tmp_path / "out").mkdir()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        tok.encode_file(text, tmp_path / "out" / "ids.bin", executor=pool)
        assert nbbpe.TokenFile(tmp_path / "out" / "ids.bin", tok)[:].tolist() == tok.encode(text.read_bytes())
        before = sorted(os.listdir(tmp_path / "out"))
        (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"text": 3}\n')
        with pytest.raises(ValueError, match=r"a\.jsonl', line 2"):
            tok.encode_file(tmp_path / "a.jsonl", tmp_path / "out" / "other.bin", executor=pool)
        with pytest.raises(TypeError, match="executor= needs a source of files"):
            tok.encode_file(iter(["a"]), tmp_path / "out" / "other.bin", executor=pool)
        with pytest.raises(ValueError, match="workers must be at least 1"):
            tok.encode_file(text, tmp_path / "out" / "other.bin", workers=0, executor=pool)
    with pytest.raises(TypeError, match=r"executor must be a concurrent\.futures\.Executor"):
        tok.encode_file(text, tmp_path / "out" / "other.bin", executor=2)
    assert sorted(os.listdir(tmp_path / "out")) == before


# Functions from Arrow to Arrow


def test_functions_can_be_sent_to_workers(table):
    tok = trained(table)
    count = pickle.loads(pickle.dumps(partial(arrow_functions.count_batches, pattern="cl100k")))
    encode = pickle.loads(pickle.dumps(partial(arrow_functions.encode_batches, tokenizer=tok)))
    batches = table.to_batches(max_chunksize=7)
    counts = pa.Table.from_batches(count(iter(batches)))
    assert counts.equals(nbbpe.count_words(table, pattern="cl100k").combine_chunks(), check_metadata=True)
    ids = pa.Table.from_batches(encode(iter(batches)))
    assert ids["ids"].to_pylist() == [tok.encode(row) for row in table["text"].to_pylist()]
    assert ids["id"].equals(table["id"])


def test_a_null_is_an_error_or_skipped_with_a_warning_and_has_no_ids():
    table = pa.table({"text": ["the", None, "the"]})
    with pytest.raises(ValueError, match=r"row 1 \(from 0\): the text is null"):
        arrow_functions.count_table(table)
    with pytest.warns(UserWarning, match="1 malformed record was skipped"):
        assert arrow_functions.count_table(table, on_error="skip").to_pylist() == [{"word": b"the", "count": 2}]
    with pytest.raises(ValueError, match="on_error must be one of 'raise', 'skip', not 'ignore'"):
        arrow_functions.count_table(table, on_error="ignore")
    assert arrow_functions.encode_table(table, tokenizer=nbbpe.train(iter(["the"]), 258))["ids"].to_pylist()[1] is None


def test_no_rows_give_no_counts_and_no_ids(table):
    tok = trained(table)
    assert arrow_functions.count_table(table.slice(0, 0)).num_rows == 0
    assert arrow_functions.encode_table(table.slice(0, 0), tokenizer=tok).schema.names == ["id", "text", "ids"]
    assert list(arrow_functions.count_batches(iter([]))) == []


def test_texts_that_are_skipped_in_several_batches_are_counted_together():
    batches = [pa.record_batch({"text": texts}) for texts in (["the", None], [None, "cat", "the"])]
    with pytest.warns(UserWarning, match="2 malformed records were skipped"):
        (words,) = arrow_functions.count_batches(batches, on_error="skip")
    assert sorted(words.to_pydict().items()) == [("count", [1, 2]), ("word", [b"cat", b"the"])]


@pytest.mark.parametrize("n_rows", [0, 2])
def test_other_columns_may_have_any_type(n_rows):
    """As a Categorical of Polars; of some types pyarrow makes no array of Python values."""
    kinds = pa.array([0, 0], pa.uint32())
    others = {
        "category": pa.DictionaryArray.from_arrays(kinds, pa.array(["a"], pa.string_view())),
        "union": pa.UnionArray.from_dense(pa.array([0, 0], pa.int8()), pa.array([0, 1], pa.int32()), [kinds]),
    }
    table = pa.table({"text": ["the cat", "the"], **others}).slice(0, n_rows)
    tok = nbbpe.train(iter(["the cat"]), 258)
    found = arrow_functions.encode_table(table, tokenizer=tok)
    assert found.schema.names == ["text", "category", "union", "ids"]
    assert found.drop_columns(["ids"]).equals(table)
    assert found.num_rows == n_rows


def test_an_id_column_takes_the_place_of_one_of_its_name_and_the_type_that_is_wanted(table):
    tok = trained(table)
    found = arrow_functions.encode_table(table, tokenizer=tok, to="id", id_type=pa.int32())
    assert found.schema.names == ["text", "id"]
    assert found.schema.field("id").type == pa.list_(pa.int32())
    with pytest.raises(ValueError, match="no column 'body'; its columns are 'id', 'text'"):
        arrow_functions.encode_table(table, tokenizer=tok, field="body")


def test_special_tokens_in_texts_of_strangers_stay_text_if_asked():
    tok = nbbpe.train(iter(["the cat"]), 258, ["<|endoftext|>"])
    table = pa.table({"text": ["the<|endoftext|>", "<|endoftext|>"]})
    for choice, encode in ("all", tok.encode), ((), tok.encode_ordinary), (["<|endoftext|>"], tok.encode):
        wanted = [encode(row) for row in table["text"].to_pylist()]
        found = arrow_functions.encode_table(table, tokenizer=tok, allowed_special=choice)
        assert found["ids"].to_pylist() == wanted
        batches = arrow_functions.encode_batches(table.to_batches(), tokenizer=tok, allowed_special=choice)
        assert pa.Table.from_batches(batches).equals(found)


def test_other_columns_and_metadata_stay_as_they_are(table):
    """Two columns may have one name: a column that is looked up by it would come twice, and the other be lost."""
    text = pa.field("text", pa.string(), nullable=False, metadata={"language": "en"})
    schema = pa.schema([pa.field("n", pa.int64()), text, pa.field("n", pa.string())], metadata={"made by": "a test"})
    batch = pa.RecordBatch.from_arrays([pa.array([1, 2]), pa.array(["the", "cat"]), pa.array(["a", "b"])], schema=schema)
    tok = trained(table)
    for found in (
        *arrow_functions.encode_batches([batch], tokenizer=tok),
        arrow_functions.encode_table(pa.Table.from_batches([batch]), tokenizer=tok),
    ):
        assert [found.column(i).to_pylist() for i in range(3)] == [[1, 2], ["the", "cat"], ["a", "b"]]
        assert found.schema.remove(3).equals(schema, check_metadata=True)
        assert found.column(3).to_pylist() == tok.encode_batch(["the", "cat"])


def test_special_tokens_from_an_iterator_are_those_of_a_list():
    table = pa.table({"text": [f"the{texts.SPECIAL}cat"]})
    found = arrow_functions.count_table(table, special_tokens=iter(SPECIALS))
    assert found.equals(arrow_functions.count_table(table, special_tokens=SPECIALS), check_metadata=True)
    assert found.to_pylist() == [{"word": b"cat", "count": 1}, {"word": b"the", "count": 1}]


def test_a_tree_of_sums_is_one_sum(table):
    whole = arrow_functions.count_table(table)
    parts = [arrow_functions.count_table(table.slice(start, 11)) for start in range(0, len(table), 11)]
    while len(parts) > 1:
        parts = [arrow_functions.add_up_counts(parts[i : i + 3]) for i in range(0, len(parts), 3)]
    assert parts[0].equals(whole, check_metadata=True)
    assert nbbpe.train(counts=parts[0], vocab_size=330).merges == trained(table).merges
    lost = [part.replace_schema_metadata(None) for part in (whole, whole)]
    assert arrow_functions.add_up_counts(lost).schema.metadata in (None, {})
    with pytest.raises(ValueError, match="different metadata"):
        arrow_functions.add_up_counts([whole, lost[0]])
    with pytest.raises(ValueError, match="at least one table"):
        arrow_functions.add_up_counts([])


def test_one_table_is_added_up_as_a_list_of_it_is(table, tmp_path):
    whole = arrow_functions.count_table(table)
    twice = pa.concat_tables([whole, whole])
    path = tmp_path / "counts.arrow"
    with pa.ipc.new_file(path, twice.schema) as file:
        file.write_table(twice)
    expected = arrow_functions.add_up_counts([whole, whole])
    for one in twice, twice.to_reader(), path, str(path):
        assert arrow_functions.add_up_counts(one).equals(expected, check_metadata=True)
    counter = {row["word"]: row["count"] for row in whole.to_pylist()}
    assert arrow_functions.add_up_counts(counter).to_pylist() == whole.to_pylist()
    with pytest.raises(TypeError, match=r"^tables must be a path, an Arrow table"):
        arrow_functions.add_up_counts(None)


def test_duckdb_adds_up(table):
    duckdb = pytest.importorskip("duckdb")
    parts = pa.concat_tables([arrow_functions.count_table(part) for part in (table.slice(0, 50), table.slice(50))])
    assert parts.num_rows
    for total in "CAST(SUM(count) AS BIGINT)", "SUM(count)":
        grouped = duckdb.sql(f"SELECT word, {total} AS count FROM parts GROUP BY word")
        assert nbbpe.train(counts=grouped, vocab_size=330, pattern="gpt2").merges == trained(table).merges


def test_polars_adds_up(table):
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(table)
    counted = polars.concat([polars.from_arrow(arrow_functions.count_table(part)) for part in frame.iter_slices(17)])
    grouped = counted.group_by("word").agg(polars.col("count").sum())
    tok = nbbpe.train(counts=grouped, vocab_size=330, pattern="gpt2")
    assert tok.merges == trained(table).merges
    ids = polars.from_arrow(arrow_functions.encode_table(frame, tokenizer=tok))
    assert ids["ids"].to_list() == [tok.encode(row) for row in frame["text"].to_list()]


# Examples


def run(name: str, *arguments: object) -> str:
    done = processes.ended(EXAMPLES / name, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "package"),
    [
        ("dask_dataframe.py", "dask.dataframe"),
        ("polars_counts.py", "polars"),
        ("ray_counts.py", "ray.data"),
        ("spark_counts.py", "pyspark"),
    ],
)
def test_an_example_encodes_as_one_process_does(script, package, table, tmp_path):
    pytest.importorskip(package, reason=f"needs {package}")
    parquet.write_table(table, tmp_path / "data.parquet", row_group_size=30)
    tok = trained(table)
    assert f"{len(tok)} tokens" in run(
        script, tmp_path / "data.parquet", "--vocab-size", 330, "-o", tmp_path / "ids.parquet"
    )
    found = parquet.read_table(tmp_path / "ids.parquet")
    assert found["ids"].to_pylist() == [tok.encode(row) for row in found["text"].to_pylist()]
    assert sorted(found["text"].to_pylist()) == sorted(table["text"].to_pylist())


@pytest.mark.slow
def test_the_example_for_duckdb_trains_from_files_of_counts(text, tmp_path):
    pytest.importorskip("duckdb")
    for name in "a", "b":
        nbbpe.count_words(text, special_tokens=SPECIALS, output=tmp_path / f"{name}.parquet")
    special = ["--special", texts.SPECIAL, "--min-count", 601]
    run("duckdb_counts.py", tmp_path / "*.parquet", "--vocab-size", 300, *special, "-o", tmp_path / "tok")
    expected = nbbpe.train(text, 300, SPECIALS, min_word_count=301)
    assert nbbpe.load(tmp_path / "tok").merges == expected.merges


@pytest.mark.slow
def test_the_example_for_dask_trains_from_text(text, tmp_path):
    pytest.importorskip("distributed")
    run("dask_counts.py", text, "--vocab-size", 400, "--special", texts.SPECIAL, "-o", tmp_path / "tok")
    assert nbbpe.load(tmp_path / "tok").merges == nbbpe.train(text, 400, SPECIALS).merges
