"""Training, from a file to a tokenizer of 32,000 tokens, compared with other trainers that have the same result."""

from __future__ import annotations

import os
from typing import NamedTuple

import pytest

from benchmarks.corpora import CORPORA, LARGE, Corpus, records, stories, web_texts
from benchmarks.entrants import VOCAB_SIZE, arguments_of
from benchmarks.race import Entry, need, race
from benchmarks.results import Claim, duration, faster, number, ratio, two_workers, within

STORIES_VOCAB_SIZE = 10_000


class Peer(NamedTuple):
    """A trainer, its tie rule in nbbpe, the facts to compare, and how many times as fast nbbpe must be."""

    library: str
    tie_break: str
    same: tuple[str, ...]
    figure: float
    rounds: int
    also: tuple[str, ...] = ()  # other ways to use it, whose results are of equal length only


PEERS = [
    Peer("gigatoken", "huggingface", ("n_merges", "digest"), 3, 5),
    # It returns no merges, only the tokens in order.
    Peer("rustbpe", "ids", ("n_merges", "tokens_digest"), 8, 3),
    Peer("tokenizers", "huggingface", ("n_merges", "digest"), 20, 3, ("tokenizers-file",)),
]


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.library)
@pytest.mark.parametrize("corpus", CORPORA)
def test_training(benchmark, conclude, corpus: str, peer: Peer):
    need(peer.library)
    text = CORPORA[corpus]()
    entrants = {
        f'nbbpe, tie_break="{peer.tie_break}"': arguments_of(text, "--tie-break", peer.tie_break),
        **{library: arguments_of(text, library=library) for library in (peer.library, *peer.also)},
    }
    entries = race(benchmark, entrants, peer.rounds, peer.same)
    ours, theirs, *others = entries.values()
    claims = faster(ours, theirs, peer.figure, f"train, {peer.library}", corpus) + [
        claim for other in others for claim in faster(ours, other, None)
    ]
    if peer.library == "gigatoken":
        what = f"MB of peak memory, that of {theirs.label} asked"
        claims += [
            compared_memory(ours, theirs, theirs.peak_mb, what, "train, memory", corpus),
            Claim("MB of it anonymous", ours.peak_anonymous_mb),
            Claim(f"MB of that of {theirs.label} anonymous", theirs.peak_anonymous_mb),
        ]
    conclude(
        f"training/{corpus}/{peer.library}",
        f"train {VOCAB_SIZE:,} tokens on {text}",
        entries.values(),
        claims,
        f"{'all merges' if 'digest' in peer.same else 'all tokens in order'} equal with "
        f'tie_break="{peer.tie_break}", {ours.checked["n_merges"]:,} of them'
        + "".join(f"; {name} has as many, but cuts pretokens at line ends" for name in peer.also),
    )


# How many times as fast as one worker two must be. The merge loop runs in one process, so a text whose merges take longer
# than counting cannot reach it.
TWO_WORKERS = {"books_en_varied": 1.5, "all4": None}
# The same libraries on 320 MB, compared with two workers of nbbpe.
LARGE_PEERS = [PEERS[0]._replace(figure=4), PEERS[1]._replace(figure=20, rounds=1)]


@pytest.mark.parametrize("peer", LARGE_PEERS, ids=lambda peer: peer.library)
@pytest.mark.parametrize("corpus", LARGE)
def test_one_and_two_workers(benchmark, conclude, corpus: str, peer: Peer):
    need(peer.library)
    text = LARGE[corpus]()
    entrants = {
        "nbbpe, two workers": arguments_of(text, "--tie-break", peer.tie_break, "--workers", "2"),
        "nbbpe, one worker": arguments_of(text, "--tie-break", peer.tie_break, "--workers", "1"),
        peer.library: arguments_of(text, library=peer.library),
    }
    two, one, theirs = (entries := race(benchmark, entrants, peer.rounds, peer.same)).values()
    conclude(
        f"workers/{corpus}/{peer.library}",
        f"train {VOCAB_SIZE:,} tokens on {text} with one and two workers",
        entries.values(),
        [*two_workers(two, one, TWO_WORKERS[corpus]), ratio(two, theirs, peer.figure)],
        f"all {two.checked['n_merges']:,} merges of one and two workers equal, and those of {peer.library}",
    )


