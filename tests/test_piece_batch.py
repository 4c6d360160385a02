"""kernels/pieces/piece_batch.py: the pieces of a text between its boundaries and breaks, and their keys."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import naive
import numpy as np
import processes
import pytest
from boundary_rules import cuts_by_pairs, cuts_by_triples
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from piece_tables import assert_holds, filled, find, insert

from nbbpe.kernels.machine.intrinsics import BLOCK, LINE, address_of, write_homes, write_i64
from nbbpe.kernels.pieces import piece_table
from nbbpe.kernels.pieces.boundaries import new_classes
from nbbpe.kernels.pieces.breaks import Breaks
from nbbpe.kernels.pieces.piece_batch import (
    MIN_ROWS,
    ScanAddresses,
    batch_of,
    bound_of,
    bring_home,
    find_prepared,
    home_in,
    home_of,
    new_batch,
    next_pieces,
    prepare,
    prepared_key,
    write_ends,
)
from nbbpe.kernels.pieces.unmergeable_boundaries import NO_JOINS
from nbbpe.patterns.pattern import NAMED
from nbbpe.text.utf8 import padded

pytestmark = pytest.mark.usefixtures("guarded_arrays")


@njit
def collect_rows(text, start, end, breaks, pattern, masks, table, batch, out):
    """Where the pieces end, and whether each has its key and its home, call after call."""
    tables, table_at = ScanAddresses(address_of(pattern), address_of(masks)), piece_table.table_addresses(table)
    text_at, breaks_at, rows = address_of(text), address_of(breaks), batch_of(address_of(batch), batch.shape[0])
    secret = piece_table.home_secret_of(table_at.state)
    n_out = 0
    piece = start
    block = start
    state = 0
    next_break = 0
    while next_break < breaks.shape[0] and breaks[next_break, 1] <= start:
        next_break += 1
    while block < end:
        of_breaks = Breaks(breaks_at, next_break, breaks.shape[0])
        found, block, state = next_pieces(text_at, piece, block, end, state, of_breaks, tables, NO_JOINS, table_at, rows)
        for row in range(found):
            end_of_piece = bound_of(rows, row + 1)
            low, high = piece_table.key_of(text_at + piece, max(end_of_piece - piece, 1), table_at.state)
            home_at = table_at.slots + 8 * piece_table.home_slot(low, high, table_at.n_words, secret)
            as_it_should = bound_of(rows, row) == piece and home_of(rows, row) == home_at
            out[n_out, 0] = piece = end_of_piece
            out[n_out, 1] = as_it_should and prepared_key(rows, row) == (low, high)
            n_out += 1
    return n_out


def piece_ends(
    data: bytes, breaks: list[tuple[int, int]], start: int = 0, room: int = 2 * MIN_ROWS, name: str = "gpt2"
) -> list[int]:
    """The edges of pieces after `start`, the text's end included."""
    rows = np.array([(first, end, -1) for first, end in breaks], dtype=np.int64).reshape(-1, 3)
    out = np.empty((len(data) + 2, 2), dtype=np.int64)
    table, batch = piece_table.new_table(1 << 10, 0), new_batch(room - MIN_ROWS)
    n = collect_rows(padded(data), start, len(data), rows, NAMED[name].tables, new_classes(), table, batch, out)
    ends = out[:n, 0]
    assert out[:n, 1][np.diff(ends, prepend=start) > 0].all()  # an empty piece has no key
    return [end for end in ends.tolist() if end > start]


def expected_ends(data: bytes, breaks: list[tuple[int, int]], start: int = 0, name: str = "gpt2") -> list[int]:
    """The same by cutting the text at the breaks, and what is between them at its own boundaries."""
    edges = {len(data)}
    # Rules for three are looked at only in blocks without a break.
    of_three = [start + cut for cut in cuts_by_triples(data[start:], NAMED[name])]
    for block in range(start, len(data) - BLOCK + 1, BLOCK):
        if not any(end > start and end >= block and first < block + BLOCK for first, end in breaks):
            edges |= {cut for cut in of_three if block <= cut < block + BLOCK}
    done = start
    for first, end in [*breaks, (len(data), len(data))]:
        if first < start:
            continue
        edges |= {done + cut for cut in cuts_by_pairs(data[done:first], NAMED[name])} | {first, end}
        done = end
    return sorted(edge for edge in edges if edge > start)


