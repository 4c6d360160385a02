"""Tables of kernels/pieces/piece_table.py, also while they grow, against a dict: keys of all lengths, with NULs."""

from __future__ import annotations

import random
from collections import Counter

import naive
import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from numba import njit, typeof
from piece_tables import assert_holds, filled, find, find_slot, insert, insert_key, key_in

from nbbpe.counting.word_counts import WordCounts, words_from_dict
from nbbpe.counting.word_table import WordTable
from nbbpe.kernels.machine import secret
from nbbpe.kernels.machine.intrinsics import PADDING, address_of
from nbbpe.kernels.pieces import piece_table
from nbbpe.kernels.pieces.growing_table import LARGE_SLOTS, SlotRoom, grown, spread
from nbbpe.kernels.pieces.piece_table import (
    INLINE_BYTES,
    N_ENTRIES,
    POOL_START,
    POOL_USED,
    SLOT_WORDS,
    PieceTable,
)
from nbbpe.kernels.training import count_pieces
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.text.utf8 import padded, to_text


def test_keys_of_every_length_are_kept_apart():
    keys = [letter * n for n in range(1, 41) for letter in (b"a", b"b", b"\x00", b"\xff")]
    assert_holds(filled(keys), keys)


def test_keys_that_are_prefixes_of_each_other_are_kept_apart():
    for whole in (bytes(range(40)), bytes(40), b"\x00" * 15 + b"a" * 25, bytes(range(255, 215, -1))):
        keys = [whole[:n] for n in range(1, 41)]
        assert_holds(filled(keys), keys)


def test_keys_that_differ_in_one_byte_are_kept_apart():
    for n in 1, 2, 7, 8, 9, 14, 15, 16, 17, 23, 24, 25, 31, 32, 33, 40:
        letters = b"\x00", b"y", b"\xff"
        keys = [b"x" * n] + [b"x" * i + letter + b"x" * (n - 1 - i) for i in range(n) for letter in letters]
        assert_holds(filled(keys), keys)


def test_trailing_nulls_are_part_of_a_key():
    keys = [b"a" + bytes(n) for n in range(40)] + [bytes(n) for n in range(1, 40)]
    assert_holds(filled(keys), keys)


def test_a_key_that_is_not_there_is_not_found():
    table = filled([b"a", b"ab", b"x" * 16, b"x" * 15])
    for key in b"b", b"a\x00", b"x" * 14, b"x" * 17, b"y" * 16, b"x" * 15 + b"y":
        assert find(table, key) == -1


def test_bytes_after_a_key_do_not_matter():
    table = filled([b"abc", b"0123456789abcdef"])
    for tail in b"", b"\x00", b"zzz" * 20:
        for key in b"abc", b"0123456789abcdef":
            assert find_slot(table, padded(key + tail), len(key)) >= 0


