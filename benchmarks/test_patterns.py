"""Patterns of other models and custom patterns, with GPT-2's tokens, compared with splitting by `regex` and other
libraries."""

from __future__ import annotations

import pytest

from benchmarks.corpora import beginning
from benchmarks.encoding_work import BY_REGEX, PATTERNS
from benchmarks.entrants import PASS_NAMES, SAME, entrants_of, race_slow
from benchmarks.race import race
from benchmarks.results import Claim, ratio

RATES = {"first": 100, "warm": 300}  # MB/s that passes over English must reach
PEER_FIGURE = 20  # times as fast as the peer
PEER_BYTES = {"tiktoken": 50_000_000, "tokenizers": 4_000_000}  # of text for a peer
# tiktoken takes no sequence of patterns, and drops text between two matches, which "letters and digits" has.
PEERS = {name: "tokenizers" if name in ("deepseek3", "letters and digits") else "tiktoken" for name in PATTERNS}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_rates(benchmark, conclude, pattern: str):
    text = beginning("books_en", 50_000_000)
    libraries = {"nbbpe": "nbbpe-one-thread", 'nbbpe, split_with="regex"': "nbbpe-regex-one-thread"}
    entries = race(benchmark, entrants_of(text.path, libraries, 3, pattern), 3, SAME)
    ours, by_regex = entries.values()
    claims = []
    for pass_name, fact in PASS_NAMES.items():
        rate = ours.runs[0]["n_bytes"] / ours.median(fact) / 1e6
        claims.append(Claim(f"MB/s, {pass_name} pass", rate, RATES[pass_name], case=pattern, unit="MB/s"))
        claims.append(ratio(ours, by_regex, None, fact=fact, detail=f"{pass_name} pass", case=pattern, rates=True))
    conclude(
        f"patterns/{pattern}/rates",
        f"encode {text} with GPT-2's tokens and the pattern {pattern}, one thread, first pass",
        entries.values(),
        claims,
        f"all {ours.checked['n_ids']:,} ids equal; bytes in memory to an array",
    )


@pytest.mark.parametrize("pattern", [*PATTERNS, *BY_REGEX])
def test_other_libraries(benchmark, conclude, pattern: str):
    peer = PEERS.get(pattern, "tiktoken")
    text = beginning("books_en", PEER_BYTES[peer])
    (ours, theirs), note = race_slow(benchmark, text, pattern, peer)
    claims = [
        ratio(ours, theirs, PEER_FIGURE, fact=fact, detail=f"{pass_name} pass", case=pattern, rates=True)
        for pass_name, fact in PASS_NAMES.items()
    ]
    title = f"encode {text} with GPT-2's tokens and the pattern {pattern}, one thread, first pass"
    conclude(f"patterns/{pattern}/{peer}", title, [ours, theirs], claims, note)
