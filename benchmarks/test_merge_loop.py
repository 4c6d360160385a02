"""The merge loop of training alone, on synthetic words in three sizes."""

from __future__ import annotations

from math import log

from benchmarks.corpora import SCALE, TRIAL, words
from benchmarks.race import Entry, race
from benchmarks.results import Claim, within

N_WORDS = int(1_000_000 * SCALE)
N_MERGES = 2_000 if TRIAL else 32_000
SHARES = (1, 2, 4)  # quarters of all words


def test_merge_loop(benchmark, conclude):
    path = words(N_WORDS)
    sizes = {f"{N_WORDS * share // SHARES[-1]:,} words": N_WORDS * share // SHARES[-1] for share in reversed(SHARES)}
    entrants = {
        label: ["merges", "--input", str(path), "--words", str(n_words), "--merges", str(N_MERGES)]
        for label, n_words in sizes.items()
    }
    entries = race(benchmark, entrants, 3)
    for entry in entries.values():
        assert entry.checked["n_merges"] == N_MERGES
    largest, *_, smallest = entries.values()
    claims = [
        within(largest.seconds, 10, f"for {N_MERGES:,} merges over {largest.label}"),
        Claim(
            f"times the cost of {smallest.label} for {largest.label}, n log n of their letters being the figure",
            largest.seconds / smallest.seconds,
            _n_log_n(largest, "n_symbols") / _n_log_n(smallest, "n_symbols"),
            at_least=False,
        ),
    ]
    for what, fact in (("word", "n_words"), ("letter", "n_symbols")):
        claims += [
            Claim(
                f"ns for each {what} * log({what}s), {entry.label}",
                1e9 * entry.seconds / _n_log_n(entry, fact),
            )
            for entry in reversed(entries.values())
        ]
    conclude("merge_loop", f"learn {N_MERGES:,} merges from words", entries.values(), claims)


def _n_log_n(entry: Entry, fact: str) -> float:
    n = entry.checked[fact]
    return n * log(n)
