"""Training, from a file to a tokenizer of 32,000 tokens, beside other trainers with the same result."""

from __future__ import annotations

import os
from typing import NamedTuple

import pytest

from benchmarks.corpora import CORPORA, LARGE, TRIAL, records, stories
from benchmarks.race import Entry, need, race
from benchmarks.results import Claim, duration, faster, memory, number, ratio, within

VOCAB_SIZE = 2_000 if TRIAL else 32_000
STORIES_VOCAB_SIZE = 10_000


class Peer(NamedTuple):
    """A trainer, the tie rule of nbbpe that is its own, what to compare, and how many times as fast nbbpe must be."""

    library: str
    tie_break: str
    same: tuple[str, ...]
    figure: float
    rounds: int
    also: tuple[str, ...] = ()  # other ways to use it, whose results are of equal length only


PEERS = [
    Peer("gigatoken", "huggingface", ("n_merges", "digest"), 3, 5),
    # It tells no merges, only the tokens in their order.
    Peer("rustbpe", "ids", ("n_merges", "tokens_digest"), 8, 3),
    Peer("tokenizers", "huggingface", ("n_merges", "digest"), 20, 3, ("tokenizers-file",)),
]


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.library)
@pytest.mark.parametrize("corpus", CORPORA)
def test_training(benchmark, conclude, corpus: str, peer: Peer):
    need(peer.library)
    text = CORPORA[corpus]()
    common = ["--input", str(text.path), "--vocab-size", str(VOCAB_SIZE)]
    entrants = {
        f'nbbpe, tie_break="{peer.tie_break}"': ["train", "--library", "nbbpe", "--tie-break", peer.tie_break, *common],
        **{library: ["train", "--library", library, *common] for library in (peer.library, *peer.also)},
    }
    entries = race(benchmark, entrants, peer.rounds, peer.same)
    ours, theirs, *others = entries.values()
    claims = faster(ours, theirs, peer.figure, f"train, {peer.library}", corpus) + [
        claim for other in others for claim in faster(ours, other, None)
    ]
    if peer.library == "gigatoken":
        claims += memory_beside(ours, theirs, corpus)
    conclude(
        f"training/{corpus}/{peer.library}",
        f"train {VOCAB_SIZE:,} tokens on {text}",
        entries.values(),
        claims,
        f"{'all merges' if 'digest' in peer.same else 'all tokens in order'} equal with "
        f'tie_break="{peer.tie_break}", {ours.checked["n_merges"]:,} of them'
        + "".join(f"; {name} has as many, but cuts pretokens at line ends" for name in peer.also),
    )


# Two workers beside one: how many times as fast they must be. The merge loop runs in one process, so a text whose merges
# take longer than counting cannot reach it.
TWO_WORKERS = {"books_en_varied": 1.5, "all4": None}
# Of 320 MB: the peer, its tie rule, and how many times as fast two workers of nbbpe must be.
LARGE_PEERS = [("gigatoken", "huggingface", "digest", 4, 5), ("rustbpe", "ids", "tokens_digest", 20, 1)]


@pytest.mark.parametrize(("library", "tie_break", "same", "figure", "rounds"), LARGE_PEERS, ids=["gigatoken", "rustbpe"])
@pytest.mark.parametrize("corpus", LARGE)
def test_one_and_two_workers(
    benchmark, conclude, corpus: str, library: str, tie_break: str, same: str, figure: float, rounds: int
):
    need(library)
    text = LARGE[corpus]()
    common = ["--input", str(text.path), "--vocab-size", str(VOCAB_SIZE)]
    ours = ["train", "--library", "nbbpe", "--tie-break", tie_break, *common]
    entrants = {
        "nbbpe, two workers": [*ours, "--workers", "2"],
        "nbbpe, one worker": [*ours, "--workers", "1"],
        library: ["train", "--library", library, *common],
    }
    two, one, peer = (entries := race(benchmark, entrants, rounds, ("n_merges", same))).values()
    conclude(
        f"workers/{corpus}/{library}",
        f"train {VOCAB_SIZE:,} tokens on {text} with one and two workers",
        entries.values(),
        [*two_beside_one(two, one, TWO_WORKERS[corpus]), ratio(two, peer, figure)],
        f"all {two.checked['n_merges']:,} merges of one and two workers equal, and those of {library}",
    )


