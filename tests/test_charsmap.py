"""text/charsmap.py: sentencepiece's tables of what replaces what."""

from __future__ import annotations

import random
import struct

import pytest
from charsmaps import compiled_charsmap
from hypothesis import given
from hypothesis import strategies as st

from nbbpe.text import charsmap
from nbbpe.text.charsmap import parsed_charsmap, replacing

TABLE = {
    "\n": " ",
    "\x01": "",
    "A": "a",
    "e\u0301": "\u00e9",
    "e\u0301\u0323": "\u1eb9\u0301",
    "\uff71\uff9e": "\u30a2\u3099",
}
TABLE |= {"\uff71": "\u30a2", "\U0001d400": "A", "\u3000": " ", "abc": "", "\u0301\u0301": "!"}
CHARACTERS = [*dict.fromkeys("".join(TABLE)), *"xyz \u4e2d\u0302\U0001f600"]


def naive_replaced(text: str, table: dict[str, str]) -> str:
    """At each place the longest text of the table that begins there, else the character."""
    found, at = "", 0
    while at < len(text):
        key = max((key for key in table if text.startswith(key, at)), key=len, default=None)
        found += text[at] if key is None else table[key]
        at += len(key or text[at])
    return found


@given(st.text(st.sampled_from(CHARACTERS), max_size=40))
def test_the_longest_text_that_begins_at_a_place_is_replaced(text):
    assert replacing(TABLE)(text) == naive_replaced(text, TABLE)


@given(
    st.dictionaries(st.text(st.sampled_from("ab\u0301\u4e2d"), min_size=1, max_size=4), st.text(max_size=2), max_size=8),
    st.text(st.sampled_from("abc\u0301\u4e2d"), max_size=60),
)
def test_any_table_is_applied(table, text):
    assert replacing(table)(text) == naive_replaced(text, table)


@given(st.text(st.sampled_from(CHARACTERS), max_size=40))
def test_what_is_kept_is_not_replaced(text):
    kept = ["A", "xA", "\n\n", "yz\x01"]
    wanted = naive_replaced(text, {**TABLE, **{each: each for each in kept}})
    assert replacing(TABLE, kept)(text) == wanted


@pytest.mark.parametrize("kept", [["x", "x\n"], ["x\n", "x"]])
def test_of_what_is_kept_the_longest_is(kept):
    assert replacing(TABLE, kept)("x\nx\n\n") == "x\nx\n "


def test_bytes_that_are_no_characters_stay():
    assert replacing(TABLE)("A\udc80\udcffe\u0301") == "a\udc80\udcff\u00e9"


@given(
    st.dictionaries(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1),
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
        max_size=6,
    )
)
def test_a_compiled_table_is_read(table):
    assert parsed_charsmap(compiled_charsmap(table)) == table


def test_a_unit_may_lead_far():
    """Then it has the number of blocks of 256 units, not that of units."""
    data = bytearray(compiled_charsmap(TABLE))
    (first,) = struct.unpack_from("<I", data, 4)
    n_blocks, rest = divmod(first >> 10, 256)
    assert n_blocks > 0
    assert rest == 0
    struct.pack_into("<I", data, 4, n_blocks << 10 | 1 << 9 | first & 0x1FF)
    assert parsed_charsmap(bytes(data)) == TABLE


def test_a_table_of_too_many_texts_is_an_error(monkeypatch):
    """A few units may lead to any number of texts."""
    data = compiled_charsmap(TABLE)
    monkeypatch.setattr(charsmap, "_MOST_TEXTS", len(TABLE))
    assert parsed_charsmap(data) == TABLE
    monkeypatch.setattr(charsmap, "_MOST_TEXTS", len(TABLE) - 1)
    with pytest.raises(ValueError, match="the table of replaced texts is not in the format of sentencepiece"):
        parsed_charsmap(data)


def test_a_damaged_table_is_an_error_or_another_table():
    data = compiled_charsmap(TABLE)
    rng = random.Random(1)
    for cut in (0, 3, 4, 100, len(data) - 1):
        with pytest.raises(ValueError, match="the table of replaced texts is not in the format of sentencepiece"):
            parsed_charsmap(data[:cut])
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(3):
            damaged[4 * rng.choice([0, 1, 257, rng.randrange(len(data) // 4)]) + rng.randrange(4)] = rng.randrange(256)
        try:
            parsed_charsmap(bytes(damaged))
        except ValueError as error:
            assert str(error) == "the table of replaced texts is not in the format of sentencepiece"  # noqa: PT017


def test_a_table_whose_texts_have_no_end_is_an_error():
    """The block after "a" leads back to itself."""
    data = bytearray(compiled_charsmap({"aa": "b"}))
    places = [4 + 4 * place for place in (2 * 256 + 97, 3 * 256 + 97)]
    assert all(data[place] == 97 for place in places[:1])
    first = int.from_bytes(data[places[0] : places[0] + 4], "little")
    block = (first >> 10) ^ (2 * 256 + 97)
    at = 4 + 4 * (block + 97)
    data[at : at + 4] = (((block + 97) ^ block) << 10 | 97).to_bytes(4, "little")
    with pytest.raises(ValueError, match="is not in the format"):
        parsed_charsmap(bytes(data))
