"""The list of merges in a tokenizer.json, read from the bytes of the file.

A list is read only if it holds strings with one space each, or lists of two strings, as tokenizers writes it. All else is
left to `json`: another shape, a lone surrogate, "#version", and everything that is invalid JSON or invalid UTF-8.
"""

import numpy as np

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int64, reads, uint8
from ..machine.intrinsics import address_of, read_u8, read_u64, write_u8
from .json_lines import take_string

_TAB, _NEWLINE, _RETURN, _SPACE = b"\t\n\r "
_QUOTE, _COMMA = b'",'
_LIST, _LIST_END = b"[]"
_VERSION = np.uint64(int.from_bytes(b"#version", "little"))


@inlined
def _after_space(at):
    """The first address from `at` on that does not hold JSON's whitespace."""
    byte = read_u8(at)
    while byte in (_SPACE, _NEWLINE, _TAB, _RETURN):
        at += 1
        byte = read_u8(at)
    return at


@kernel(reads(uint8[:]), uint8[:], int64[:])
def read_merges(data, text, starts):
    """Read the sides of merges from a JSON list.

    data   : uint8[* + PADDING]          begins with the list; a byte 0 and PADDING bytes stand after it
    text   : uint8[room], filled         the sides, left, right, left, ..., one after another; room for all data, and BLOCK
                                         bytes
    starts : int64[2 * n + 1], filled    where each starts in `text`, and where the last one ends; room for two more than
                                         there are quotation marks in the data

    Returns (number of merges, place after the list), or (-1, 0) if it is left to `json`. Cost: 10 ns a string.
    """
    data_at, text_at = address_of(data), address_of(text)
    at, to_at = _after_space(data_at + 1), text_at
    n_sides = 0
    starts[0] = 0
    are_lists = read_u8(at) == _LIST
    while True:
        if are_lists:
            if read_u8(at) != _LIST:
                return -1, 0
            at = _after_space(at + 1)
        if read_u8(at) != _QUOTE:
            return -1, 0
        from_at = to_at
        at, to_at = take_string(at + 1, to_at)
        if at == 0:
            return -1, 0
        if are_lists:
            n_sides += 1
            starts[n_sides] = to_at - text_at
            at = _after_space(at)
            if read_u8(at) != _COMMA:
                return -1, 0
            at = _after_space(at + 1)
            if read_u8(at) != _QUOTE:
                return -1, 0
            at, to_at = take_string(at + 1, to_at)
            if at == 0:
                return -1, 0
            at = _after_space(at)
            if read_u8(at) != _LIST_END:
                return -1, 0
            at += 1
        else:
            if to_at - from_at >= 8 and read_u64(from_at) == _VERSION:
                return -1, 0
            # Without the space between the sides, which stands where it was found first.
            n_spaces = 0
            out_at = from_at
            while from_at < to_at:
                byte = read_u8(from_at)
                if byte == _SPACE:
                    n_spaces += 1
                    n_sides += n_spaces == 1
                    starts[n_sides] = out_at - text_at
                else:
                    write_u8(out_at, np.int64(byte))
                    out_at += 1
                from_at += 1
            if n_spaces != 1:
                return -1, 0
            to_at = out_at
        n_sides += 1
        starts[n_sides] = to_at - text_at
        at = _after_space(at)
        if read_u8(at) == _LIST_END:
            return n_sides // 2, at + 1 - data_at
        if read_u8(at) != _COMMA:
            return -1, 0
        at = _after_space(at + 1)
