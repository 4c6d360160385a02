"""Seams: places in a word across which no merge joins, so that the word can be cut there and each part encoded separately.

Chinese, Japanese and Thai have no spaces, so words are long and most of them new. But in most vocabularies, few tokens have
several of these characters. A merge joins two tokens at one place, and nothing is ever merged across a place whose
neighbouring characters no merge joins. Parts between such seams are mostly cached even if whole words are new.
(GPT-2: 0.9 of the places inside Chinese and Japanese words are seams, and a text has 45,000 distinct parts instead of
185,000 distinct words, which takes a first pass from 110 to 42 ms.)

The places at which merges join are stored as bits in a hash table, by the 2 bytes before and the 3 bytes after a place. If
two places share a bit, a seam may be missed, which costs time only. Only places between two caseless letters (ideographs
and letters of most scripts of Asia and Africa) of which the second has three bytes or more are tested. Elsewhere there
would be few seams, or parts would be so short that cutting costs more than it saves.

The parts of a cut word are merged as in the word, because of two facts. First, in every state in which the pattern's
automaton can be after a *seam letter*, a match may end, and another seam letter leads to the same state as from the start:
so the pretoken is cut in two, and its end stays the same. In patterns that distinguish case, this does not hold after a
lower-case letter: such classes do *harm*, and some others, such as marks, *keep* it; seam letters that follow harm are not
tested. These classes are derived from the automaton (patterns/seams.py). Second, no merge of the word is lost or
added, as none joins there.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined
from ..machine.intrinsics import mask_between, read_u8, read_u16, read_u32, trailing_zeros
from .boundaries import class_bits
from .pattern_tables import SEAM_HARM, SEAM_KEEP, SEAM_LETTERS, number_of

JOINS_BYTES = 1 << 20  # of a table of joins
BITS_PER_JOIN = 32  # at least, so that places rarely share a bit

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HASH_SHIFT = np.uint64(32)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_LAST = np.uint64(63)
_FIRST_OF_3 = 0xE0  # the lowest byte that characters of three bytes begin with


class Joins(NamedTuple):
    """A table of joins in the form that compiled code takes: the address of its bits, or 0; the number of the last bit."""

    bits: int
    last_bit: int


NO_JOINS = Joins(0, 0)  # for words that must not be cut


def folded(joins: NDArray[np.uint8], n_set: int) -> NDArray[np.uint8]:
    """A table of joins with `n_set` bits set, shrunk so that it stays in a core's cache."""
    n_bytes = len(joins)
    while n_bytes > 8 and 8 * n_bytes >= 2 * BITS_PER_JOIN * n_set:
        n_bytes //= 2
    return np.bitwise_or.reduce(joins.reshape(-1, n_bytes), axis=0)  # bit i is then found at i modulo the number of bits


@inlined
def place_bit(before, after, last_bit):
    """The number of the bit for a place, from the bytes before and after it; `last_bit` is the number of the table's last
    bit."""
    key = np.uint64(before | (after << 16))
    return np.int64((key * _MULTIPLIER) >> _HASH_SHIFT) & last_bit


@inlined
def byte_ends(byte):
    """The ends of a token of one byte, see `join_ends`."""
    return byte | (byte << 32) | (1 << 40)


@inlined
def join_ends(left, right):
    """The ends of the token that two tokens join to. The ends of a token are one number:

    bits 0 to 23 are its first three bytes, 24 to 39 its last two, and from 40 on its length, or 3 if it is longer.
    """
    n_left, n_right = left >> 40, right >> 40
    first = left | ((right & 0xFFFFFF) << (8 * n_left))
    last = (right >> 24) & 0xFFFF
    if n_right == 1:
        last |= (left >> 32) & 0xFF
    return (first & 0xFFFFFF) | (last << 24) | (min(n_left + n_right, 3) << 40)


@inlined
def mark_joins(joins, left, right):
    """Set the bits of the places where a merge joins two tokens of these ends (see `join_ends`).

    joins : uint8[*], modified    as many as a power of two

    Returns how many were set. Cost: nothing for most merges; if a token has too few bytes to determine its places, a bit
    for each byte that may be next to it.
    """
    before, n_left = (left >> 24) & 0xFFFF, left >> 40
    after, n_right = right & 0xFFFFFF, right >> 40
    n_set = 0
    if (before >> 8) & 0xC0 == 0x80 and after & 0xFF >= _FIRST_OF_3:
        # The byte before a letter's last byte is a lead byte or a continuation byte; its third byte is a continuation byte.
        befores = (0x80, 0xE0) if n_left == 1 else (0, 1)
        afters = (0x80, 0xC0) if n_right == 2 else (0, 1)
        for i in range(*befores):
            for j in range(*afters):
                bit = place_bit(before | i, after | (j << 16), 8 * joins.shape[0] - 1)
                n_set += 1 - ((joins[bit >> 3] >> (bit & 7)) & 1)
                joins[bit >> 3] |= 1 << (bit & 7)
    return n_set


@inlined
def is_set(joins_at, bit):
    """The bit of this number in the table at an address, 0 or 1."""
    return (np.int64(read_u8(joins_at + (bit >> 3))) >> (bit & 7)) & 1


@inlined
def bits_of_classes(classes, classes_at):
    """The bits of the bytes in the last block of `block_cuts` whose class is in a set, mostly of one or two classes."""
    bits = np.uint64(0)
    while classes:
        bits |= class_bits(trailing_zeros(classes), classes_at)
        classes &= classes - _ONE
    return bits


@inlined
def seam_cuts(block_at, state, joins, pattern_at, classes_at):
    """The seams in the last block of `block_cuts`, 64 bytes.

    state  : uint64   the state after the block before, 0 at the start of a piece: bit 0 says that a seam may be before the
                      first byte; bit 1, that harm may be before it, or before the letters that precede it
    joins  : Joins, the table of places at which merges join
    pattern_at, classes_at : see boundaries.block_cuts

    Returns (cuts, state): bit i of cuts says that there is a seam before byte i. Cost: 2 ns a place.
    """
    cuts = np.uint64(0)
    firsts = mask_between(block_at, _FIRST_OF_3, 256 - _FIRST_OF_3)
    if firsts == 0:
        return cuts, _TWO
    letters = bits_of_classes(np.uint64(number_of(pattern_at, SEAM_LETTERS)), classes_at)
    after_harm = cuts
    if number_of(pattern_at, SEAM_HARM) != 0:
        harm = bits_of_classes(np.uint64(number_of(pattern_at, SEAM_HARM)), classes_at)
        both = letters | bits_of_classes(np.uint64(number_of(pattern_at, SEAM_KEEP)), classes_at)
        # Adding the first bit of a run of bits to the run clears all of it.
        not_after = both & (both + (both & ((harm << _ONE) | (state >> _ONE))))
        letters &= not_after
        after_harm = (harm | (both ^ not_after)) >> _LAST
    places = letters & ((letters << _ONE) | (state & _ONE)) & firsts
    while places:
        bit = trailing_zeros(places)
        at = block_at + bit
        before, after = np.int64(read_u16(at - 2)), np.int64(read_u32(at))
        joined = is_set(joins.bits, place_bit(before, after & 0xFFFFFF, joins.last_bit))
        joined |= is_set(joins.bits, place_bit(before, after & 0xFF, joins.last_bit))  # to a token of the first byte alone
        cuts |= np.uint64(joined ^ 1) << np.uint64(bit)
        places &= places - _ONE
    return cuts, (letters >> _LAST) | (after_harm << _ONE)
