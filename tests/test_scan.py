"""kernels/scan.py and the class table behind it: certain boundaries, pieces, breaks."""

from __future__ import annotations

import itertools
import random

import naive
import numpy as np
import pytest
import regex
import texts
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from nbbpe.corpus import padded
from nbbpe.kernels.scan import MIN_ROWS, ROW, addresses, find_pieces, mark_cuts
from nbbpe.kernels.simd import BLOCK, N_CLASSES, PADDING, address_of
from nbbpe.patterns import CLASSES, NAMED, Pattern, character_classes

NAMES = list(NAMED)
ALIGNMENTS = range(BLOCK + 7)


def marked(data: bytes, pattern: Pattern) -> list[int]:
    """The offsets that mark_cuts marks."""
    is_cut = np.zeros(len(data), dtype=np.uint8)
    mark_cuts(padded(data), len(data), pattern.scanner(), np.empty(N_CLASSES, dtype=np.uint64), is_cut)
    return np.flatnonzero(is_cut).tolist()


def class_letter(character: str) -> str:
    return CLASSES[character_classes()[ord(character)]]


def expected(data: bytes, pattern: Pattern) -> list[int]:
    return naive.cuts(data, class_letter, dict(zip(CLASSES, pattern.cuts, strict=True)))


def test_every_code_point_has_the_class_that_regex_gives_it():
    # Of the alternatives, the first that matches is the class, so that ' / space and newline come before white space.
    kinds = {"q": "'", "p": "/", "s": " ", "n": r"[\r\n]", "b": r"\s", "l": r"\p{Ll}", "u": r"[\p{Lu}\p{Lt}]"}
    kinds |= {"c": r"[\p{Lm}\p{Lo}]", "m": r"\p{M}", "d": r"\p{N}", "o": r"(?s:.)"}
    match = regex.compile("|".join(f"(?P<{name}>{members})" for name, members in kinds.items())).fullmatch
    number = {name: CLASSES.index({"q": "'", "p": "/"}.get(name, name)) for name in kinds}
    wanted = np.fromiter((number[match(chr(code)).lastgroup] for code in range(0x110000)), dtype=np.uint8)
    assert np.array_equal(character_classes(), wanted)


def test_the_representatives_are_of_their_classes():
    for letter, characters in texts.REPRESENTATIVES.items():
        assert {class_letter(character) for character in characters} == {letter}


@pytest.mark.parametrize("name", NAMES)
def test_boundaries_are_the_tables_at_every_alignment(name):
    pattern = NAMED[name]
    for filler in "x", " ", "é", "😀":
        data = texts.SAMPLE.encode()[:300]
        for n in ALIGNMENTS:
            assert marked(filler.encode() * n + data, pattern) == expected(filler.encode() * n + data, pattern), (filler, n)


@pytest.mark.parametrize("character", ["é", "٣", "中", "\u0301", "\u3000", "\xa0", "😀", "\U0001d41a", "\U0001d400"])
def test_a_character_across_the_edge_of_a_block_is_one_character(character):
    pattern = NAMED["gpt2"]
    for neighbours in "ab", "  ", "1\n", "'s", "!é", "é中":
        before, after = neighbours
        for n in ALIGNMENTS:
            data = ("-" * n + before + character + after + character + character).encode()
            assert marked(data, pattern) == expected(data, pattern), (n, neighbours)


@pytest.mark.parametrize(
    "broken",
    [
        *(b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xf0\x9f", b"\x80", b"\xff", b"\xc0\xaf", b"\xc1\xbf", b"\xe0\x80\xaf"),
        *(b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80"),
        *(b"\xc3\xc3\xa9", b"\xe4\xb8\xc3\xa9", b"\xf0\x9f\x98\xc3\xa9", b"\xf0\x9f\x98\xf0\x9f\x98\x80", b"\xa9\xc3"),
    ],
)
def test_bytes_that_are_no_utf8_are_characters_of_class_other(broken):
    pattern = NAMED["gpt2"]
    for n in ALIGNMENTS:
        for tail in b"", b"a", b" b", b"\n", b"\x80", "é".encode():
            data = b"a" * n + broken + tail
            assert marked(data, pattern) == expected(data, pattern), (n, tail)


@pytest.mark.parametrize("name", NAMES)
def test_every_code_point_is_classed_in_a_text(name):
    pattern = NAMED[name]
    everything = [chr(code) for code in [*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200)]]
    data = "".join(character + "x!"[i % 2] for i, character in enumerate(everything)).encode()
    assert marked(data, pattern) == expected(data, pattern)


@given(texts.data(max_size=300), st.integers(0, BLOCK))
def test_boundaries_of_any_bytes_are_the_tables(data, n):
    for pattern in NAMED.values():
        assert marked(b"x" * n + data, pattern) == expected(b"x" * n + data, pattern)


# Pieces


@njit
def collect_ends(text, start, end, breaks, scanner, masks, batch, out):
    """All that find_pieces reports, call after call."""
    tables = addresses(scanner, masks)
    text_at, breaks_at, batch_at = address_of(text), address_of(breaks), address_of(batch)
    n_out = 0
    block = start
    state = 0
    next_break = 0
    while next_break < breaks.shape[0] and breaks[next_break, 1] <= start:
        next_break += 1
    while block < end:
        found, block, state = find_pieces(
            text_at, block, end, state, breaks_at, next_break, breaks.shape[0], tables, batch_at, batch.shape[0]
        )
        for i in range(found):
            out[n_out] = batch[i, 0]
            n_out += 1
    return n_out


def piece_ends(data: bytes, breaks: list[tuple[int, int]], start: int = 0, room: int = 2 * MIN_ROWS) -> list[int]:
    """The edges of pieces after `start`, the text's end included."""
    rows = np.array([(first, end, -1) for first, end in breaks], dtype=np.int64).reshape(-1, 3)
    out = np.empty(len(data) + 2, dtype=np.int64)
    masks, batch = np.empty(N_CLASSES, dtype=np.uint64), np.empty((room, ROW), dtype=np.int64)
    n = collect_ends(padded(data), start, len(data), rows, NAMED["gpt2"].scanner(), masks, batch, out)
    return [end for end in out[:n].tolist() if end > start] + [len(data)]


def expected_ends(data: bytes, breaks: list[tuple[int, int]], start: int = 0) -> list[int]:
    """The same by cutting the text at the breaks, and what is between them at its own boundaries."""
    edges = {len(data)}
    done = start
    for first, end in [*breaks, (len(data), len(data))]:
        if first < start:
            continue
        edges |= {done + cut for cut in expected(data[done:first], NAMED["gpt2"])} | {first, end}
        done = end
    return sorted(edge for edge in edges if edge > start)


def assert_breaks(data: bytes, breaks: list[tuple[int, int]], start: int = 0) -> None:
    assert piece_ends(data, breaks, start) == expected_ends(data, breaks, start), (data, breaks, start)


TEXT = (b"It's a cat, 42 mats;\n\n\tand  more. " * 9)[:290]


def test_a_break_of_any_length_at_any_place_is_a_piece_of_its_own():
    for length in 1, 2, 13, 63, 64, 65, 128, 150:
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


def test_texts_have_the_padding_that_blocks_read():
    assert PADDING >= BLOCK + 4  # a block that starts on the last byte, and a character that starts on its last
