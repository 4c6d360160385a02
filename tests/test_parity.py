# ruff: noqa: RUF001  (ambiguous characters are the point of these texts)
"""Parity between sources: the loop beside its twin, its structures after every merge, and mixtures that ask for it."""

from __future__ import annotations

import itertools
import random
import signal
from collections import Counter
from fractions import Fraction

import naive
import numpy as np
import pytest
import texts
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from training_structures import spelled, symbol_pairs, walk
from vocabularies import BYTES, LIMITS

import nbbpe
from nbbpe.counting.sorted_runs import concatenate
from nbbpe.counting.word_counts import WordCounts, words_from_dict
from nbbpe.kernels.machine import secret
from nbbpe.kernels.training import merge_loop, pair_table, parity_loop
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.training import parity_queues
from nbbpe.training.growing_arrays import with_pairs
from nbbpe.training.learning_options import TIE_BREAKS, LearningOptions
from nbbpe.training.merges import learn_merges
from nbbpe.training.parity_queues import Groups
from nbbpe.training.start import Start
from nbbpe.training.token_rules import TokenRules

pytestmark = pytest.mark.usefixtures("guarded_arrays")  # the merge loop takes addresses

Words = dict[bytes, int]


def n_bytes(words: Words) -> int:
    return sum(len(word) * n for word, n in words.items())


def grouped(sources: list[Words], measures: list[Words] | None, window: int = 0) -> tuple[WordCounts, Groups]:
    parts = [*sources, *(measures or [])]
    starts = np.cumsum([0, *map(len, parts)])
    first = len(sources) if measures else 0
    sizes = [*map(n_bytes, sources), *([1] * len(measures or []))]
    measured_by = np.arange(first, first + len(sources))
    return concatenate([words_from_dict(part) for part in parts]), Groups(starts, np.array(sizes), measured_by, window)


def learned(sources, n_tokens, tie_break="bytes", *, measures=None, window=0, start=(), **options):
    """Merges of the loop, as bytes."""
    words, groups = grouped(sources, measures, window)
    tokens = [*BYTES.values(), *(left + right for left, right in start)]
    begin = None
    if start:
        order = np.arange(len(tokens), dtype=np.int32)
        each = [words.text[words.starts[i] : words.starts[i + 1]].tobytes() for i in range(len(words.counts))]
        split = [naive_symbols(word, start) for word in each]
        symbols = [tokens.index(symbol) for word in split for symbol in word]
        ends = np.cumsum([0, *map(len, split)])
        begin = Start(tokens, order, np.array(symbols, dtype=np.int32), ends)
    return spelled(learn_merges(words, n_tokens, LearningOptions(tie_break, **options), groups=groups, start=begin), tokens)


def naive_symbols(word: bytes, merges) -> list[bytes]:
    symbols = [bytes([b]) for b in word]
    for left, right in merges:
        symbols = naive.merge_word(symbols, left, right, left + right)
    return symbols


SOURCES = st.lists(texts.word_counts("abc", max_words=6), min_size=1, max_size=4)


@given(
    sources=SOURCES.filter(any),
    measures=st.one_of(st.none(), st.lists(texts.word_counts("abc").filter(bool), min_size=4, max_size=4)),
    window=st.sampled_from([0, 0, 1, 3, 6]),
    min_frequency=st.integers(1, 3),
    max_token_length=st.sampled_from([None, None, 2, 3]),
    with_start=st.booleans(),
)
@settings(max_examples=examples(60, 600))
def test_the_loop_is_its_twin(sources, measures, window, min_frequency, max_token_length, with_start):
    measures = measures and measures[: len(sources)]
    options = {"measures": measures, "window": window}
    limits = {"min_frequency": min_frequency, "max_token_length": max_token_length}
    for tie_break in TIE_BREAKS:
        # A start must be merges that were learned, so that no token is made twice.
        start = naive.train(sources[0], 259, tie_break)[0] if with_start else []
        expected, _ = naive.train_for_parity([s or {} for s in sources], 285, tie_break, start=start, **options, **limits)
        assert learned(sources, 285, tie_break, start=start, **options, **limits) == expected


def test_where_all_sources_wait_the_worst_of_them_is_next():
    # Of seven sources, two have pairs: each of these soon had more than its turns of the last four merges.
    letters = [{b"a": 1}] * 5
    first, second = {b"abcabcab": 9, b"bacbca": 5, b"ccab": 2}, {b"defdef": 3, b"fdeefd": 2, b"eeff": 1}
    for sources in [first, second, *letters], [second, first, *letters], [*letters, first, second]:
        expected, _ = naive.train_for_parity(sources, 280, window=4)
        assert learned(sources, 280, window=4) == expected