def assert_breaks(data: bytes, breaks: list[tuple[int, int]], start: int = 0, name: str = "gpt2") -> None:
    assert piece_ends(data, breaks, start, name=name) == expected_ends(data, breaks, start, name), (data, breaks, start)


@njit
def ends_of(cuts, block, out):
    """Where the pieces of a block end; all of `out` may be written."""
    return write_ends(address_of(out), cuts, block)


@given(st.integers(0, (1 << 64) - 1) | st.sets(st.integers(0, 63)).map(lambda bits: sum(1 << bit for bit in bits)))
def test_the_ends_of_pieces_are_the_bits_of_a_mask(cuts):
    for block in 0, 7, 1 << 40:
        out = np.full(BLOCK + 1, -1, dtype=np.int64)
        n_ends = ends_of(np.uint64(cuts), block, out)
        assert out[:n_ends].tolist() == [block + bit for bit in range(BLOCK) if cuts >> bit & 1]
        assert out[BLOCK] == -1


@pytest.mark.parametrize("n_cuts", [0, 1, 8, 9, 23, 24, 25, 26, 63, 64])
def test_any_number_of_pieces_may_end_in_a_block(n_cuts):
    source = random.Random(n_cuts)
    for _ in range(20):
        bits = sorted(source.sample(range(BLOCK), n_cuts))
        out = np.empty(BLOCK, dtype=np.int64)
        assert ends_of(np.uint64(sum(1 << bit for bit in bits)), 100, out) == n_cuts
        assert out[:n_cuts].tolist() == [100 + bit for bit in bits]


@njit
def homes_of(keys, secret, mask, slots_at, together, one_by_one):
    write_homes(address_of(together), address_of(keys), secret, mask, slots_at)
    for i in range(keys.shape[0]):
        one_by_one[i] = piece_table.home_slot(keys[i, 0], keys[i, 1], mask + piece_table.SLOT_WORDS, secret)


def test_homes_of_keys_are_found_together_as_one_by_one_and_by_the_twin():
    source = random.Random(3)
    for _ in range(20):
        secret = tuple(source.getrandbits(64) for _ in range(3))
        for n_slots in 1, 2, 1 << 20, 1 << 32:
            keys = [(source.getrandbits(64), source.getrandbits(source.choice([0, 20, 64]))) for _ in range(LINE)]
            out, slots = np.full(LINE + 1, -1, dtype=np.int64), np.empty(LINE, dtype=np.int64)
            arguments = tuple(map(np.uint64, secret)), piece_table.SLOT_WORDS * (n_slots - 1), 1 << 20
            homes_of(np.array(keys, dtype=np.uint64), *arguments, out, slots)
            wanted = [naive.home(low, high, secret, n_slots) for low, high in keys]
            assert out[:LINE].tolist() == [32 * slot + (1 << 20) for slot in wanted]
            assert slots.tolist() == [piece_table.SLOT_WORDS * slot for slot in wanted]
            assert out[LINE] == -1