@pytest.mark.parametrize("kind", ["txt", "jsonl", "parquet"])
def test_one_and_two_workers_on_records(benchmark, conclude, kind: str):
    text, plain_text = records(kind), records("txt")
    ours = ["train", "--library", "nbbpe", "--vocab-size", str(VOCAB_SIZE), "--input"]
    entrants = {
        "nbbpe, two workers": [*ours, str(text.path), "--workers", "2"],
        "nbbpe, one worker": [*ours, str(text.path), "--workers", "1"],
        "nbbpe, one worker, the same as plain text": [*ours, str(plain_text.path), "--workers", "1"],
    }
    two, one, plain = (entries := race(benchmark, entrants, 5, ("n_merges", "digest"))).values()
    conclude(
        f"workers/records/{kind}",
        f"train {VOCAB_SIZE:,} tokens on {text} with one and two workers",
        entries.values(),
        [*two_beside_one(two, one, None), ratio(one, plain, None)],
        f"all {two.checked['n_merges']:,} merges equal",
    )


def two_beside_one(two: Entry, one: Entry, figure: float | None) -> list[Claim]:
    """Claims on two workers: how many times as fast they are, what they cost the processors, and their peak memory."""
    return [
        ratio(two, one, figure),
        Claim(
            "times the processor time of one worker",
            two.median("processor_seconds") / one.median("processor_seconds"),
            at_least=False,
            unit="x",
        ),
        memory(two),
    ]


def memory_beside(ours: Entry, theirs: Entry, corpus: str) -> list[Claim]:
    """Claims on peak memory, that of the peer being the figure; and what of it no file backs, for information."""
    return [
        Claim(
            f"MB of peak memory, that of {theirs.label} asked",
            ours.peak_mb,
            theirs.peak_mb,
            at_least=False,
            row="train, memory",
            ours=f"{number(ours.peak_mb)} MB",
            theirs=f"{theirs.library} {number(theirs.peak_mb)} MB",
            case=corpus,
            unit="MB",
        ),
        Claim("MB of it anonymous", ours.peak_anonymous_mb),
        Claim(f"MB of that of {theirs.label} anonymous", theirs.peak_anonymous_mb),
    ]


@pytest.mark.skipif(os.environ.get("NBBPE_BIG") != "1", reason="needs 2.2 GB of disk and some minutes: set NBBPE_BIG=1")
def test_the_size_of_tinystories(benchmark, conclude):
    need("gigatoken")
    text = stories()
    common = ["--input", str(text.path), "--vocab-size", str(STORIES_VOCAB_SIZE)]
    entrants = {
        "nbbpe": ["train", "--library", "nbbpe", "--tie-break", "huggingface", *common],
        "gigatoken": ["train", "--library", "gigatoken", *common],
    }
    entries = race(benchmark, entrants, 3, ("n_merges", "digest"))
    ours, theirs = entries.values()
    conclude(
        "training/stories",
        f"train {STORIES_VOCAB_SIZE:,} tokens on {text}",
        entries.values(),
        [
            within(
                ours.seconds_from_import,
                20,
                "from import to tokenizer",
                "stories",
                f"{theirs.library} {duration(theirs.seconds_from_import)}",
            ),
            Claim(
                "MB of memory in all processes together",
                ours.peak_mb,
                1500,
                at_least=False,
                row="stories, memory",
                ours=f"{number(ours.peak_mb)} MB",
                theirs=f"{theirs.library} {number(theirs.peak_mb)} MB",
                unit="MB",
            ),
            *faster(ours, theirs, None),
        ],
        f'all merges equal with tie_break="huggingface", {ours.checked["n_merges"]:,} of them',
    )
