"""Encoding with GPT-2's vocabulary: a file to a file of ids, and a text to an array, beside tiktoken and gigatoken."""

from __future__ import annotations

import pytest

from benchmarks.corpora import CORPORA, vocabs_folder
from benchmarks.race import need, race
from benchmarks.results import Claim, Section, faster

FIGURE = 10  # times as fast as tiktoken's batch encoding
SAME = ("n_ids", "digest")


def entrants_of(corpus: str, libraries: dict[str, str], *more: str) -> dict[str, list[str]]:
    """Labels with arguments for measure.py, from labels with names of encoding_work."""
    common = ["--input", str(CORPORA[corpus]().path), "--vocabs", str(vocabs_folder()), *more]
    return {label: ["encode", "--library", library, *common] for label, library in libraries.items()}


@pytest.mark.parametrize("corpus", CORPORA)
def test_encode_file(benchmark, conclude, corpus: str):
    need("tiktoken")
    need("gigatoken")
    libraries = {
        "nbbpe encode_file": "nbbpe",
        "tiktoken encode_ordinary_batch": "tiktoken",
        "tiktoken encode_batch with special tokens": "tiktoken-special",
        "gigatoken encode_files": "gigatoken",
    }
    entries = race(benchmark, entrants_of(corpus, libraries), 3, SAME)
    ours, ordinary, special, gigatoken = entries.values()
    assert ours.checked["n_separators"] == special.checked["n_separators"]
    conclude(
        Section(
            f"encode_file/{corpus}",
            f"encode {CORPORA[corpus]()}, all processors",
            list(entries.values()),
            [
                *faster(ours, ordinary, FIGURE),
                *faster(ours, special, FIGURE),
                *faster(ours, gigatoken, None),
            ],
            f"all {ours.checked['n_ids']:,} ids equal. nbbpe reads a file and writes one; tiktoken has its documents "
            "in memory, split before time counts, and gigatoken reads a file: both leave their ids in memory. "
            "The separators' ids are not compared with those that leave them out",
        )
    )


@pytest.mark.parametrize("corpus", CORPORA)
def test_encode_one_thread(benchmark, conclude, corpus: str):
    need("tiktoken")
    need("gigatoken")
    libraries = {
        "nbbpe encode_array": "nbbpe-one-thread",
        "tiktoken encode_ordinary": "tiktoken-one-thread",
        "gigatoken encode_files, not parallel": "gigatoken-one-thread",
    }
    entries = race(benchmark, entrants_of(corpus, libraries, "--passes", "2"), 3, SAME)
    ours, *peers = entries.values()
    claims = [
        Claim(f"times as fast as {peer.label}, {name} pass", peer.median(fact) / ours.median(fact))
        for peer in peers
        for name, fact in (("first", "seconds"), ("second", "second_seconds"))
    ]
    conclude(
        Section(
            f"encode_one_thread/{corpus}",
            f"encode {CORPORA[corpus]()}, one thread, first pass",
            list(entries.values()),
            claims,
            f"all {ours.checked['n_ids']:,} ids equal; a str in memory to an array (nbbpe), documents in memory to "
            "lists (tiktoken), a file to an array in memory (gigatoken)",
        )
    )
