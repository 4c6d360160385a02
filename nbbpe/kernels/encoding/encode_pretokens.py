"""Encoding pretokens that `regex` has found."""

from ..compiler.jit import kernel
from ..compiler.signature import int64, reads, uint8, uint64
from ..machine.intrinsics import address_of
from .merge_pretoken import merge_pretoken
from .merge_table import Merges, merges_addresses


@kernel(reads(uint8[:]), reads(int64[:]), Merges, uint64[:], int64, int64, int64[:])
def encode_pretokens(text, starts, merges, scratch, ids_at, id_size, ends):
    """Write the ids of adjacent pretokens.

    text    : uint8[* + PADDING], read
    starts  : int64[n + 1], read       where each pretoken starts in it
    merges  : Merges, read
    scratch : uint64[*], overwritten   see merge_pretoken.new_scratch
    ids_at  : address where ids of `id_size` bytes go; there must be room for as many as there are bytes (unchecked)
    ends    : int64[n + 1], filled     ends[i] is the number of ids before pretoken i

    Returns the number of ids. Cost: merging each pretoken; nothing is cached.
    """
    text_at, scratch_at, merges_at = address_of(text), address_of(scratch), merges_addresses(merges)
    n_ids = 0
    ends[0] = 0
    for i in range(starts.shape[0] - 1):
        n = starts[i + 1] - starts[i]
        if n > 0:
            n_ids += merge_pretoken(text_at + starts[i], n, merges_at, scratch_at, ids_at + n_ids * id_size, id_size)
        ends[i + 1] = n_ids
    return n_ids