@pytest.mark.parametrize("size", [1, INLINE_BYTES, INLINE_BYTES + 1, 30])
def test_many_keys_grow_the_slots_and_the_pool(size):
    source = random.Random(size)
    keys = sorted({source.randbytes(source.randrange(max(1, size - 3), size + 4)) for _ in range(3000)})
    table = filled(keys)
    assert_holds(table, keys)
    assert len(table.slots) * 3 >= 8 * SLOT_WORDS * len(keys)  # five in eight slots stay free, so that searches are short


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6, 7, 12, 13, 96, 97, 1000])
def test_a_table_that_is_made_for_so_many_keys_takes_them_and_grows_after_them(n):
    table = piece_table.new_table(piece_table.slots_for(n), 0)
    keys = [b"%d" % number for number in range(n)]
    assert min((insert_key(table, padded(key), 0, len(key)) for key in keys), default=0) >= 0
    half = len(table.slots) // SLOT_WORDS // 2
    assert half < 4 or 8 * n > 3 * half, "half of the slots would do"
    n_more = next(i for i in range(10**6) if insert_key(table, padded(b"more %d" % i), 0, len(b"more %d" % i)) < 0)
    assert piece_table.is_full(table)
    assert n + n_more == -(-3 * len(table.slots) // SLOT_WORDS // 8)


def in_longer_memory(table: PieceTable, factor: int) -> PieceTable:
    """The table with so many times as many slots, of which the others are empty."""
    slots = piece_table.new_table(factor * len(table.slots) // SLOT_WORDS, 0).slots
    slots[: len(table.slots)] = table.slots
    return table._replace(slots=slots)


@pytest.mark.parametrize("factor", [2, 4, 8])
@pytest.mark.parametrize("capacity", [2, 4, 64, 1024])
def test_entries_are_spread_over_a_table_that_has_become_longer(factor, capacity):
    """As if they had been moved into another: each is found, with its value, and no other."""
    source = random.Random(capacity)
    for n_keys in {3 * capacity // 8, capacity // 4, 0, 1}:
        keys = [b"%d" % i * source.choice([1, 1, 9]) for i in range(n_keys)]
        table = filled(keys, capacity, 1 << 16)
        assert len(table.slots) == SLOT_WORDS * capacity
        longer = in_longer_memory(table, factor)
        n_before = len(table.slots)
        assert spread(longer, n_before, np.full(n_before // 2 + SLOT_WORDS, 7, dtype=np.uint64)) == 0
        assert_holds(longer, keys)


def test_entries_of_one_home_are_found_after_they_were_spread():
    table = piece_table.new_table(1 << 10, 0)
    table.state[piece_table.SECRET :] = 0  # by which all keys of up to 4 bytes have one home
    keys = [b"%04d" % i for i in range(piece_table.MOST_PROBES)]
    assert min(insert_key(table, padded(key), 0, 4) for key in keys) >= 0
    table = in_longer_memory(table, 2)
    assert spread(table, SLOT_WORDS << 10, np.empty(SLOT_WORDS << 9, dtype=np.uint64)) == 0
    assert min(find(table, key) for key in keys) >= 0


def test_entries_that_find_no_slot_when_they_are_spread_are_kept_with_another_secret():
    n_keys = 2 * piece_table.MOST_PROBES
    table = piece_table.new_table(2 * n_keys, 0)
    table.state[piece_table.SECRET :] = 0  # by which all keys of up to 4 bytes have one home
    # As no search could have left them: more with this home than a search reads.
    for number in range(n_keys):
        table.slots[SLOT_WORDS * number : SLOT_WORDS * (number + 1)] = *key_words(b"%04d" % number), number, n_keys
    table.state[N_ENTRIES] = n_keys
    found, room = grown(table, SlotRoom(table.slots), 4)
    assert len(found.slots) > len(table.slots)
    assert found.state[piece_table.SECRET :].all()
    assert_holds(found, [b"%04d" % number for number in range(n_keys)])
    again, _ = room.lengthened(found, len(found.slots) // SLOT_WORDS)
    assert again.slots.ctypes.data == found.slots.ctypes.data


def key_words(key: bytes) -> tuple[int, int]:
    """The two words of a short key."""
    whole = int.from_bytes(key.ljust(15, b"\0") + bytes([len(key)]), "little")
    return whole & 2**64 - 1, whole >> 64


def test_a_table_grows_where_it_is_as_long_as_there_is_room():
    table = piece_table.new_table(4, 1 << 16)
    room = SlotRoom(table.slots)
    places = set()
    keys = [b"%d" % number for number in range(3 * LARGE_SLOTS)]
    for number, key in enumerate(keys):
        text = padded(key)
        if (slot := insert_key(table, text, 0, len(key))) < 0:
            table, room = grown(table, room, len(key))
            places.add(table.slots.ctypes.data)
            slot = insert_key(table, text, 0, len(key))
        table.slots[slot + 2 : slot + 4] = number, len(keys)
    assert_holds(table, keys)
    assert len(places) == 1


@njit
def search_order(home, n_words):
    """All slots in the order of the search that starts at `home`."""
    slots = [home]
    while len(slots) < n_words // SLOT_WORDS:
        slots.append(piece_table.next_slot(slots[-1], home, n_words))
    return slots


@pytest.mark.parametrize("capacity", [2, 4, 64])
def test_a_search_goes_through_the_line_of_its_home_and_then_line_after_line(capacity):
    for home in range(capacity):
        line = home & ~1
        expected = [home, home ^ 1, *((line + 2 + i) % capacity for i in range(capacity - 2))]
        assert [slot // SLOT_WORDS for slot in search_order(home * SLOT_WORDS, capacity * SLOT_WORDS)] == expected


@njit
def hash_of(text, length, state):
    return piece_table.long_hash(address_of(text), length, address_of(state))


@pytest.mark.parametrize("kind", ["random", "least", "greatest"])
def test_the_hash_of_a_long_key_is_that_of_the_twin(kind):
    source = random.Random(2)
    for length in [*range(16, 60), 100, 1000, 10_000]:
        key = source.choice([source.randbytes(length), bytes(length), b"\xff" * length])
        numbers = [{"random": source.getrandbits(n), "least": 0, "greatest": 2**n - 1}[kind] for n in (64, 64, 60)]
        table = piece_table.new_table(4, 0)
        at = piece_table.SECRET + secret.LONG
        table.state[at : at + 3] = np.array(numbers, dtype=np.uint64).view(np.int64)
        hashed = int(hash_of(padded(key), length, table.state))
        assert hashed < 2**63
        assert hashed % (2**61 - 1) == naive.long_hash(key, numbers)


@njit
def is_stored(stored, text, start, length):
    return piece_table.equals_pool(address_of(stored), address_of(text) + start, length)


def test_long_keys_of_equal_hashes_are_compared_byte_by_byte():
    """Directly, as no two keys that a test could find have one hash."""
    for length in range(INLINE_BYTES + 1, 50):
        key = bytes(range(1, length + 1))
        stored = padded(length.to_bytes(8, "little") + key)
        assert is_stored(stored, padded(b"<" + key), 1, length)
        assert not is_stored(stored, padded(key), 0, length - 1)
        assert not is_stored(stored, padded(key + b"x"), 0, length + 1)
        for place in range(length):
            assert not is_stored(stored, padded(key[:place] + b"x" + key[place + 1 :]), 0, length), (length, place)


def test_a_short_key_is_no_long_one_whose_hash_it_spells():
    table = piece_table.new_table(16, 1 << 10)
    table.state[piece_table.SECRET :] = 0  # by which all keys have one home
    long = bytes(range(40, 73))
    hashed = int(hash_of(padded(long), len(long), table.state)).to_bytes(8, "little")
    assert insert_key(table, padded(hashed), 0, 8) == 0
    assert find(table, long) == -1
    assert insert_key(table, padded(long), 0, len(long)) == find(table, long) == SLOT_WORDS
    assert key_in(table, SLOT_WORDS) == long


def test_a_search_ends_after_so_many_slots():
    table = piece_table.new_table(1 << 12, 0)
    table.state[piece_table.SECRET :] = 0  # by which all keys of up to 4 bytes have one home
    keys = [b"%04d" % i for i in range(2 * piece_table.MOST_PROBES)]
    slots = [insert_key(table, padded(key), 0, 4) for key in keys]
    assert slots[piece_table.MOST_PROBES :] == [-1] * piece_table.MOST_PROBES
    assert min(slots[: piece_table.MOST_PROBES]) >= 0
    assert table.state[N_ENTRIES] == piece_table.MOST_PROBES
    assert [find(table, key) for key in keys] == slots


def test_a_table_in_which_keys_find_no_slot_gets_another_secret():
    keys = [b"%04d" % i for i in range(2000)] + [b"%0500d" % i for i in range(600)]
    table = piece_table.new_table(1 << 13, 1 << 21)
    table.state[piece_table.SECRET :] = 0
    for number, key in enumerate(keys):
        table, slot = insert(table, key)
        table.slots[slot + 2 : slot + 4] = number, len(keys)
    assert_holds(table, keys)
    assert table.state[piece_table.SECRET :].all()
    assert len(table.slots) == SLOT_WORDS << 13  # it did not have to grow


def test_a_full_table_refuses_a_key_and_stays_as_it_was():
    table = filled([b"a", b"b"], capacity=4)
    before = [array.copy() for array in table]
    assert insert_key(table, padded(b"c"), 0, 1) == -1
    assert all(np.array_equal(old, new) for old, new in zip(before, table, strict=True))


def test_a_full_pool_refuses_a_long_key_and_stays_as_it_was():
    table = piece_table.new_table(64, POOL_START + 16 + 20)
    assert insert_key(table, padded(b"x" * 20), 0, 20) >= 0
    before = [array.copy() for array in table]
    assert insert_key(table, padded(b"y" * 16), 0, 16) == -1
    assert all(np.array_equal(old, new) for old, new in zip(before, table, strict=True))
    assert insert_key(table, padded(b"y" * 15), 0, 15) >= 0
    table, _ = insert(table, b"y" * 500)
    assert find(table, b"x" * 20) >= 0
    assert find(table, b"y" * 500) >= 0
    assert table.state[POOL_USED] <= len(table.pool)


def test_a_table_of_one_type_however_it_was_made():
    # Kernels are compiled for one type of array each: growing must not make another.
    table = filled([bytes([i]) * 20 for i in range(1, 200)])
    for old, new in zip(piece_table.new_table(4, 16), table, strict=True):
        assert typeof(old) == typeof(new)
    large = piece_table.new_table(1 << 17, 0)  # its memory is asked for in another way
    for table_ in table, large:
        assert typeof(table_) == typeof(piece_table.new_table(4, 16))
        assert table_.slots.ctypes.data % 64 == 0  # a slot never lies across two cache lines
        assert table_.slots.flags.writeable
    assert len(large.slots) == SLOT_WORDS << 17
    assert not large.slots.any()


@given(st.lists(st.binary(min_size=1, max_size=40), unique=True), st.lists(st.binary(min_size=1, max_size=40)))
def test_a_table_is_a_dict(keys, others):
    table = filled(keys)
    assert_holds(table, keys)
    for key in others:
        assert (find(table, key) >= 0) == (key in keys)


# Words with counts in a table


def as_dict(words: WordCounts) -> dict[bytes, int]:
    starts = words.starts.tolist()
    pairs = [(words.text[a:b].tobytes(), n) for a, b, n in zip(starts, starts[1:], words.counts.tolist(), strict=False)]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


@given(st.dictionaries(st.binary(min_size=1, max_size=30), st.integers(1, 2**40)))
def test_words_come_out_as_they_went_in(words):
    packed = words_from_dict(words)
    assert as_dict(packed) == words
    assert len(packed.text) >= packed.starts[-1] + PADDING
    table = WordTable()
    table.add(packed)
    assert tuple(count_pieces.measure_words(table.table, 0, len(table.table.slots))) == (len(words), sum(map(len, words)))
    assert as_dict(table.take()) == words
    assert as_dict(table.take()) == {}


@given(
    st.dictionaries(st.binary(min_size=1, max_size=30), st.integers(1, 2**40)),
    st.dictionaries(st.binary(min_size=1, max_size=30), st.integers(1, 2**40)),
    st.integers(1, 100),
)
def test_words_that_go_from_table_to_table_in_parts_are_all_there_once(sizes, words, others, room):
    table, other = WordTable(), WordTable()
    table.add(words_from_dict(words))
    other.add(words_from_dict(others))
    seen: list[bytes] = []
    sizes(split=room)
    for part in table.take_in_parts():
        assert len(part.text) >= part.starts[-1] + PADDING
        seen += as_dict(part)
        other.add(part)
    assert sorted(seen) == sorted(words)
    assert as_dict(table.take()) == {}
    assert as_dict(other.take()) == {key: words.get(key, 0) + others.get(key, 0) for key in words | others}


@pytest.mark.parametrize("name", ["gpt2", "cl100k"])
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_pieces_are_split_and_words_taken_by_several_threads(name, n_threads):
    source = random.Random(3)
    kinds = ["the", " cat", " The", "cAt", "'s", " '", "12", "é", "中文", "  ", "\n", "\t x", "_", "x" * 70]
    pieces = {
        "".join(source.choices(kinds, k=source.randrange(1, 6))).encode(): source.randrange(1, 9) for _ in range(9000)
    }
    pieces |= dict.fromkeys([b"\xff\xfe", b"\xc3", b"a\xe4\xb8"], 2)
    pattern = get_pattern(name)
    table = WordTable(1 << 19)
    table.add(words_from_dict(pieces))
    assert len(table._cuts(n_threads)) == min(n_threads, 4) + 1
    table.split_pieces(pattern, n_threads=n_threads)
    expected: Counter[bytes] = Counter()
    for piece, n in pieces.items():
        for word in pattern.split(to_text(piece)):
            expected[word.encode(errors="surrogateescape")] += n
    words = table.take(n_threads)
    assert as_dict(words) == expected
    assert len(words.text) == words.starts[-1] + PADDING
    assert as_dict(table.take(n_threads)) == {}


def test_counts_of_the_same_word_add_up_past_32_bits():
    table = WordTable()
    for _ in range(5):
        table.add(words_from_dict({b"a": 2**31, b"long " * 5: 2**60, b"b": 1}))
    assert as_dict(table.take()) == {b"a": 5 * 2**31, b"long " * 5: 5 * 2**60, b"b": 5}


def test_words_that_fill_a_table_many_times_over_are_all_there():
    source = random.Random(5)
    words = {source.randbytes(source.randrange(1, 60)): number for number, _ in enumerate(range(60_000), start=1)}
    table = WordTable()
    table.add(words_from_dict(words))
    assert as_dict(table.take()) == words


@pytest.mark.exhaustive
@pytest.mark.usefixtures("guarded_arrays")
@pytest.mark.parametrize("lengths", [[0, 1, 2], [14, 15, 16, 17], [0, 15, 16], [1, 8, 16, 31, 32, 33, 200]], ids=str)
def test_words_are_added_wherever_a_table_becomes_full(sizes, lengths):
    source = random.Random(7)
    for _ in range(examples(150, 2000)):
        sizes(first_slots=source.choice([2, 8, 64]), added=source.choice([1, 2, 64]), split=source.choice([1, 33, 1 << 16]))
        table, letters = WordTable(), source.choice([b"\0", b"ab", bytes(range(256))])
        expected: Counter[bytes] = Counter()
        for n in source.sample([0, 1, 63, 64, 65, 130, 300], 2):
            words = {bytes(source.choices(letters, k=source.choice(lengths))): source.choice([1, 2**40]) for _ in range(n)}
            table.add(words_from_dict(words))
            expected.update(words)
        del expected[b""]
        found: dict[bytes, int] = {}
        for part in table.take_in_parts() if source.random() < 0.5 else [table.take()]:
            found |= as_dict(part)
        assert found == expected


def test_a_table_has_room_for_the_next_word_and_not_for_all_of_them_once_more():
    words = words_from_dict({b"%0100d" % number: 1 for number in range(30_000)})
    table = WordTable()
    table.add(words)
    assert len(table.table.pool) < 2 * words.starts[-1]  # twice as much, when it was full


def test_empty_words_are_left_out():
    table = WordTable()
    table.add(WordCounts(padded(b"ab"), np.array([0, 0, 1, 1, 2, 2]), np.array([5, 1, 5, 2, 5])))
    assert as_dict(table.take()) == {b"a": 1, b"b": 2}


def test_keys_that_come_in_the_order_of_another_table_lie_as_far_apart_as_any():
    source = random.Random(5)
    keys = [source.randbytes(source.choice([5, 9, 20])) for _ in range(1 << 14)]
    words = words_from_dict(dict.fromkeys(keys, 1))
    whole = WordTable()
    whole.add(words)
    # The first of them by slots, as worker processes hand words over: they fill a small table to the half.
    first = [key_in(whole.table, slot) for slot in np.flatnonzero(whole.table.slots[1::SLOT_WORDS])[: 1 << 9] * SLOT_WORDS]
    small = filled(first, 1 << 10)
    slots = [find(small, key) // SLOT_WORDS for key in first]
    assert min(slots) < 100
    assert max(slots) > 900
