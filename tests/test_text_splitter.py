"""text/text_splitter.py: where the pretokens of a text start, whoever finds them."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from texts import HARD, SAMPLE

from nbbpe.patterns import regex_splitter
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.text import text_splitter
from nbbpe.text.text_splitter import TextSplitter
from nbbpe.text.utf8 import padded, to_text

# Compiled; in part, with pieces that are always decided, and others; with pieces that only `regex` splits; without pieces.
COMPILED = ["gpt2", [r"\p{L}{5}", r"\p{L}{2}"]]
IN_PART = [r"\b\w+\b|\W", r"(?<=\w)'s|\w+|\s+|[^\w\s]", r"(?>\w+)(?!b)| ?\w+(?:'\w+)*+|\W", [r"\b\d+\b", "gpt2"]]
BY_REGEX = [r"(?>a+|\w)(?<!(?>x)y)\w*| |\W", r"(?s:.)(?<=\w\W)|(?s:.)+?\b|(?s:.)"]


def test_the_patterns_are_of_all_kinds():
    assert all(get_pattern(each).is_compiled for each in COMPILED)
    assert all(get_pattern(each).is_partly_compiled and not get_pattern(each).is_compiled for each in IN_PART)
    assert not any(get_pattern(each).is_partly_compiled or get_pattern(each).is_compiled for each in BY_REGEX)


@pytest.mark.usefixtures("guarded_arrays")
@pytest.mark.parametrize("at_once", [1 << 14, 5])
@pytest.mark.parametrize("pattern", [*COMPILED, *IN_PART, *BY_REGEX], ids=str)
def test_a_text_is_split_as_by_regex(monkeypatch, pattern, at_once):
    monkeypatch.setattr(text_splitter, "_AT_ONCE", at_once)
    monkeypatch.setattr(regex_splitter, "AT_ONCE", at_once)
    monkeypatch.setattr(text_splitter, "_SHORT", 20 * at_once)
    splitter = TextSplitter(get_pattern(pattern))
    rng = random.Random(1)
    parts = ["the", "cat", "it's", " ", "\n", "  ", "12", "日本語", "é", "'s", ".", "x" * 300, "xb", "a'b'c" * 60]
    texts = [*HARD, SAMPLE, *("".join(rng.choices(parts, k=rng.randrange(30))) for _ in range(60))]
    for data in [*(each.encode("utf-8", "surrogatepass") for each in texts), b"a\xff b\xe4\xb8", b"\x80"]:
        # What is around the text does not matter.
        around = b"x" * rng.randrange(3)
        text, start, end = padded(around + data + around), len(around), len(around) + len(data)
        found = [each.tolist() for each in splitter.starts(text, start, end)]
        assert all(first[-1] == second[0] for first, second in pairwise(found))
        starts = [*dict.fromkeys(place for each in found for place in each)] or [start]
        assert splitter.starts_of_short(data) == [place - start for place in starts]
        pretokens = [data[first - start : last - start] for first, last in pairwise(starts)]
        assert [to_text(each) for each in pretokens] == get_pattern(pattern).split(to_text(data)), data


def test_a_long_piece_that_is_not_decided_is_split(monkeypatch):
    monkeypatch.setattr(regex_splitter, "AT_ONCE", 10)
    pattern = get_pattern(r"(?<=b)a|\w\w|\w|\W")
    assert pattern.is_partly_compiled
    word = "ab" * 500 + "a"
    [starts] = TextSplitter(pattern).starts(padded(word.encode()), 0, len(word))
    assert np.diff(starts).tolist() == list(map(len, pattern.split(word)))
