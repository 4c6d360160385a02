"""A text as an argument of a kernel: a str or bytes of Python's, read where it lies, without an object made for it.

Python's `str.encode` and Numba's look at what `bytes` has cost 0.15 µs together, a fifth of what encoding "hello world"
takes. And of a str that is not ASCII, no UTF-8 stays behind in the object, as it does with PyUnicode_AsUTF8.
"""

import numpy as np
from llvmlite import ir

from ..compiler.emitter import I32, I64, OBJECT
from ..compiler.jit import inlined
from ..compiler.signature import Argument
from .intrinsics import read_u8, read_u16, read_u32, write_u8
from .utf8 import encode_character

BYTES, NO_TEXT = 0, -1  # kinds; see TextArgument


def _take(emitter, item):
    builder, where = emitter.builder, emitter.layouts
    at, n, kind = (emitter.variable(I64(number)) for number in (0, 0, NO_TEXT))
    base = builder.ptrtoint(item, I64)
    with builder.if_then(emitter.is_exactly(item, "PyUnicode_Type")):
        state = emitter.read(item, where.text_state, I32)

        def has(bit):
            return builder.trunc(builder.lshr(state, I32(bit)), ir.IntType(1))

        with builder.if_then(has(where.text_compact)):
            is_ascii = has(where.text_ascii)
            unit = builder.zext(builder.and_(builder.lshr(state, I32(where.text_kind)), I32(7)), I64)
            builder.store(builder.select(is_ascii, I64(BYTES), unit), kind)
            first = builder.select(is_ascii, I64(where.ascii_at), I64(where.units_at))
            builder.store(builder.add(base, first), at)
            builder.store(emitter.read(item, where.text_length, I64), n)
    with builder.if_then(emitter.is_exactly(item, "PyBytes_Type")):
        builder.store(builder.ptrtoint(emitter.call("PyBytes_AsString", OBJECT, item), I64), at)
        builder.store(emitter.call("PyBytes_Size", I64, item), n)
        builder.store(I64(BYTES), kind)
    return [builder.load(place) for place in (at, n, kind)]


# What a kernel has of a text.
#
#   at   : address of its units
#   n    : how many there are
#   kind : bytes of a unit, each unit a code point, as PEP 393 has them: 1, 2 or 4. BYTES where the units are the bytes of
#          the text's UTF-8: of bytes, and of a str that is ASCII. NO_TEXT for an object of another type, also a derived one
#
# The text is the caller's, who keeps it. Any object may be given; it is for the kernel to tell what kinds it refuses.
TEXT_ARGUMENT = Argument("TextArgument", ("at", "n", "kind"), _take)


@inlined
def copy_utf8(text, to_at, room):
    """Write the UTF-8 of a text to an address, where there must be `room` for it and 3 bytes more; returns its length.

    Or -1, and has then written a part of it, where it has more than `room` bytes, where it has a surrogate, which has no
    UTF-8, or where it is no text. Cost: one step a byte or a character; those of bytes go by vectors.
    """
    at, n = text.at, text.n
    if n > room or text.kind == NO_TEXT:
        return -1
    if text.kind == BYTES:
        for i in range(n):
            write_u8(to_at + i, read_u8(at + i))
        return n
    length = 0
    for i in range(n):
        if text.kind == 1:
            code = read_u8(at + i)
        elif text.kind == 2:
            code = read_u16(at + 2 * i)
        else:
            code = read_u32(at + 4 * i)
        code = np.int64(code)
        if 0xD800 <= code < 0xE000:
            return -1
        length += encode_character(code, to_at + length)
        if length > room:
            return -1
    return length
