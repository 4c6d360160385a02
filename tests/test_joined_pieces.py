"""Pieces that are joined for `regex` have the pretokens that each has alone."""

from __future__ import annotations

import random

import pytest
from effort import examples
from real_patterns import LEFT_TO_REGEX

from nbbpe.patterns.joined_pieces import split_each
from nbbpe.patterns.pattern import Pattern
from nbbpe.patterns.pattern_argument import get_pattern

PATTERNS = {
    "compiled": "gpt2",
    "sequence": "deepseek3",
    "words": r"\b\w+\b|\W",
    "runs": r"\b\w+\b|\W+",
    "look-behind": r"(?<=\p{L})'s| ?\p{L}+|\s+(?!\S)|\s+|.",
    "with gaps": r"\b[a-z]+\b|\d",
    "list": LEFT_TO_REGEX["llama.cpp, quoted: Tiny Aya"],
    "nothing is certain": r"(ab)\1|.",
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_each_piece_is_split_as_alone(pattern):
    pattern = get_pattern(pattern)
    rng = random.Random(1)
    parts = ["a", "'s", " ", "  ", "1", "123", "\n", ".", "é", "日本", "\udcff", "🙂", "aa", "B"]
    pieces = ["".join(rng.choices(parts, k=rng.randrange(1, 6))) for _ in range(examples(6000, 100_000))]
    assert list(split_each(pattern, pieces)) == list(map(pattern.split, pieces))


@pytest.mark.parametrize("pieces", [[], ["a"], ["a", "b"], [" "] * 5000 + ["a b"]])
def test_few_pieces_and_many(pieces):
    pattern = get_pattern(PATTERNS["runs"])
    assert list(split_each(pattern, iter(pieces))) == list(map(pattern.split, pieces))


def test_pieces_are_split_in_few_calls(monkeypatch):
    seen = []
    stream = Pattern.stream
    monkeypatch.setattr(Pattern, "stream", lambda self, text: seen.append(text) or stream(self, text))
    pattern = get_pattern(PATTERNS["look-behind"])
    words = ["the", " cat", "日本", ".", "'s", " mat"] * 3000
    assert sum(map(len, split_each(pattern, words))) == len(words) + 3000  # 's is two pretokens by itself
    assert len(seen) < 10
