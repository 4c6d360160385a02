"""kernels/encoding/merge_table.py against a dict, and the ways of merging a pretoken against the textbook."""

from __future__ import annotations

import random

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from vocabularies import BYTES

import nbbpe
from nbbpe.kernels.encoding import merge_long, merge_pretoken, merge_short, merge_table
from nbbpe.kernels.encoding.merge_table import MAX_RANKS, NO_SYMBOL, Merges, new_merges
from nbbpe.kernels.machine.intrinsics import LINE, NO_RANK, address_of, write_byte_pairs
from nbbpe.kernels.machine.large_pages import zeros
from nbbpe.model.packed_vocab import PackedVocab
from nbbpe.model.rank_vocab import merges_by_rank
from nbbpe.model.vocab_checks import MOST_MERGES, MOST_TOKENS

pytestmark = pytest.mark.usefixtures("guarded_arrays")

SHORT, HEAP, RANKS, ANY = range(4)  # the ways of merging
BYTE_IDS = np.arange(256, dtype=np.int32)[::-1].copy()  # not the bytes' own numbers, so that one is not taken for the other


@njit
def look_up(lefts, rights, merges, ranks):
    merges_at = merge_table.merges_addresses(merges)
    for i in range(lefts.shape[0]):
        if lefts[i] < 256 and rights[i] < 256:
            ranks[i] = merge_table.byte_pair_rank(merges_at, lefts[i], rights[i])
        else:
            ranks[i] = merge_table.pair_rank(merges_at, lefts[i], rights[i])


@njit
def apply(text, n, merges, scratch, out, way, id_size):
    merges_at = merge_table.merges_addresses(merges)
    if way == HEAP:
        return merge_long.merge_long(address_of(text), n, merges_at, address_of(scratch), address_of(out), id_size)
    if way == RANKS:
        return merge_long.merge_by_rank(address_of(text), n, merges_at, address_of(scratch), address_of(out), id_size)
    if way == ANY:
        return merge_pretoken.merge_pretoken(address_of(text), n, merges_at, address_of(scratch), address_of(out), id_size)
    return merge_pretoken.merge_short(address_of(text), n, merges_at, address_of(scratch), address_of(out), id_size)


@njit
def settle(text, n, merges, scratch, out):
    merges_at = merge_table.merges_addresses(merges)
    merge_short.start_short(address_of(scratch), address_of(text), n, merges_at)
    merge_short.settle_short(address_of(scratch), merges_at)
    return merge_short.finish_short(address_of(scratch), merges_at, address_of(out), 4)


@njit
def merge_together(text, starts, merges, scratch, out, ends):
    """The ids of pretokens that stand side by side, each merged in a lane of its own; ends[i] is where those of one end."""
    merges_at, lanes_at, n = merge_table.merges_addresses(merges), address_of(scratch), starts.shape[0] - 1
    for i in range(n):
        merge_short.start_short(
            lanes_at + i * merge_short.LANE_BYTES, address_of(text) + starts[i], starts[i + 1] - starts[i], merges_at
        )
    merge_short.merge_lanes(lanes_at, n, merges_at)
    n_ids = 0
    for i in range(n):
        n_ids += merge_short.finish_short(lanes_at + i * merge_short.LANE_BYTES, merges_at, address_of(out) + 4 * n_ids, 4)
        ends[i] = n_ids


@njit
def write_pairs(symbols, turns, text, before, first, n, pairs):
    write_byte_pairs(address_of(symbols), address_of(turns), address_of(text), before, first, n, address_of(pairs))


@njit
def first_entry(key, mask, secret):
    return merge_table.first_entry(key, mask, secret)


def ranks_of(merges: Merges, pairs: list[tuple[int, int]]) -> list[int]:
    lefts, rights = np.array(pairs, dtype=np.int64).reshape(-1, 2).T.copy()
    ranks = np.empty(len(pairs), dtype=np.int64)
    look_up(lefts, rights, merges, ranks)
    return ranks.tolist()


