"""Calls with short texts, compared with tiktoken, in turns in one process, in microseconds (see short_work.py)."""

from __future__ import annotations

import pytest

from benchmarks.corpora import text_folder, vocabs_folder
from benchmarks.race import need, race_inside
from benchmarks.results import duration, ratio

# For each case: a title, and the entrants of nbbpe and tiktoken that are compared, with the row and the figure.
CASES = {
    "hello": (
        'encode "hello world"',
        [
            ("nbbpe encode_array", "tiktoken encode", "hello", 1.0),
            ("nbbpe encode_ordinary", "tiktoken encode_ordinary", "hello, ordinary", 1.0),
        ],
    ),
    "message": ("encode a message of 2,000 characters", [("nbbpe encode_array", "tiktoken encode", "message", 10.0)]),
    "chat": ("encode 200 characters with 2 special tokens", [("nbbpe encode_array", "tiktoken encode", "chat", 1.0)]),
    "batch": (
        "encode 100 short lines in one call",
        [
            ("nbbpe encode_batch", "tiktoken encode_ordinary_batch", "batch", None),
            ("nbbpe encode_batch", "tiktoken encode_ordinary, one by one", "batch", None),
        ],
    ),
    "decode": ("decode the ids of 2,000 characters, a list", [("nbbpe decode", "tiktoken decode", "decode", 1.0)]),
}


@pytest.mark.parametrize("case", CASES)
def test_short_texts(benchmark, conclude, case: str):
    need("tiktoken")
    title, asked = CASES[case]
    path = text_folder() / "books_en.txt"
    arguments = ["short", "--case", case, "--input", str(path), "--vocabs", str(vocabs_folder())]
    entries = race_inside(benchmark, arguments, 5)
    claims = [
        ratio(entries[ours], entries[theirs], figure, row, case=f"beside {theirs}") for ours, theirs, row, figure in asked
    ]
    peers = [entry for label, entry in entries.items() if entry.library == "tiktoken"]
    for entry in entries.values():
        if entry.library == "nbbpe":
            best = min(peers, key=lambda peer: peer.seconds)
            of = f"for {entry.label} ({duration(entry.seconds)})"
            claims.append(ratio(entry, best, None, detail=of))
    note = "results equal; all in one process by turns, median of runs of calls on different texts, seen before"
    conclude(f"short/{case}", title, entries.values(), claims, note)
