"""The texts of JSON records, taken from their lines as UTF-8.

A line is read only if Python's `json` would read the same text from it: the whole line is checked, even values that are not
needed. Unusual lines are left to `json`, which alone decides what they mean or what is wrong with them: those in which the
field is missing, is not a string, or comes twice; with a lone surrogate anywhere, NaN or Infinity, nesting deeper than
MOST_DEPTH, or a BOM; and everything that is invalid JSON or invalid UTF-8.
"""

import numpy as np

from ..compiler.jit import inlined, kernel, part
from ..compiler.signature import boolean, int64, reads, uint8
from ..machine.intrinsics import (
    BLOCK,
    address_of,
    copy_64,
    mask_between,
    read_i64,
    read_u8,
    read_u32,
    trailing_zeros,
    write_u8,
)
from ..machine.utf8 import encode_character
from .rows import end_row

MOST_DEPTH = 60  # of objects and arrays within each other

_TAB, _NEWLINE, _RETURN, _SPACE = b"\t\n\r "
_QUOTE, _BACKSLASH, _COLON, _COMMA, _MINUS, _PLUS, _POINT, _ZERO = b'"\\:,-+.0'
_OBJECT, _OBJECT_END, _ARRAY, _ARRAY_END = b"{}[]"
_LOWER_E, _LOWER_U = b"eu"
_NULL, _TRUE, _FALS = (int.from_bytes(word, "little") for word in (b"null", b"true", b"fals"))
_UNICODE_ESCAPE = int.from_bytes(b"\\u", "little")
_ONE = np.uint64(1)
_LAST = np.uint64(1 << (BLOCK - 1))  # of the 64 bytes of a block

# The character that a character after a backslash stands for, or 0; and the values of hexadecimal digits, -1 for all other
# bytes.
_ESCAPED = np.zeros(256, dtype=np.uint8)
_ESCAPED[list(b'"\\/bfnrt')] = list(b'"\\/\b\f\n\r\t')
_DIGITS = np.full(256, -1, dtype=np.int64)
_DIGITS[list(b"0123456789abcdef")] = _DIGITS[list(b"0123456789ABCDEF")] = range(16)


@inlined
def after_space(at):
    """The first address from `at` on that does not hold JSON's whitespace, or holds a newline, which ends the line."""
    byte = read_u8(at)
    while byte in (_SPACE, _TAB, _RETURN):
        at += 1
        byte = read_u8(at)
    return at


@inlined
def after_digits(at):
    """The address after one or more digits, 0 if there is none."""
    first = at
    while 0 <= read_u8(at) - np.int64(_ZERO) < 10:
        at += 1
    return at if at > first else 0


@inlined
def after_number(at):
    """The address after the number that begins at an address, 0 if none does."""
    if read_u8(at) == _MINUS:
        at += 1
    at = at + 1 if read_u8(at) == _ZERO else after_digits(at)
    if at != 0 and read_u8(at) == _POINT:
        at = after_digits(at + 1)
    if at != 0 and read_u8(at) | 0x20 == _LOWER_E:
        at += 1
        if read_u8(at) == _PLUS or read_u8(at) == _MINUS:
            at += 1
        at = after_digits(at)
    return at


@inlined
def after_word(at):
    """The address after the null, true or false at an address, 0 if there is none."""
    word = read_u32(at)
    if word in (_NULL, _TRUE):
        return at + 4
    return at + 5 if word == _FALS and read_u8(at + 4) == _LOWER_E else 0


@inlined
def hexadecimal(at):
    """The number of the four hexadecimal digits at an address, less than 0 if there are other bytes."""
    digits_at = address_of(_DIGITS)
    number = 0
    for i in range(4):
        number = number << 4 | read_i64(digits_at + 8 * np.int64(read_u8(at + i)))
    return number


