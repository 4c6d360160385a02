"""The pretokens of a text, found without pieces: for callers that need the places of pretokens, and not only their ids."""

from ..compiler.jit import kernel
from ..compiler.signature import int64, reads, uint8, uint64
from ..machine.intrinsics import address_of
from .pretokens import begin_piece, pretoken_end


@kernel(reads(uint8[:]), int64, int64, reads(uint64[:]), int64[:], int64, int64[:])
def split_text(text, start, end, pattern, split_scratch, is_first, starts):
    """Find the pretokens of a text by an automaton.

    text          : uint8[* + PADDING], read    the text is text[:end]; its address must be the same in all calls
    start, end    : int64                       where the next pretoken starts, and the end of the text
    pattern       : uint64[*], read             see pattern_tables.py
    split_scratch : int64[*], modified          see `new_split_scratch`; kept from call to call
    is_first      : int64                       whether this is the first call for the text
    starts        : int64[most + 1], filled     where each pretoken starts, and where the last one ends

    Returns how many pretokens were found: `most`, or fewer if the text ends. Cost: see pretoken_end.
    """
    text_at, pattern_at, split_at = address_of(text), address_of(pattern), address_of(split_scratch)
    if is_first:
        begin_piece(split_at, pattern_at)
    n = 0
    starts[0] = start
    while n < starts.shape[0] - 1 and starts[n] < end:
        starts[n + 1] = pretoken_end(text_at + starts[n], text_at + end, pattern_at, split_at) - text_at
        n += 1
    return n