def test_pairs_of_other_sources_are_passed_over_in_a_search(monkeypatch):
    # By such a secret all searches begin in one slot, so that they meet the entries of all sources.
    monkeypatch.setattr(secret, "of_process", lambda: np.zeros(secret.SIZE, dtype=np.uint64))
    sources = [{b"abcabcab": 9, b"bacbca": 5, b"ccab": 2}, {b"abab": 3, b"cabca": 2, b"bbcc": 1}, {b"abccba": 4}]
    assert learned(sources, 280) == naive.train_for_parity(sources, 280)[0]


@given(sources=SOURCES.filter(any), limits=LIMITS, tie_break=st.sampled_from(TIE_BREAKS))
@settings(max_examples=examples(60, 600))
def test_rules_are_kept_in_every_source(sources, limits, tie_break):
    rules = TokenRules(forbidden=[rb"^b", lambda token: token.count(b"c") > 1], **limits)

    def allows(token: bytes) -> bool:
        return naive.keeps_limits(token, **limits) and not token.startswith(b"b") and token.count(b"c") < 2

    expected, _ = naive.train_for_parity(sources, 280, tie_break, allows=allows)
    assert learned(sources, 280, tie_break, rules=rules) == expected
    assert all(allows(left + right) for left, right in expected)


def test_one_source_is_trained_as_without_parity():
    words = {word.encode(): n + 1 for n, word in enumerate(texts.SAMPLE.split())}
    for tie_break in TIE_BREAKS:
        assert learned([words], 400, tie_break) == naive.train(words, 400, tie_break)[0]


def check_structures(linked, table, queue, ties, tokens, words, group_starts) -> None:
    """Recount all pairs of each group from the linked words, and hold table, siblings and tokens against them."""
    n_groups = len(group_starts) - 1
    lengths = np.diff(ties.starts[: tokens.state[merge_loop.N_TOKENS] + 1]).tolist()
    recounted, n_tokens = Counter(), [0] * n_groups
    for word, row in enumerate(walk(linked, words.starts.tolist(), lengths)):
        group, count = int(np.searchsorted(group_starts, word, side="right")) - 1, int(words.counts[word])
        n_tokens[group] += len(row) * count
        for (_, left), (_, right) in itertools.pairwise(row):
            recounted[left, right, group] += count
    entries = [(*pair, group) for pair, group in zip(symbol_pairs(table), table.groups.tolist(), strict=False)]
    assert len(set(entries)) == len(entries)
    assert (
        dict(zip(entries, table.rows[:, pair_table.COUNT].tolist(), strict=False)) == dict.fromkeys(entries, 0) | recounted
    )
    assert queue.groups[:, parity_loop.GROUP_TOKENS].tolist() == n_tokens
    assert (
        queue.groups[:, parity_loop.GROUP_PAIRS].tolist()
        == np.bincount([group for *_, group in entries], minlength=n_groups).tolist()
    )
    siblings: dict[tuple[int, int], list[int]] = {}
    for number, (left, right, _) in enumerate(entries):
        siblings.setdefault((left, right), []).append(number)
    for numbers in siblings.values():
        circle = [numbers[0]]
        while (following := int(queue.siblings[circle[-1]])) != numbers[0]:
            circle.append(following)
            assert len(circle) <= len(numbers)
        assert sorted(circle) == numbers


@given(sources=SOURCES.filter(any), has_measures=st.booleans())
@settings(max_examples=examples(40, 400))
def test_structures_are_true_to_each_other_after_every_merge(sizes, watched, sources, has_measures):
    words, groups = grouped(sources, [source or {b"ab": 1} for source in sources] if has_measures else None)
    calls = []

    def check(status, linked, table, queue, ties, tokens, *rest):
        check_structures(linked, table, queue, ties, tokens, words, groups.starts)
        calls.append(status)

    sizes(budget=1)
    with watched(parity_loop.merge_parity_batch, check):
        merges = learn_merges(words, 280, groups=groups)
    assert len(calls) >= len(merges)


