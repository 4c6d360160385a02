"""A long str is encoded window by window of its UTF-8, with the same ids as its bytes, and without a copy of all of it."""

import naive
import numpy as np
import pytest
import texts
from effort import examples, mostly_slow
from hypothesis import example, given
from hypothesis import strategies as st
from limits import takes_memory_below
from vocabularies import BYTES

import nbbpe
from nbbpe.kernels.encoding.encode_text import SHORT_TEXT
from nbbpe.text.text_windows import StrSource, most_bytes
from nbbpe.text.windows import WINDOW

LAST = {"ascii": 0x7F, "latin": 0xFF, "cyrillic": 0x7FF, "basic": 0xFFFF, "all": 0x10FFFF}
CALLS = ["encode", "encode_array", "encode_ordinary", "count"]
WORDS = {
    "ascii": "the cat sat",
    "latin": "der Bär saß ",
    "two bytes": "и кот сидел ",
    "three bytes": "猫が座った。",
    "four bytes": "😀 the 🐈at ",
    "surrogates": "a\udc80\udcff\ud800é ",
}

strings = st.sampled_from(sorted(LAST.values())).flatmap(lambda last: st.text(st.characters(max_codepoint=last)))


@given(strings, st.lists(st.integers(1, 40), min_size=1))
@example("😀" * 9, [1, 2, 3, 4, 5])
@example("é", [1])
def test_a_source_gives_the_utf8_of_a_str_into_buffers_of_any_size(text, sizes):
    source = StrSource(text, 0, len(text))
    found = bytearray()
    turn = 0
    while n := source.readinto(memoryview(buffer := bytearray(sizes[turn % len(sizes)]))):
        found += buffer[:n]
        turn += 1
    assert bytes(found) == naive.utf8(text, 4 * len(text))


@given(strings)
def test_the_most_bytes_of_a_text_are_enough(text):
    assert len(naive.utf8(text, 4 * len(text))) <= most_bytes(text) <= 4 * len(text)
    text.encode(errors="surrogatepass")
    assert most_bytes(text.encode(errors="surrogatepass")) == len(text.encode(errors="surrogatepass"))


def both(tokenizer, call, text, **choice):
    """What a call gives for a str, and for its bytes."""
    found, wanted = (getattr(tokenizer, call)(each, **choice) for each in (text, naive.utf8(text, 4 * len(text))))
    return (found, wanted) if call == "count" else (list(found), list(wanted))


@pytest.mark.parametrize("words", mostly_slow(WORDS, usual=["latin", "surrogates"]))
@pytest.mark.parametrize("call", mostly_slow(CALLS, usual=["encode_array", "count"]))
def test_a_long_str_is_encoded_as_its_bytes(small, call, words):
    for n_bytes in (SHORT_TEXT + 1, 3 * WINDOW // 2):
        text = WORDS[words] * (n_bytes // len(naive.utf8(WORDS[words], 1 << 10)) + 1)
        found, wanted = both(small, call, text)
        assert found == wanted


@pytest.mark.exhaustive
@pytest.mark.parametrize("filler", ["a", "é", "猫", "😀"])
def test_special_tokens_are_found_across_the_edges_of_windows(small, filler):
    size = len(filler.encode())
    for shift in range(0, len(texts.SPECIAL), examples(6, 3)):
        text = filler * ((WINDOW - shift) // size) + texts.SPECIAL + " the cat" + texts.SPECIAL
        found, wanted = both(small, "encode_array", text)
        assert found == wanted
        assert found.count(small.token_to_id(texts.SPECIAL)) == 2
        with pytest.raises(ValueError, match="disallowed"):
            small.encode(text, allowed_special=(), disallowed_special={texts.SPECIAL})


def test_characters_of_four_bytes_tell_of_boundaries_across_the_edges_of_windows(sizes):
    # Two spaces are one pretoken unless a letter follows, of which a window may have a part only.
    tok = nbbpe.Tokenizer(BYTES | {256: b"  "}, [(b" ", b" ")], [], r"\s+(?!\p{L})|\s|\S")
    text = "".join(f"{'x' * n}  {'𠀀😀'[n % 2]}" for n in range(12))
    wanted = tok.encode(text)
    assert wanted.count(256) == 6
    for window in range(8, 60):
        sizes(window=window)
        assert list(tok.encode_iterable([text])) == wanted, window


def test_one_word_longer_than_a_window(small):
    found, wanted = both(small, "encode_array", "ä" * WINDOW)
    assert found == wanted


def test_a_pattern_that_is_left_to_regex_takes_a_long_str_too(quiet):
    text = "Cafe\u0301 und Bär, 猫! " * (SHORT_TEXT // 10)
    by_regex = nbbpe.train(iter([text]), 300, pattern=r"(?<!x)\w+|\W")
    found, wanted = both(by_regex, "encode", text)
    assert found == wanted
    assert by_regex.decode(found) == text


class Words(str):
    def encode(self, *args, **kwargs):
        return b"bytes of its own"


def test_a_derived_str_is_encoded_as_it_says_itself(small):
    assert small.encode(Words("ab" * SHORT_TEXT)) == small.encode(b"bytes of its own")


def test_no_copy_of_a_long_str_is_made(small):
    text = "猫 und Bär " * 800_000
    small.count(text)
    assert len(text) > 3 * WINDOW
    with takes_memory_below(3 * WINDOW):
        small.count(text)


def test_the_ids_of_shared_texts_do_not_depend_on_how_python_keeps_them(gpt2, shared):
    for name in ("cjk", "bible_multilingual", "novels_de", "code_rails"):
        data = (shared / "text" / f"{name}.txt").read_bytes()[: 3 * WINDOW]
        assert np.array_equal(gpt2.encode_array(data.decode(errors="surrogateescape")), gpt2.encode_array(data)), name
