"""BPE dropout: its distribution is that of the definition, and ids depend on nothing but text, seed and share."""

from __future__ import annotations

import collections
import hashlib
import itertools
import math
import random
import time

import naive
import numpy as np
import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import BYTES, vocab_of

import nbbpe
from nbbpe.patterns.pattern_argument import get_pattern

pytestmark = pytest.mark.filterwarnings("ignore:the text has pairs")
END = texts.SPECIAL
WORDS = r"\S+|\s"
LEFT = r"(?<=\s)\w+|\w+|\s+|[^\w\s]+"  # left to `regex`


def ranks_of(tokenizer):
    return {pair: rank for rank, pair in reversed(list(enumerate(tokenizer.merges)))}


def random_of(data: bytes, seed: int) -> int:
    """The state that the random numbers of a document begin with."""
    key = hashlib.blake2b(str(seed).encode(), digest_size=32, person=b"nbbpe dropout").digest()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, key=key, person=b"nbbpe dropout").digest(), "little")


def naive_tokens(tokenizer, data: bytes, p: float, seed: int, n_kept: int = 0) -> list[bytes]:
    """The tokens of a text without special tokens, with the same random numbers."""
    numbers = naive.splitmix64(random_of(data, seed))
    threshold = round(p * 2**53)
    pretokens = get_pattern(tokenizer.pattern).split(data.decode(errors="surrogateescape"))
    return [
        token
        for pretoken in pretokens
        for token in naive.encode_with_dropout(
            pretoken.encode(errors="surrogateescape"), ranks_of(tokenizer), lambda: next(numbers) >> 11 < threshold, n_kept
        )
    ]


def tokens_of(tokenizer, ids) -> list[bytes]:
    return [tokenizer.vocab[token_id] for token_id in ids]


@pytest.fixture(scope="module")
def by_pattern() -> dict[str, nbbpe.Tokenizer]:
    """Tokenizers of several patterns, one of which is left to `regex`, and one of which splits twice."""
    documents = [texts.SAMPLE, "abab aab abaab abba " * 20, "the cat sat on the mat. " * 10]
    patterns = {"gpt2": "gpt2", "words": WORDS, "left": LEFT, "twice": [r"\d", "gpt2"], "none": None}
    return {
        name: nbbpe.train(documents=documents, vocab_size=330, special_tokens=[END], pattern=pattern)
        for name, pattern in patterns.items()
    }


@pytest.mark.usefixtures("guarded_arrays")
@pytest.mark.parametrize("name", ["gpt2", "words", "left", "twice", "none"])
def test_ids_are_those_of_the_twin_with_the_same_random_numbers(by_pattern, name):
    tokenizer = by_pattern[name]
    rng = random.Random(3)
    for number in range(60):
        text = "".join(
            rng.choices(["ab", "a", "b", " ", "the", " cat", "\n", "é", "日", "12", "\udcff"], k=rng.randrange(30))
        )
        data = text.encode(errors="surrogateescape")
        p = rng.choice((0.05, 0.3, 0.7, 0.97))
        ids = tokenizer.encode(text, dropout=p, seed=number)
        assert tokens_of(tokenizer, ids) == naive_tokens(tokenizer, data, p, number), (text, p)
        assert tokenizer.encode(data, dropout=p, seed=number) == ids
        assert tokenizer.decode_bytes(ids) == data


@given(
    texts.word_counts(max_words=4, max_size=9), st.sampled_from([0.1, 0.5, 0.9]), st.integers(0, 2**64), st.integers(0, 9)
)
def test_any_merges_are_dropped_as_the_twin_does(words, p, seed, n_kept):
    """The first merges of vocabularies of characters make the characters, and are never dropped."""
    if not words:
        return
    tokenizer = nbbpe.train(documents=[b" ".join(words)] * 2, vocab_size=280, pattern=WORDS)
    tokenizer._model.n_symbol_merges = lambda: n_kept
    for word in words:
        ids = tokenizer.encode(word, dropout=p, seed=seed)
        assert tokens_of(tokenizer, ids) == naive_tokens(tokenizer, word, p, seed, n_kept)