ENDS = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
import test_piece_batch, texts
from nbbpe.kernels.machine.intrinsics_look_up import FORM
data = texts.SAMPLE.encode() * 3 + b"a b." * 99 + bytes(range(256)) + b"x" * 200
found = [test_piece_batch.piece_ends(data, [(100, 107), (300, 301)], name=name) for name in ("gpt2", "o200k")]
print(FORM, hashlib.sha256(str(found).encode()).hexdigest())
"""


@pytest.mark.slow
def test_other_processors_find_the_same_pieces(tmp_path):
    here = processes.run(ENDS, Path(__file__).parent).split()
    elsewhere = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_CPU_NAME": "generic"}
    assert processes.run(ENDS, Path(__file__).parent, **elsewhere).split() == ["portable", here[1]]


TEXT = (b"It's a cat, 42 mats;\n\n\tand  more. " * 9)[:290]


@pytest.mark.exhaustive
def test_a_break_of_any_length_at_any_place_is_a_piece_of_its_own():
    for length in examples((1, 63, 64, 150), (1, 2, 13, 63, 64, 65, 128, 150)):
        for first in range(140):
            assert_breaks(TEXT, [(first, first + length)])


def test_adjacent_breaks_are_pieces_of_their_own():
    for first in range(135):
        for lengths in (1, 1), (5, 64), (64, 64), (64, 1), (3, 3, 3), (1, 70, 1):
            edges = np.cumsum([first, *lengths]).tolist()
            assert_breaks(TEXT, list(itertools.pairwise(edges)))


def test_breaks_one_byte_apart_leave_the_byte_between():
    for first in range(135):
        assert_breaks(TEXT, [(first, first + 3), (first + 4, first + 68), (first + 69, first + 70)])


def test_a_break_at_the_end_and_at_the_start_of_a_text():
    for n in (1, 63, 64, 65, 128, 200):
        assert_breaks(TEXT[:n], [(0, n)])
        assert_breaks(TEXT[:n], [(n - 1, n)])
        assert_breaks(TEXT[:n], [(0, 1)])


def test_a_scan_may_start_at_any_piece():
    breaks = [(10, 12), (60, 64), (64, 70), (100, 200)]
    for start in [0, *expected_ends(TEXT, breaks)[:-1]]:
        assert_breaks(TEXT, breaks, start)


def test_a_text_that_is_all_breaks():
    assert_breaks(TEXT, [(i, i + 1) for i in range(len(TEXT))])
    assert_breaks(TEXT, [(i, i + 2) for i in range(0, len(TEXT), 2)])


def test_small_room_for_ends_gives_the_same_pieces():
    breaks = [(30, 40), (128, 129)]
    for room in MIN_ROWS, MIN_ROWS + 1, 2 * MIN_ROWS, 1000:
        assert piece_ends(TEXT, breaks, room=room) == expected_ends(TEXT, breaks)


def test_random_breaks_in_text_with_broken_characters():
    source = random.Random(1)
    alphabet = [b"a", b" ", b"\n", "é".encode(), "😀".encode(), b"'", b"7", b"\xe2\x82", b"\xf0"]
    for _ in range(600):
        parts = []
        breaks = []
        position = 0
        for _ in range(source.randrange(8)):
            text = b"".join(source.choices(alphabet, k=source.choice([0, 1, 5, 40])))
            token = b"<" * source.choice([1, 13, 64, 70])
            breaks.append((position + len(text), position + len(text) + len(token)))
            parts += [text, token]
            position += len(text) + len(token)
        parts.append(b"".join(source.choices(alphabet, k=source.randrange(1, 30))))
        assert_breaks(b"".join(parts), breaks)


BLANKS = [b" ", b"  ", b"\n", b"\r\n", b"\t", b"\n    ", "\u3000".encode(), "\xa0".encode(), b"\x0b", b"\x85", b"\xa0"]
SOLID = [b"a", b"Ab", "é".encode(), "中".encode(), b"1", b"!", b"./", b"'s", b"/", b"\x1c", b"\x7f", b"\x00", b"\xe3"]


def random_lines(source: random.Random) -> bytes:
    """Text of much whitespace of all kinds."""
    return b"".join(source.choice(BLANKS if source.random() < 0.6 else SOLID) for _ in range(source.randrange(1, 120)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMED)
def test_pieces_are_split_by_themselves_as_they_are_together(name):
    source = random.Random(7)

    def split(data: bytes) -> list[bytes]:
        parts = NAMED[name].split(data.decode(errors="surrogateescape"))
        return [part.encode(errors="surrogateescape") for part in parts]

    n_cut = 0
    for _ in range(examples(130, 400)):
        data = random_lines(source)
        whole = split(data)
        edges = piece_ends(data, [], name=name)
        parts = [split(data[first:end]) for first, end in itertools.pairwise([0, *edges])]
        assert list(itertools.chain.from_iterable(parts)) == whole, data
        n_cut += len(set(edges) - set(cuts_by_pairs(data, NAMED[name]))) - 1
    # The first regex of deepseek-coder and that of bloom leave nothing that a third character could tell.
    assert n_cut > examples(30, 100) or name in ("deepseek-coder", "bloom")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMED)
def test_white_space_is_cut_before_what_follows_it(name):
    source = random.Random(8)
    for _ in range(examples(100, 300)):
        data = random_lines(source)
        assert_breaks(data, [], name=name)
        n = source.choice([1, 5, 64])
        assert_breaks(data + b"x" * n + random_lines(source), [(len(data), len(data) + n)], name=name)


@njit
def prepared(table, text, bounds, batch):
    """A batch of the pieces between `bounds`."""
    rows = batch_of(address_of(batch), batch.shape[0])
    for i in range(bounds.shape[0]):
        write_i64(rows.bounds + 8 * i, bounds[i])
    prepare(rows, bounds.shape[0] - 1, address_of(text), piece_table.table_addresses(table))
    return rows


@njit
def find_batch(table, text, bounds, batch, slots):
    """The slots of the keys between `bounds` in `text`, looked up together; -1 for one that is not there."""
    table_at, text_at, rows = piece_table.table_addresses(table), address_of(text), prepared(table, text, bounds, batch)
    for i in range(slots.shape[0]):
        slot = find_prepared(rows, i, table_at, text_at + bounds[i], bounds[i + 1] - bounds[i])
        slots[i] = -1 if piece_table.is_free(table_at, slot) else slot


@pytest.mark.parametrize("n", [1, 2, 100, 500])
def test_keys_that_are_looked_up_together_are_found_as_one_by_one(n):
    source = random.Random(n)
    words = [source.randbytes(source.choice([1, 3, 8, 14, 15, 16, 17, 40])) for _ in range(n)]
    table = filled(list(dict.fromkeys(words[::2])))
    slots = np.empty(n, dtype=np.int64)
    find_batch(table, padded(b"".join(words)), np.cumsum([0, *map(len, words)]), new_batch(n), slots)
    assert slots.tolist() == [find(table, word) for word in words]
    assert slots[::2].min() >= 0


@njit
def come_up(table, text, bounds, batch):
    """Bring the key at the start of `text` home; returns its slot before and after, and its home slot."""
    table_at, rows = piece_table.table_addresses(table), prepared(table, text, bounds, batch)
    before = find_prepared(rows, 0, table_at, address_of(text), bounds[1])
    after = bring_home(rows, 0, table_at, before, bounds[1])
    return before, after, home_in(rows, 0, table_at)


def bring(table: piece_table.PieceTable, key: bytes) -> tuple[int, int, int]:
    return come_up(table, padded(key), np.array([0, len(key)]), new_batch(1))


@given(st.lists(st.binary(min_size=1, max_size=20), min_size=1, unique=True), st.data())
def test_a_piece_that_comes_up_changes_places_with_what_is_in_its_home(keys, data):
    table = filled(keys)
    capacity = len(table.slots)
    for key in data.draw(st.lists(st.sampled_from(keys))):
        before, after, home = bring(table, key)
        assert after == (home if len(key) <= piece_table.INLINE_BYTES else before)
        assert find(table, key) == after
    assert_holds(table, keys)
    assert len(table.slots) == capacity


def test_pieces_that_come_up_in_a_table_as_full_as_may_be_are_all_found():
    source = random.Random(3)
    keys = sorted({source.randbytes(source.randrange(4, 18)) for _ in range(384)})
    table = filled(keys, capacity=1024, pool=1 << 14)
    assert len(table.slots) == 1024 * piece_table.SLOT_WORDS
    came = 0
    for key in source.choices(keys, k=2000):
        before, after, _ = bring(table, key)
        came += before != after
    assert came > 50
    assert_holds(table, keys)


def test_a_piece_is_brought_home_around_the_end_of_the_table_and_stays_there():
    source = random.Random(1)
    table = piece_table.new_table(8, 0)
    while True:  # until a key lies before its home: the search for it went around the end
        table, _ = insert(table, source.randbytes(5))
        key = source.randbytes(5)
        if table.state[piece_table.N_ENTRIES] >= 3:  # one more than it has room for would make it grow
            table = piece_table.new_table(8, 0)
        elif find(table, key) < 0:
            table, slot = insert(table, key)
            before, after, home = bring(table, key)
            if slot < home:
                break
    assert before == slot
    assert after == home == find(table, key)
    assert bring(table, key) == (home, home, home)
