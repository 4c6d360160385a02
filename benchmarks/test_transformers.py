"""Calls of a tokenizer in transformers, compared with its own class, both by turns in one process."""

from __future__ import annotations

import pytest

from benchmarks.corpora import text_folder, vocabs_folder
from benchmarks.race import need, race_inside
from benchmarks.results import ratio
from benchmarks.transformers_work import OURS, THEIRS

TEXTS = "500 texts of 2,000 characters"
# Of each case: a title, the row of the report, and how many times as fast nbbpe must be.
CASES = {
    "batch": (f"encode {TEXTS}", "transformers", 10.0),
    "padded": (f"encode {TEXTS}, cut to 256 ids, padded, as arrays", "transformers, padded", 3.0),
    "pairs": ("encode 250 pairs of texts of 2,000 characters", "transformers, pairs", 10.0),
    "rows": (f"encode {TEXTS} in rows of 128 ids", "transformers, rows", 10.0),
    "words": (f"encode {TEXTS} split into words, with the word of each id", "transformers, words", 2.0),
    "whole": (f"encode {TEXTS}, with the word of each id", "transformers, whole", 4.0),
    "offsets": (f"encode {TEXTS}, with offsets", "transformers, offsets", 2.0),
    "decode": ("decode the ids of 500 texts of 2,000 characters", "transformers, decode", 10.0),
    "tokenize": ("the tokens of a text of 2,000 characters", "transformers, tokenize", 5.0),
    "short": ("encode a text of 20 characters", "transformers, short", 0.9),
}


@pytest.mark.parametrize("case", CASES)
def test_transformers(benchmark, conclude, case: str):
    need("transformers")
    title, row, figure = CASES[case]
    arguments = ["transformers", "--case", case, "--input", str(text_folder() / "books_en.txt")]
    entries = race_inside(benchmark, [*arguments, "--vocabs", str(vocabs_folder())], 3)
    ours, theirs = entries[OURS], entries[THEIRS]
    note = "results equal; both in one process by turns, median of runs of calls on different texts, seen before"
    conclude(f"transformers/{case}", title, entries.values(), [ratio(ours, theirs, figure, row)], note)
