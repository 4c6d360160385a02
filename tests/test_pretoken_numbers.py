"""The pretokens of tokens: numbered as when each text is split between its special tokens."""

from __future__ import annotations

import random

import naive
import numpy as np
import pytest
import texts
from texts import HARD

import nbbpe
from nbbpe.encoding.pretoken_numbers import number_few, number_pretokens
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.text import text_splitter

END = texts.SPECIAL
SPACES = r"\s+(?!\S)|\S+|\s*\n"  # walks far and fails
IN_PART = r"(?<=\w)'s|\w+(?:-\w+)*+|\s+|[^\w\s]"  # compiled in part, with pieces that are left to `regex`
WITHIN = [r"\p{L}{5}", r"\p{L}{2}"]  # a part cannot be split without knowing where it began


def expected(tokenizer: nbbpe.Tokenizer, ids: list[int]) -> list[int]:
    """The number of the pretoken of each of the ids of a text."""
    numbers: list[int] = []
    special = tokenizer.special_tokens[END]
    n, at = 0, 0
    while at < len(ids):
        end = next((i for i in range(at, len(ids)) if ids[i] == special), len(ids))
        regexes = [pattern.compiled for pattern in map(get_pattern, get_pattern(tokenizer.pattern).regexes)]
        for pretoken in naive.split(tokenizer.decode_bytes(ids[at:end]), regexes):
            left = len(pretoken)
            while left:
                left -= len(tokenizer.vocab[ids[len(numbers)]])
                numbers.append(n)
            n += 1
        if end < len(ids):
            numbers.append(n)
            n += 1
        at = end + 1
    return numbers


@pytest.mark.usefixtures("guarded_arrays")
@pytest.mark.parametrize("pattern", ["gpt2", "o200k", WITHIN, SPACES, IN_PART])
@pytest.mark.parametrize("at_once", [1 << 14, 3])
def test_numbers_are_those_of_each_text_alone(monkeypatch, pattern, at_once):
    monkeypatch.setattr(text_splitter, "_AT_ONCE", at_once)
    tokenizer = nbbpe.train(documents=[texts.SAMPLE, "the cat sat on the mat. " * 10], vocab_size=330, pattern=pattern)
    tokenizer = tokenizer.with_special_tokens([END])
    rng = random.Random(3)
    parts = [*HARD, END, " ", "\n", "  ", "the cat", "catonthemat", "12 3", "日本", "b\xff", "'s"]
    for n in (0, 1, 5, 30):
        batch = ["".join(rng.choices(parts, k=rng.randrange(5))) for _ in range(n)]
        rows = tokenizer.encode_batch(batch)
        ids = np.array([token_id for row in rows for token_id in row], dtype=np.uint16)
        starts = np.cumsum([0, *map(len, rows)])
        data = tokenizer.decode_bytes(ids)
        model = tokenizer._model
        special, splitter = frozenset(model.special.values()), text_splitter.TextSplitter(model.pattern)
        wanted = [number for row in rows for number in expected(tokenizer, row)]
        found = number_pretokens(data, ids, starts, model.packed, special, splitter)
        assert found.tolist() == wanted
        tokens = [model.vocab[token_id] for token_id in ids.tolist()]
        for _ in range(2):  # a splitter is used again
            assert number_few(data, tokens, ids.tolist(), starts.tolist(), special, splitter) == wanted
