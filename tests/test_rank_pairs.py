"""Ranks that no short list of merges says, as lists of all pairs and back: ids equal those of tokenizers and tiktoken."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import texts
from effort import examples
from vocabularies import BYTES, ranks_of

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
    for number in range(examples(40, 150)):
        ours = by_rank(random_tokens(chance))
        strings = ["".join(chance.choices("ab", k=chance.randint(1, 24))) for _ in range(120)]
        theirs = ours.to_tiktoken()
        wanted = [ours.encode(string) for string in strings]
        assert [theirs.encode(string) for string in strings] == wanted
        ours.to_hf(tmp_path / "t.json")
        hugging = tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
        assert [hugging.encode(string).ids for string in strings] == wanted, number
        again = nbbpe.load(tmp_path / "t.json")
        assert [again.encode(string) for string in strings] == wanted
        again.save_tiktoken(tmp_path / "t.tiktoken")  # and ranks once more
        back = nbbpe.Tokenizer.from_tiktoken(tmp_path / "t.tiktoken", again.pattern)
        assert [back.encode(string) for string in strings] == wanted


def test_spaces_whose_ranks_are_not_in_the_order_of_their_lengths(tmp_path):
    # As in GPT-4's and Llama 3's ranks: three spaces have a higher rank than four. And as in Llama 3's, a token that no two
    # of lower ranks make, so that the list is one of all pairs.
    ours = by_rank([b"  ", b"    ", b"   ", b".:", b".:.:", b":.:"])
    ours.to_hf(tmp_path / "t.json")
    hugging = tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
    again = nbbpe.load(tmp_path / "t.json")
    back = again.to_tiktoken()
    for text in [*(" " * n for n in range(40)), ".:.:", "..:.:.:", ":.:.:"]:
        wanted = ours.encode(text)
        assert hugging.encode(text).ids == again.encode(text) == back.encode(text) == wanted
    ours.save_tiktoken(tmp_path / "ours.tiktoken")
    again.save_tiktoken(tmp_path / "again.tiktoken")
    assert (tmp_path / "ours.tiktoken").read_bytes() == (tmp_path / "again.tiktoken").read_bytes()


def merged_pairs(text: bytes, ranks: dict[bytes, int]) -> set[tuple[bytes, bytes]]:
    """The pairs that merge in a text that is merged by rank."""
    parts = [text[at : at + 1] for at in range(len(text))]
    found = set()
    while True:
        pairs = list(itertools.pairwise(parts))
        known = [ranks[left + right] for left, right in pairs if left + right in ranks]
        if not known:
            return found
        at = next(at for at, (left, right) in enumerate(pairs) if ranks.get(left + right) == min(known))
        found.add(pairs[at])
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


@pytest.mark.exhaustive
def test_of_the_pairs_of_a_token_one_merges():
    chance = random.Random(6)
    n_choices = 0
    for _ in range(examples(200, 2000)):
        ranks = ranks_of([b"a", b"b", *random_tokens(chance)])
        merged = set()
        for _ in range(40):
            merged |= merged_pairs(bytes(chance.choices(b"ab", k=chance.randint(2, 24))), ranks)
        results = [left + right for left, right in merged]
        assert len(results) == len(set(results)), (ranks, merged)
        pairs = rank_pairs.pairs_by_result({rank: token for token, rank in ranks.items()})
        n_choices += sum(len(pairs[ranks[result]]) > 1 for result in results)
    assert n_choices > 50


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
