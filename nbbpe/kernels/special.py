"""Finding special tokens in a text."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import inlined, kernel, part
from .simd import BLOCK, address_of, mask_between, read_i64, read_u8, trailing_zeros, write_i64

_ONE = np.uint64(1)


class SpecialTokens(NamedTuple):
    """Special tokens as bytes, in the order of their bytes, in which those that begin alike stand together.

    text        : uint8[*]          their bytes, one after another
    starts      : int64[n + 1]      where each starts in text
    ids         : int64[n]          what to report for each
    first_bytes : uint8[m]          the distinct bytes that they start with
    """

    text: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ids: NDArray[np.int64]
    first_bytes: NDArray[np.uint8]


def new_special_tokens(tokens: list[bytes], ids: list[int]) -> SpecialTokens:
    """Pack special tokens, none of which is empty or comes twice, with their ids."""
    order = sorted(range(len(tokens)), key=tokens.__getitem__)
    lengths = [len(tokens[i]) for i in order]
    return SpecialTokens(
        text=np.frombuffer(b"".join(tokens[i] for i in order), dtype=np.uint8).copy(),
        starts=np.cumsum([0, *lengths], dtype=np.int64),
        ids=np.array([ids[i] for i in order], dtype=np.int64),
        first_bytes=np.array(sorted({token[0] for token in tokens}), dtype=np.uint8),
    )


@inlined
def specials_addresses(specials):
    """What the parts below take: where text, starts, ids and first_bytes are, and how many tokens and first bytes."""
    return (
        address_of(specials.text),
        address_of(specials.starts),
        address_of(specials.ids),
        address_of(specials.first_bytes),
        specials.ids.shape[0],
        specials.first_bytes.shape[0],
    )


@inlined
def length_of(specials, token):
    """How many bytes a special token has."""
    return read_i64(specials[1] + 8 * token + 8) - read_i64(specials[1] + 8 * token)


@inlined
def byte_of(specials, token, depth):
    """Byte `depth` of a special token that is longer."""
    return read_u8(specials[0] + read_i64(specials[1] + 8 * token) + depth)


@inlined
def first_from(specials, low, high, depth, byte):
    """The first of the tokens `low` to `high`, alike before byte `depth`, that has there `byte` or more; else `high`."""
    while low < high:
        middle = (low + high) >> 1
        if byte_of(specials, middle, depth) < byte:
            low = middle + 1
        else:
            high = middle
    return low


@part
def match_special(text_at, position, end, specials):
    """The number of the longest special token at `position` of a text that fits before `end`, or -1.

    Cost: a step for each byte that tokens share with the text, with a binary search where tokens differ.
    """
    low, high = 0, specials[4]  # the tokens that begin as the text does, and are longer than what was compared
    found = -1
    depth = 0
    while low < high and position + depth < end:
        byte = read_u8(text_at + position + depth)
        if byte_of(specials, low, depth) != byte or byte_of(specials, high - 1, depth) != byte:
            low = first_from(specials, low, high, depth, byte)
            high = first_from(specials, low, high, depth, byte + 1)
        depth += 1
        if low < high and length_of(specials, low) == depth:
            found = low
            low += 1
    return found


@part
def list_specials(text_at, start, end, stop, specials, breaks_at, room):
    """See find_specials, with the addresses of what it takes; there is room for `room` breaks."""
    found = 0
    done = start  # nothing before this position can start a special token any more
    for block in range(start, stop, BLOCK):
        candidates = np.uint64(0)
        for i in range(specials[5]):
            candidates |= mask_between(text_at + block, np.int64(read_u8(specials[3] + i)), 1)
        while candidates:
            position = block + trailing_zeros(candidates)
            candidates &= candidates - _ONE
            if position < done or position >= stop:
                continue
            token = match_special(text_at, position, end, specials)
            if token < 0:
                continue
            if found == room:
                return found, position
            done = position + length_of(specials, token)
            write_i64(breaks_at + 24 * found, position)
            write_i64(breaks_at + 24 * found + 8, done)
            write_i64(breaks_at + 24 * found + 16, read_i64(specials[2] + 8 * token))
            found += 1
    return found, max(done, stop)


@kernel
def find_specials(text_at, start, end, stop, specials, breaks):
    """List the special tokens that start before `stop`, leftmost first, the longest where several match.

    text_at : address of a text with PADDING bytes after `end`
    breaks  : int64[n, 3], filled    start, end and id of each

    Returns (number listed, position to go on from): the position is `stop` or beyond once all are listed, and less
    where `breaks` was full. Cost: a few instructions for 64 bytes, and a compare wherever a first byte occurs.
    """
    return list_specials(text_at, start, end, stop, specials_addresses(specials), address_of(breaks), breaks.shape[0])
