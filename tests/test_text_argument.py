"""Texts as kernels take them: as UTF-8, from whatever Python keeps them in; everything else is refused, nothing is lost."""

import sys

import compiled
import naive
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from texts import GREATEST, NO_TEXT, Words, strings
from vocabularies import BYTES

import nbbpe
from nbbpe.kernels.compiler.signature import int64, uint8
from nbbpe.kernels.encoding.encode_text import SHORT_TEXT
from nbbpe.kernels.machine.intrinsics import address_of
from nbbpe.kernels.machine.text_argument import TEXT_ARGUMENT, copy_utf8, write_utf8

pytestmark = pytest.mark.usefixtures("guarded_arrays")

ROOM = 40


@compiled.compile_now(TEXT_ARGUMENT, uint8[:], int64)
def _copy(text, out, room):
    return copy_utf8(text, address_of(out), room)


def copied(text, room=ROOM):
    """What `copy_utf8` writes, None where it says that it does not take the text."""
    out = np.full(room + 8, 0xAA, dtype=np.uint8)
    n = _copy(text, out, room)
    assert (out[room:] == 0xAA).all()
    return None if n < 0 else out[:n].tobytes()


@compiled.compile_now(TEXT_ARGUMENT, int64, uint8[:], int64)
def _written(text, first, out, room):
    return write_utf8(text.at, text.n, text.kind, first, address_of(out), room)


def written(text, room):
    """What `write_utf8` writes of a str, in parts of up to `room` bytes each."""
    parts, done = [], 0
    while done < len(text):
        out = np.full(room + 8, 0xAA, dtype=np.uint8)
        done, n = _written(text, done, out, room)
        assert n > 0
        assert (out[room:] == 0xAA).all()
        parts.append(out[:n].tobytes())
    return b"".join(parts)


@given(strings() | st.binary(), st.integers(0, ROOM))
@example("\ud7ff\ue000\uffff", ROOM)
@example("a" * 40, 40)
@example("a" * 41, 40)
@example("é" * 20, 40)
@example("é" * 20 + "a", 40)
@example("a中" * 10, 40)
@example("a中" * 10, 39)
@example("😀" * 10, 40)
@example("a" + "😀" * 10, 40)
def test_a_text_is_copied_as_utf8_or_refused(text, room):
    assert copied(text, room) == naive.utf8(text, room)


# Long enough for the loop that takes 32 characters at a time, which is not for the last of a text or of the room.
mixtures = GREATEST.flatmap(
    lambda last: st.lists(st.text(st.characters(max_codepoint=last), max_size=3) | st.text("ab ", max_size=70), max_size=30)
).map("".join)


@given(mixtures.filter(lambda text: not text.isascii()), st.integers(4, 600))
@example("é" * 33, 129)
@example("a" * 32 + "\udc80" * 32 + "\ud800" * 16 + "中" * 40, 600)
@example("a" * 31 + "😀" * 33, 128)
def test_a_str_is_written_in_parts(text, room):
    assert written(text, room) == naive.utf8(text, 4 * len(text))


@pytest.mark.parametrize("other", ["é", "и", "中", "😀", "\udcff\ud800", "éи中"])
@pytest.mark.parametrize("gap", [0, 1, 15, 16, 50, 200, 700])
def test_characters_between_stretches_of_ascii_are_written(other, gap):
    # Longer than what is written before ASCII is looked for again.
    text = "".join("a" * (gap + i % 3) + other for i in range(-(-3000 // (gap + 1))))
    for room in 4 * len(text), 200, 1000:
        assert written(text, room) == naive.utf8(text, 4 * len(text))


def test_every_character_is_written_as_python_writes_it():
    for first in range(0, 0x110000, 64):
        text = "".join(map(chr, range(first, first + 64)))
        assert copied(text, 256) == naive.utf8(text, 256), hex(first)
    for character in map(chr, (0x80, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF)):
        assert copied(character) == naive.utf8(character, ROOM)


@pytest.mark.parametrize("text", NO_TEXT)
def test_what_is_no_str_and_no_bytes_is_refused(text):
    assert copied(text) is None
    assert naive.utf8(text, ROOM) is None


@pytest.mark.parametrize(
    "text", ["hello world", "é" * 9, "中" * 9, "😀" * 9, "\udcff" * 3, b"hello", "a" * 99, Words("hello"), None], ids=repr
)
def test_no_reference_is_kept_or_given_away(text):
    copied(text)
    before = sys.getrefcount(text), sys.getrefcount(type(text))
    for _ in range(100):
        copied(text)
    after = sys.getrefcount(text), sys.getrefcount(type(text))
    assert abs(after[0] - before[0]) < 50
    assert abs(after[1] - before[1]) < 50


def test_a_text_of_other_characters_keeps_no_utf8():
    text = "中" * 1000
    before = sys.getsizeof(text)
    nbbpe.Tokenizer(BYTES, []).encode(text)
    assert sys.getsizeof(text) == before


@pytest.mark.parametrize("character", ["a", "é", "中", "😀", "\udcff"])
@pytest.mark.parametrize("call", ["encode", "encode_array", "encode_ordinary", "count"])
def test_texts_about_as_long_as_a_kernel_takes_at_once(character, call):
    tokenizer = nbbpe.Tokenizer(BYTES, [])
    size = len(character.encode(errors="surrogatepass"))
    for n in range(SHORT_TEXT // size - 2, SHORT_TEXT // size + 3):
        for before in ("", "x"):
            text = before + character * n
            expected = list(
                before.encode() + (b"\xff" if character == "\udcff" else character.encode(errors="surrogatepass")) * n
            )
            ids = getattr(tokenizer, call)(text)
            assert (ids == len(expected)) if call == "count" else (list(ids) == expected)
