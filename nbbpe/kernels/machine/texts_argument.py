"""Many texts as a kernel argument: a tuple of str and bytes, each read where Python keeps it, without making an object.

A tuple never changes, and keeps its items alive; str and bytes never change. So a kernel may read them while other threads
run Python.
"""

from ..compiler.jit import cgutils, inlined, llvm
from ..compiler.signature import Argument
from .intrinsics import prefetch_shared, read_i64, read_u32
from .text_argument import BYTES, NO_TEXT

NO_TEXTS = -1  # in place of a number of texts; see TEXTS_ARGUMENT
_LAYOUT = (
    *("type_at", "text_length", "text_state", "text_kind", "text_compact", "text_ascii", "ascii_at", "units_at"),
    *("bytes_length", "bytes_at"),
)
_AHEAD = 8  # texts between the one that is read and the one that is prefetched


def _take(emitter, item):
    builder, where = emitter.builder, emitter.layouts
    n = cgutils.alloca_once_value(builder, llvm.I64(NO_TEXTS))
    with builder.if_then(emitter.is_exactly(item, "PyTuple_Type")):
        builder.store(emitter.call("PyTuple_Size", llvm.I64, item), n)
    types = [builder.ptrtoint(emitter.address_of(name), llvm.I64) for name in ("PyUnicode_Type", "PyBytes_Type")]
    items_at = builder.add(builder.ptrtoint(item, llvm.I64), llvm.I64(where.tuple_at))
    return [items_at, builder.load(n), *types, *(llvm.I64(getattr(where, name)) for name in _LAYOUT)]


# A tuple of texts in a kernel.
#
#   at : address of the addresses of its items
#   n  : how many there are; NO_TEXTS for an object that is not a tuple
#   str_type, bytes_type : addresses of the two types
#   and the places in such objects that are read, see compiler/layouts.py
#
# Any object may be given; the kernel checks that it is a tuple.
TEXTS_ARGUMENT = Argument("TextsArgument", ("at", "n", "str_type", "bytes_type", *_LAYOUT), _take)


@inlined
def text_of(texts, i):
    """Text `i`: the address of its units, how many there are, and their kind, as in a TextArgument."""
    at = read_i64(texts.at + 8 * i)
    kind = read_i64(at + texts.type_at)
    if kind == texts.str_type:
        state = read_u32(at + texts.text_state)
        if state >> texts.text_compact & 1 != 0:
            n = read_i64(at + texts.text_length)
            if state >> texts.text_ascii & 1 != 0:
                return at + texts.ascii_at, n, BYTES
            return at + texts.units_at, n, state >> texts.text_kind & 7
    elif kind == texts.bytes_type:
        return at + texts.bytes_at, read_i64(at + texts.bytes_length), BYTES
    return 0, 0, NO_TEXT


@inlined
def prefetch_text(texts, i):
    """Prefetch the beginning of the text that is read _AHEAD texts after text `i`."""
    if i + _AHEAD < texts.n:
        prefetch_shared(read_i64(texts.at + 8 * (i + _AHEAD)))