def deviates(counts: dict, chances: dict, n: int) -> bool:
    """Pearson's test: whether a sample of n differs from probabilities by more than one in 10,000 does."""
    assert set(counts) <= set(chances)
    rare = [key for key, chance in chances.items() if chance * n < 5]  # taken together
    expected = {key: chance * n for key, chance in chances.items() if key not in rare}
    observed = {key: counts.get(key, 0) for key in expected}
    if rare and sum(chances[key] for key in rare) * n >= 5:
        expected["rare"] = sum(chances[key] for key in rare) * n
        observed["rare"] = sum(counts.get(key, 0) for key in rare)
    freedom = len(expected) - 1
    square = sum((observed[key] - expected[key]) ** 2 / expected[key] for key in expected)
    # Wilson and Hilferty's approximation of the quantile; 3.72 standard deviations are one in 10,000.
    limit = freedom * (1 - 2 / (9 * freedom) + 3.72 * math.sqrt(2 / (9 * freedom))) ** 3
    return square > limit


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("word", [b"abaab", b"aaaaaa", b"abbaab"])
def test_the_distribution_is_that_of_the_definition(word, p):
    merges = [(b"a", b"b"), (b"b", b"a"), (b"a", b"a"), (b"aa", b"b"), (b"ab", b"a"), (b"aa", b"aa"), (b"ab", b"aab")]
    tokenizer = nbbpe.Tokenizer(vocab_of(merges), merges, pattern=WORDS)
    chances = naive.dropout_distribution(word, ranks_of(tokenizer), p)
    assert math.isclose(sum(chances.values()), 1)
    assert len(chances) > 3
    n = 20_000
    ids = tokenizer.encode(b" ".join([word] * n), dropout=p, seed=11)
    rows = [tuple(row) for space, row in itertools.groupby(tokens_of(tokenizer, ids), b" ".__eq__) if not space]
    counts = collections.Counter(rows)
    assert len(rows) == n
    assert not deviates(counts, chances, n)
    assert deviates(counts, naive.dropout_distribution(word, ranks_of(tokenizer), p + 0.03), n)  # the test can fail


def test_documents_are_independent_of_each_other():
    """The same word with as many seeds, and in as many texts, has the same distribution, too."""
    tokenizer = nbbpe.train(documents=["abab abab abab"], vocab_size=258, pattern=WORDS)
    chances = naive.dropout_distribution(b"abab", ranks_of(tokenizer), 0.4)
    by_seed = collections.Counter(
        tuple(tokens_of(tokenizer, tokenizer.encode(b"abab", dropout=0.4, seed=seed))) for seed in range(3000)
    )
    assert not deviates(by_seed, chances, 3000)
    rows = tokenizer.encode_batch([f"abab {number}" for number in range(3000)], dropout=0.4, seed=1)
    by_text = collections.Counter(
        tuple(itertools.takewhile(lambda token: token != b" ", tokens_of(tokenizer, row))) for row in rows
    )
    assert not deviates(by_text, chances, 3000)


@given(texts.data(60))
def test_none_is_dropped_or_all(by_pattern, data):
    for tokenizer in by_pattern.values():
        assert tokenizer.encode(data, dropout=0, seed=1) == tokenizer.encode(data, dropout=0.0) == tokenizer.encode(data)
        special = tokenizer.special_tokens[END]
        wanted = [token for part in data.split(END.encode()) for token in (*part, special)][:-1]
        assert tokenizer.encode(data, dropout=1.0) == tokenizer.encode(data, dropout=1) == wanted


def test_special_tokens_stay_whole(by_pattern):
    tokenizer = by_pattern["gpt2"]
    special = tokenizer.special_tokens[END]
    text = f"the cat{END}the cat{END}"
    ids = tokenizer.encode(text, dropout=0.9, seed=1)
    assert ids.count(special) == 2
    assert ids[-1] == special
    assert tokenizer.decode(ids) == text
    assert special not in tokenizer.encode(text, dropout=0.1, allowed_special=())
    with pytest.raises(ValueError, match="which is disallowed"):
        tokenizer.encode(text, dropout=0.1, disallowed_special="all")
    assert tokenizer.encode("the", dropout=0.5, seed=3, add_special_tokens=True) == tokenizer.encode(
        "the", dropout=0.5, seed=3
    )


def test_ids_depend_on_text_seed_and_share_alone(by_pattern, sizes):
    tokenizer = by_pattern["gpt2"]
    rng = random.Random(1)
    batch = ["".join(rng.choices(texts.SAMPLE, k=rng.randrange(80))) for _ in range(60)] + ["", f"a{END}the cat"]
    wanted = [tokenizer.encode(text, dropout=0.3, seed=9) for text in batch]
    assert tokenizer.encode_batch(batch, dropout=0.3, seed=9) == wanted
    sizes(batch=50, for_threads=1)
    for n_threads in 1, 2, 5:
        assert tokenizer.encode_batch(batch, dropout=0.3, seed=9, num_threads=n_threads) == wanted
    assert tokenizer.encode_batch(batch[::-1], dropout=0.3, seed=9) == wanted[::-1]
    assert tokenizer.encode_batch(batch[5:8], dropout=0.3, seed=9) == wanted[5:8]
    arrays = tokenizer.encode_batch_arrays(batch, dropout=0.3, seed=9, dtype="int64")
    assert [array.tolist() for array in arrays] == wanted
    flat, starts = tokenizer.encode_batch_flat(batch, dropout=0.3, seed=9)
    assert [flat[a:b].tolist() for a, b in itertools.pairwise(starts.tolist())] == wanted
    assert tokenizer.encode_array(batch[3], dropout=0.3, seed=9, dtype="int64").tolist() == wanted[3]
    padded, mask = tokenizer.encode_padded(batch, pad_id=0, dropout=0.3, seed=9)
    assert [row[keep].tolist() for row, keep in zip(padded, mask, strict=True)] == wanted
    assert tokenizer.encode_batch(batch, dropout=0.3, seed=10) != wanted
    assert tokenizer.encode_batch(batch, dropout=0.3) != tokenizer.encode_batch(batch, dropout=0.3)  # a new seed each time


