"""Texts and tokenizers made so that the keys of hash tables collide: they cost what others cost, whatever the secret is."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable

import naive
import numpy as np
from timing import seconds
from vocabularies import BYTES, fresh

import nbbpe
from nbbpe.counting.counters import WordRules
from nbbpe.counting.parallel_counting import count_files
from nbbpe.counting.word_counts import WordCounts
from nbbpe.kernels.encoding import merge_table
from nbbpe.kernels.machine import secret
from nbbpe.kernels.pieces import piece_table
from nbbpe.model import rank_vocab
from nbbpe.model.packed_vocab import PackedVocab
from nbbpe.patterns.pattern import NAMED
from nbbpe.sources import Documents

LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", dtype=np.uint8)
NO_SECRET = np.zeros(secret.SIZE, dtype=np.uint64)  # by which all keys of up to four bytes have one home
# Without a secret, the home of a key of up to eight bytes could be the highest bits of the key times a constant: as this.
KNOWN_FACTOR = 0x9E3779B97F4A7C15


@functools.cache
def colliding_words() -> list[bytes]:
    """Words of a space and seven letters, of which all have one home by KNOWN_FACTOR."""

    def sums(letters: list[np.ndarray], first_byte: int) -> np.ndarray:
        total = np.zeros(1, dtype=np.uint64)
        for i, some in enumerate(letters):
            factor = np.uint64((KNOWN_FACTOR << 8 * (first_byte + i)) % 2**64)
            total = np.add.outer(total, some.astype(np.uint64) * factor).ravel()
        return total

    firsts, lasts = [LETTERS] * 3, [LETTERS[:26]] + [LETTERS] * 3
    heads, tails = sums(firsts, 1) + np.uint64(KNOWN_FACTOR * 32 % 2**64), sums(lasts, 4)
    order = np.argsort(heads)
    # Of each tail the heads with which the highest three bytes of the sum are 0: one stretch, but for where it wraps.
    wanted = np.uint64(0) - tails
    low, high = (np.searchsorted(heads[order], bound) for bound in (wanted, wanted + np.uint64(2**40 - 1)))
    words = []
    for tail in np.flatnonzero(high > low):
        for head in order[low[tail] : high[tail]]:
            parts = np.unravel_index(head, [52] * 3), np.unravel_index(tail, [26, 52, 52, 52])
            words.append(b" " + bytes(LETTERS[[int(i) for i in itertools.chain(*parts)]]))
    return words


@functools.cache
def random_words() -> list[bytes]:
    """As many other words of this form."""
    source = random.Random(1)
    return [b" " + bytes(source.choices(LETTERS.tobytes(), k=7)) for _ in colliding_words()]


def wanted_ids(tokenizer: nbbpe.Tokenizer, words: list[bytes]) -> list[int]:
    """The ids of words by the twin."""
    pairs = {pair: rank for rank, pair in reversed(list(enumerate(tokenizer.merges)))}
    ids = {token: i for i, token in tokenizer.vocab.items()}
    return [ids[token] for word in words for token in naive.encode_pretoken(word, pairs)]


def test_the_words_did_collide():
    words = colliding_words()
    assert len(set(words)) == len(words) > 20_000
    assert {int.from_bytes(word, "little") * KNOWN_FACTOR % 2**64 >> 40 for word in words} == {0}


def test_words_that_collided_have_homes_as_any_words():
    numbers = secret.of_process()[:3].tolist()
    n_slots = 1 << 16
    counts = np.bincount(
        [naive.home(int.from_bytes(word, "little"), 8 << 56, numbers, n_slots) for word in colliding_words()],
        minlength=n_slots,
    )
    assert counts.max() < 20


def test_words_that_collided_encode_as_fast_as_others(small):
    def pass_over(words: list[bytes]) -> float:
        text = b"".join(words)
        return min(seconds(functools.partial(fresh(small).encode_array, text), 1) for _ in range(5))

    assert pass_over(colliding_words()) < 10 * pass_over(random_words())


def test_a_cache_is_as_fast_for_other_text_after_such_words(small):
    clean = b"".join(random_words()[:5000])
    attacked, other = fresh(small), fresh(small)
    attacked.encode_array(b"".join(colliding_words()))
    other.encode_array(b"".join(random_words()[5000:]))
    for tokenizer in attacked, other:
        tokenizer.encode_array(clean)
    slow, normal = (seconds(functools.partial(each.encode_array, clean), 10) for each in (attacked, other))
    assert slow < 3 * normal


def counted(words: list[bytes]) -> WordCounts:
    return count_files([Documents([b"".join(words)])], WordRules(NAMED["gpt2"]), 1, lambda n_bytes: None)


def test_words_that_collided_are_counted_as_fast_as_others():
    def count(words: list[bytes]) -> Callable[[], object]:
        return lambda: counted(words)

    assert seconds(count(colliding_words())) < 10 * seconds(count(random_words()))


SHORT_WORDS = [b" " + bytes(word) for word in itertools.product(LETTERS[:26].tolist(), repeat=3)]


def test_with_a_secret_that_makes_words_collide_a_search_is_bounded(small):
    text = b"".join(SHORT_WORDS)
    good = seconds(functools.partial(fresh(small).encode_array, text), 1)
    with secret.another(NO_SECRET):
        tokenizer = fresh(small)
        bad = seconds(functools.partial(tokenizer.encode_array, text), 2)
    table = tokenizer._encoder._idle[0].table
    assert 100 < table.state[piece_table.N_ENTRIES] <= piece_table.MOST_PROBES  # the others are not cached
    assert tokenizer.encode(text) == wanted_ids(tokenizer, SHORT_WORDS)
    assert bad < 50 * good  # 17,576 searches of 256 slots, and no more


def test_with_a_secret_that_makes_words_collide_counts_are_right():
    # Words with one end have one hash by this secret.
    longer = [word + b"abcdefghijklmnopq" for word in SHORT_WORDS[:3000]]
    words = [*SHORT_WORDS, *longer, *SHORT_WORDS[:5000], *longer]
    with secret.another(NO_SECRET):
        text, starts, counts = counted(words)
    edges = itertools.pairwise(starts.tolist())
    found = {text[a:b].tobytes(): n for (a, b), n in zip(edges, counts.tolist(), strict=True)}
    assert found == naive.count_words([b"".join(words)], NAMED["gpt2"].compiled)


def test_a_table_of_merges_that_collide_is_made_with_another_secret():
    good = merge_table.new_merges(*columns(5000), np.arange(256, dtype=np.int32))
    with secret.another(NO_SECRET):
        bad = merge_table.new_merges(*columns(5000), np.arange(256, dtype=np.int32))
    assert int(bad.secret) % 2 == 1
    assert np.array_equal(np.sort(good.entries >> np.uint64(22)), np.sort(bad.entries >> np.uint64(22)))


def columns(n: int) -> tuple[np.ndarray, ...]:
    """Lefts, rights, ranks and results of merges, each of what the one before it made and a byte."""
    made = np.arange(256, 256 + n, dtype=np.int32)
    lefts = np.append(np.int32(97), made[:-1])
    return lefts, np.full(n, 98, dtype=np.int32), made - 256, made


def test_tables_of_tokens_that_collide_are_made_with_another_secret():
    # Three bytes that no two tokens of lower ranks make: the list of merges ends, and tokens are looked up as a whole.
    tokens = [*BYTES.values(), *map(bytes, itertools.product(b"abcdefghijkl", repeat=3))]
    vocab = dict(enumerate(tokens))
    text = b" " + b" ".join(tokens[256:])
    wanted = naive.encode_by_ranks(text, {token: i for i, token in vocab.items()}, NAMED["cl100k"].compiled)
    for numbers in secret.fresh(), NO_SECRET:
        with secret.another(numbers):
            assert rank_vocab.recovered_merges(PackedVocab.of(vocab))[1] == 256
            merges = rank_vocab.merges_by_rank(PackedVocab.of(vocab))
            assert len(merges.whole) > 4 * len(tokens[256:])
            assert encode_by_rank(vocab, text) == wanted


def encode_by_rank(vocab: dict[int, bytes], text: bytes) -> list[int]:
    from nbbpe.model.model import Model
    from nbbpe.patterns.pattern_argument import get_pattern
    from nbbpe.tokenizer import Tokenizer

    return Tokenizer._of(Model(vocab, None, {}, get_pattern("cl100k"))).encode(text)


def test_nothing_depends_on_the_secret(tmp_path, quiet):
    source = random.Random(4)
    lengths = [1, 2, 3, 5, 8, 13, 20, 60]
    words = [b" " + bytes(source.choices(b"abcdeghi", k=source.choice(lengths))) for _ in range(5000)]
    words += ["\n你好世界。สวัสดี 1234567890 =>()!!".encode(), *words[:750]]
    text = b"".join(words)
    greatest = np.full(secret.SIZE, 2**64 - 1, dtype=np.uint64)
    greatest[secret.LONG + 2] = 2**60 - 1
    seen = set()
    for number, numbers in enumerate([secret.fresh(), secret.fresh(), NO_SECRET, greatest]):
        with secret.another(numbers):
            for tie_break in "bytes", "ids", "huggingface":
                tokenizer = nbbpe.train(iter([text, text[:999]]), 600, ["<s>"], tie_break=tie_break)
                folder = tmp_path / f"{number} {tie_break}"
                tokenizer.save(folder)
                files = tuple(
                    (path.name, path.read_bytes()) for path in sorted(folder.iterdir()) if path.name != "nbbpe.json"
                )
                corpus = tokenizer.provenance.get("corpus")
                seen.add((tie_break, files, str(corpus), tokenizer.fingerprint, tokenizer.encode_array(text).tobytes()))
    assert len(seen) == 3
