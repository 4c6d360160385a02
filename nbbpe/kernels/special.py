"""Finding special tokens in a text."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import kernel, part
from .simd import BLOCK, mask_between, read_u8, trailing_zeros

_ONE = np.uint64(1)


class SpecialTokens(NamedTuple):
    """Special tokens as bytes, the longest first, so that the first that matches is the longest.

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
    """Pack special tokens, none of which is empty, with their ids."""
    order = sorted(range(len(tokens)), key=lambda i: -len(tokens[i]))
    lengths = [len(tokens[i]) for i in order]
    return SpecialTokens(
        text=np.frombuffer(b"".join(tokens[i] for i in order), dtype=np.uint8).copy(),
        starts=np.cumsum([0, *lengths], dtype=np.int64),
        ids=np.array([ids[i] for i in order], dtype=np.int64),
        first_bytes=np.array(sorted({token[0] for token in tokens}), dtype=np.uint8),
    )


@part
def match_special(text_at, position, end, specials):
    """The number of the longest special token at `position` of a text that fits before `end`, or -1."""
    for i in range(specials.ids.shape[0]):
        first = specials.starts[i]
        length = specials.starts[i + 1] - first
        if position + length > end:
            continue
        same = True
        for j in range(length):
            if read_u8(text_at + position + j) != specials.text[first + j]:
                same = False
                break
        if same:
            return i
    return -1


@kernel
def find_specials(text_at, start, end, stop, specials, breaks):
    """List the special tokens that start before `stop`, leftmost first, the longest where several match.

    text_at : address of a text with PADDING bytes after `end`
    breaks  : int64[n, 3], filled    start, end and id of each

    Returns (number listed, position to go on from): the position is `stop` or beyond once all are listed, and less
    where `breaks` was full. Cost: a few instructions for 64 bytes, and a compare wherever a first byte occurs.
    """
    found = 0
    done = start  # nothing before this position can start a special token any more
    for block in range(start, stop, BLOCK):
        candidates = np.uint64(0)
        for byte in specials.first_bytes:
            candidates |= mask_between(text_at + block, np.int64(byte), 1)
        while candidates:
            position = block + trailing_zeros(candidates)
            candidates &= candidates - _ONE
            if position < done or position >= stop:
                continue
            token = match_special(text_at, position, end, specials)
            if token < 0:
                continue
            if found == breaks.shape[0]:
                return found, position
            done = position + specials.starts[token + 1] - specials.starts[token]
            breaks[found, 0] = position
            breaks[found, 1] = done
            breaks[found, 2] = specials.ids[token]
            found += 1
    return found, max(done, stop)
