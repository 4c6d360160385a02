"""The forecast of a long run: near enough on real text, one line where progress is shown, and nothing else."""

from __future__ import annotations

import io
import re
import sys

import pytest
import texts

import nbbpe
from nbbpe.counting import counters
from nbbpe.counting.counters import WordRules, make_counter
from nbbpe.patterns.pattern import NAMED, get_pattern
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


def test_times_are_said_as_a_person_would():
    assert [forecast.duration(n) for n in (0.4, 119, 121, 7100, 8000)] == ["0 s", "119 s", "2 min", "118 min", "2 h 13 min"]