@pytest.mark.parametrize("kind", ["txt", "jsonl", "parquet"])
def test_one_and_two_workers_on_records(benchmark, conclude, kind: str):
    text = records(kind)
    entrants = {
        "nbbpe, two workers": arguments_of(text, "--workers", "2"),
        "nbbpe, one worker": arguments_of(text, "--workers", "1"),
        "nbbpe, one worker, the same as plain text": arguments_of(records("txt"), "--workers", "1"),
    }
    two, one, plain = (entries := race(benchmark, entrants, 5, ("n_merges", "digest"))).values()
    conclude(
        f"workers/records/{kind}",
        f"train {VOCAB_SIZE:,} tokens on {text} with one and two workers",
        entries.values(),
        [*two_workers(two, one, None), ratio(one, plain, None)],
        f"all {two.checked['n_merges']:,} merges equal",
    )


def compared_memory(ours: Entry, theirs: Entry, limit: float, what: str, row: str, case: str = "") -> Claim:
    """A claim on peak memory, with that of the other library for comparison."""
    return Claim(
        what,
        ours.peak_mb,
        limit,
        at_least=False,
        row=row,
        ours=f"{number(ours.peak_mb)} MB",
        theirs=f"{theirs.library} {number(theirs.peak_mb)} MB",
        case=case,
        unit="MB",
    )


big = pytest.mark.skipif(os.environ.get("NBBPE_BIG") != "1", reason="needs 20 GB of disk and ten minutes: set NBBPE_BIG=1")


def race_gigatoken(benchmark, text: Corpus, vocab_size: int, rounds: int) -> tuple[Entry, Entry]:
    """The entries of nbbpe and gigatoken, with equal merges."""
    entrants = {
        "nbbpe": arguments_of(text, "--tie-break", "huggingface", vocab_size=vocab_size),
        "gigatoken": arguments_of(text, library="gigatoken", vocab_size=vocab_size),
    }
    ours, theirs = race(benchmark, entrants, rounds, ("n_merges", "digest")).values()
    return ours, theirs


@big
def test_the_size_of_openwebtext(benchmark, conclude):
    need("gigatoken")  # before the text is made
    ours, theirs = race_gigatoken(benchmark, text := web_texts(), VOCAB_SIZE, 1)
    conclude(
        "training/web",
        f"train {VOCAB_SIZE:,} tokens on {text}",
        [ours, theirs],
        [
            *faster(ours, theirs, None, "web"),
            compared_memory(ours, theirs, theirs.peak_mb, "MB of memory in all processes together", "web, memory"),
        ],
        f'all merges equal with tie_break="huggingface", {ours.checked["n_merges"]:,} of them',
    )


@big
def test_the_size_of_tinystories(benchmark, conclude):
    need("gigatoken")  # before the text is made
    ours, theirs = race_gigatoken(benchmark, text := stories(), STORIES_VOCAB_SIZE, 3)
    conclude(
        "training/stories",
        f"train {STORIES_VOCAB_SIZE:,} tokens on {text}",
        [ours, theirs],
        [
            within(
                ours.seconds_from_import,
                20,
                "from import to tokenizer",
                "stories",
                f"{theirs.library} {duration(theirs.seconds_from_import)}",
            ),
            compared_memory(ours, theirs, 1500, "MB of memory in all processes together", "stories, memory"),
            *faster(ours, theirs, None),
        ],
        f'all merges equal with tie_break="huggingface", {ours.checked["n_merges"]:,} of them',
    )
