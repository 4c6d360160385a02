"""Applying merges to one pretoken: in a lane if it is short (merge_short.py), else over linked rows (merge_long.py)."""

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, part
from ..machine.large_pages import zeros
from .merge_long import check_length, long_scratch, merge_by_rank, merge_long
from .merge_short import LANE_BYTES, SHORT, finish_short, merge_lanes, start_short
from .merge_table import Merges, whole_token, write_id


def new_scratch(longest: int, merges: Merges) -> NDArray[np.uint64]:
    """Make room for merging pretokens of up to `longest` bytes by these merges; 64-byte aligned.

    Raises OverflowError for too many bytes.
    """
    check_length(longest)
    n_bytes = LANE_BYTES if longest <= SHORT else max(LANE_BYTES, long_scratch(longest, merges.n_ascending))
    return zeros(n_bytes // 8 + 1)


@part
def merge_short(text_at, n, merges_at, scratch_at, ids_at, id_size):
    """Write the ids of a pretoken of 1 to SHORT bytes; arguments and result as for merge_pretoken."""
    start_short(scratch_at, text_at, n, merges_at)
    merge_lanes(scratch_at, 1, merges_at)
    return finish_short(scratch_at, merges_at, ids_at, id_size)


@inlined
def merge_if_short(text_at, n, merges_at, scratch_at, ids_at, id_size):
    """As merge_pretoken; but for a pretoken of more than SHORT bytes, do nothing and return -1.

    Its callers compile seconds faster than those of merge_pretoken, and few texts have longer pretokens.
    """
    if merges_at.whole != 0:
        token_id = whole_token(merges_at.whole, text_at, n)
        if token_id >= 0:
            write_id(ids_at, token_id, id_size)
            return np.int64(1)
    if n <= SHORT:
        return np.int64(merge_short(text_at, n, merges_at, scratch_at, ids_at, id_size))
    return np.int64(-1)


@inlined
def merge_pretoken(text_at, n, merges_at, scratch_at, ids_at, id_size):
    """Write the ids of the pretoken of n >= 1 bytes at `text_at`.

    Merges the pair of lowest rank, the leftmost of several, until none is left (as Hugging Face and tiktoken do).

    text_at    : address of the pretoken, with PADDING bytes after it
    merges_at  : MergeAddresses
    scratch_at : address of scratch that is large enough for n bytes (unchecked), overwritten
    ids_at     : where the ids are written, each of `id_size` (2 or 4) bytes; up to n of them

    Returns the number of ids.
    """
    n_ids = merge_if_short(text_at, n, merges_at, scratch_at, ids_at, id_size)
    if n_ids >= 0:
        return n_ids
    if merges_at.n_ascending != 0:
        return merge_by_rank(text_at, n, merges_at, scratch_at, ids_at, id_size)
    return merge_long(text_at, n, merges_at, scratch_at, ids_at, id_size)
