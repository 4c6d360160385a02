"""Entrants of races, as arguments for measure.py; what must be the same of them; and races with slow libraries."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.corpora import TRIAL, Corpus, vocabs_folder
from benchmarks.race import Entry, need, race

VOCAB_SIZE = 2_000 if TRIAL else 32_000  # of training
SAME = ("n_ids", "digest")  # facts of encoding that must be equal
PASSES = 5  # the first, and four with the pieces cached
SLOW_PASSES = 2
PASS_NAMES = {"first": "seconds", "warm": "warm_seconds"}  # and the facts with their times


class Slow(NamedTuple):
    """A library that gets only the beginning of a long text, and the figures for its passes, on CJK text and on other
    text."""

    label: str
    n_bytes: int
    figure: float | None
    cjk_figure: float | None


SLOW = {
    "tiktoken": Slow("tiktoken encode_ordinary", 50_000_000, 20, 8),
    "tokenizers": Slow("tokenizers encode_batch_fast, one by one", 1_000_000, None, None),
}


def arguments_of(text: Corpus, *more: str, library: str = "nbbpe", vocab_size: int = VOCAB_SIZE) -> list[str]:
    """Arguments for measure.py, to train on a text."""
    return ["train", "--library", library, "--input", str(text.path), "--vocab-size", str(vocab_size), *more]


def entrants_of(path: object, libraries: dict[str, str], passes: int = 1, vocabulary: str = "gpt2") -> dict[str, list[str]]:
    """Labels with arguments for measure.py, to encode a file, from labels with names of encoding_work."""
    common = ["--input", str(path), "--vocabs", str(vocabs_folder())]
    common += ["--passes", str(passes), "--vocabulary", vocabulary]
    return {label: ["encode", "--library", library, *common] for label, library in libraries.items()}


def race_slow(benchmark: Any, text: Corpus, vocabulary: str, peer: str) -> tuple[list[Entry], str]:
    """Race one of SLOW, by one thread; returns the entries, and how their results were compared."""
    need(peer)
    libraries = {"nbbpe encode_array": "nbbpe-one-thread", SLOW[peer].label: f"{peer}-one-thread"}
    entries = race(benchmark, entrants_of(text.path, libraries, SLOW_PASSES, vocabulary), 3, SAME)
    ours, theirs = entries.values()
    note = f"all {ours.checked['n_ids']:,} ids equal but those of separators, which only nbbpe gets; bytes in memory "
    note += f"to an array (nbbpe), documents in memory to lists ({peer})"
    return [ours, theirs], note