@inlined
def invalid_utf8(at, high):
    """Which of the 64 bytes at an address are invalid UTF-8. The last character may continue after them; the first byte
    must not continue a character.

    high : uint64    the bytes that are not ASCII

    Returns (bits of invalid bytes, and of bytes where a continuation byte is missing; the number of bytes before the
    character that may continue). Cost: about ten vector compares.
    """
    two, three, four = mask_between(at, 0xC2, 30), mask_between(at, 0xE0, 16), mask_between(at, 0xF0, 5)
    following = mask_between(at, 0x80, 64)
    long = three | four
    first = two | long
    wanted = first << _ONE | long << np.uint64(2) | four << np.uint64(3)
    invalid = (wanted ^ following) | (high & ~(first | following))
    if long:  # overlong forms, surrogates, and numbers beyond the last code point
        invalid |= mask_between(at, 0xE0, 1) << _ONE & mask_between(at, 0x80, 0x20)
        invalid |= mask_between(at, 0xED, 1) << _ONE & mask_between(at, 0xA0, 0x20)
        invalid |= mask_between(at, 0xF0, 1) << _ONE & mask_between(at, 0x80, 0x10)
        invalid |= mask_between(at, 0xF4, 1) << _ONE & mask_between(at, 0x90, 0x30)
    going_on = first & _LAST | long & _LAST >> _ONE | four & _LAST >> np.uint64(2)
    return invalid, trailing_zeros(going_on)


@part
def take_string(at, to_at):
    """Write the JSON string whose opening quotation mark is before `at`, as UTF-8 to `to_at`.

    Returns (address after the closing quotation mark, address after what was written), or (0, 0) for an invalid string, or
    one with a lone surrogate. Writes up to BLOCK bytes more. Cost: 10 ns for 64 bytes, and 3 ns an escape.
    """
    escaped_at = address_of(_ESCAPED)
    while True:
        copy_64(at, to_at)
        quotes, backslashes = mask_between(at, _QUOTE, 1), mask_between(at, _BACKSLASH, 1)
        stops = quotes | backslashes | mask_between(at, 0, 32)
        high = mask_between(at, 128, 128)
        if stops | high == 0:  # step by a constant, so that the next block need not wait for this one
            at += BLOCK
            to_at += BLOCK
            continue
        up_to_stop = stops ^ (stops - _ONE)
        n = trailing_zeros(stops)
        high &= up_to_stop
        if high:
            invalid, n_whole = invalid_utf8(at, high)
            if invalid & up_to_stop:
                return 0, 0
            n = min(n, n_whole)
        at += n
        to_at += n
        if n == BLOCK or stops >> np.uint64(n) & _ONE == 0:
            continue
        if read_u8(at) == _QUOTE:
            return at + 1, to_at
        if read_u8(at) != _BACKSLASH:
            return 0, 0
        while read_u8(at) == _BACKSLASH:
            escape = read_u8(at + 1)
            if escape == _LOWER_U:
                code = hexadecimal(at + 2)
                at += 6
                if 0xD800 <= code < 0xE000:
                    low = hexadecimal(at + 2) if read_u32(at) & 0xFFFF == _UNICODE_ESCAPE else -1
                    if code >= 0xDC00 or not 0xDC00 <= low < 0xE000:
                        return 0, 0
                    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                    at += 6
                if code < 0:
                    return 0, 0
                to_at += encode_character(code, to_at)
            else:
                character = read_u8(escaped_at + np.int64(escape))
                if character == 0:
                    return 0, 0
                write_u8(to_at, np.int64(character))
                to_at += 1
                at += 2


@inlined
def is_same(at, other_at, n):
    """Whether the `n` bytes at two addresses are equal."""
    i = 0
    while i < n and read_u8(at + i) == read_u8(other_at + i):
        i += 1
    return i == n


