"""Texts are found to be in a normal form exactly where `unicodedata` says so, whatever a kernel skips."""

from __future__ import annotations

import random
import unicodedata

import naive
import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from nbbpe.kernels.pieces.inert_characters import CODE_POINTS, skip_inert
from nbbpe.text import normal_check
from nbbpe.text.normal_characters import FORMS, inert_characters
from nbbpe.text.normal_check import is_normal

# What forms change, compose, move, or leave, of all lengths in UTF-8: letters and marks of several scripts, the parts of
# Hangul, compatibility characters, what was added late, and bytes of invalid UTF-8.
PARTS = [
    *["a" * 70, "a", " ", "\n", "e", "A", "K", "\x7f", "\x80", "\xa0", "\xaa", "\xe9", "\u01d5", "\u02bc", "\u212b"],
    *[
        "\u0301",
        "\u0308",
        "\u0327",
        "\u0345",
        "\u0323",
        "\u05b7",
        "\u0653",
        "\u093c",
        "\u0915",
        "\u0958",
        "\u09c7",
        "\u09be",
    ],
    *[
        "\u1100",
        "\u1161",
        "\u11a8",
        "\uac00",
        "\uac01",
        "\u3131",
        "\u304b",
        "\u3099",
        "\u304c",
        "\u4e00",
        "\uf900",
        "\u2019",
    ],
    *["\u2026", "\ufb01", "\uff21", "\U0001f600", "\U0001f100", "\U0001d15e", "\U00011127", "\U00020000", "\U0002f800"],
    *["\U00016d63", "\U00016d67", "\udcff", "\udc80", "\udce2", "\ufffd"],
]


def bytes_of(parts: list[str]) -> bytes:
    return "".join(parts).encode(errors="surrogateescape")


@pytest.fixture
def by_kernel(sizes):
    """The kernel checks all texts, and `unicodedata` few bytes at once."""
    sizes(normal_form=0, normal_form_checked=1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", FORMS)
def test_random_texts_are_normal_as_unicodedata_says(by_kernel, form):
    rng = random.Random(form)
    n_normal = 0
    n = examples(2000, 20_000)
    for _ in range(n):
        data = bytes_of(rng.choices(PARTS, k=rng.randrange(1, 12)))
        if rng.random() < 0.7:
            data = unicodedata.normalize(form, data.decode(errors="surrogateescape")).encode(errors="surrogateescape")
        expected = unicodedata.is_normalized(form, data.decode(errors="surrogateescape"))
        n_normal += expected
        assert is_normal(data, form) == is_normal(data.decode(errors="surrogateescape"), form) == expected, data
    assert n / 3 < n_normal < n


@pytest.mark.parametrize("form", FORMS)
def test_any_length_has_the_same_answer(form):
    for text in "th\u00e9 ", "the\u0301 ", "\u4e2d\u6587", "\ufb01":
        for n in 1, 100, 20_000, 700_000:
            assert is_normal((text * n).encode(), form) == unicodedata.is_normalized(form, text)
            assert is_normal(text * n, form) == unicodedata.is_normalized(form, text)
    assert not is_normal(("th\u00ea " * 700_000 + "e\u0344").encode(), form)
    assert normal_check._n_checked > normal_check._MANY


# The kernel

INERT = "".join(PARTS[::2])
BITS = np.packbits([int(chr(i) in INERT or i < 0x80) for i in range(CODE_POINTS)], bitorder="little")
SKIPPED = {*map(chr, range(0x80)), *(character for character in INERT if ord(character) < CODE_POINTS)}


@given(st.lists(st.sampled_from([*PARTS, *INERT, "\udcf0", "\udc90"]), max_size=40), st.integers(0, 5), st.integers(0, 80))
def test_the_kernel_stops_where_its_twin_does(parts, n_cut, n_more):
    data = bytes_of(parts)
    end = max(len(data) - n_cut, 0)  # perhaps inside a character
    array = np.frombuffer(data[:end] + b"\xcc\x81" * n_more, dtype=np.uint8)  # which is not read
    found = skip_inert(array, 0, end, BITS)
    expected = naive.skip_inert(data[:end], 0, end, SKIPPED)
    # A character that the end divides is not decoded, and the kernel stops before it.
    cut_off = next((n for n in (1, 2, 3) if end >= n and data[end - n] >= 0xC2), 0)
    assert found == expected or (cut_off and found == end - cut_off and expected > found)
    assert naive.skip_inert(data[:found], 0, found, SKIPPED) == found


def test_the_kernel_begins_where_it_is_told():
    data = np.frombuffer(bytes_of(["\u0301", "a" * 100, "\u4e2d", "\u0301"]), dtype=np.uint8)
    bits = inert_characters("NFC")
    assert skip_inert(data, 0, len(data), bits) == 0
    assert skip_inert(data, 2, len(data), bits) == skip_inert(data, 105, len(data), bits) == 105
    assert skip_inert(data, 2, 105, bits) == 105
    assert skip_inert(data, 2, 50, bits) == 50
    assert skip_inert(data, 7, 7, bits) == 7