def test_no_state_of_a_text_reaches_the_next(by_pattern, sizes):
    sizes(dropped=3)
    for tokenizer in by_pattern.values():
        batch = ["the cat sat on the mat 123", "x" * 300, "the cat sat on the mat 123", "a"]
        rows = tokenizer.encode_batch(batch, dropout=0.4, seed=2)
        for text, row in zip(batch, rows, strict=True):
            assert tokens_of(tokenizer, row) == naive_tokens(tokenizer, text.encode(), 0.4, 2)


def test_a_vocabulary_of_ranks():
    """One whose tokens merging by ranks does not give, so that a pretoken that is a token becomes it at once."""
    tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken")
    tokens = [*BYTES.values(), b"ab", b"bc", b"abcd", b"cab"]
    encoding = tiktoken.Encoding(
        "x", pat_str=WORDS, mergeable_ranks={token: i for i, token in enumerate(tokens)}, special_tokens={}
    )
    tokenizer = nbbpe.load(encoding)
    assert tokenizer.encode("abcd") == [258]  # merging gives ab, c and d
    pairs = {
        (left, right): tokens.index(left + right)
        for left, right in itertools.product(tokens, tokens)
        if left + right in tokens
    }
    n, p = 8000, 0.3
    ids = tokenizer.encode(b" ".join([b"abcd"] * n), dropout=p, seed=1)
    rows = [tuple(row) for space, row in itertools.groupby(tokens_of(tokenizer, ids), b" ".__eq__) if not space]
    chances = {key: chance * p for key, chance in naive.dropout_distribution(b"abcd", pairs, p).items()}
    chances[(b"abcd",)] = chances.get((b"abcd",), 0) + (1 - p)
    assert not deviates(collections.Counter(rows), chances, n)
    assert tokenizer.encode("abcd", dropout=1) == list(b"abcd")


def test_normalizers_and_prepared_text(shared):
    nfc = nbbpe.Tokenizer(BYTES | {256: b"ab"}, [(b"a", b"b")], normalizer="NFC")
    assert nfc.encode("e\u0301ab", dropout=1) == list("éab".encode())
    neox = nbbpe.load(shared / "vocabs" / "gpt_neox_20b_tokenizer.json")
    text = "def f(x):\n        return x<|endoftext|> the cat"
    assert neox.decode(neox.encode(text, dropout=0.2, seed=1)) == text
    assert neox.encode(text, dropout=0.2, seed=1) != neox.encode(text)


def test_a_long_pretoken_takes_n_log_n():
    tokenizer = nbbpe.train(documents=["a" * 64], vocab_size=262, pattern=None)
    seconds = {}
    for n in 1000, 40_000, 320_000:  # the first loads the kernels
        data = b"a" * n
        began = time.process_time()
        ids = tokenizer.encode(data, dropout=0.3, seed=1)
        seconds[n] = time.process_time() - began
        assert tokenizer.decode_bytes(ids) == data
        assert len(ids) > n // 64
    assert seconds[320_000] < 8 * 4 * max(seconds[40_000], 1e-3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dropout": 1.5}, ValueError, r"dropout must be from 0 to 1, and is 1\.5"),
        ({"dropout": -0.1}, ValueError, r"dropout must be from 0 to 1, and is -0\.1"),
        ({"dropout": float("nan")}, ValueError, "and is nan"),
        ({"dropout": "0.1"}, TypeError, "dropout must be a number from 0 to 1, not '0.1'"),
        ({"dropout": True}, TypeError, "dropout must be a number from 0 to 1, not True"),
        ({"dropout": None}, TypeError, "dropout must be a number from 0 to 1, not None"),
        ({"dropout": 0.1, "seed": 0.5}, TypeError, r"seed must be an integer or None, not 0\.5"),
        ({"seed": True}, TypeError, "seed must be an integer or None, not True"),
    ],
)
def test_invalid_arguments_are_named(small, arguments, error, message, tmp_path):
    for encode in small.encode, small.encode_array, lambda text, **rest: small.encode_batch([text], **rest):
        with pytest.raises(error, match=message):
            encode("a", **arguments)
    (tmp_path / "a.txt").write_text("a")
    with open(tmp_path / "a.txt", "rb") as file, pytest.raises(TypeError, match=r"not an open file .*: read it first"):
        small.encode(file, dropout=0.1)


def test_seeds_may_be_any_integers(small):
    rows = {tuple(small.encode(texts.SAMPLE, dropout=0.5, seed=seed)) for seed in (0, -1, 1, 2**70, np.int64(7))}
    assert len(rows) == 5
    assert small.encode("abab", dropout=np.float32(0.5), seed=np.int64(7)) == small.encode("abab", dropout=0.5, seed=7)
