"""Calls with short texts beside tiktoken's, all by turns in one process, in microseconds (see short_work.py)."""

from __future__ import annotations

import pytest

from benchmarks.corpora import text_folder, vocabs_folder
from benchmarks.race import need, race_inside
from benchmarks.results import Section, duration, ratio

# Of each case: a title, which entrants of nbbpe and tiktoken are held against each other, and the figure.
CASES = {
    "hello": ('encode "hello world"', "nbbpe encode_array", ("tiktoken encode",), 1.0),
    "message": ("encode a message of 2,000 characters", "nbbpe encode_array", ("tiktoken encode",), 10.0),
    "chat": ("encode 200 characters with 2 special tokens", "nbbpe encode_array", ("tiktoken encode",), 1.0),
    "batch": (
        "encode 100 short lines in one call",
        "nbbpe encode_batch",
        ("tiktoken encode_ordinary_batch", "tiktoken encode_ordinary, one by one"),
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_short_texts(benchmark, conclude, case: str):
    need("tiktoken")
    title, ours_label, asked, figure = CASES[case]
    path = text_folder() / "books_en.txt"
    arguments = ["short", "--case", case, "--input", str(path), "--vocabs", str(vocabs_folder())]
    entries = race_inside(benchmark, arguments, 5)
    ours = entries[ours_label]
    claims = [ratio(ours, entries[label], figure, case, case=f"beside {label}") for label in asked]
    peers = [entry for label, entry in entries.items() if entry.library == "tiktoken"]
    for entry in entries.values():
        if entry.library == "nbbpe":
            best = min(peers, key=lambda peer: peer.seconds)
            of = f"for {entry.label} ({duration(entry.seconds)})"
            claims.append(ratio(entry, best, None, detail=of))
    note = "ids equal; all in one process by turns, median of runs of calls on different texts, which have been seen before"
    conclude(Section(f"short/{case}", title, list(entries.values()), claims, note))
