"""Ranks that no short list of merges says, as lists of all pairs and back: ids equal those of tokenizers and tiktoken."""

from __future__ import annotations

import random

import numpy as np
import pytest
import texts
from effort import examples
from vocabularies import BYTES

import nbbpe
from nbbpe.model import rank_pairs
from nbbpe.model.model import Model
from nbbpe.patterns.pattern_argument import get_pattern

tokenizers = pytest.importorskip("tokenizers", reason="needs Hugging Face's tokenizers")
tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken")


def by_rank(tokens: list[bytes]) -> nbbpe.Tokenizer:
    """A tokenizer that merges by rank."""
    vocab = dict(enumerate([*BYTES.values(), *tokens]))
    return nbbpe.Tokenizer._of(Model(vocab, None, {}, get_pattern(r"[ab]+|[^ab]+")))


def random_tokens(chance: random.Random) -> list[bytes]:
    """Tokens of few letters in any order: most of them cannot be merged from two lower ones."""
    n_tokens = chance.randint(1, 12)
    found = dict.fromkeys(bytes(chance.choices(b"ab", k=chance.randint(2, 5))) for _ in range(n_tokens))
    return list(found)


@pytest.mark.exhaustive
def test_random_ranks_are_written_as_lists_of_pairs_and_read_again(tmp_path):
    chance = random.Random(5)
    n_written = n_refused = 0
    n = examples(40, 150)
    for number in range(n):
        ours = by_rank(random_tokens(chance))
        strings = ["".join(chance.choices("ab", k=chance.randint(1, 24))) for _ in range(120)]
        theirs = ours.to_tiktoken()
        wanted = [ours.encode(string) for string in strings]
        assert [theirs.encode(string) for string in strings] == wanted
        try:
            ours.to_hf(tmp_path / "t.json")
        except ValueError as error:
            assert "no list of merges gives the same ids" in str(error).replace("\n", " ")  # noqa: PT017
            n_refused += 1
            continue
        n_written += 1
        hugging = tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
        assert [hugging.encode(string).ids for string in strings] == wanted, number
        again = nbbpe.load(tmp_path / "t.json")
        assert [again.encode(string) for string in strings] == wanted
        again.save_tiktoken(tmp_path / "t.tiktoken")  # and ranks once more
        back = nbbpe.Tokenizer.from_tiktoken(tmp_path / "t.tiktoken", again.pattern)
        assert [back.encode(string) for string in strings] == wanted
    assert n_written > n // 2, n_refused


def test_merging_below_a_rank_is_the_obvious_thing():
    vocab = {b"a": 0, b"b": 1, b"ab": 2, b"aba": 3}
    assert rank_pairs.merged_below(b"ababa", vocab, 3) == [2, 2, 0]
    assert rank_pairs.merged_below(b"ababa", vocab, 4) == [2, 3]
    assert rank_pairs.merged_below(b"ababa", vocab, 2) == [0, 1, 0, 1, 0]


def test_a_list_in_another_order_is_no_list_of_ranks():
    vocab = BYTES | {256: b"ab", 257: b"ba", 258: b"aba"}
    good = np.array([(97, 98, 256), (98, 97, 257), (97, 257, 258), (256, 97, 258)], dtype=np.int32)
    rank_pairs.check_pairs(vocab, good)
    with pytest.raises(ValueError, match="not hold exactly the pairs"):
        rank_pairs.check_pairs(vocab, good[:-1])
    with pytest.raises(ValueError, match="not hold exactly the pairs"):
        rank_pairs.check_pairs(vocab, good[::-1])


def test_irregular_ranks_of_a_trained_vocabulary(small, tmp_path):
    vocab = dict(small.vocab)
    vocab[399] = b" zzqy"  # which no merges give
    ranks = {token: token_id for token_id, token in vocab.items()}
    encoding = tiktoken.Encoding("x", pat_str=r"\s?\w+|\W", mergeable_ranks=ranks, special_tokens={"<s>": 400})
    ours = nbbpe.Tokenizer.from_tiktoken(encoding)
    ours.to_hf(tmp_path / "t.json")
    hugging = tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
    for text in f"{texts.SAMPLE} zzqy zzqyx<s>", "x" * 99, " " * 9:
        wanted = encoding.encode(text, allowed_special="all")
        assert ours.encode(text) == wanted
        assert hugging.encode(text).ids == wanted
