"""Long tokens in a file of ranks that no two tokens make: what they cost grows with their bytes, and Ctrl-C is answered."""

from __future__ import annotations

import random
import time

import naive
import numpy as np
import processes
import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import seconds
from vocabularies import BYTES, rank_lines, ranks_of

import nbbpe
from nbbpe.model import long_merges, rank_vocab
from nbbpe.model.packed_vocab import PackedVocab


def letters(n: int, alphabet: bytes = b"abcdefghijklmnop") -> bytes:
    return bytes(random.Random(n).choices(alphabet, k=n))


def one_long(n: int) -> list[bytes]:
    """No other token is in it."""
    return [letters(n)]


def many_prefixes(n: int) -> list[bytes]:
    """A long token, and so many that it begins and ends with, that they have half of the bytes."""
    return [b"a" * (n // 2), *(b"a" * length for length in range(2, int(n**0.5)))]


def late_difference(n: int) -> list[bytes]:
    """Tokens that only their last bytes, or their first, tell apart."""
    return [token for i in range(50) for token in (letters(n // 100) + b"%d" % i, b"%d" % i + letters(n // 100))]


def took(tokens: list[bytes]) -> float:
    """What it takes to make the table of merges."""
    vocab = dict(enumerate([*BYTES.values(), *tokens]))
    return seconds(lambda: rank_vocab.merges_by_rank(PackedVocab.of(vocab)))


@pytest.mark.parametrize("tokens", [one_long, many_prefixes, late_difference])
def test_the_time_grows_with_the_bytes(tokens):
    # 16 times the bytes: 256 times the time where each split of a token is looked at with both sides.
    assert took(tokens(400_000)) < 80 * max(took(tokens(25_000)), 0.002)


def file_of(tmp_path, tokens: list[bytes]):
    path = tmp_path / "x.tiktoken"
    path.write_bytes(rank_lines(ranks_of([*BYTES.values(), *tokens])))
    return path


def test_a_token_of_a_megabyte_is_no_harm(tmp_path):
    def seconds_with(token: bytes) -> float:
        path = file_of(tmp_path, [b"th", token])
        start = time.process_time()
        tokenizer = nbbpe.Tokenizer.from_tiktoken(path, r"\w+|\W+")
        assert tokenizer.encode("the") == [256, ord("e")]
        assert tokenizer.encode(token) == [257]
        return time.process_time() - start

    seconds_with(letters(1 << 16))  # kernels are compiled or loaded
    assert seconds_with(letters(1 << 20)) < 20


def test_ctrl_c_is_answered_while_long_tokens_are_merged(tmp_path):
    token = letters(1 << 20)
    path = file_of(tmp_path, [token[i:] for i in range(40)])
    script = r"""
import sys, nbbpe
nbbpe.Tokenizer({i: bytes([i]) for i in range(256)}, []).encode("x")
tokenizer = nbbpe.Tokenizer.from_tiktoken(sys.argv[1], r"\w+|\W+")
print("ready", flush=True)
while True:
    tokenizer._model.merge_table()
"""
    processes.assert_ended_well(processes.interrupt(script, str(path)))


@pytest.mark.parametrize("work", [rank_vocab.merges_by_rank, rank_vocab.recovered_merges])
def test_long_tokens_are_merged_by_a_call_that_ctrl_c_interrupts(monkeypatch, work):
    def interrupted(call):
        call()
        raise KeyboardInterrupt

    monkeypatch.setattr(long_merges, "interruptible", interrupted)
    with pytest.raises(KeyboardInterrupt):
        work(PackedVocab.of(dict(enumerate([*BYTES.values(), letters(long_merges.LONG)]))))


def pairs_of(tokens: list[bytes]) -> list[tuple[int, int, int]]:
    columns = rank_vocab.merging_pairs(tokens, np.arange(len(tokens), dtype=np.int32))
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(st.lists(st.text("ab", min_size=1, max_size=9).map(str.encode), unique=True, max_size=60))
def test_all_pairs_of_tokens_that_join_to_a_token_are_found(tokens):
    assert pairs_of(tokens) == naive.merging_pairs(tokens)


def test_pairs_of_long_tokens_are_found():
    source = random.Random(4)
    tokens = [letters(n, b"ab") for n in (1, 2, 3, 500, 501, 70_000)]
    for _ in range(200):
        tokens.append(source.choice(tokens) + source.choice(tokens))
        tokens.append(source.choice(tokens)[source.randrange(3) :] or b"a")
    tokens = [token for token in dict.fromkeys(tokens) if len(token) < 100_000]
    known = {token: number for number, token in enumerate(tokens)}
    wanted = sorted((len(a), known[a + b], known[a], known[b]) for a in tokens for b in tokens if a + b in known)
    found = pairs_of(tokens)
    assert sorted((len(tokens[left]), token, left, right) for left, right, token in found) == wanted
    assert found == sorted(found, key=lambda pair: (pair[2], len(tokens[pair[0]])))