def table_of(pairs: list[tuple[bytes, bytes]], in_order: bool = False) -> tuple[Merges, dict[bytes, int]]:
    """The tables of merges in rank order, and the id of each token: other tokens' start at 300, in no order or in this."""
    ids = {bytes([byte]): int(BYTE_IDS[byte]) for byte in range(256)}
    results = list(dict.fromkeys(left + right for left, right in pairs))
    if not in_order:
        random.Random(1).shuffle(results)
    ids.update({token: 300 + (2 - in_order) * i for i, token in enumerate(results)})
    columns = [[ids[left], ids[right], rank, ids[left + right]] for rank, (left, right) in enumerate(pairs)]
    parts = np.array(columns, dtype=np.int32).reshape(-1, 4).T.copy()
    return new_merges(*parts, BYTE_IDS), ids


def merged(pretoken: bytes, merges: Merges, way: int, id_size: int) -> list[int]:
    text = np.frombuffer(pretoken, dtype=np.uint8)
    out = np.empty(len(pretoken), dtype=f"<u{id_size}")
    # For merges that ascend the scratch has no room for a heap, and for short pretokens none for lists.
    room_for = merges._replace(n_ascending=0) if way == HEAP else merges
    n_words = len(
        merge_pretoken.new_scratch(len(pretoken) if way == ANY else max(len(pretoken), merge_short.SHORT + 1), room_for)
    )
    scratch = zeros(n_words + 8)
    n = apply(text, len(pretoken), merges, scratch, out, way, id_size)
    assert not scratch[n_words:].any()  # what is behind it was not touched
    return out[:n].tolist()


def assert_merged(pretoken: bytes, pairs: list[tuple[bytes, bytes]], merges: Merges, ids: dict[bytes, int]) -> None:
    ranks = {pair: rank for rank, pair in reversed(list(enumerate(pairs)))}
    wanted = [ids[token] for token in naive.encode_pretoken(pretoken, ranks)]
    for id_size in 2, 4:
        assert merged(pretoken, merges, HEAP, id_size) == wanted
        if len(pretoken) <= merge_short.SHORT:
            assert merged(pretoken, merges, SHORT, id_size) == wanted
        if merges.n_ascending:
            assert merged(pretoken, merges, RANKS, id_size) == wanted


def random_pairs(source: random.Random, alphabet: bytes, n: int, ascending: bool) -> list[tuple[bytes, bytes]]:
    tokens = [bytes([byte]) for byte in alphabet]
    pairs: dict[tuple[bytes, bytes], None] = {}
    for _ in range(n):
        pair = source.choice(tokens), source.choice(tokens)
        pairs[pair] = None
        tokens.append(pair[0] + pair[1])
    ordered = list(pairs)
    if ascending:
        made: dict[bytes, tuple[bytes, bytes]] = {}
        for left, right in ordered:
            made.setdefault(left + right, (left, right))  # or a token could be made once more, after those made of it
        return list(made.values())
    source.shuffle(ordered)
    return ordered


def test_every_pair_has_its_rank_and_others_have_none():
    source = random.Random(5)
    for n in 0, 1, 7, 8, 9, 300, 5000:
        symbols = range(256 + n)
        pairs = list({(source.choice(symbols), source.choice(symbols)): None for _ in range(n)})
        ids = np.arange(256 + n, dtype=np.int32)
        lefts, rights = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
        ranks = np.arange(len(pairs), dtype=np.int32)
        merges = new_merges(lefts.copy(), rights.copy(), ranks, ids[256 : 256 + len(pairs)], ids[:256])
        assert ranks_of(merges, pairs) == ranks.tolist()
        known = dict(zip(pairs, ranks.tolist(), strict=True))
        others = [(source.choice(symbols), source.choice(symbols)) for _ in range(1000)]
        others += [(left, NO_SYMBOL) for left in range(256, 256 + n)] + [(NO_SYMBOL, left) for left in range(256, 256 + n)]
        assert ranks_of(merges, others) == [known.get(pair, NO_RANK) for pair in others]
        assert merges.entries.ctypes.data % 64 == 0
        assert len(merges.entries) >= 2 * n


