"""Copy many texts, str or bytes, from where Python keeps them into a window, with a break after each."""

from ..compiler.jit import kernel
from ..compiler.signature import int64, uint8
from ..machine.intrinsics import PADDING, address_of
from ..machine.text_argument import BYTES, NO_TEXT, write_utf8
from ..machine.texts_argument import TEXTS_ARGUMENT, prefetch_text, text_of
from .rows import end_row
from .strings import copy_bytes


@kernel(TEXTS_ARGUMENT, int64[:])
def measure_texts(texts, sizes):
    """Measure texts by the headers of their objects.

    texts : a TextsArgument
    sizes : int64[n], filled    the most bytes that each may have as UTF-8

    Returns the number of the first item that is not a text, n if all are. Cost: a cache miss a text, prefetched.
    """
    for i in range(texts.n):
        prefetch_text(texts, i)
        _, n, kind = text_of(texts, i)
        if kind == NO_TEXT:
            return i
        # A character stored in one or two bytes has at most one more as UTF-8; one stored in four has at most four.
        sizes[i] = n * (1 if kind == BYTES else 4 if kind == 4 else kind + 1)
    return max(texts.n, 0)


@kernel(TEXTS_ARGUMENT, int64, int64, uint8[:], int64[:, :], int64)
def take_texts(texts, first, last, out, breaks, break_id):
    """Write texts as UTF-8 one after another, each followed by a SEPARATOR, which is a break.

    texts       : a TextsArgument; for surrogates see write_utf8
    first, last : the first text to copy, and the one to stop before; copying also stops at an item that is not a text
    out         : uint8[*], filled      texts are copied as long as PADDING bytes remain
    breaks      : int64[m, 3], filled   start, end and id of the break after each text

    Returns (the first text that was not copied, bytes written). Cost: that of copying, and a cache miss a text.
    """
    out_at, breaks_at = address_of(out), address_of(breaks)
    room = out.shape[0] - PADDING
    last = min(last, texts.n, first + breaks.shape[0])
    n_bytes = 0
    row = first
    while row < last:
        prefetch_text(texts, row)
        at, n, kind = text_of(texts, row)
        if kind == NO_TEXT or n + 1 > room - n_bytes:
            break
        length = n
        if kind == BYTES:
            copy_bytes(at, out_at + n_bytes, n)
        else:
            done, length = write_utf8(at, n, kind, 0, out_at + n_bytes, room - n_bytes - 1)
            if done < n:
                break
        n_bytes = end_row(out_at, n_bytes + length, breaks_at, row - first, break_id)
        row += 1
    return row, n_bytes
