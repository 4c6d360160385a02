"""What is known of single characters in normal forms is what `unicodedata` does to them, beside any other."""

from __future__ import annotations

import sys
import unicodedata

import numpy as np
import pytest
from effort import examples

from nbbpe.kernels.pieces.inert_characters import CODE_POINTS
from nbbpe.text.normal_characters import FORMS, changing_characters, inert_characters, joining_characters


def test_the_characters_that_change_are_found_as_one_by_one():
    one_by_one = {
        each
        for each in map(chr, range(sys.maxunicode + 1))
        if unicodedata.combining(each) or not unicodedata.is_normalized("NFKD", each)
    }
    found = changing_characters()
    assert len(found) == len(set(found))
    assert set(found) == one_by_one


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", FORMS)
def test_text_can_be_cut_before_any_character_that_does_not_join(form):
    """Checked where it is most likely to fail: after each character that something can compose with."""
    joining = set(joining_characters(form))
    assert not joining & set(map(chr, range(0x300)))
    firsts = {unicodedata.normalize("NFD", chr(code))[0] for code in range(0xC0, 0x30000)}
    firsts = sorted({c for c in firsts if unicodedata.combining(c)} | set("ae=<\u0915\u09c7\u1100\uac00\u304b\U00011131"))
    for code in filter(lambda code: not 0xD800 <= code < 0xE000, range(0x80, 0x30000)):
        if chr(code) in joining or not unicodedata.decomposition(chr(code)):
            continue
        for left in firsts[:: (1 + code % 7) * examples(5, 1)]:
            both = unicodedata.normalize(form, left) + unicodedata.normalize(form, chr(code))
            assert unicodedata.normalize(form, left + chr(code)) == both
    # And some that do.
    assert {"\u0301", "\u1161", "\u11a8", "\u09be", "\u0dcf", "\u0f73", "\U00011127"} <= joining
    assert ("\uff9e" in joining) == (form in ("NFKC", "NFKD"))
    assert not {"\u1100", "\uac00", "中", "\u0915", "\udcff", "\u0628"} & joining


@pytest.mark.parametrize("form", FORMS)
def test_what_is_inert_stays_as_it_is_beside_anything(form):
    """It is not composed with what is before it, and that is not changed otherwise."""
    bits = np.unpackbits(inert_characters(form), bitorder="little")
    assert len(bits) == CODE_POINTS
    characters = list(map(chr, np.flatnonzero(bits)))
    assert set(map(chr, range(0x80))) < set(characters)
    sides = ["e", "\u0301", "\u1100", "\u1161", "\u11a8", "\uac00", "\u09c7", "\u09be", "\u3099", "\u0327\u0301", "\u0653"]
    for before in sides:
        normal_before = unicodedata.normalize(form, before)
        text = "".join(f"{before}{character}\n" for character in characters)
        expected = "".join(f"{normal_before}{character}\n" for character in characters)
        assert unicodedata.normalize(form, text) == expected


def test_few_characters_in_use_are_not_inert():
    bits = np.unpackbits(inert_characters("NFC"), bitorder="little")
    for first, last in (0xC0, 0x2FF), (0x400, 0x482), (0x5D0, 0x5EA), (0x3041, 0x3096), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3):
        assert bits[first : last + 1].all(), hex(first)
    for first, last in (0x1F600, 0x1F650), (0x3131, 0x318E), (0xABE, 0xAC9), (0xE30, 0xE37), (0x1B000, 0x1B122):
        assert bits[first : last + 1].all(), hex(first)
