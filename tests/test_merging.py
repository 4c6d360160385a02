"""The training kernels: merges equal textbook BPE's under every tie rule, and the structures stay true to each other."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import math
import random
import weakref
from collections import Counter

import guard_pages
import naive
import numpy as np
import pytest
import texts
from effort import examples
from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit
from training_structures import check_structures, spelled, symbol_at, symbol_pairs, word_count_at
from vocabularies import BYTES

from nbbpe.counting.word_counts import words_from_dict
from nbbpe.kernels.training import bucket_queue, linked_words, merge_loop, pair_table
from nbbpe.model import byte_alphabet
from nbbpe.training import growing_arrays, merges
from nbbpe.training.first_pairs import pairs_of_bytes
from nbbpe.training.learning_options import TIE_BREAKS, LearningOptions
from nbbpe.training.merges import _scratch, learn_merges
from nbbpe.training.token_rules import TokenRules

pytestmark = pytest.mark.usefixtures("guarded_arrays")  # the merge loop takes addresses

edge_of, many_of = linked_words.edge_of.function, linked_words.many_of.function
HF_ORDER = {byte: number for number, byte in enumerate(naive.HF_BYTES)}


def learned(
    words: dict[bytes, int],
    n_tokens: int,
    tie_break: str = "bytes",
    min_frequency: int = 1,
    max_token_length: int | None = None,
) -> list:
    """The merges as pairs of byte strings."""
    options = LearningOptions(tie_break, min_frequency, max_token_length)
    return spelled(learn_merges(words_from_dict(words), n_tokens, options))


def assert_textbook(
    words: dict[bytes, int], n_tokens: int = 300, min_frequency: int = 1, max_token_length: int | None = None
) -> None:
    for tie_break in TIE_BREAKS:
        expected, _ = naive.train(words, n_tokens, tie_break, min_frequency, max_token_length)
        assert learned(words, n_tokens, tie_break, min_frequency, max_token_length) == expected, tie_break


# Cases that a reader can check by hand


def test_bnanana_by_hand():
    # na occurs 3 times: b na na na. Then (na, na) twice: b nana na. Then (b, nana) and (nana, na) tie, and n > b.
    merges = [(b"n", b"a"), (b"na", b"na"), (b"nana", b"na"), (b"b", b"nanana")]
    assert learned({b"bnanana": 1}, 300) == merges
    assert naive.train({b"bnanana": 1}, 300)[0] == merges


def test_overlaps_merge_from_left_to_right():
    # aaaaa: (a, a) occurs 4 times, and becomes aa aa a.
    assert learned({b"aaaaa": 1}, 260) == [(b"a", b"a"), (b"aa", b"aa"), (b"aaaa", b"a")]


def test_ties_go_to_the_greater_bytes_by_default_and_to_the_smaller_ids_where_asked():
    words = {b"ab": 1, b"cd": 1, b"ce": 1}
    assert learned(words, 300) == [(b"c", b"e"), (b"c", b"d"), (b"a", b"b")]
    assert learned(words, 300, "ids") == [(b"a", b"b"), (b"c", b"d"), (b"c", b"e")]


def test_ties_by_bytes_compare_whole_tokens_and_ties_by_ids_their_age():
    # ab is learned before b is met again: as bytes b > ab, as ids 98 < 256.
    words = {b"ab": 5, b"abx": 1, b"bx": 1}
    assert learned(words, 258) == [(b"a", b"b"), (b"b", b"x")]
    assert learned(words, 258, "ids") == [(b"a", b"b"), (b"b", b"x")]
    words = {b"ba": 5, b"bax": 1, b"ax": 1}
    assert learned(words, 258) == [(b"b", b"a"), (b"ba", b"x")]
    assert learned(words, 258, "ids") == [(b"b", b"a"), (b"a", b"x")]


def test_huggingface_numbers_visible_bytes_before_blanks():
    words = {b" a": 1, b"!a": 1}
    assert learned(words, 257) == [(b"!", b"a")]
    assert learned(words, 257, "ids") == [(b" ", b"a")]
    assert learned(words, 257, "huggingface") == [(b"!", b"a")]
    assert byte_alphabet.byte_order().tolist() == [HF_ORDER[byte] for byte in range(256)]


def test_long_tokens_with_a_common_prefix_are_compared_to_their_ends():
    # Tokens that differ only after more than 8 bytes: the prefixes that are compared first are equal.
    for tails in (b"xy", b"yx"), (b"x", b"xx"), (b"\x00", b"\x00\x00"), (b"", b"\x00"), (b"", b"z"):
        words = {b"abcdefghij" + tail + b"-": 3 for tail in tails}
        assert_textbook(words, 290)


# Random corpora


@given(texts.word_counts("ab", max_words=8, max_size=20))
def test_merges_of_two_letters_are_the_textbooks(words):
    assert_textbook(words)


@given(texts.word_counts("abcd", max_words=12, max_size=8))
def test_merges_of_four_letters_are_the_textbooks(words):
    assert_textbook(words)


@given(texts.word_counts("aé !\x00ÿ", max_words=10, max_size=10))
def test_merges_of_bytes_of_all_kinds_are_the_textbooks(words):
    assert_textbook(words)


@given(st.dictionaries(st.binary(min_size=1, max_size=10), st.integers(1, 3), max_size=8))
def test_merges_of_random_bytes_are_the_textbooks(words):
    assert_textbook(words, 280)


@given(st.text("a", min_size=1, max_size=200), st.text("ab", max_size=200))
def test_merges_of_long_runs_are_the_textbooks(run, word):
    words = Counter([run.encode(), word.encode()])
    del words[b""]
    assert_textbook(words, 275)


@given(units=st.lists(st.text("abx", min_size=1, max_size=4), min_size=1, max_size=3), data=st.data())
def test_merges_of_words_of_equal_parts_are_the_textbooks(checked, units, data):
    # So that merged pairs stand beside each other, overlap, and have symbols of several bytes on both sides.
    parts = st.lists(st.sampled_from(units), min_size=1, max_size=20).map("".join).map(str.encode)
    words = data.draw(st.dictionaries(parts, st.integers(1, 3), min_size=1, max_size=5))
    assert_textbook(words, 290)
    checked(words, 290)


@pytest.mark.parametrize("n_tokens", [510, 511, 512, 513])
def test_the_last_token_is_not_taken_for_an_edge(n_tokens):
    source = random.Random(15)
    words = {bytes(source.choices(b"etaoinsh", k=source.randrange(2, 9))): source.choice([1, 3, 10**7]) for _ in range(120)}
    assert len(learned(words, n_tokens)) == n_tokens - 256
    assert learned(words, n_tokens) == naive.train(words, n_tokens)[0]


@given(texts.word_counts("abc"), st.integers(1, 6))
def test_a_pair_below_the_min_frequency_is_not_merged(words, min_frequency):
    assert_textbook(words, 300, min_frequency)


@pytest.mark.exhaustive
@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_merges_of_a_larger_corpus_are_the_textbooks(tie_break):
    source = random.Random(11)
    letters = "etaoin shrdlu" * 3 + "ABCé中\x00"
    words = Counter(
        "".join(source.choices(letters, k=source.randrange(1, 14))).encode() for _ in range(examples(500, 1500))
    )
    words = {word: count * source.choice([1, 1, 1, 7, 1000]) for word, count in words.items()}
    size = examples(350, 450)
    assert learned(words, size, tie_break) == naive.train(words, size, tie_break)[0]


@given(texts.word_counts("abc", max_words=12))
def test_no_two_merges_make_the_same_token(words):
    for tie_break in TIE_BREAKS:
        tokens = [left + right for left, right in learned(words, 400, tie_break)]
        assert len(set(tokens)) == len(tokens)


@given(texts.word_counts("abc"), st.randoms(use_true_random=False))
def test_the_order_of_words_does_not_matter(words, source):
    shuffled = list(words.items())
    source.shuffle(shuffled)
    for tie_break in TIE_BREAKS:
        assert learned(dict(shuffled), 280, tie_break) == learned(words, 280, tie_break)


@given(texts.word_counts("abc"), st.sampled_from([3, 2**20, 2**31, 2**33, 2**50]))
def test_counts_of_any_size_are_told_apart(words, factor):
    # Large counts share buckets with their neighbours: a pair that is one more frequent must still come first.
    scaled = {word: count * factor + number for number, (word, count) in enumerate(words.items())}
    assert_textbook(scaled, 280)


def test_counts_past_32_bits_are_learned():
    words = {b"ab": 2_200_000_000, b"cd": 5_000_000_000, b"ef": 2**32 + 1, b"gh": 3, b"ij": 2**32}
    assert learned(words, 300) == [(b"c", b"d"), (b"e", b"f"), (b"i", b"j"), (b"a", b"b"), (b"g", b"h")]


def test_nothing_to_learn_gives_no_merges():
    assert learned({}, 300) == []
    assert learned({b"a": 5, b"b": 1}, 300) == []
    assert learned({b"ab": 1}, 256) == []


def test_min_frequency_counts_what_is_left_of_a_pair():
    # bc occurs 3 times until ab takes two of them.
    words = {b"ab": 5, b"abc": 2, b"bc": 1}
    assert learned(words, 300, min_frequency=2) == [(b"a", b"b"), (b"ab", b"c")]


def test_a_pair_that_is_too_long_is_passed_over_and_the_next_is_merged():
    # na occurs 3 times: b na na na. (na, na) would be 4 bytes, so (b, na) is next: bna na na.
    assert learned({b"bnanana": 1, b"xy": 1}, 300, max_token_length=3) == [(b"n", b"a"), (b"x", b"y"), (b"b", b"na")]
    assert learned({b"bnanana": 1}, 300, max_token_length=2) == [(b"n", b"a")]
    assert learned({b"bnanana": 1}, 300, max_token_length=1) == []
    assert learned({b"aaaaa": 1}, 300, max_token_length=2) == [(b"a", b"a")]


def test_a_limit_that_no_token_reaches_changes_nothing():
    words = {texts.SAMPLE.encode(): 2, b"aaaa": 3}
    longest = max(len(left + right) for left, right in learned(words, 400))
    for limit in longest, 2**31, 2**70:
        assert learned(words, 400, max_token_length=limit) == learned(words, 400)
    assert learned(words, 400, max_token_length=longest - 1) != learned(words, 400)


@given(texts.word_counts("abc", max_words=12, max_size=20), st.integers(1, 8), st.integers(1, 3))
def test_merges_up_to_a_length_are_the_textbooks(words, max_token_length, min_frequency):
    assert_textbook(words, 300, min_frequency, max_token_length)


@pytest.mark.exhaustive
def test_merges_up_to_a_length_of_a_larger_corpus_are_the_textbooks():
    source = random.Random(14)
    words = Counter(
        "".join(source.choices("etaoin shrdluéa", k=source.randrange(1, 30))).encode() for _ in range(examples(200, 600))
    )
    assert_textbook(words, examples(330, 400), max_token_length=4)


def test_no_pair_is_frequent_enough_for_the_largest_min_frequency():
    assert learned({b"ab": 2**62}, 300, min_frequency=2**62) == [(b"a", b"b")]
    assert learned({b"ab": 2**62}, 300, min_frequency=2**70) == []


# Structures


@pytest.fixture
def checked(sizes, watched):
    """learn_merges that comes back after every merge and has its structures checked."""

    def run(words: dict[bytes, int], n_tokens: int, tie_break: str = "bytes") -> int:
        counted = words_from_dict(words)
        calls = 0

        def check(status, linked, table, queue, ties, tokens, *rest):
            nonlocal calls
            calls += 1
            check_structures(counted, linked, table, ties, tokens)

        sizes(budget=1)
        with watched(merge_loop.merge_batch, check):
            learn_merges(counted, n_tokens, LearningOptions(tie_break))
        return calls

    return run


@given(words=st.one_of(texts.word_counts("ab", max_size=25), texts.word_counts("abcé")))
def test_structures_are_true_to_each_other_after_every_merge(checked, words):
    for tie_break in TIE_BREAKS:
        n_merges = len(learned(words, 285, tie_break))
        assert checked(words, 285, tie_break) >= n_merges


@given(words=texts.word_counts("abc", max_words=12), counts=st.data())
def test_a_word_may_be_more_frequent_than_a_cell_can_say(checked, words, counts):
    many = many_of((280).bit_length())
    words = {word: counts.draw(st.sampled_from([1, many - 1, many, many + 1, 2 * many, 10**12])) for word in words}
    assert_textbook(words, 280)
    checked(words, 280)


@pytest.mark.parametrize("n_tokens", [256, 511, 512, 2**20, 2**30, 2**31 - 1])
def test_a_cell_holds_symbol_and_count_for_any_number_of_tokens(n_tokens):
    counted = words_from_dict({b"ab": 1, b"c": 2, b"": 5, b"abc": 2**16, b"d": 10**12})
    linked, _ = pairs_of_bytes(counted, n_tokens, 1)
    at = 1
    for word, count in ((b"ab", 1), (b"c", 2), (b"", 5), (b"abc", 2**16), (b"d", 10**12)):
        assert symbol_at(linked, at - 1) == edge_of(linked.symbol_bits) >= n_tokens
        for byte in word:
            assert (symbol_at(linked, at), word_count_at(linked, at)) == (byte, count)
            at += 1
        at += 1
    assert at == len(linked.cells)


def test_lists_of_new_pairs_lie_where_those_of_merged_ones_were(watched):
    tables = []
    source = random.Random(5)
    words = words_from_dict(dict.fromkeys(("".join(source.choices("etaoinshr", k=8)).encode() for _ in range(20_000)), 1))
    with watched(merge_loop.merge_batch, lambda status, linked, table, *_: tables.append(table)):
        assert len(learn_merges(words, 3000)) == 3000 - 256
    assert tables[-1].state[pair_table.N_OCCURRENCES] < 1.6 * words.starts[-1]
    with watched(merge_loop.merge_batch, lambda _, linked, table, *rest: tables.append(table)):
        learned({b"abc": 1}, 257)
    assert tables[-1].state[pair_table.N_OCCURRENCES] == 2  # a list that just fits


def test_first_pairs_are_the_same_in_any_number_of_threads(sizes):
    source = random.Random(4)
    words = {source.randbytes(source.randrange(1, 200)) + b"ab" * (i % 3): i + 1 for i in range(1400)} | {b"a": 3, b"": 2}
    counted = words_from_dict(words)
    sizes(first_pairs=20_000)
    assert counted.starts[-1] > 5 * 20_000  # so that there are as many parts
    counts: Counter[tuple[int, int]] = Counter()
    positions: dict[tuple[int, int], list[int]] = {}
    for number, (word, first) in enumerate(zip(words, counted.starts.tolist(), strict=False)):
        for at, pair in enumerate(itertools.pairwise(word), first + number + 2):
            counts[pair] += words[word]
            positions.setdefault(pair, []).append(at)
    for n_threads in 1, 2, 5:
        linked, table = pairs_of_bytes(counted, 1000, n_threads)
        pairs = symbol_pairs(table)
        assert dict(zip(pairs, table.rows[:, pair_table.COUNT].tolist(), strict=False)) == counts, n_threads
        for pair, first, length in zip(pairs, table.starts.tolist(), table.lengths.tolist(), strict=False):
            assert table.occurrences[first : first + length].tolist() == positions[pair], (n_threads, pair)
        assert table.state[pair_table.N_OCCURRENCES] == sum(map(len, positions.values()))
        edge, many, bits = edge_of(linked.symbol_bits), many_of(linked.symbol_bits), linked.symbol_bits
        expected = [edge]
        for word, n in words.items():
            count = min(n, many) << bits
            expected += [*(byte | count for byte in word), edge]
        assert np.array_equal(linked.cells, expected), n_threads


def test_structures_are_true_to_each_other_on_runs(checked):
    for word in b"a" * 100, b"ab" * 50, b"aab" * 40, b"abcabcab" * 12, b"aabbaabb" * 9 + b"a":
        assert checked({word: 2, word[1:]: 1, b"b": 1}, 300) > 3


@given(words=texts.word_counts("abc", max_words=12))
def test_room_that_is_short_grows_and_changes_nothing(words):
    # Tables start with no more room than the words themselves need.
    make = pair_table.new_pair_table
    short = []

    def small_table(n_pairs, n_occurrences):
        n_positions = max((n_occurrences - merge_loop.AHEAD) // 2, 1)
        short.append((n_positions, n_positions))
        return make(n_positions, n_positions)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_table, "new_pair_table", small_table)
        assert_textbook(words, 300)
    assert short


def test_each_structure_is_given_room_when_it_is_full(watched, monkeypatch):
    statuses = set()
    make = pair_table.new_pair_table
    source = random.Random(6)
    words = {source.randbytes(2) * 3: 1 for _ in range(60)} | {b"a" * 40: 1}
    run = b"a" * 2**17  # the tokens' bytes double with each merge
    with watched(merge_loop.merge_batch, lambda status, *_: statuses.add(status)):
        with monkeypatch.context() as short:
            short.setattr(pair_table, "new_pair_table", lambda n_pairs, n_occurrences: make(130, 400))
            assert learned(words, 400) == naive.train(words, 400)[0]
        assert [len(left) for left, _ in learned({run: 1}, 280)] == [2**i for i in range(17)]
    assert {
        merge_loop.NEED_PAIRS,
        merge_loop.NEED_SLOTS,
        merge_loop.NEED_OCCURRENCES,
        merge_loop.NEED_TEXT,
        merge_loop.TOKENS_DONE,
        merge_loop.NO_PAIRS,
    } <= statuses


@pytest.mark.skipif(not guard_pages.AVAILABLE, reason="pages are guarded on Linux only")
def test_no_merge_takes_more_room_than_it_asks_for(monkeypatch):
    """Here, what grows ends where a page begins that may not be touched."""
    pages = contextlib.ExitStack()
    make, rule_of = pair_table.new_pair_table, merges.tie_rule

    def with_room(array, n, used, most=None):
        shape = max(n, len(array)), *array.shape[1:]
        n_bytes = array.itemsize * math.prod(shape)
        at = pages.enter_context(guard_pages.at_page_end(n_bytes))
        larger = np.frombuffer((ctypes.c_uint8 * n_bytes).from_address(at), dtype=array.dtype).reshape(shape)
        larger[:used] = array[:used]
        return larger

    def short_table(n_pairs, n_occurrences):
        pairs = [pair for word in words for pair in itertools.pairwise(word)]
        return make(len(set(pairs)), len(pairs))

    def short_rule(*arguments):
        rule = rule_of(*arguments)
        return rule._replace(text=rule.text[: rule.starts.max()].copy())

    for module in growing_arrays, merges:
        monkeypatch.setattr(module, "with_room", with_room)
    monkeypatch.setattr(pair_table, "new_pair_table", short_table)
    monkeypatch.setattr(merges, "tie_rule", short_rule)
    source = random.Random(16)
    # The first merge makes lists of 40, 40, 30, 30, 30 and 30 entries, of which two fit into the place of the former list.
    beside = [b"ad"] * 40 + [b"be"] * 30 + [b"cf"] * 30
    many = {source.randbytes(2) + pair[:1] + b"xy" + pair[1:]: 1 for pair in beside}
    # Merges of pairs that occur once make two others each, of which one is the next to be merged, and its list the last.
    rare = {source.randbytes(4): 1 for _ in range(100)}
    # The first merge makes pairs with each byte on both sides, and with its token.
    everywhere = {bytes(word): 1 for byte in range(256) for word in ([byte, 120, 121], [120, 121, byte])} | {b"xyxy": 1}
    # Tokens end where a character only begins.
    broken = {b"%c\xf0" % byte: 1 for byte in range(100)}
    with pages:
        for words, n_tokens in (many, 400), (rare, 600), (everywhere, 258), (broken, 300):
            assert learned(words, n_tokens) == naive.train(words, n_tokens)[0]
        options = LearningOptions(rules=TokenRules(whole_characters=True))
        assert not len(learn_merges(words_from_dict(broken), 400, options))


# Pairs that are too rare to be merged


SUDDENLY_RARE = st.dictionaries(
    st.text("abcdé", min_size=1, max_size=8).map(str.encode), st.sampled_from([1, 2, 40, 50, 1000]), max_size=14
)


@given(words=SUDDENLY_RARE, n_tokens=st.integers(257, 310), min_frequency=st.sampled_from([1, 1, 2, 45]))
def test_rare_pairs_change_no_merge_whenever_they_are_entered(words, n_tokens, min_frequency):
    assert_textbook(words, n_tokens, min_frequency)


@given(words=SUDDENLY_RARE)
@example(words={b"mn": 5000, b"xyz": 1000, b"xyzxyz": 1})  # "yzx", which was not entered, goes where two "xyz" are made
def test_structures_are_true_to_each_other_where_rare_pairs_are_entered_again(checked, words):
    for n_tokens in 262, 310:
        checked(words, n_tokens)


def test_rare_pairs_that_are_entered_again_are_asked_about():
    # "gh" gets the number that "cd" had, which was allowed just before.
    words = words_from_dict({b"ab": 1000, b"cd": 900, b"ef": 1, b"gh": 2})
    rules = TokenRules(forbidden=lambda token: token == b"gh")
    assert spelled(learn_merges(words, 260, LearningOptions(rules=rules))) == [(b"a", b"b"), (b"c", b"d"), (b"e", b"f")]


def test_pairs_that_no_later_merge_can_need_are_not_entered(sizes, watched):
    # The n-th most frequent word occurs 1 / n times as often as the first, as in text.
    source = random.Random(15)
    words = words_from_dict({bytes(source.choices(b"abcdefgh", k=6)): 100_000 // n for n in range(1, 2000)})
    n_pairs: dict[int, int] = {}
    floors: list[int] = []

    def look(status, linked, table, queue, ties, tokens, *rest):
        n_pairs[int(tokens.state[merge_loop.N_TOKENS])] = int(table.state[pair_table.N_PAIRS])
        floors.append(int(tokens.state[merge_loop.FLOOR]))
        assert status != merge_loop.NEED_RARE

    sizes(budget=1)
    with watched(merge_loop.merge_batch, look):
        more = learn_merges(words, 2000)
        n_with_more = n_pairs[500]
        floors.clear()
        found = learn_merges(words, 500)
    assert found.tolist() == more[: 500 - 256].tolist()
    assert n_pairs[500] < n_with_more / 2
    assert floors == sorted(floors)
    assert floors[-1] > 500


def test_rare_pairs_are_entered_when_no_other_is_left(watched):
    source = random.Random(16)
    words = {source.randbytes(4): 1000 for _ in range(20)} | {source.randbytes(4): 3 for _ in range(20)}
    statuses: Counter[int] = Counter()
    floors = []

    def look(status, linked, table, queue, ties, tokens, *rest):
        statuses[status] += 1
        floors.append(int(tokens.state[merge_loop.FLOOR]))

    with watched(merge_loop.merge_batch, look):
        assert learned(words, 370) == naive.train(words, 370)[0]
        assert statuses[merge_loop.NEED_RARE] == 1
        assert max(floors) > 3
        assert floors[-1] == 0  # and it does not rise again
        # Not where pairs as rare as the floor may not be merged.
        frequent = max(floors)
        assert learned(words, 370, min_frequency=frequent) == naive.train(words, 370, min_frequency=frequent)[0]
    assert statuses[merge_loop.NEED_RARE] == 1
    assert floors[-1] == frequent


def test_the_memory_of_a_table_is_free_when_rare_pairs_are_entered_into_another(watched, monkeypatch):
    tables: list[weakref.ref] = []
    were_alive = []
    enter = merges.pairs_of_linked

    def entered_again(*arguments):
        were_alive.append(any(table() is not None for table in tables))
        return enter(*arguments)

    monkeypatch.setattr(merges, "pairs_of_linked", entered_again)
    with watched(merge_loop.merge_batch, lambda status, linked, table, *_: tables.append(weakref.ref(table.occurrences))):
        assert learned({b"ab": 1000, b"cd": 900, b"ef": 1, b"gh": 1}, 260)
    assert were_alive == [False]


@pytest.mark.parametrize(
    ("limit", "floor_rises"),
    [({"max_token_length": 7}, False), ({"rules": TokenRules(max_letters=3)}, False), ({"max_token_length": 8}, True)],
    ids=str,
)
def test_all_pairs_are_entered_at_once_where_tokens_must_be_short(watched, limit, floor_rises):
    """As these run out, the pairs of the last merges are much rarer than those before, and no floor can be guessed."""
    source = random.Random(17)
    words = words_from_dict({bytes(source.choices(b"abcdefghijkl", k=9)): 100_000 // n for n in range(1, 400)})
    floors = []
    with watched(merge_loop.merge_batch, lambda *call: floors.append(int(call[5].state[merge_loop.FLOOR]))):
        assert len(learn_merges(words, 600, LearningOptions(**limit))) == 600 - 256
    assert any(floors) == floor_rises


def test_scratch_fits_the_longest_list_and_shrinks_with_it(sizes, watched):
    source = random.Random(12)
    words = words_from_dict({bytes(source.choices(b"aab", k=30)): 1 for _ in range(20)} | {b"c" * 2000: 1})
    lengths: list[int] = []

    def look(status, linked, table, queue, ties, tokens, found, *rest):
        lengths.append(len(found))
        assert len(found) >= 2 * table.lengths[: table.state[pair_table.N_PAIRS]].max()

    sizes(budget=1)
    with watched(merge_loop.merge_batch, look):
        learn_merges(words, 2000)
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] == 2 * 1999
    assert lengths[-1] < 1000


def test_scratch_fits_lists_of_pairs_that_are_entered_again(sizes, watched):
    # "abc" is not entered where "ab" is merged, and its list is longer than all others once "bc" is merged, too.
    words = {b"xy": 10**6}
    for first, end in (b"ab", b"bc"), (b"AB", b"BC"):
        words |= {first: 9 * 10**5, end: 8 * 10**5}
        words |= {bytes([130 + i]) + first + end[1:] + bytes([190 + i]): 1 for i in range(60)}
    statuses: Counter[int] = Counter()

    def look(status, linked, table, queue, ties, tokens, found, *rest):
        statuses[status] += 1
        assert len(found) >= 2 * table.lengths[: table.state[pair_table.N_PAIRS]].max()

    sizes(budget=1)
    with watched(merge_loop.merge_batch, look):
        assert learned(words, 263) == naive.train(words, 263)[0]
    assert statuses[merge_loop.NEED_RARE] == 1


def test_all_lists_are_measured_after_much_work_and_not_after_each_question(watched, monkeypatch):
    # Lists are as many as pairs: each time, measuring would take five times as long as all merges of 32,000 tokens.
    statuses: Counter[int] = Counter()
    measured: list[int] = []

    def measure(table, found):
        measured.append(1)
        return _scratch(table, found)

    monkeypatch.setattr("nbbpe.training.merges._scratch", measure)
    source = random.Random(13)
    words = words_from_dict({source.randbytes(6): 1 for _ in range(300)})
    with watched(merge_loop.merge_batch, lambda status, *_: statuses.update([status])):
        learn_merges(words, 500, LearningOptions(rules=TokenRules(forbidden=lambda token: False)))
    assert statuses[merge_loop.NEED_ANSWER] == 500 - 256
    assert len(measured) == 1 + statuses[merge_loop.BATCH_DONE] < 5


def test_more_pairs_than_can_be_numbered_are_refused(monkeypatch):
    source = random.Random(14)
    words = words_from_dict({source.randbytes(9): 1 for _ in range(200)})
    make = pair_table.new_pair_table
    monkeypatch.setattr(pair_table, "new_pair_table", lambda n_pairs, n_occurrences: make(1700, n_occurrences))
    monkeypatch.setattr(growing_arrays, "MOST_PAIRS", 2600)
    assert len(learn_merges(words, 300)) == 300 - 256  # the room that grows by half stays within the limit
    with pytest.raises(OverflowError, match=r"there are 2,[56]\d\d distinct pairs, .* more than 2,600, which is the most"):
        learn_merges(words, 2000)


def test_more_cells_than_can_be_numbered_are_refused():
    starts, counts = np.array([0, 5, 2**32 - 3], dtype=np.int64), np.ones(2, dtype=np.int64)
    assert linked_words.n_cells(2, 2**32 - 4) == linked_words.MOST_CELLS
    with pytest.raises(OverflowError, match=r"hold 4,294,967,293 bytes, .* at most 4,294,967,294 together"):
        linked_words.new_linked_words(starts, counts, 300)


def test_a_long_batch_comes_back_to_report_several_times(sizes):
    source = random.Random(8)
    words = {source.randbytes(6): 1 for _ in range(3000)}
    told: list[int] = []
    sizes(budget=100)
    merges = learn_merges(words_from_dict(words), 3000, report=told.append)
    assert told == sorted(told)
    assert told[-1] == 256 + len(merges)
    assert len(told) > 10


# The queue


@njit
def bucket(count):
    return bucket_queue.bucket_of(count)


def test_buckets_are_the_twins_never_fall_and_end_in_range():
    edges = [2**n + d for n in range(63) for d in (-2, -1, 0, 1, 2, 2**n // 3) if 0 <= 2**n + d < 2**63]
    counts = sorted({*range(5000), *edges, 2**63 - 1})
    buckets = [bucket(count) for count in counts]
    assert buckets == [naive.bucket(count) for count in counts]
    assert buckets == sorted(buckets)
    assert buckets[-1] < bucket_queue.N_BUCKETS
    assert [bucket(count) for count in range(2048)] == list(range(2048))


# One word that is the whole corpus


def replaced(symbols: np.ndarray, left: int, right: int, token: int) -> np.ndarray:
    """Every (left, right) replaced by token, left to right."""
    hits = np.flatnonzero((symbols[:-1] == left) & (symbols[1:] == right))
    if left == right:  # of a run of hits, every other one
        starts = np.flatnonzero(np.diff(hits, prepend=-2) != 1)
        run = np.repeat(starts, np.diff(starts, append=len(hits)))
        hits = hits[(np.arange(len(hits)) - run) % 2 == 0]
    out = symbols.copy()
    out[hits] = token
    return np.delete(out, hits + 1)


def assert_merges_of_one_word(word: np.ndarray, n_merges: int) -> None:
    """Recount all pairs with NumPy before each merge."""
    merges = learn_merges(words_from_dict({word.tobytes(): 1}), 256 + n_merges).tolist()
    assert len(merges) == n_merges
    symbols = word.astype(np.int32)
    tokens = list(BYTES.values())
    for token, merged in enumerate(merges, start=256):
        counts = np.bincount(symbols[:-1] * 512 + symbols[1:])
        best = [divmod(int(pair), 512) for pair in np.flatnonzero(counts == counts.max())]
        left, right = max(best, key=lambda pair: (tokens[pair[0]], tokens[pair[1]]))
        assert merged == [left, right]
        symbols = replaced(symbols, left, right, token)
        tokens.append(tokens[left] + tokens[right])


@pytest.mark.exhaustive
def test_one_word_of_millions_of_letters():
    letters = np.frombuffer(b"ACGT", dtype=np.uint8)
    assert_merges_of_one_word(letters[np.random.default_rng(9).integers(0, 4, examples(1_000_000, 10_000_000))], 16)


@pytest.mark.exhaustive
def test_millions_of_times_the_same_letter():
    word = np.full(examples(2_000_000, 10_000_000), ord("a"), dtype=np.uint8)
    assert_merges_of_one_word(word, examples(20, 30))


def test_the_numpy_twin_replaces_as_the_plain_one_does():
    source = random.Random(10)
    for _ in range(200):
        symbols = source.choices([1, 2], k=source.randrange(1, 30))
        for left, right in (1, 1), (1, 2):
            assert replaced(np.array(symbols), left, right, 3).tolist() == naive.merge_word(symbols, left, right, 3)
