"""A text as a kernel argument: a Python str or bytes, read where it lies, without making an object.

Python's `str.encode` and Numba's unboxing of `bytes` cost 0.15 µs together, a fifth of what encoding "hello world"
takes. And of a str that is not ASCII, no UTF-8 stays behind in the object, as it does with PyUnicode_AsUTF8.
"""

import numpy as np
from numba.core import cgutils
from numba.extending import NativeValue, unbox

from ..compiler.jit import inlined
from .intrinsics import I64, read_u8, read_u16, read_u32, write_u8
from .python_arguments import Argument, call_api, has_numbers, is_exactly
from .utf8 import encode_character

BYTES, NO_TEXT = 0, -1  # kinds; see TextArgument


@has_numbers("at", "n", "kind")
class TextArgument(Argument):
    """A text in a kernel.

    at   : address of its units
    n    : how many there are
    kind : bytes of a unit, each unit a code point, as PEP 393 has them: 1, 2 or 4. BYTES where the units are the bytes of
           the text's UTF-8: of bytes, and of a str that is ASCII. NO_TEXT for an object of another type, also a derived one

    The text is the caller's, who keeps it. Any object may be given; it is for the kernel to tell what kinds it refuses.
    """


TEXT_ARGUMENT = TextArgument()


@unbox(TextArgument)
def _unbox(kind, obj, c):
    builder, api = c.builder, c.pyapi
    text = cgutils.create_struct_proxy(kind)(c.context, builder)
    text.at, text.n, text.kind = I64(0), I64(0), I64(NO_TEXT)
    with builder.if_then(is_exactly(c, obj, "PyUnicode_Type")):
        is_known, at, n, unit, is_ascii, _ = api.string_as_string_size_and_kind(obj)
        with builder.if_then(is_known):
            text.at, text.n = builder.ptrtoint(at, I64), n
            text.kind = builder.select(cgutils.is_true(builder, is_ascii), I64(BYTES), builder.zext(unit, I64))
    with builder.if_then(is_exactly(c, obj, "PyBytes_Type")):
        text.at = builder.ptrtoint(call_api(c, "PyBytes_AsString", api.cstring, obj), I64)
        text.n = call_api(c, "PyBytes_Size", I64, obj)
        text.kind = I64(BYTES)
    return NativeValue(text._getvalue())


@inlined
def copy_utf8(text, to_at, room):
    """Write the UTF-8 of a text to an address, where there must be `room` for it and 3 bytes more; returns its length.

    Or -1, and has then written a part of it, where it has more than `room` bytes, where it has a surrogate, which has no
    UTF-8, or if it is not a text. Cost: one step a byte or a character; those of bytes go by vectors.
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
