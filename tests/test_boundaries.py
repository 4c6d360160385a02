"""kernels/pieces/boundaries.py and the class table behind it: certain boundaries."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import processes
import pytest
import regex
import texts
from boundary_rules import cuts_by_pairs, cuts_by_triples, marked
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from nbbpe.kernels.machine.intrinsics import BLOCK, PADDING
from nbbpe.kernels.machine.intrinsics_look_up import FORM
from nbbpe.kernels.pieces import pattern_tables
from nbbpe.patterns.character_classes import CLASSES, character_classes
from nbbpe.patterns.pattern import NAMED, Pattern

pytestmark = pytest.mark.usefixtures("guarded_arrays")

NAMES = list(NAMED)
ALIGNMENTS = range(BLOCK + 7)


def class_letter(character: str) -> str:
    return CLASSES[character_classes()[ord(character)]]


def expected_marks(data: bytes, pattern: Pattern) -> list[int]:
    return sorted({*cuts_by_pairs(data, pattern), *cuts_by_triples(data, pattern)})


def test_every_code_point_has_the_class_that_regex_gives_it():
    # Of the alternatives, the first that matches is the class, so that ' / space and newline come before whitespace.
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
            assert marked(filler.encode() * n + data, pattern) == expected_marks(filler.encode() * n + data, pattern), (
                filler,
                n,
            )


def test_rules_that_need_a_character_outside_ascii_hold_across_blocks():
    """A block of ASCII need not look for what they find, but must say by which of them a boundary may follow it."""
    letters, greek = "abcdefghij", "αβγδεζηθικ"
    pattern = Pattern(None, "|".join(f"{letter}{other}?" for letter, other in zip(letters, greek, strict=True)) + "|(?s:.)")
    assert pattern.tables.view(np.int64)[pattern_tables.MORE_RULES] == pattern_tables.OUTSIDE_ASCII
    source = random.Random(3)
    for n in [*range(60, 68), 128]:
        for last, first in itertools.product(letters, greek):
            before, after = "".join(source.choices(letters, k=n - 1)), "".join(source.choices(letters, k=70))
            data = f"{before}{last}{first}{last}{after}".encode()
            assert marked(data, pattern) == expected_marks(data, pattern), (n, last, first)


@pytest.mark.parametrize("character", "éβ中𐐀")
def test_the_rest_of_a_character_is_not_a_third_one(character):
    pattern = Pattern(None, r"\p{P}\p{L}(?!\p{L})|\p{P}|\p{L}+|\s")  # "!a" is cut before a letter only
    assert 1 in cuts_by_triples(b"!ab" + bytes(BLOCK), pattern)
    for n in ALIGNMENTS:
        data = ("x" * n + f"!{character} !{character}{character} !x{character}" + " y" * BLOCK).encode()
        assert marked(data, pattern) == expected_marks(data, pattern), n
        assert n + 1 not in expected_marks(data, pattern)


@pytest.mark.parametrize("character", ["é", "٣", "中", "\u0301", "\u3000", "\xa0", "😀", "\U0001d41a", "\U0001d400"])
def test_a_character_across_the_edge_of_a_block_is_one_character(character):
    pattern = NAMED["gpt2"]
    for neighbours in "ab", "  ", "1\n", "'s", "!é", "é中":
        before, after = neighbours
        for n in ALIGNMENTS:
            data = ("-" * n + before + character + after + character + character).encode()
            assert marked(data, pattern) == expected_marks(data, pattern), (n, neighbours)


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
            assert marked(data, pattern) == expected_marks(data, pattern), (n, tail)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_every_code_point_is_classed_in_a_text(name):
    pattern = NAMED[name]
    everything = [chr(code) for code in [*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200)]]
    everything[0x600:] = everything[0x600 :: examples(7, 1)]
    data = "".join(character + "x!"[i % 2] for i, character in enumerate(everything)).encode()
    assert marked(data, pattern) == expected_marks(data, pattern)


@given(texts.data(max_size=300), st.integers(0, BLOCK))
def test_boundaries_of_any_bytes_are_the_tables(data, n):
    for pattern in NAMED.values():
        assert marked(b"x" * n + data, pattern) == expected_marks(b"x" * n + data, pattern)


MARKED = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
import boundary_rules, texts
from nbbpe.kernels.pieces import pattern_tables
from nbbpe.kernels.machine.intrinsics_look_up import FORM
from nbbpe.patterns.pattern import NAMED
data = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x20000)])).encode() + texts.SAMPLE.encode() + bytes(range(256)) * 9
found = [boundary_rules.marked(b"x" * n + data, pattern) for n in (0, 1, 2, 31) for pattern in NAMED.values()]
print(FORM, hashlib.sha256(str(found).encode()).hexdigest())
"""


@pytest.mark.slow
@pytest.mark.skipif(FORM not in ("avx512", "avx2"), reason="code for these processors does not run here")
@pytest.mark.parametrize(("cpu", "form"), [("generic", "portable"), ("x86-64-v3", "avx2")])
def test_other_processors_find_the_same_boundaries(tmp_path, cpu, form):
    here = processes.run(MARKED, Path(__file__).parent).split()
    assert here[0] == FORM
    elsewhere = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": ""}
    assert processes.run(MARKED, Path(__file__).parent, **elsewhere).split() == [form, here[1]]


def test_many_characters_of_all_lengths_and_broken_ones_side_by_side():
    source = random.Random(11)
    ranges = (
        (0x80, 0x800),
        (0x370, 0x530),
        (0x590, 0x700),
        (0x900, 0xE80),
        (0x3000, 0x3100),
        (0x4E00, 0x9FFF),
        (0xAC00, 0xD7FF),
    )
    for _ in range(300):
        some = source.sample([*ranges, (0x800, 0xD800), (0xE000, 0x10000), (0x10000, 0x20000), (32, 127)], 3)
        characters = [chr(source.randrange(*source.choice(some))).encode() for _ in range(150)]
        for _ in range(source.choice([0, 0, 1, 5])):
            characters.insert(source.randrange(150), bytes(source.choices(range(128, 256), k=source.randrange(1, 4))))
        data = b"".join(characters)
        for n in source.sample(ALIGNMENTS, 3):
            assert marked(b"x" * n + data, NAMED["gpt2"]) == expected_marks(b"x" * n + data, NAMED["gpt2"]), (n, data)


def test_texts_have_the_padding_that_blocks_read():
    assert PADDING >= BLOCK + 4  # a block that starts on the last byte, and a character that starts on its last
