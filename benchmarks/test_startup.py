"""The cost of a small job: in a fresh process with kernels in its cache, and in one whose cache is empty."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

from benchmarks.corpora import small, vocabs_folder
from benchmarks.entrants import SAME
from benchmarks.race import BEFORE, Entry, measure, n_rounds, need, race
from benchmarks.results import Claim, duration, within

VOCAB_SIZE = 4_000
FIRST_IDS_LIMIT = 1.0
EMPTY_CACHE_LIMIT = 15.0


def first_ids_arguments(library: str) -> list[str]:
    """Arguments of measure.py with which `seconds_before` is the time from import to first ids."""
    return ["encode", "--library", library, "--input", str(small().path), "--vocabs", str(vocabs_folder())]


def training_arguments() -> list[str]:
    return ["start", "--input", str(small().path), "--vocab-size", str(VOCAB_SIZE)]


def test_first_ids(benchmark, conclude):
    need("tiktoken")
    need("gigatoken")
    entrants = {
        "nbbpe": first_ids_arguments("nbbpe-one-thread"),
        "tiktoken": first_ids_arguments("tiktoken-one-thread"),
        "gigatoken": first_ids_arguments("gigatoken-one-thread"),
        "import numba": ["import", "--module", "numba"],
    }
    entries = race(benchmark, entrants, 5, SAME)
    ours, *peers, numba = entries.values()
    what = "from import to first ids, GPT-2's vocabulary loaded in between"
    theirs = f"{peers[0].library} {duration(peers[0].seconds_before)}"
    claims = [within(ours.seconds_before, FIRST_IDS_LIMIT, what, "first ids", theirs)]
    claims += [Claim(f"seconds of it: {name}", ours.median(name)) for name in BEFORE if name in ours.runs[0]]
    claims += [Claim(f"seconds {what}, {peer.label}", peer.seconds_before) for peer in peers]
    claims.append(Claim("seconds to import numba alone (NumPy is a part of it)", numba.seconds))
    conclude(
        "startup/first_ids",
        f"import to first ids, then encode {small()}",
        entries.values(),
        claims,
        f"all {ours.checked['n_ids']:,} ids equal; a fresh process with kernels cached: the import, loading GPT-2's "
        'vocabulary, and encoding two short documents are in the column "before it"; NumPy is not imported before the '
        "library is",
    )


def test_small_file(benchmark, conclude):
    entrants = {
        "nbbpe, as it comes": training_arguments(),
        "nbbpe, numba imported before": [*training_arguments(), "--import-numba"],
    }
    entries = race(benchmark, entrants, 5)
    ours, early = entries.values()
    conclude(
        "startup/small_file",
        f"train {VOCAB_SIZE:,} tokens on {small()}, first call of a process",
        entries.values(),
        [
            Claim("seconds of nbbpe.train, numba imported in it", ours.seconds, 0.5, False),
            Claim("seconds of the same call, numba imported before it", early.seconds),
            Claim("seconds to import numba", early.median("import_numba_seconds")),
            Claim("seconds to import nbbpe", ours.median("import_seconds")),
            Claim("seconds to encode the same file then, first call", ours.median("encode_seconds")),
            Claim("seconds of the whole process: start, import, train, encode", ours.median("process_seconds")),
        ],
    )


def test_empty_cache_to_first_training(benchmark, conclude):
    entry = with_empty_cache(benchmark, training_arguments())
    what = "from an empty cache to a first tokenizer"
    conclude(
        "startup/empty_cache_training",
        f"train {VOCAB_SIZE:,} tokens on {small()}, all kernels compiled on the way",
        [entry],
        [
            within(entry.median("import_seconds", "seconds"), EMPTY_CACHE_LIMIT, what, "empty cache", case="training"),
            Claim("seconds then to first ids", entry.median("encode_seconds")),
            Claim("seconds of the whole process with an empty cache", entry.median("process_seconds")),
        ],
    )


def test_empty_cache_to_first_ids(benchmark, conclude):
    entry = with_empty_cache(benchmark, first_ids_arguments("nbbpe-one-thread"))
    what = "from an empty cache to first ids"
    conclude(
        "startup/empty_cache_ids",
        f"encode {small()} with GPT-2's vocabulary, all kernels compiled before it",
        [entry],
        [
            within(entry.seconds_before, EMPTY_CACHE_LIMIT, what, "empty cache", case="ids"),
            Claim("seconds of the whole process with an empty cache", entry.median("process_seconds")),
        ],
    )


def with_empty_cache(benchmark: Any, arguments: Sequence[str]) -> Entry:
    """Measure with a cache of kernels that is empty in each round."""
    entry = Entry("nbbpe, no kernel cached")

    def run() -> None:
        with tempfile.TemporaryDirectory(prefix="nbbpe-cold-") as folder:
            entry.runs.append(measure(arguments, {"NUMBA_CACHE_DIR": folder}))

    benchmark.pedantic(run, rounds=n_rounds(2))
    assert all(run["compiled_kernels"] for run in entry.runs), "the cache was not empty"
    entry.checked = entry.runs[0]
    return entry