def test_lines_that_are_full_run_over_into_the_next(monkeypatch):
    # By a secret of 0 all pairs hash alike, so that they fill one line after another.
    merges, _ = table_of([])
    merges = merges._replace(secret=np.uint64(0))
    entries = np.full(LINE * 65, 2**64 - 1, dtype=np.uint64)
    entries = entries[(-entries.ctypes.data % 64) // 8 :][: LINE * 64]
    merges = merges._replace(entries=entries)
    n = np.arange(LINE * 32, dtype=np.int64)
    merges = merges._replace(joins=merges.joins[:0])
    merge_table.fill_merges(n * 0 + 256 + n // 16, 256 + n % 16, n, n, n[:0], merges)
    pairs = list(zip((256 + n // 16).tolist(), (256 + n % 16).tolist(), strict=True))
    assert ranks_of(merges, pairs) == n.tolist()
    assert ranks_of(merges, [(300, left) for left in range(256, 300)]) == [NO_RANK] * 44


@pytest.mark.parametrize(("n", "n_lines"), [(7, 1), (8, 1), (60, 8), (500, 64), (20, 64)])
def test_only_lines_that_run_over_say_so(n, n_lines):
    entries = np.full(LINE * (n_lines + 1), 2**64 - 1, dtype=np.uint64)
    entries = entries[(-entries.ctypes.data % 64) // 8 :][: LINE * n_lines]
    merges, _ = table_of([])
    merges = merges._replace(entries=entries, joins=merges.joins[:0], secret=np.uint64(0x9E3779B97F4A7C15))
    lefts = np.array(random.Random(1).sample(range(256, 2000), n), dtype=np.int64)
    merge_table.fill_merges(lefts, lefts + 1, np.arange(n), lefts, lefts[:0], merges)
    over = set()
    for place in np.flatnonzero(entries != 2**64 - 1).tolist():
        key = int(entries[place]) >> 22
        line = first_entry(np.uint64(key), len(entries) - 1, merges.secret) // LINE
        assert line == naive.first_line(key >> 21, key % 2**21, int(merges.secret), n_lines)
        while line != place // LINE:
            over.add(line)
            line = (line + 1) % n_lines
    assert [line for line in range(n_lines) if int(entries[LINE * line + LINE - 1]) >> 21 & 1 == 0] == sorted(over)
    assert (len(over) > 0) == (n > 6 * n_lines and n_lines > 1)
    assert ranks_of(merges, [(left, left + 1) for left in lefts.tolist()]) == list(range(n))
    assert ranks_of(merges, [(left, left + 2) for left in lefts.tolist()]) == [NO_RANK] * n


def test_merges_out_of_order_are_an_error():
    ids = np.arange(259, dtype=np.int32)
    with pytest.raises(ValueError, match="ascending rank"):
        new_merges(ids[:2], ids[2:4], np.array([1, 0], dtype=np.int32), ids[256:258], ids[:256])


@pytest.mark.slow
def test_of_a_pair_that_comes_twice_the_lower_rank_stays():
    for pair in (b"a", b"b"), (b"ab", b"c"):
        merges, ids = table_of([(b"a", b"b"), pair, (b"x", b"y"), pair])
        for text, wanted in (
            (b"xy", [b"xy"]),
            (b"ab", [b"ab"]),
            (b"abc", [pair[0] + pair[1]] + [b"c"] * (len(pair[0]) == 1)),
        ):
            assert merged(text, merges, SHORT, 2) == [ids[token] for token in wanted]


@pytest.mark.parametrize("alphabet", [b"ab", b"abc", b"a", b"\x00\xff", b"the cat"])
def test_pretokens_of_every_length_are_merged_as_the_textbook_does(alphabet):
    source = random.Random(len(alphabet))
    for n_merges in 0, 1, 5, 40:
        for in_order in False, True:
            pairs = random_pairs(source, alphabet, n_merges, in_order)
            merges, ids = table_of(pairs, in_order)
            assert not in_order or merges.n_ascending == len(pairs)
            for n in [*range(1, 70), 127, 128, 129, 253, 254, 255, 300]:
                assert_merged(bytes(source.choices(alphabet, k=n)), pairs, merges, ids)


@pytest.mark.parametrize("n_lanes", [1, 2, 16, 17, 63])
@pytest.mark.parametrize("in_order", [False, True])
def test_pretokens_in_lanes_are_merged_as_the_textbook_does(n_lanes, in_order):
    source = random.Random(n_lanes)
    pairs = random_pairs(source, b"the cat", 40, in_order)
    merges, ids = table_of(pairs, in_order)
    ranks = {pair: rank for rank, pair in reversed(list(enumerate(pairs)))}
    for longest in 1, 3, 12, 40, merge_short.SHORT:
        pretokens = [bytes(source.choices(b"the cat", k=source.randint(1, longest))) for _ in range(n_lanes)]
        text, starts = np.frombuffer(b"".join(pretokens), dtype=np.uint8), np.cumsum([0, *map(len, pretokens)])
        out, ends = np.empty(len(text), dtype=np.uint32), np.empty(n_lanes, dtype=np.int64)
        scratch = zeros(n_lanes * merge_short.LANE_BYTES // 8)
        scratch[:] = source.getrandbits(64)  # what pretokens before them left there
        merge_together(text, starts, merges, scratch, out, ends)
        parts = [[ids[token] for token in naive.encode_pretoken(pretoken, ranks)] for pretoken in pretokens]
        assert [part.tolist() for part in np.split(out[: ends[-1]], ends[:-1])] == parts


@given(st.binary(min_size=16, max_size=16), st.integers(0, 255), st.sampled_from([0, 16, 240]), st.integers(1, 254))
def test_pairs_of_bytes_are_written_as_the_twin_writes_them(text, before, first, n):
    pairs = np.random.default_rng(n).integers(0, 1 << 24, 1 << 16, dtype=np.uint32)
    symbols, turns = np.full((2, 18), 7, dtype=np.uint32)
    write_pairs(symbols[1:-1], turns[1:-1], np.frombuffer(text, dtype=np.uint8), before, first, n, pairs)
    wanted_symbols, wanted_turns = naive.byte_pairs(text, before, first, n, pairs.tolist())
    assert symbols.tolist() == [7, *wanted_symbols, 7]
    assert turns.tolist() == [7, *wanted_turns, 7]


@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=255), st.integers(0, 60), st.booleans())
def test_any_bytes_and_merges(seed, pretoken, n_merges, ascending):
    pairs = random_pairs(random.Random(seed), pretoken, n_merges, ascending)
    merges, ids = table_of(pairs)
    assert_merged(pretoken, pairs, merges, ids)


def settled(pretoken: bytes, merges: Merges) -> list[int]:
    out = np.empty(len(pretoken), dtype=np.uint32)
    scratch = merge_pretoken.new_scratch(len(pretoken), merges)
    n = settle(np.frombuffer(pretoken, dtype=np.uint8), len(pretoken), merges, scratch, out)
    return out[:n].tolist()


@given(st.integers(0, 10**6), st.sampled_from([b"a", b"ab", b"abc", b"the cat \xe4\xb8"]), st.integers(1, 254))
def test_merges_that_nothing_can_come_before_are_those_of_the_twin(seed, alphabet, n):
    source = random.Random(seed)
    n_merges = source.randrange(60)
    pairs = random_pairs(source, alphabet, n_merges, ascending=True)
    merges, ids = table_of(pairs)
    pretoken = bytes(source.choices(alphabet, k=n))
    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    assert settled(pretoken, merges) == [ids[token] for token in naive.settle(pretoken, ranks, 63)]


def test_merges_that_another_may_come_before_wait():
    ab, cd, da = (b"a", b"b"), (b"c", b"d"), (b"d", b"a")
    for pairs, text, wanted in (
        ([ab], b"xabx", [b"x", b"ab", b"x"]),
        ([ab, cd], b"abcdab", [b"ab", b"cd", b"ab"]),
        ([da, ab], b"dab", [b"da", b"b"]),
        ([ab, da], b"dab", [b"d", b"ab"]),
        ([cd, (b"b", b"cd"), ab], b"abcd", [b"a", b"b", b"cd"]),  # then b cd, and not a b
        ([cd, (b"b", b"cd"), ab], b"ab", [b"a", b"b"]),  # though nothing comes after it here
        ([cd, (b"cd", b"a"), ab], b"cdab", [b"cd", b"a", b"b"]),
        ([cd, (b"cd", b"a"), ab], b"abcd", [b"ab", b"cd"]),  # nothing is before the first
        ([cd, ab, (b"b", b"cd"), (b"cd", b"a")], b"abcdab", [b"ab", b"cd", b"ab"]),
        ([(b"a", b"a")], b"aaaaa", [b"aa", b"a", b"a", b"a"]),
        ([ab], b"ab" * 33, [b"ab"] * 32 + [b"a", b"b"]),  # no more than the first 63 places
        ([(b"ab", b"c"), ab], b"abc", [b"a", b"b", b"c"]),  # merges that do not ascend
    ):
        merges, ids = table_of(pairs)
        assert settled(text, merges) == [ids[token] for token in wanted]
        assert_merged(text, pairs, merges, ids)


def test_a_byte_of_a_pair_is_contested_where_a_merge_with_several_bytes_has_a_lower_rank():
    pairs = [(b"a", b"b"), (b"c", b"d"), (b"ab", b"c"), (b"b", b"cd"), (b"d", b"b"), (b"c", b"c"), (b"b", b"b")]
    merges, _ = table_of(pairs)
    contested = {
        bytes(divmod(place, 256)): entry & merge_table.BOTH_CONTESTED
        for place, entry in enumerate(merges.byte_pairs.tolist())
        if entry >> merge_table.CONTEST_BITS != NO_RANK
    }
    left, right = merge_table.LEFT_CONTESTED, merge_table.RIGHT_CONTESTED
    assert contested == {b"ab": 0, b"cd": 0, b"db": right, b"cc": left, b"bb": right}


@given(st.integers(0, 10**6), st.text("ab", min_size=1, max_size=60), st.integers(1, 40), st.booleans())
def test_pairs_of_one_rank_that_lie_in_each_other_merge_from_left_to_right(seed, pretoken, n_tokens, by_length):
    # Merged by the rank of joined bytes, several pairs have one rank, and all of them may stand side by side: a|ba|b.
    source = random.Random(seed)
    tokens = list({bytes(source.choices(b"ab", k=source.randrange(2, 7))): None for _ in range(n_tokens)})
    if by_length:
        tokens.sort(key=len)
    ranks = {token: rank for rank, token in enumerate([*BYTES.values(), *tokens])}
    merges = merges_by_rank(PackedVocab.of({rank: token for token, rank in ranks.items()}))
    assert merges.n_ascending or not by_length or len(tokens[0]) > 2
    wanted = [ranks[token] for token in naive.merge_by_ranks(pretoken.encode(), ranks)]
    for way in [SHORT, HEAP, RANKS] if merges.n_ascending else [SHORT, HEAP]:
        assert merged(pretoken.encode(), merges, way, 2) == wanted


def test_merges_ascend_if_each_has_a_higher_rank_than_those_that_make_its_sides():
    for pairs, n_ascending in (
        ([], 0),
        ([(b"a", b"b")], 1),
        ([(b"a", b"b"), (b"ab", b"c"), (b"c", b"ab")], 3),
        ([(b"ab", b"c"), (b"a", b"b")], 0),
        ([(b"c", b"ab"), (b"a", b"b")], 0),
        ([(b"a", b"b"), (b"ab", b"c"), (b"b", b"c"), (b"a", b"bc")], 4),
        ([(b"a", b"b"), (b"ab", b"c"), (b"abc", b"d"), (b"b", b"c"), (b"a", b"bc")], 0),  # abc is made once more
    ):
        assert table_of(pairs)[0].n_ascending == n_ascending


@pytest.mark.parametrize("alphabet", [b"a", b"ab", b"abcdefgh"])
def test_very_long_pretokens_are_the_same_by_heap_and_by_ranks(alphabet):
    source = random.Random(len(alphabet))
    pairs = random_pairs(source, alphabet, 300, ascending=True)
    merges, _ = table_of(pairs)
    for n in merge_short.SHORT, merge_short.SHORT + 1, 1000, 50_000:
        pretoken = bytes(source.choices(alphabet, k=n))
        wanted = merged(pretoken, merges, HEAP, 4)
        assert merged(pretoken, merges, RANKS, 4) == wanted
        assert merged(pretoken, merges, ANY, 4) == wanted


def test_every_rank_is_met_however_many_there_are():
    # The lists of ranks are found by a bit for each, in words of 64 and groups of 64 words: here there are three groups.
    source = random.Random(3)
    letters = [bytes([byte]) for byte in range(100)]
    pairs = [(left, right) for left in letters for right in letters]
    source.shuffle(pairs)
    pairs += list({(left + right, source.choice(letters)): None for left, right in source.sample(pairs, 2000)})
    merges, ids = table_of(pairs)
    for n in 255, 3000:
        text = bytes(source.choices(range(100), k=n))
        assert_merged(text, pairs, merges, ids)
        # Pairs of ranks beside the limits of words and groups.
        chosen = [pairs[rank] for rank in (0, 63, 64, 4095, 4096, 4097, 8191, 8192, 9999, 10_000)]
        assert_merged(b"".join(left + right for left, right in source.choices(chosen, k=n // 2)), pairs, merges, ids)


@njit
def all_counted(numbers, n, out):
    for i in range(n):
        out[i] = merge_table.number_at(address_of(numbers), numbers.shape[0] - 1, i)


@pytest.mark.parametrize(
    ("numbers", "n_kept"),
    [([], 1), ([7], 1), ([7, 8, 9], 1), ([7, 9], 2), ([3, 2, 1], 3), ([5, 9, 10, 11], 2), ([5, 6, 0, 1], 3), ([4, 4], 2)],
)
def test_numbers_that_count_on_are_left_out_and_found_again(numbers, n_kept):
    kept = merge_table.without_final_run(np.array(numbers, dtype=np.int64))
    assert len(kept) == n_kept
    out = np.empty(len(numbers), dtype=np.int64)
    all_counted(kept, len(numbers), out)
    assert out.tolist() == numbers


def test_a_vocabulary_in_the_order_of_its_merges_keeps_few_numbers():
    merges, _ = table_of([(b"a", b"b"), (b"ab", b"c"), (b"x", b"y")], in_order=True)
    assert len(merges.symbols) == 1
    assert len(merges.ids) == 257


def test_too_many_tokens_for_the_tables_are_an_error():
    n = NO_SYMBOL
    assert n - 1 == MOST_TOKENS
    assert MAX_RANKS - 1 == MOST_MERGES
    ids = np.arange(n, dtype=np.int32)
    with pytest.raises(ValueError, match="2,097,150 tokens"):
        new_merges(ids[256:], ids[256:], ids[256:], ids[256:], ids[:256])


@njit
def place_in_a_list(groups, words, ends, blocks, position):
    lists = address_of(groups), address_of(words), address_of(ends), address_of(blocks)
    merge_long.add_place(lists, np.int64(-1), np.int64(0), np.int64(0), position)
    return merge_long.place_of(address_of(blocks), 0)


@pytest.mark.parametrize("position", [0, 2**31 - 1, 2**31, merge_long.MOST_BYTES - 1])
def test_every_position_of_the_longest_pretoken_fits_in_a_list(position):
    # A position from 2^31 on was read as a negative number, that is, as a row before all rows.
    groups, words, ends, blocks = (zeros(n) for n in (1, 1, 1, 16))
    assert place_in_a_list(groups, words, ends, blocks, position) == position


@pytest.mark.parametrize("options", [{}, {"dropout": 0.5, "seed": 1}])
@pytest.mark.parametrize("pattern", [None, "gpt2"])
def test_a_pretoken_whose_positions_do_not_fit_is_an_error(monkeypatch, pattern, options):
    monkeypatch.setattr(merge_long, "MOST_BYTES", 1000)
    tok = nbbpe.Tokenizer(BYTES | {256: b"aa"}, [(b"a", b"a")], pattern=pattern)
    assert 500 <= len(tok.encode("a" * 1000, **options)) <= 1000
    with pytest.raises(OverflowError, match="a stretch of 1,001 bytes that the pattern may not split"):
        tok.encode("a" * 1001, **options)
    assert tok.encode("aaa") == [256, 97]
