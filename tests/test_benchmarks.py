"""The benchmarks themselves: what they time, how they compare, and how their scripts are called."""

from __future__ import annotations

import os
import subprocess
import sys

import processes
import pytest
from conftest import ROOT
from vocabularies import BYTE_RANKS, rank_lines

BENCHMARKS = ROOT / "benchmarks"


def run_script(name: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return processes.ended(BENCHMARKS / name, *arguments, **environment)


LOADING = """
import sys
from pathlib import Path
from benchmarks import encoding_work

encoding = encoding_work.LIBRARIES[sys.argv[1]](".", "cl100k")
encoding.look_up_regexes()
before = set(sys.modules)
encoding.load_vocabulary(Path(sys.argv[2]))
print([name for name in sys.modules if name.startswith("nbbpe") and name not in before])
"""


def test_the_time_in_which_tiktoken_loads_its_vocabulary_has_no_import_of_nbbpe(tmp_path):
    pytest.importorskip("tiktoken")
    (tmp_path / "cl100k_base.tiktoken").write_bytes(rank_lines(BYTE_RANKS))
    assert processes.run(LOADING, "tiktoken", tmp_path) == "[]\n"


def test_benchmarks_run_alone():
    """Without a line for each test that is skipped: there are thousands."""
    asked = ["--benchmark-only", "-q", "--collect-only", "tests/test_benchmark_report.py", "benchmarks/test_merge_loop.py"]
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *asked],
        cwd=BENCHMARKS.parent,
        env=alone,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "benchmarks/test_merge_loop.py::test_merge_loop" in done.stdout
    assert "tests/test_benchmark_report.py::" not in done.stdout


@pytest.mark.parametrize("name", ["authors.py", "measure.py", "other_ways.py", "shaping.py"])
def test_scripts_say_how_they_are_called(name):
    done = run_script(name, "--help")
    assert done.returncode == 0
    assert f"python benchmarks/{name}" in done.stdout
    assert done.stderr == ""


def test_authors_shows_why_a_way_failed(tmp_path):
    done = run_script("authors.py", "parity", tmp_path / "missing.txt")
    assert done.returncode == 1
    assert "No such file or directory: " in done.stderr
    assert "missing.txt" in done.stderr


def test_authors_reads_all_of_a_text_where_no_size_is_given(tmp_path):
    (tmp_path / "text.txt").write_text("the cat<|endoftext|>" * 3)
    done = run_script("authors.py", "parity", tmp_path / "text.txt", "--way", "parity_by_nbbpe")
    assert '"most_tokens": ' in done.stdout, done.stderr


def test_shaping_leaves_no_files(tmp_path):
    (tmp_path / "empty.txt").touch()
    done = run_script("shaping.py", tmp_path / "empty.txt", TMPDIR=str(tmp_path))
    assert "there is no text" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["empty.txt"]


MEMORY = """
from benchmarks.synthetic_words import make_words
from benchmarks.word_growth import WordCounts, merge_memory

merge_memory(WordCounts(*make_words(1000)))
print(merge_memory(WordCounts(*make_words(250_000))))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_the_memory_of_the_merge_loop_has_large_pages():
    """The cells alone are four bytes for each byte of a word, and the lists of occurrences as many."""
    assert 8 < float(processes.run(MEMORY)) < 40
