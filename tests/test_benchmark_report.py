"""The benchmarks' report: a small stored result in, README, long report and figures out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.append(str(ROOT))

from benchmarks import figures, report, results
from benchmarks.headlines import README, ROWS
from benchmarks.race import Entry
from benchmarks.results import Claim, Section, ratio


def entry(label: str, library: str, *seconds: float, warm: float = 0.5) -> Entry:
    runs = [
        {"library": library, "seconds": each, "warm_seconds": warm, "n_bytes": 10_000_000, "compiled_kernels": []}
        for each in seconds
    ]
    return Entry(label, {"peak_bytes": 5_000_000, "peak_anonymous_bytes": None}, runs)


def race_of(name: str, ours: Entry, theirs: Entry) -> Section:
    claims = [ratio(ours, theirs, 3, "first", case=name.split("/")[2], rates=True)]
    made = {"date": "2026-01-01", "commit": "abc", "command": "pytest"}
    return Section(name, f"encode {name}", [ours, theirs], claims, "all ids equal", made)


@pytest.fixture
def sections() -> list[Section]:
    slow = race_of("one_thread/gpt2/cjk/gigatoken", entry("n", "nbbpe", 4, 2, 3), entry("g", "gigatoken-x", 6))
    fast = race_of("one_thread/gpt2/books_en/gigatoken", entry("n", "nbbpe", 1), entry("g", "gigatoken-x", 5))
    training = race_of("training/books_en/rustbpe", entry("n", "nbbpe", 1), entry("r", "rustbpe", 8))
    training.claims = []
    return [slow, fast, training]


@pytest.fixture
def stored(tmp_path: Path, sections: list[Section]) -> tuple[dict, list[Section]]:
    for section in sections:
        results.store(section, tmp_path / "results.json")
    machine, found = results.load(tmp_path / "results.json")
    return machine, list(found.values())


def test_results_come_back_as_they_were_stored(stored, sections):
    machine, found = stored
    assert machine == results.machine()
    assert sorted(found, key=lambda s: s.name) == sorted(sections, key=lambda s: s.name)


def test_results_of_another_machine_are_not_kept(tmp_path, sections, monkeypatch):
    path = tmp_path / "results.json"
    results.store(sections[0], path)
    monkeypatch.setattr(results, "machine", lambda: {"cpu": "another"})
    results.store(sections[1], path)
    assert list(results.load(path)[1]) == [sections[1].name]


def test_a_row_shows_the_claim_that_is_least_good(stored):
    rows = [line for line in report.full(*stored) if line.startswith(f"| {ROWS['first']} (")]
    assert rows == [
        f"| {ROWS['first']} (least of 2: cjk) | 3.33 MB/s | gigatoken 1.67 MB/s | 2x | at least 3x, **short of it** |"
    ]
    assert f"| {README['first']} | 3.33 MB/s | gigatoken 1.67 MB/s | 2x |" in report.short(*stored)


def test_the_least_good_of_limits_is_the_highest(sections):
    sections[0].claims = [
        Claim("seconds", value, 15, at_least=False, row="first ids", case=case, unit="s")
        for case, value in (("a", 3), ("b", 9))
    ]
    (row,) = (line for line in report.headlines(sections) if line.startswith(f"| {ROWS['first ids']}"))
    assert "least of 2: b" in row
    assert row.endswith("| below 15 s |")


def test_the_readme_has_few_rows_and_no_goals_commands_or_commits(stored):
    """Those are in the report."""
    assert len(README) <= 13
    assert set(README) <= set(ROWS)
    short, full = ("\n".join(lines) for lines in (report.short(*stored), report.full(*stored)))
    assert "commit abc" in full
    assert "short of it" in full
    for word in "commit", "pytest", "short of", "goal":
        assert word not in short


def test_the_readme_says_which_texts_were_seen_before(stored):
    """The benchmarks of short texts and of transformers encode all texts once, to compare the results."""
    said = report.short(*stored)[-1]
    assert "text that the tokenizer has not seen, except for the chat message and transformers" in said
    assert "a chat message" in README["message"]
    assert "transformers" in README["transformers"]


def test_the_report_says_which_sections_a_command_made_and_each_title_once(stored):
    machine, sections = stored
    sections[2].made = {"date": "2026-01-02", "commit": "abd", "command": "pytest -k training"}
    sections[0].claims *= 2
    lines = report.full(machine, sections)
    assert "- 2026-01-01, commit abc: `pytest` (one_thread)" in lines
    assert "- 2026-01-02, commit abd: `pytest -k training` (training)" in lines
    first, second = (line for line in lines if "times as fast as g | 5 |" in line)
    assert first.startswith("| encode one_thread/gpt2/books_en/gigatoken | times")
    assert second.startswith("|  | times")


def test_all_is_written(tmp_path, stored):
    pytest.importorskip("matplotlib")
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{report.START}\nold\n{report.END}\nafter\n")
    assert report.write(*stored, readme, tmp_path / "REPORT.md", tmp_path / "docs") == []
    text = readme.read_text()
    assert text.startswith(f"before\n{report.START}\n| task | nbbpe |")
    assert text.endswith(f"\n{report.END}\nafter\n")
    assert "old" not in text
    assert f"]({report.REPOSITORY}/docs/encoding.svg)" in text
    assert f"]({report.REPOSITORY}/docs/training.svg)" in text
    long = (tmp_path / "REPORT.md").read_text()
    assert "one_thread/gpt2/cjk/gigatoken, n: 4 s / 0.5 s, 2 s / 0.5 s, 3 s / 0.5 s" in long
    drawn = (tmp_path / "docs" / "encoding.svg").read_bytes()
    assert b"gigatoken, first pass" in drawn
    report.write(*stored, readme, tmp_path / "REPORT.md", tmp_path / "docs")
    assert (tmp_path / "docs" / "encoding.svg").read_bytes() == drawn
    assert readme.read_text() == text


def test_a_readme_without_markers_stays_and_is_reported(tmp_path, stored):
    readme = tmp_path / "README.md"
    readme.write_text("mine\n")
    problems = report.write(*stored, readme, tmp_path / "REPORT.md", tmp_path / "docs")
    assert "README.md" in problems[-1]
    assert readme.read_text() == "mine\n"


def test_bars_are_rates_of_encoding_and_times_of_training(stored):
    _, sections = stored
    bars = {(bar.group, bar.label): bar.value for bar in figures.encoding_bars(sections)}
    assert bars["cjk", "nbbpe, first pass"] == pytest.approx(10 / 3)
    assert bars["cjk", "gigatoken, warm"] == pytest.approx(20)
    assert len(bars) == 8
    assert [(bar.library, bar.value) for bar in figures.training_bars(sections)] == [("nbbpe", 1), ("rustbpe", 8)]


@pytest.mark.parametrize(
    ("seconds", "words"), [(123.4, "123 s"), (1.5, "1.5 s"), (0.05, "50 ms"), (1.5e-6, "1.5 µs"), (2e-8, "20 ns")]
)
def test_durations(seconds, words):
    assert results.duration(seconds) == words


def test_a_claim_for_an_unknown_row_is_not_stored(tmp_path, sections):
    sections[0].claims.append(Claim("x", 1, row="nowhere"))
    with pytest.raises(ValueError, match="no row 'nowhere'"):
        results.store(sections[0], tmp_path / "results.json")
    assert not (tmp_path / "results.json").exists()


def test_results_of_another_layout_are_not_read(tmp_path):
    path = tmp_path / "results.json"
    path.write_text('{"machine": {}, "sections": {"x": {}}}')
    assert results.load(path) == ({}, {})
