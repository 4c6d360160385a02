"""Limits on the bytes of a token, tested before its pair is merged."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import part
from ..compiler.signature import int64, structure, uint16
from ..machine.intrinsics import address_of
from ..machine.utf8 import decode_character

# Indexes of TokenLimits.numbers. HAS_LIMITS: whether any limit after it is set. ASKS: whether Python decides, too.
MOST_BYTES, HAS_LIMITS, WHOLE_CHARACTERS, ONE_SCRIPT, MOST_LETTERS, MOST_NUMBERS, MOST_WORDS, ASKS = range(8)
N_NUMBERS = 8
NO_LIMIT = 2**32  # more bytes than all words together, see linked_words.MOST_CELLS

# The bits of an entry of `characters`, see text/character_properties.py.
SCRIPT, SYSTEMS, LETTER, NUMBER, WHITESPACE = 0xFF, 0xF00, 1 << 12, 1 << 13, 1 << 14


@structure(int64[:], uint16[:])
class TokenLimits(NamedTuple):
    """The limits that tokens must keep.

    numbers    : int64[N_NUMBERS]        see above; NO_LIMIT in place of a number for no limit
    characters : uint16[n_code_points]   the properties of each code point; empty if no limit needs them
    """

    numbers: NDArray[np.int64]
    characters: NDArray[np.uint16]


def no_limits(most_bytes: int | None) -> TokenLimits:
    """No limits, except on the number of bytes if given."""
    numbers = np.full(N_NUMBERS, NO_LIMIT, dtype=np.int64)
    numbers[[HAS_LIMITS, WHOLE_CHARACTERS, ONE_SCRIPT, ASKS]] = 0
    if most_bytes is not None:
        numbers[MOST_BYTES] = min(most_bytes, NO_LIMIT)
    return TokenLimits(numbers, np.zeros(0, dtype=np.uint16))


@part
def is_part_of_character(text, start, end):
    """Whether bytes could be a part of one character: up to three continuation bytes, or a first byte and some of these."""
    first = text[start]
    length = 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0)
    if end - start >= (length if length > 1 else 4) or first < 0x80:
        return False
    n_continuing = 0
    for i in range(start + 1, end):
        n_continuing += text[i] & 0xC0 == 0x80
    return n_continuing == end - start - 1


@part
def keeps_limits(text, start, end, limits):
    """Whether a token keeps all limits except MOST_BYTES.

    text       : uint8[>= end + 3], read     its bytes are text[start:end]
    start, end : int64
    limits     : TokenLimits, read

    Bytes that are not UTF-8 are characters without a script that are neither letters, numbers nor whitespace.
    Cost: O(length), about 2 ns a byte.
    """
    numbers, characters = limits.numbers, limits.characters
    knows_characters = characters.shape[0] > 0
    script, systems = 0, SYSTEMS
    n_letters, n_numbers, n_words = 0, 0, 0
    is_whole, in_word = True, False
    at = start
    while at < end:
        code_point, length = decode_character(address_of(text) + at)
        if code_point < 0 or at + length > end:  # the character may have taken bytes that follow the token
            is_whole = False
            at += 1
            n_words += not in_word
            in_word = True
            continue
        at += length
        if not knows_characters:
            continue
        entry = np.int64(characters[code_point])
        n_letters += (entry & LETTER) != 0
        n_numbers += (entry & NUMBER) != 0
        is_space = (entry & WHITESPACE) != 0
        n_words += not (is_space or in_word)
        in_word = not is_space
        if numbers[ONE_SCRIPT] and entry & SCRIPT:
            if script and entry & SCRIPT != script:
                return False
            script = entry & SCRIPT
            if entry & SYSTEMS:
                systems &= entry
                if not systems:
                    return False
    if n_letters > numbers[MOST_LETTERS] or n_numbers > numbers[MOST_NUMBERS] or n_words > numbers[MOST_WORDS]:
        return False
    return not numbers[WHOLE_CHARACTERS] or is_whole or is_part_of_character(text, start, end)
