"""What kernels/learn.py takes for granted of pieces. (Learning itself is held to textbook merging in test_encode.py.)"""

from __future__ import annotations

import random

import naive
import numpy as np
import pytest
from numba import njit

from nbbpe.corpus import padded
from nbbpe.kernels.learn import is_plain_word
from nbbpe.kernels.simd import address_of
from nbbpe.patterns import NAMED


@njit
def are_plain(text, starts, found):
    """Fill `found` with what is_plain_word says of pieces that stand side by side."""
    for i in range(starts.shape[0] - 1):
        found[i] = is_plain_word(address_of(text) + starts[i], starts[i + 1] - starts[i])


def random_pieces() -> list[bytes]:
    """Every short length with each byte somewhere, and words of every length up to beyond a block."""
    source = random.Random(1)
    pieces = [bytes([byte]) for byte in range(256)] + [b" " + bytes([byte]) for byte in range(256)]
    for length in range(1, 80):
        for lead in (b"", b" ", b"  "):
            word = bytes(source.choices(b"abcxyz", k=length))
            place = source.randrange(length)
            pieces += [
                lead + word,
                lead + word.capitalize(),
                lead + source.choice([b"@", b"["]) + word[1:],
                lead + word[:place] + word[place:].capitalize(),
                lead + word[:place] + source.choice([b"`", b"{", b" ", b"A", b"\xe1", b"'"]) + word[place + 1 :],
            ]
    return pieces


def test_plain_words_are_those_of_the_twin_whatever_stands_beside_them():
    pieces = random_pieces()
    random.Random(2).shuffle(pieces)
    starts = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    found = np.empty(len(pieces), dtype=np.bool_)
    are_plain(padded(b"".join(pieces)), starts, found)
    wanted = [naive.is_plain_word(piece) for piece in pieces]
    assert found.tolist() == wanted
    assert 100 < sum(wanted) < len(wanted) - 100


@pytest.mark.parametrize("name", NAMED)
def test_a_plain_word_is_one_pretoken_in_each_pattern(name):
    plain = [piece.decode() for piece in random_pieces() if naive.is_plain_word(piece)]
    assert all(NAMED[name].compiled.findall(piece) == [piece] for piece in plain)