def test_each_structure_is_given_room_when_it_is_full(watched, monkeypatch):
    statuses = set()
    make = pair_table.new_pair_table

    def note(status, linked, table, queue, ties, tokens, *rest):
        is_full = status == merge_loop.NEED_PAIRS and tokens.state[merge_loop.WANTED] > len(table.rows)
        statuses.add((status, is_full))

    source = random.Random(6)
    sources = [{source.randbytes(2) * 3: 1 for _ in range(60)} for _ in range(3)] + [{b"xy" * n: n for n in range(1, 12)}]
    run = b"a" * 2**16  # the tokens' bytes double with each merge
    with watched(parity_loop.merge_parity_batch, note):
        for spare in 0, 2000:  # of the pair table: either it is full first, or the heap of a source

            def with_few_pairs(table, n, used, spare=spare):
                return with_pairs(table, (2 * n + 2) // 3 + spare, used)

            with monkeypatch.context() as short:
                short.setattr(pair_table, "new_pair_table", lambda n_pairs, n_occurrences: make(n_pairs, 1400))
                short.setattr(parity_queues, "with_pairs", with_few_pairs)
                assert learned(sources, 500) == naive.train_for_parity(sources, 500)[0]
        assert [len(left) for left, _ in learned([{run: 1}, {b"b": 1}], 280)] == [2**i for i in range(16)]
    assert statuses >= {
        (merge_loop.NEED_PAIRS, True),
        (merge_loop.NEED_PAIRS, False),
        (merge_loop.NEED_OCCURRENCES, False),
        (merge_loop.NEED_TEXT, False),
        (merge_loop.NO_PAIRS, False),
        (merge_loop.TOKENS_DONE, False),
    }


@given(
    fractions=st.lists(
        st.tuples(st.integers(0, 2**63 - 1) | st.integers(0, 9), st.integers(1, 2**63 - 1) | st.integers(1, 9)),
        min_size=2,
        max_size=2,
    )
)
def test_fractions_are_compared_exactly(fractions):
    (a, b), (c, d) = fractions
    assert is_lower_fraction(a, b, c, d) == (Fraction(a, b) < Fraction(c, d))
    assert not is_lower_fraction(a, b, a, b)
    k = min((2**63 - 1) // max(a, b), 3)
    assert not is_lower_fraction(a, b, k * a, k * b)
    assert not is_lower_fraction(k * a, k * b, a, b)


@njit
def is_lower_fraction(a, b, c, d):
    return parity_loop.is_lower_fraction(a, b, c, d)


# Mixtures that ask for it.

PROSE = {
    "de": "die der das und in zu den ist nicht von sie mit dem dass es ein ich auf so eine " * 3,
    "en": "the of and to in that was his he with is for as it had be at by on not this the the the " * 20,
    "el": "και το να του η της με που την από για είναι οι στο ο θα δεν σε μου " * 2,
}
PARALLEL = {"de": "ich bin nicht das was sie ist", "en": "i am not what she is", "el": "δεν είμαι αυτό που είναι"}


def counted(text: str) -> Words:
    return dict(Counter(word.encode() for word in get_pattern("gpt2").split(text)))


def sources_of(texts: dict[str, str]) -> dict[str, object]:
    return {name: iter([text]) for name, text in texts.items()}


def trained(vocab_size: int, *, parity=True, **options) -> nbbpe.Tokenizer:
    return nbbpe.train(nbbpe.Mixture(sources_of(PROSE), parity=parity), vocab_size, **options)


IN_ORDER = [counted(PROSE[name]) for name in ("de", "el", "en")]
MEASURES = [counted(PARALLEL[name]) for name in ("de", "el", "en")]


def test_a_mixture_is_trained_as_the_twin_says():
    for tie_break in TIE_BREAKS:
        limits = {"min_frequency": 3, "max_token_length": 6}
        tok = trained(290, tie_break=tie_break, special_tokens=["<s>"], **limits)
        assert tok.merges == naive.train_for_parity(IN_ORDER, 289, tie_break, **limits)[0]
    assert tok.merges != nbbpe.train(nbbpe.Mixture(sources_of(PROSE)), 289, tie_break=tie_break, **limits).merges


def test_a_window_limits_how_often_a_source_is_merged():
    by_window = trained(290, parity=nbbpe.Parity(parallel=sources_of(PARALLEL), window=4))
    assert by_window.merges == naive.train_for_parity(IN_ORDER, 290, measures=MEASURES, window=4)[0]
    assert by_window.merges != trained(290, parity=nbbpe.Parity(parallel=sources_of(PARALLEL))).merges


def test_parallel_texts_say_which_source_is_compressed_worst():
    tok = trained(290, parity=nbbpe.Parity(parallel=sources_of(PARALLEL)))
    assert tok.merges == naive.train_for_parity(IN_ORDER, 290, measures=MEASURES)[0]
    assert tok.merges != trained(290).merges
    told = tok.provenance["training"]["mixture"]["sources"]
    assert {name: told[name]["parallel_tokens"] for name in told} == {name: tok.count(PARALLEL[name]) for name in PARALLEL}


def test_after_so_many_tokens_of_all_sources_together():
    everything = sum((Counter(words) for words in IN_ORDER), Counter())
    for after in 300, 310, 256, 999:
        first = naive.train(everything, min(after, 310))[0]
        rest = naive.train_for_parity(IN_ORDER, 310, start=first, measures=MEASURES)[0]
        tok = trained(310, parity=nbbpe.Parity(after=after, parallel=sources_of(PARALLEL)))
        assert tok.merges == first + rest


def test_weights_count_for_min_frequency_and_before_parity():
    weighted = nbbpe.Mixture(sources_of(PROSE), weights={"el": 50}, parity=nbbpe.Parity(after=270))
    tok = nbbpe.train(weighted, 300, min_frequency=100)
    sources = [IN_ORDER[0], {word: 50 * n for word, n in IN_ORDER[1].items()}, IN_ORDER[2]]
    first = naive.train(sum((Counter(words) for words in sources), Counter()), 270, min_frequency=100)[0]
    assert tok.merges == first + naive.train_for_parity(sources, 300, start=first, min_frequency=100)[0]


def test_the_provenance_says_how_well_each_source_is_compressed():
    tok = trained(380)
    told = tok.provenance["training"]["mixture"]
    assert told["parity"] == {"after": None, "window": None}
    for name, text in PROSE.items():
        assert told["sources"][name]["bytes_per_token"] == pytest.approx(len(text.encode()) / tok.count(text))


def test_rare_words_are_left_out_of_each_source():
    tok = trained(290, min_word_count=20)
    kept = [{word: n for word, n in words.items() if n >= 20} for words in IN_ORDER]
    assert tok.merges == naive.train_for_parity(kept, 290)[0]
    assert tok.provenance["training"]["left_out"]["n_words"] == sum(map(len, IN_ORDER)) - sum(map(len, kept))


def test_seeds_and_rules_go_with_parity():
    rules = nbbpe.TokenRules(seeds=["zebra"], max_letters=3)
    tok = trained(300, rules=rules)
    n_seeds = 4
    first = tok.merges[:n_seeds]
    assert first[-1][0] + first[-1][1] == b"zebra"
    rest = naive.train_for_parity(
        IN_ORDER, 300, start=first, allows=lambda token: naive.keeps_limits(token, max_letters=3)
    )[0]
    assert tok.merges == first + rest


@pytest.mark.parametrize("parallel", [None, {"a": ["abc"], "b": ["cd"], "c": ["ab"]}])
def test_rare_words_are_skipped_in_each_source_for_itself(parallel):
    """What is left of one source may end with the word with which that of the next begins."""
    sources = {"a": ["abcd"] * 3 + ["xyz"], "b": ["abcd"] * 2 + ["uvw"], "c": ["abcd"] * 4 + ["cde"]}
    parity = nbbpe.Parity(parallel=parallel and {name: iter(each) for name, each in parallel.items()})
    mixture = nbbpe.Mixture({name: iter(each) for name, each in sources.items()}, parity=parity)
    tok = nbbpe.train(mixture, 259, pattern=None, min_word_count=2)
    kept = [{b"abcd": n} for n in (3, 2, 4)]
    measures = parallel and [{each[0].encode(): 1} for each in parallel.values()]
    assert tok.merges == naive.train_for_parity(kept, 259, measures=measures)[0]
    corpus = tok.provenance["training"]["corpus"]
    assert (corpus["words"], corpus["distinct_words"]) == (9, 3)


def test_a_window_may_be_longer_than_the_training():
    tok = trained(300, parity=nbbpe.Parity(window=2**80))
    assert tok.merges == trained(300, parity=nbbpe.Parity(window=300)).merges == trained(300).merges


def test_parallel_texts_are_a_part_of_the_progress(tmp_path):
    for name, text in PROSE.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = {name: tmp_path / name for name in PROSE}
    size = 2 * sum(path.stat().st_size for path in files.values())
    for parallel, total in (files, size), (sources_of(PROSE), None):
        said = []
        mixture = nbbpe.Mixture(files, parity=nbbpe.Parity(parallel=parallel))
        nbbpe.train(mixture, 300, progress=lambda *each, said=said: said.append(each))
        assert [each[1:] for each in said if each[0] == "count words"][-1] == (size, total)


def test_superwords_go_with_parity(tmp_path):
    for name, text in PROSE.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    mixture = nbbpe.Mixture({name: tmp_path / name for name in PROSE}, parity=True)
    tok = nbbpe.train(mixture, 400, superwords=nbbpe.Superwords(after=320))
    assert tok.merges[:64] == naive.train_for_parity(IN_ORDER, 320)[0]
    assert any(b" " in token.strip() for token in tok.vocab.values())
    assert len(tok) == 400


def test_parallel_texts_are_measured_as_the_tokenizer_splits_them(tmp_path):
    for name, text in PROSE.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = {name: tmp_path / name for name in PROSE}
    mixture = nbbpe.Mixture(files, parity=nbbpe.Parity(parallel=files))
    tok = nbbpe.train(mixture, 400, superwords=nbbpe.Superwords(after=320, window=2))
    told = tok.provenance["training"]["mixture"]["sources"]
    assert {name: told[name]["parallel_tokens"] for name in told} == {name: tok.count(PROSE[name]) for name in PROSE}


def test_a_vocabulary_is_extended_for_parity():
    start = nbbpe.train(documents=[PROSE["en"]], vocab_size=290)
    for parallel in None, sources_of(PARALLEL):
        mixture = nbbpe.Mixture(sources_of(PROSE), parity=nbbpe.Parity(parallel=parallel))
        larger = start.extend(mixture, 330)
        measures = MEASURES if parallel else None
        expected = naive.train_for_parity(IN_ORDER, 330, start=start.merges, measures=measures)[0]
        assert larger.merges == start.merges + expected
    with pytest.raises(ValueError, match="after is for training from the bytes"):
        start.extend(nbbpe.Mixture(sources_of(PROSE), parity=nbbpe.Parity(after=291)), 330)
    mixtures = [nbbpe.Mixture(sources_of(PROSE), parity=nbbpe.Parity(after=after)) for after in (None, 290)]
    assert start.extend(mixtures[0], 330) == start.extend(mixtures[1], 330)


def test_a_source_without_text_is_passed_over():
    with pytest.warns(UserWarning, match="the text has pairs for only"):
        tok = nbbpe.train(nbbpe.Mixture({"a": iter([]), "b": iter(["the the"])}, parity=True), 300)
    assert tok.merges == naive.train({b"the": 1, b" the": 1}, 300)[0]
    assert tok.provenance["training"]["mixture"]["sources"]["a"]["bytes_per_token"] is None


def test_merges_that_were_learned_before_an_interruption_are_kept(sizes):
    sizes(budget=1)

    def interrupt(stage, done, total):
        if stage == "learn merges" and done == 280:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(UserWarning, match="interrupt|SIGINT|Ctrl-C"):
        tok = trained(330, on_interrupt="keep", progress=interrupt)
    assert 280 <= len(tok) <= 285
    assert tok.merges == naive.train_for_parity(IN_ORDER, len(tok))[0]
    assert tok.provenance["training"]["interrupted"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"parity": 1}, TypeError, "parity must be a Parity, True or False, not 1"),
        ({"parity": None}, TypeError, "parity must be a Parity, True or False, not None"),
        ({"parity": {"parallel": ["a.txt"]}}, TypeError, "parallel must be a dict of texts by name"),
        ({"parity": {"parallel": {}}}, ValueError, "parallel has no text for 'a'"),
        ({"parity": {"parallel": {"a": "x", "b": "y"}}}, ValueError, "parallel names 'b', which is not a source"),
        ({"parity": {"after": 255}}, ValueError, "after=255 is too small"),
        ({"parity": {"after": 300.5}}, TypeError, "after must be a positive integer or None, not 300.5"),
        ({"parity": {"window": 0}}, ValueError, "window must be at least 1, not 0"),
    ],
)
def test_invalid_arguments_are_refused(arguments, error, message):
    def mixture(parity):
        return nbbpe.Mixture({"a": "a.txt"}, parity=nbbpe.Parity(**parity) if isinstance(parity, dict) else parity)

    mixture({"after": 256})
    with pytest.raises(error, match=message):
        mixture(**arguments)


def test_a_parallel_text_must_not_be_empty():
    parity = nbbpe.Parity(parallel={**sources_of(PARALLEL), "el": iter([])})
    with pytest.raises(ValueError, match="the parallel text of 'el' is empty"):
        trained(300, parity=parity)
    sources = {"a": "the cat the cat", "b": ""}
    mixture = nbbpe.Mixture(sources_of(sources), parity=nbbpe.Parity(parallel=sources_of(sources)))
    assert nbbpe.train(mixture, 257).merges == [(b"t", b"h")]


def test_weights_that_are_too_large_are_refused():
    mixture = nbbpe.Mixture({"a": iter(["the the"])}, weights={"a": 2**60}, parity=True)
    with pytest.raises(OverflowError, match="the weighted bytes of a source do not fit in 64 bits: use smaller weights"):
        nbbpe.train(mixture, 300)