@part
def take_record(at, field_at, field_bytes, to_at):
    """Write the text of the record at an address to another address.

    at       : address of the record, in lines that end with a byte 0 and PADDING bytes
    field_at : address of the name of the field, of `field_bytes` bytes
    to_at    : address where the text is written; there must be as much room as the rest of the line has, and PADDING

    Returns (address after the record, address after the text), or (0, 0) if the record is left to `json`. Other strings
    of the record are written after the text, to be overwritten later. Cost: 2 ns for each byte outside of strings.
    """
    if read_u8(at) != _OBJECT:
        return 0, 0
    at += 1
    has_text = False
    is_empty = True  # the innermost object or array is still empty
    depth = 1
    objects = 1  # a bit for each object or array that is open, the lowest for the innermost; 1 for an object
    while True:
        at = after_space(at)
        is_object = objects & 1
        if not is_empty or read_u8(at) != (_OBJECT_END if is_object else _ARRAY_END):
            is_wanted = False
            if is_object:
                if read_u8(at) != _QUOTE:
                    return 0, 0
                at, key_end = take_string(at + 1, to_at)
                if at == 0:
                    return 0, 0
                is_wanted = depth == 1 and key_end - to_at == field_bytes and is_same(to_at, field_at, field_bytes)
                at = after_space(at)
                if read_u8(at) != _COLON:
                    return 0, 0
                at = after_space(at + 1)
            byte = read_u8(at)
            if is_wanted and (byte != _QUOTE or has_text):
                return 0, 0
            if byte in (_OBJECT, _ARRAY):
                if depth == MOST_DEPTH:
                    return 0, 0
                objects = objects << 1 | (byte == _OBJECT)
                depth += 1
                at += 1
                is_empty = True
                continue
            if byte == _QUOTE:
                at, end_at = take_string(at + 1, to_at)
                if is_wanted:
                    to_at = end_at
                    has_text = True
            elif byte >= 0x3A:  # neither a digit nor a minus sign
                at = after_word(at)
            else:
                at = after_number(at)
            if at == 0:
                return 0, 0
            at = after_space(at)
        while read_u8(at) == (_OBJECT_END if objects & 1 else _ARRAY_END):
            at += 1
            depth -= 1
            if depth == 0:
                return (at, to_at) if has_text else (0, 0)
            objects >>= 1
            at = after_space(at)
        if read_u8(at) != _COMMA:
            return 0, 0
        at += 1
        is_empty = False


@inlined
def after_line(at, end_at):
    """The address after the first newline at or after `at`, or `end_at` if there is none before it."""
    while at < end_at:
        n = trailing_zeros(mask_between(at, _NEWLINE, 1))
        if n < BLOCK:
            return min(at + n + 1, end_at)
        at += BLOCK
    return end_at


@kernel(reads(uint8[:]), int64, int64, boolean, reads(uint8[:]), uint8[:], int64, int64[:, :], int64, int64)
def take_lines(lines, start, end, is_last, field, out, n_bytes, breaks, n_records, break_id):
    """Write the texts of JSON lines one after another, each followed by a SEPARATOR, which is a break.

    lines    : uint8[>= end + PADDING], read    the lines from `start` to `end`; lines[end] must be 0
    is_last  : bool                             whether the last of them is complete though it has no newline
    field    : uint8[*], read                   the name of the field with the text
    out      : uint8[>= n_bytes + end - start + PADDING], filled from `n_bytes` on; no text is longer than its line
    breaks   : int64[n, 3], filled from `n_records` on    start, end and id of the break after each text
    break_id : int64

    Returns (position after the last line that was read, position after the next one if that is left to `json`, bytes in
    `out`, records in `breaks`). The first two are equal if all lines are read, or the next one needs more room in `breaks`
    or is incomplete. Cost: 0.2 ns a byte of long texts.
    """
    lines_at, field_at, out_at, breaks_at = address_of(lines), address_of(field), address_of(out), address_of(breaks)
    end_at = lines_at + end
    line_at = lines_at + start
    to_at = out_at + n_bytes
    while line_at < end_at and n_records < breaks.shape[0]:
        at, text_end_at = take_record(after_space(line_at), field_at, field.shape[0], to_at)
        at = after_space(at) if at != 0 else line_at
        is_whole = read_u8(at) == _NEWLINE or (at == end_at and is_last)
        if at == line_at or not is_whole or at > end_at:
            after_at = after_line(line_at, end_at)
            is_begun = after_at == end_at and not is_last and read_u8(end_at - 1) != _NEWLINE
            return line_at - lines_at, (line_at if is_begun else after_at) - lines_at, to_at - out_at, n_records
        line_at = min(at + 1, end_at)
        to_at = out_at + end_row(out_at, text_end_at - out_at, breaks_at, n_records, break_id)
        n_records += 1
    return line_at - lines_at, line_at - lines_at, to_at - out_at, n_records
