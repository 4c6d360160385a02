"""A text as a kernel argument: a Python str or bytes, read in place, without making an object.

Python's `str.encode` and Numba's unboxing of `bytes` cost 0.15 µs together, a fifth of what encoding "hello world"
takes. And a str that is not ASCII keeps no copy of its UTF-8, as it would after PyUnicode_AsUTF8.
"""

import numpy as np

from ..compiler.jit import called, cgutils, inlined, kernel, llvm
from ..compiler.signature import Argument, int64, uint8
from .intrinsics import (
    AHEAD,
    BLOCK,
    LANES,
    UNITS,
    address_of,
    narrow_8,
    narrow_16,
    narrow_32,
    prefetch_shared,
    read_u8,
    read_u16,
    read_u32,
    write_u8,
)
from .utf8 import encode_character, write_utf8_8, write_utf8_16, write_utf8_32

BYTES, NO_TEXT = 0, -1  # kinds; see TextArgument
STEPS = 32  # of LANES characters each, before ASCII is looked for again


def _take(emitter, item):
    builder, where = emitter.builder, emitter.layouts
    at, n, kind = (cgutils.alloca_once_value(builder, llvm.I64(number)) for number in (0, 0, NO_TEXT))
    base = builder.ptrtoint(item, llvm.I64)
    with builder.if_then(emitter.is_exactly(item, "PyUnicode_Type")):
        state = emitter.read(item, where.text_state, llvm.I32)

        def has(bit):
            return builder.trunc(builder.lshr(state, llvm.I32(bit)), llvm.I1)

        with builder.if_then(has(where.text_compact)):
            is_ascii = has(where.text_ascii)
            unit = builder.zext(builder.and_(builder.lshr(state, llvm.I32(where.text_kind)), llvm.I32(7)), llvm.I64)
            builder.store(builder.select(is_ascii, llvm.I64(BYTES), unit), kind)
            first = builder.select(is_ascii, llvm.I64(where.ascii_at), llvm.I64(where.units_at))
            builder.store(builder.add(base, first), at)
            builder.store(emitter.read(item, where.text_length, llvm.I64), n)
    with builder.if_then(emitter.is_exactly(item, "PyBytes_Type")):
        builder.store(builder.ptrtoint(emitter.call("PyBytes_AsString", llvm.OBJECT, item), llvm.I64), at)
        builder.store(emitter.call("PyBytes_Size", llvm.I64, item), n)
        builder.store(llvm.I64(BYTES), kind)
    return [builder.load(place) for place in (at, n, kind)]


# A text in a kernel.
#
#   at   : address of its units
#   n    : how many there are
#   kind : bytes of a unit, each unit a code point, as in PEP 393: 1, 2 or 4. BYTES if the units are the bytes of the text's
#          UTF-8, for bytes and for a str that is ASCII. NO_TEXT for an object of another type, even a derived one
#
# The caller owns the text and keeps it alive. Any object may be given; the kernel decides which kinds it refuses.
TEXT_ARGUMENT = Argument("TextArgument", ("at", "n", "kind"), _take)


@inlined
def copy_utf8(text, to_at, room):
    """Write the UTF-8 of a text to an address, where there is room for `room` bytes. Returns its length in bytes.

    Returns -1 if it has more than `room` bytes, some of which may be written then, or if it is not a text.
    """
    at, n = text.at, text.n
    if n > room or text.kind == NO_TEXT:
        return -1
    if text.kind == BYTES:
        for i in range(n):
            write_u8(to_at + i, read_u8(at + i))
        return n
    done, length = write_utf8(at, n, text.kind, 0, to_at, room)
    return length if done == n else -1


@called
def write_utf8(at, n, kind, first, to_at, room):
    """Write the UTF-8 of a str's code points from number `first` on, as many as fit into `room` bytes at `to_at`.

    at, n, kind : see TextArgument; the kind is 1, 2 or 4

    A surrogate from surrogateescape becomes the byte that it stands for, any other the three bytes that surrogatepass
    gives: as in text.utf8.to_bytes. Returns the number of the code point that comes next, and how many bytes were written.
    Cost: about five instructions for UNITS characters that are ASCII; for others, and for ASCII near them, see
    write_utf8_8. (Looking for ASCII between the umlauts of German took twice as long: their places are hard to predict.)
    """
    i, length = first, 0
    while n - i >= UNITS and room - length >= 4 * UNITS:
        # The wider the characters, the more bytes ahead, as a character takes about the same time in any width.
        for line in range(0, kind * UNITS, BLOCK):
            prefetch_shared(at + kind * (i + AHEAD) + line)
        if _write_ascii(at + kind * i, kind, to_at + length):
            i += UNITS
            length += UNITS
            continue
        for _ in range(min(STEPS, (n - i) // LANES, (room - length) // (4 * LANES))):
            from_at, end_at = at + kind * i, to_at + length
            prefetch_shared(from_at + AHEAD)
            if kind == 1:
                length += write_utf8_8(from_at, end_at)
            elif kind == 2:
                length += write_utf8_16(from_at, end_at)
            else:
                length += write_utf8_32(from_at, end_at)
            i += LANES
    while i < n:
        code = _code_point(at, kind, i)
        if 0xDC80 <= code < 0xDD00:
            code, size = code & 0xFF, 1
        else:
            size = 1 + (code >= 0x80) + (code >= 0x800) + (code >= 0x10000)
        if size > room - length:
            break
        if size == 1:
            write_u8(to_at + length, code)
        else:
            encode_character(code, to_at + length)
        i += 1
        length += size
    return i, length


@inlined
def _write_ascii(from_at, kind, to_at):
    """Write UNITS characters as if they were ASCII; returns whether they are."""
    if kind == 1:
        return narrow_8(from_at, to_at) == 0
    if kind == 2:
        return narrow_16(from_at, to_at) == 0
    return narrow_32(from_at, to_at) == 0


@inlined
def _code_point(at, kind, i):
    """Code point `i` of a str."""
    if kind == 1:
        return np.int64(read_u8(at + i))
    if kind == 2:
        return np.int64(read_u16(at + 2 * i))
    return np.int64(read_u32(at + 4 * i))


@kernel(TEXT_ARGUMENT, int64, int64, uint8[:])
def write_window(text, first, last, out):
    """Write the UTF-8 of a str's code points from number `first` up to `last` to `out`, uint8[n], as many as fit.

    text : a TextArgument of kind 1, 2 or 4; for other kinds nothing is written

    Returns the number of the code point that comes next, and how many bytes were written. Cost: see write_utf8.
    """
    done, length = first, 0
    if text.kind > BYTES:
        done, length = write_utf8(text.at, min(last, text.n), text.kind, first, address_of(out), out.shape[0])
    return done, length
