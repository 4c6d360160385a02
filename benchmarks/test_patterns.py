"""Patterns of other models and custom ones, with GPT-2's tokens: how fast, beside `regex` as splitter, and beside peers."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from benchmarks.corpora import beginning
from benchmarks.encoding_work import PATTERNS
from benchmarks.race import need, race
from benchmarks.results import Claim, ratio
from benchmarks.test_encoding import PASS_NAMES, SAME, SLOW_PASSES, entrants_of

RATES = {"first": 100, "warm": 300}  # MB/s that passes over English must reach
PEER_FIGURE = 20  # times as fast as the peer


class Peer(NamedTuple):
    """A library that takes a regex, and how much text it gets."""

    library: str
    label: str
    n_bytes: int


TIKTOKEN = Peer("tiktoken", "tiktoken encode_ordinary", 50_000_000)
TOKENIZERS = Peer("tokenizers", "tokenizers encode_batch_fast, one by one", 4_000_000)
# tiktoken takes no sequence, and loses text between two matches, as "letters and digits" leaves.
PEERS = {name: TOKENIZERS if name in ("deepseek3", "letters and digits") else TIKTOKEN for name in PATTERNS}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_rates(benchmark, conclude, pattern: str):
    text = beginning("books_en", 50_000_000)
    libraries = {"nbbpe": "nbbpe-one-thread", 'nbbpe, split_with="regex"': "nbbpe-regex-one-thread"}
    entries = race(benchmark, entrants_of(text.path, libraries, 3, pattern), 3, SAME)
    ours, by_regex = entries.values()
    claims = []
    for pass_name, fact in PASS_NAMES.items():
        rate = ours.runs[0]["n_bytes"] / ours.median(fact) / 1e6
        claims.append(Claim(f"MB/s, {pass_name} pass", rate, RATES[pass_name], case=pattern, unit=" MB/s"))
        claims.append(ratio(ours, by_regex, None, fact=fact, detail=f"{pass_name} pass", case=pattern, rates=True))
    conclude(
        f"patterns/{pattern}/rates",
        f"encode {text} with GPT-2's tokens and the pattern {pattern}, one thread, first pass",
        entries.values(),
        claims,
        f"all {ours.checked['n_ids']:,} ids equal; bytes in memory to an array",
    )


@pytest.mark.parametrize("pattern", PATTERNS)
def test_beside_peers(benchmark, conclude, pattern: str):
    peer = PEERS[pattern]
    need(peer.library)
    text = beginning("books_en", peer.n_bytes)
    libraries = {"nbbpe encode_array": "nbbpe-one-thread", peer.label: f"{peer.library}-one-thread"}
    entries = race(benchmark, entrants_of(text.path, libraries, SLOW_PASSES, pattern), 3, SAME)
    ours, theirs = entries.values()
    claims = [
        ratio(ours, theirs, PEER_FIGURE, fact=fact, detail=f"{pass_name} pass", case=pattern, rates=True)
        for pass_name, fact in PASS_NAMES.items()
    ]
    conclude(
        f"patterns/{pattern}/{peer.library}",
        f"encode {text} with GPT-2's tokens and the pattern {pattern}, one thread, first pass",
        entries.values(),
        claims,
        f"all {ours.checked['n_ids']:,} ids equal but those of separators, which only nbbpe gets; bytes in memory "
        f"to an array (nbbpe), documents in memory to lists ({peer.library})",
    )
