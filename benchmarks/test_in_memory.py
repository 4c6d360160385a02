"""Text in memory, in the forms that users have: a str, many short documents, one long text for two threads."""

from __future__ import annotations

import platform

import pytest

from benchmarks.corpora import TEXTS, beginning
from benchmarks.entrants import PASS_NAMES, PASSES, SAME, entrants_of
from benchmarks.race import need, race
from benchmarks.results import memory, ratio

KINDS = ["books_en", "novels_de", "bible_multilingual", "code_rails"]
FIRST_FIGURE = 1.3  # times as fast as gigatoken, the first pass over 10 MB or less
STR_FIGURE = 1.2  # times as fast as gigatoken's `encode(str)`
OF_BYTES_FIGURE = 0.87  # of the speed of the same text as bytes
BATCH_FIGURES = {"gigatoken": 1.5, "tiktoken": 20, "tokenizers": None}  # times as fast
THREADS_FIGURE = 1.7  # times as fast with two threads


@pytest.mark.parametrize("name", KINDS)
def test_str(benchmark, conclude, name: str):
    need("gigatoken")
    text = TEXTS[name]()
    libraries = {
        "nbbpe encode_array of a str": "nbbpe-str",
        "nbbpe encode_array of the same as bytes": "nbbpe-str-bytes",
        "gigatoken encode of a str": "gigatoken-str",
    }
    entries = race(benchmark, entrants_of(text.path, libraries, PASSES), 5, SAME)
    ours, of_bytes, gigatoken = entries.values()
    claims = []
    for row, (pass_name, fact) in zip(("str", "str, warm"), PASS_NAMES.items(), strict=True):
        detail = f"{pass_name} pass"
        claims.append(ratio(ours, gigatoken, STR_FIGURE, row, fact=fact, detail=detail, case=name, rates=True))
        claims.append(ratio(ours, of_bytes, OF_BYTES_FIGURE, fact=fact, detail=detail))
    claims.append(memory(ours))
    note = f"all {ours.checked['n_ids']:,} ids equal; one thread each, to an array"
    conclude(f"str/{name}", f"encode {text}, a str in memory", entries.values(), claims, note)


@pytest.mark.parametrize("megabytes", [1, 10])
@pytest.mark.parametrize("name", [*KINDS, "cjk"])
def test_first_pass(benchmark, conclude, name: str, megabytes: int):
    need("gigatoken")
    need("tiktoken")
    text = beginning(name, megabytes * 1_000_000)
    libraries = {"nbbpe encode_array of bytes": "nbbpe-str-bytes", "nbbpe encode_array of a str": "nbbpe-str"}
    if platform.machine() in ("x86_64", "AMD64"):
        libraries["nbbpe encode_array of bytes, for AVX2"] = "nbbpe-avx2"
    n_ours = len(libraries)
    libraries |= {
        "gigatoken encode of bytes": "gigatoken-bytes",
        "gigatoken encode of a str": "gigatoken-str",
        "tiktoken encode_ordinary": "tiktoken-str",
    }
    entries = list(race(benchmark, entrants_of(text.path, libraries), 7, SAME).values())
    of_bytes, of_str, tiktoken = entries[n_ours:]
    figure = FIRST_FIGURE if megabytes == 10 else None
    claims = []
    for ours in entries[:n_ours]:
        peer = of_str if ours.label == "nbbpe encode_array of a str" else of_bytes
        claims.append(ratio(ours, peer, figure, detail=ours.label))
        claims.append(ratio(ours, tiktoken, None, detail=ours.label))
    note = f"all {entries[0].checked['n_ids']:,} ids equal; one thread each, from memory, a process for each pass"
    conclude(f"first_pass/{megabytes}MB/{name}", f"encode {text}, first pass", entries, claims, note)


def test_batch_of_short_documents(benchmark, conclude):
    need("gigatoken")
    need("tiktoken")
    text = TEXTS["books_en"]()
    libraries = {
        "nbbpe encode_batch_flat": "nbbpe-batch",
        "nbbpe encode_batch_flat, one thread": "nbbpe-batch-one-thread",
        "nbbpe encode_arrow": "nbbpe-arrow",
        "gigatoken encode_batch": "gigatoken-batch",
        "gigatoken encode_batch, not parallel": "gigatoken-batch-one-thread",
        "tiktoken encode_ordinary_batch": "tiktoken-batch",
        "tokenizers encode_batch_fast": "tokenizers-batch",
    }
    entries = race(benchmark, entrants_of(text.path, libraries, PASSES), 3, SAME)
    ours, one_thread, arrow, gigatoken, gigatoken_alone, tiktoken, tokenizers = entries.values()
    claims = []
    for pass_name, fact in PASS_NAMES.items():
        for entry in ours, arrow:
            row = "batch, short" if entry is ours and pass_name == "first" else ""
            detail = f"{entry.label}, {pass_name} pass"
            claims.append(ratio(entry, gigatoken, BATCH_FIGURES["gigatoken"], row, fact=fact, detail=detail))
            row = f"{row}, tiktoken" if row else ""
            claims.append(ratio(entry, tiktoken, BATCH_FIGURES["tiktoken"], row, fact=fact, detail=detail))
        claims.append(ratio(ours, tokenizers, BATCH_FIGURES["tokenizers"], fact=fact, detail=f"{pass_name} pass"))
        claims.append(ratio(one_thread, gigatoken_alone, None, fact=fact, detail=f"one thread, {pass_name} pass"))
        claims.append(ratio(ours, one_thread, None, fact=fact, detail=f"two threads beside one, {pass_name} pass"))
    claims += [memory(entry) for entry in (ours, arrow)]
    note = f"all {ours.checked['n_ids']:,} ids equal; a list of str in memory before, and for Arrow a column of them"
    conclude("batch/books_en", "encode 100,000 documents of 200 characters", entries.values(), claims, note)


def test_two_threads_on_one_text(benchmark, conclude):
    text = TEXTS["books_en_x8"]()
    libraries = {
        "nbbpe encode_array, num_threads=2": "nbbpe-two-threads",
        "nbbpe encode_array, num_threads=1": "nbbpe-one-thread",
    }
    entries = race(benchmark, entrants_of(text.path, libraries, PASSES), 5, SAME)
    two, one = entries.values()
    claims = [
        ratio(two, one, THREADS_FIGURE, fact=fact, detail=f"{pass_name} pass") for pass_name, fact in PASS_NAMES.items()
    ]
    claims.append(memory(two))
    note = f"all {two.checked['n_ids']:,} ids equal; bytes in memory to an array"
    conclude("threads/books_en_x8", f"encode {text} in two threads", entries.values(), claims, note)
