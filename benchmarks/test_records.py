"""Files of ids, and training, from records: JSON lines, compressed ones and parquet, compared with the same plain text."""

from __future__ import annotations

import pytest

from benchmarks.corpora import RECORDS, TRIAL, records
from benchmarks.entrants import SAME, arguments_of, entrants_of
from benchmarks.race import need, race
from benchmarks.results import memory, ratio

VOCAB_SIZE = 2_000 if TRIAL else 10_000
KINDS = [ending for ending in RECORDS if ending != "txt"]
# For each kind: its row in headlines.py, how many times as fast as gigatoken it must be, and the part of the speed of plain
# text that it must reach.
FIGURES = {
    "jsonl": ("records", 1.6, 0.7),
    "ascii.jsonl": ("records", 1.6, 0.7),
    "jsonl.zst": ("records, zstd", 1.5, None),
    "frames.jsonl.zst": ("", None, None),
    "jsonl.gz": ("", None, None),
    "parquet": ("records, parquet", 2.5, 0.8),
}
TRAINING_FIGURE = 0.6  # of the speed of training from plain text
# The least work to read a file, by the end of its name: label, name in encoding_work, and how many times as fast as that
# nbbpe must be.
ALONE = {
    "gz": [("gzip -d alone", "nbbpe-gzip", 1.0), ("zlib alone", "nbbpe-zlib", None)],
    "zst": [("zstandard alone", "nbbpe-zstandard", None)],
    "parquet": [("pyarrow alone, one thread", "nbbpe-pyarrow", None)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_encode_records(benchmark, conclude, kind: str):
    need("gigatoken")
    corpus, plain = records(kind), records("txt")
    entrants = entrants_of(corpus.path, {"nbbpe encode_file": "nbbpe"})
    entrants |= entrants_of(plain.path, {"nbbpe encode_file of the same as plain text": "nbbpe"})
    entrants |= entrants_of(corpus.path, {"gigatoken encode_files, ids written as uint16": "gigatoken-written"})
    of_alone = ALONE.get(kind.rpartition(".")[2], [])
    entrants |= entrants_of(corpus.path, {label: library for label, library, _ in of_alone})
    entries = race(benchmark, entrants, 5, SAME)
    ours, text, gigatoken, *alone = entries.values()
    row, figure, part_of_text = FIGURES[kind]
    claims = [ratio(ours, gigatoken, figure, row, case=kind, rates=kind != "parquet"), ratio(ours, text, part_of_text)]
    claims += [ratio(ours, entry, figure) for entry, (*_, figure) in zip(alone, of_alone, strict=True)]
    claims.append(memory(ours))
    note = f"all {ours.checked['n_ids']:,} ids equal but those of separators, which only plain text has"
    conclude(f"records/{kind}", f"encode {corpus}", entries.values(), claims, note)


@pytest.mark.parametrize("kind", KINDS)
def test_train_on_records(benchmark, conclude, kind: str):
    corpus = records(kind)
    entrants = {
        f"nbbpe train on .{kind}": arguments_of(corpus, vocab_size=VOCAB_SIZE),
        "nbbpe train on the same as plain text": arguments_of(records("txt"), vocab_size=VOCAB_SIZE),
    }
    entries = race(benchmark, entrants, 5, ("n_merges", "digest"))
    ours, text = entries.values()
    figure = None if kind.endswith(("gz", "zst")) else TRAINING_FIGURE
    claims = [ratio(ours, text, figure), memory(ours)]
    note = f"all {ours.checked['n_merges']:,} merges equal"
    conclude(f"training_records/{kind}", f"train {VOCAB_SIZE:,} tokens on {corpus}", [ours, text], claims, note)
