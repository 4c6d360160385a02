"""What a small job costs: a fresh process with kernels in its cache, and one whose cache is empty."""

from __future__ import annotations

import tempfile

from benchmarks.corpora import small
from benchmarks.race import Entry, measure, n_rounds, race
from benchmarks.results import Claim, Section

VOCAB_SIZE = 4_000


def test_small_file(benchmark, conclude):
    text = small()
    arguments = ["start", "--input", str(text.path), "--vocab-size", str(VOCAB_SIZE)]
    entrants = {"nbbpe, as it comes": arguments, "nbbpe, numba imported before": [*arguments, "--import-numba"]}
    entries = race(benchmark, entrants, 5)
    ours, early = entries.values()
    conclude(
        Section(
            "startup/small_file",
            f"train {VOCAB_SIZE:,} tokens on {text}, first call of a process",
            list(entries.values()),
            [
                Claim("seconds of nbbpe.train, numba imported in it", ours.seconds, 0.5, False),
                Claim("seconds of the same call, numba imported before it", early.seconds),
                Claim("seconds to import numba", early.median("import_numba_seconds")),
                Claim("seconds to import nbbpe", ours.median("import_seconds")),
                Claim("seconds to encode the same file then, first call", ours.median("encode_seconds")),
                Claim("seconds of the whole process: start, import, train, encode", ours.median("process_seconds")),
            ],
        )
    )


def test_empty_cache(benchmark, conclude):
    text = small()
    arguments = ["start", "--input", str(text.path), "--vocab-size", str(VOCAB_SIZE)]
    entry = Entry("nbbpe, no kernel cached")

    def start_cold() -> None:
        with tempfile.TemporaryDirectory(prefix="nbbpe-cold-") as folder:
            entry.runs.append(measure(arguments, {"NUMBA_CACHE_DIR": folder}))

    benchmark.pedantic(start_cold, rounds=n_rounds(2))
    entry.checked = entry.runs[0]
    conclude(
        Section(
            "startup/empty_cache",
            f"train {VOCAB_SIZE:,} tokens on {text}, all kernels compiled on the way",
            [entry],
            [
                Claim("seconds from an empty cache to a first tokenizer", entry.median("import_seconds", "seconds")),
                Claim("seconds then to first ids", entry.median("encode_seconds")),
                Claim("seconds of the whole process with an empty cache", entry.median("process_seconds")),
            ],
        )
    )
