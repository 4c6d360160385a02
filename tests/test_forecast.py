"""The forecast of a long run: near enough on real text, one line where progress is shown, and nothing else."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys

import pytest
import texts

import nbbpe
from nbbpe.counting import counters
from nbbpe.counting.counters import WordRules, make_counter
from nbbpe.patterns.pattern import NAMED
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.sources import find_inputs
from nbbpe.words import forecast

pytestmark = pytest.mark.usefixtures("quiet")
LINES = re.compile(
    r"nbbpe: [\d.]+ GB of text will take about \d+ s and [\d.]+ GB of memory, and have about ([\d,]+) distinct words "
    r"\(guessed from a sample\)\n.*nbbpe: it took \d+ s, with at most [\d.]+ GB in this process, and has ([\d,]+) distinct",
    re.DOTALL,
)


@pytest.fixture
def every_run_is_long(sizes):
    sizes(forecast=1)


def guessed(path, n_tokens=None, most_bytes=None) -> forecast.Forecast | None:
    return forecast.forecast(find_inputs(path, None, "raise"), WordRules(NAMED["gpt2"]), 2, n_tokens, most_bytes)


@pytest.mark.usefixtures("every_run_is_long")
@pytest.mark.parametrize("name", ["novels_de.txt", "code_rails.txt"])
def test_words_are_guessed_within_a_factor_of_two(shared, name, sizes):
    sizes(forecast_place=1 << 17)
    path = shared / "text" / name
    found = guessed(path, 32_000)
    n_words = nbbpe.count_words(path).num_rows
    assert n_words / 2 < found.n_words < n_words * 2
    assert found.n_bytes == path.stat().st_size
    assert 0 < found.seconds < 60
    assert found.n_memory > forecast._PROCESS_BYTES
    assert guessed(path, 32_000, 1000).n_memory == 1000 < found.n_memory


@pytest.mark.usefixtures("every_run_is_long")
@pytest.mark.parametrize(("most_workers", "for_workers", "n_workers"), [(1, 0, 1), (2, 0, 2), (2, 1 << 20, 1)])
@pytest.mark.parametrize("n_distinct", [10, 20_000])
def test_the_figures_follow_from_an_eighth_of_the_text(
    tmp_path, sizes, monkeypatch, n_distinct, most_workers, for_workers, n_workers
):
    """Where all places have the same words, the text has no more; where no two share a word, eight times as many."""
    sizes(for_workers=for_workers)
    path = tmp_path / "a.txt"
    letters = str.maketrans("0123456789", "abcdefghij")
    path.write_text("".join(f" {i % n_distinct:06}" for i in range(20_000)).translate(letters))
    for_counting, for_all = [], []
    for n_tokens, most_bytes, found in (None, None, for_counting), (300, 1 << 60, for_all):
        times = iter([5.0, 10.0, 14.0])
        monkeypatch.setattr(forecast.time, "process_time", lambda times=times: next(times))
        monkeypatch.setattr(forecast, "warm_up", lambda rules, times=times: next(times))  # before the clock is read
        rules = WordRules(NAMED["gpt2"])
        found.append(forecast.forecast(find_inputs(path, None, "raise"), rules, most_workers, n_tokens, most_bytes))
    [counting], [both] = for_counting, for_all
    assert counting.n_words == both.n_words == pytest.approx(n_distinct, rel=0.01)
    assert counting.seconds == pytest.approx(4 * 8 / n_workers, rel=0.05)
    own = n_workers * forecast._PROCESS_BYTES
    assert counting.n_memory == own + (n_workers + 1) * forecast._ENTRY_BYTES * counting.n_words
    n_bytes = 7 * both.n_words
    assert both.seconds - counting.seconds == pytest.approx(forecast._MERGE_SECONDS * n_bytes, rel=0.01)
    for_merges = own + forecast.n_bytes_needed(both.n_words, n_bytes, 300)
    assert both.n_memory == pytest.approx(max(counting.n_memory, for_merges), rel=0.001)
    assert for_merges > counting.n_memory


@pytest.mark.usefixtures("every_run_is_long")
def test_the_sample_is_from_all_over_the_text(tmp_path):
    distinct = "".join(f" {i:06}" for i in range(3000)).translate(str.maketrans("0123456789", "abcdefghij"))
    (tmp_path / "a.txt").write_text("the cat" * 3000 + distinct)
    assert 1500 < guessed(tmp_path / "a.txt").n_words < 6000


@pytest.mark.usefixtures("every_run_is_long")
@pytest.mark.parametrize("n_files", [2, 3, 7, 9])
def test_the_sample_is_from_several_of_a_few_files_that_cannot_be_cut(tmp_path, n_files):
    paths = [tmp_path / f"{i}.txt.gz" for i in range(n_files)]
    letters = str.maketrans("0123456789", "abcdefghij")
    for i, path in enumerate(paths):
        path.write_bytes(gzip.compress("".join(f" {i}{j:04}" for j in range(1000)).translate(letters).encode()))
    assert 0.75 * n_files * 1000 < guessed(paths).n_words < 1.3 * n_files * 1000


@pytest.mark.usefixtures("every_run_is_long")
def test_so_many_bytes_are_read_at_each_place(tmp_path, sizes, monkeypatch):
    sizes(window=1000, forecast_place=4000)
    (tmp_path / "a.txt").write_text("the cat sat on the mat, " * 30_000)
    n_read: list[int] = []

    def making(rules):
        counter = make_counter(rules)
        run = counter.run

        def watched(part):
            n_read.append(0)
            for n in run(part):
                n_read[-1] += n
                yield n

        counter.run = watched
        return counter

    monkeypatch.setattr(forecast, "make_counter", making)
    assert guessed(tmp_path / "a.txt") is not None
    assert len(n_read) == 8
    assert all(4000 <= n < 6000 for n in n_read)


@pytest.mark.usefixtures("every_run_is_long")
def test_remote_files_are_read_for_no_forecast(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    names = [f"memory://forecast{i}.txt" for i in range(3)]
    for name in names:
        fsspec.filesystem("memory").pipe(name, b"the cat sat on the mat, " * 1000)
    assert guessed(names) is None
    (tmp_path / "a.txt").write_text("the cat sat on the mat, " * 1000)
    assert guessed([tmp_path / "a.txt", *names]) is None


@pytest.mark.usefixtures("every_run_is_long")
def test_what_has_no_forecast(tmp_path):
    (tmp_path / "one.json").write_text('[{"text": "the cat"}]')  # one part, which says nothing of how words grow
    assert guessed(tmp_path / "one.json") is None
    (tmp_path / "a.txt").write_text("<|endoftext|>" * 1000)
    no_words = WordRules(NAMED["gpt2"], [b"<|endoftext|>"])
    assert forecast.forecast(find_inputs(tmp_path / "a.txt", None, "raise"), no_words, 2, 300, None) is None
    (tmp_path / "a.txt").write_text("the cat sat on the mat, " * 1000)
    assert guessed(tmp_path / "a.txt") is not None
    os.mkfifo(tmp_path / "pipe")  # whoever opened it would wait, and what it read would be lost
    assert guessed([tmp_path / "a.txt", tmp_path / "pipe"]) is None


@pytest.mark.usefixtures("every_run_is_long")
def test_a_malformed_record_in_the_sample_is_left_to_the_run(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "the cat"}\n{}\n' * 1000)
    inputs = find_inputs(tmp_path / "a.jsonl", None, "skip")  # or the first record of them would be an error here
    assert forecast.forecast(inputs, WordRules(NAMED["gpt2"]), 2, None, None).n_words > 0


def test_two_runs_one_after_the_other_take_the_time_of_both_and_the_memory_of_the_larger():
    one, two = forecast.Forecast(2 * 10**9, 12_345, 60.0, 10**9), forecast.Forecast(2 * 10**9, 9, 90.0, 3 * 10**9)
    expected = "2.0 GB of text will take about 2 min and 3.0 GB of memory, and have about 12,000 distinct words"
    assert expected in str(one.followed_by(two))
    assert str(two.followed_by(one)) == str(one.followed_by(two)).replace("12,000", "9")


@pytest.mark.usefixtures("every_run_is_long")
def test_a_line_before_and_one_after_where_progress_is_shown(tmp_path, capfd):
    path = tmp_path / "a.txt"
    path.write_text((texts.SAMPLE + " the cat sat on the mat" * 30) * 40, encoding="utf-8")
    nbbpe.train(path, 300, progress=True)
    found = LINES.search(capfd.readouterr().err)
    assert found
    n_words = nbbpe.count_words(path, progress=True).num_rows
    assert found[2] == LINES.search(capfd.readouterr().err)[2] == f"{n_words:,}"
    said: list[str] = []
    nbbpe.train(path, 300, progress=lambda stage, done, total: said.append(stage))
    nbbpe.train(path, 300, progress=False)
    nbbpe.train(path, 300)
    nbbpe.train(documents=["the cat"], vocab_size=300, progress=True)
    assert "distinct" not in capfd.readouterr().err
    assert set(said) == {"count words", "learn merges"}


def test_superwords_are_forecast_with_both_of_their_stages(tmp_path, capfd, monkeypatch):
    asked = []

    def forecast_of(inputs, rules, *how):
        asked.append(rules.pattern.regex)
        return forecast.Forecast(2 * 10**9, 1000 * len(asked), 60.0, len(asked) * 10**9)

    monkeypatch.setattr(forecast, "forecast", forecast_of)
    path = tmp_path / "a.txt"
    path.write_text(texts.SAMPLE, encoding="utf-8")
    nbbpe.train(path, 300, progress=True, superwords=nbbpe.Superwords(after=280))
    expected = "2.0 GB of text will take about 2 min and 2.0 GB of memory, and have about 1,000 distinct words"
    assert expected in capfd.readouterr().err
    assert len(asked) == 2
    assert "{1,8}|" in asked[1]


@pytest.mark.usefixtures("every_run_is_long")
@pytest.mark.parametrize("split_with", ["regex", "compiled"])
def test_a_sample_is_split_as_the_run_splits(tmp_path, monkeypatch, split_with):
    of_samples = []
    monkeypatch.setattr(forecast, "make_counter", lambda rules: of_samples.append(rules.by_regex) or make_counter(rules))
    (tmp_path / "a.txt").write_text("the cat sat on the mat, " * 1000)
    nbbpe.train(tmp_path / "a.txt", 262, progress=True, split_with=split_with)
    assert set(of_samples) == {split_with == "regex"}


class Gone(io.StringIO):
    """A stream whose reader ends during the run."""

    def write(self, text: str) -> int:
        if "it took" in text:
            raise BrokenPipeError
        return super().write(text)


@pytest.mark.usefixtures("every_run_is_long")
def test_a_run_does_not_fail_when_nobody_can_read_the_line_after_it(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("the cat sat on the mat, " * 100)
    monkeypatch.setattr("sys.stderr", Gone())
    assert len(nbbpe.train(path, 262, progress=True)) == 262
    assert "will take about" in sys.stderr.getvalue()


@pytest.mark.usefixtures("every_run_is_long")
def test_no_more_than_a_sample_is_split_by_regex(tmp_path, sizes, monkeypatch):
    sizes(window=1000, forecast_place=1000)
    counted: list[int] = []
    count = counters.RegexCounter.count

    def counts(self, window):
        end = count(self, window)
        counted.append(end - window.start)
        return end

    monkeypatch.setattr(counters.RegexCounter, "count", counts)
    (tmp_path / "a.txt").write_text("the cat sat<|endoftext|>" * 40_000)
    inputs = find_inputs(tmp_path / "a.txt", None, "raise")
    rules = WordRules(get_pattern(r"(?<=a)t|.+?"), [b"<|endoftext|>"])
    assert forecast.forecast(inputs, rules, 2, 300, None).n_words > 0
    assert 8 * 900 < sum(counted) < 8 * 3000


def test_a_short_run_has_no_forecast(tmp_path):
    (tmp_path / "a.txt").write_text("the cat")
    assert guessed(tmp_path / "a.txt") is None


@pytest.mark.skipif(sys.platform == "win32", reason="which does not tell it")
def test_the_memory_that_was_taken_is_that_of_this_process():
    took = re.match(r"it took 3 s, with at most ([\d.]+) GB in this process, and has 5 distinct", forecast.outcome(3.1, 5))
    assert 0 < float(took[1]) < 100


def test_times_are_said_as_a_person_would():
    assert [forecast.duration(n) for n in (0.4, 119, 121, 7140, 7199)] == ["0 s", "119 s", "2 min", "119 min", "2 h 0 min"]
    assert forecast.duration(8000) == "2 h 13 min"
