"""Merging by the rank of joined bytes, for a vocabulary without a list of merges.

Such a vocabulary merges the adjacent pair whose joined bytes are the token of lowest rank. Mostly this is equivalent to a
list of merges. Call a token *regular* if its bytes, merged by ranks below its own, become exactly two tokens: its two
sides. If every token is regular, a token is only ever merged from its two sides:

Suppose that so far all merges were of such sides, and that the next pair to merge joins to the token t. Nothing has been
merged across the edges of t's bytes, so these bytes were merged as they would be alone; and as the lowest rank comes first,
all pairs between the edges that join to a rank below t's have been merged. So the pair is what t's bytes become by ranks
below t's: its two sides. (That no merge makes a pair of a lower rank than its own follows in the same way: such a pair's
token would have been made of its own sides before.)

So for such vocabularies a table of one pair for each token is enough, and the bytes of every token merge to that token. For
others the table needs all pairs of tokens that join to a token, and whole pretokens must be looked up first, as a pretoken
that equals a token becomes that token.
"""

import numpy as np

from ..compiler.jit import kernel
from ..compiler.signature import boolean, int32, int64, reads, uint8, uint32, uint64
from ..machine.intrinsics import address_of
from .merge_long import merge_long
from .merge_pretoken import merge_if_short, merge_pretoken
from .merge_table import Merges, enter_merge, merges_addresses


@kernel(reads(uint8[:]), reads(int64[:]), Merges, uint64[:], uint32[:], int64[:, :])
def find_sides(text, starts, merges, scratch, out, sides):
    """Find the two sides of each token, and enter them into the table of merges.

    text    : uint8[* + PADDING]     the tokens' bytes, one after another, by ascending rank; starts : int64[n + 1]
    merges  : Merges, modified       of `empty_merges`, with room for n; token i has rank i, and a symbol is its own id
    scratch : see merge_pretoken.new_scratch;  out : uint32[*]     room for the longest token
    sides   : int64[n, 2], filled    two symbols; for a token of one byte, its own symbol and -1

    Returns the number of the first token that is not regular, or n; -1 if the table found no line for a pair, and needs
    another secret. Cost: merging n tokens.
    """
    merges_at = merges_addresses(merges)
    id_size = np.int64(4)  # not a literal 4, for which Numba would compile merging once more
    for token in range(sides.shape[0]):
        at, n = address_of(text) + starts[token], starts[token + 1] - starts[token]
        # What merge_pretoken does if `n_ascending` is 0. The first use on a machine waits until this kernel is compiled;
        # merge_pretoken's other way of merging would add half a second.
        n_out = merge_if_short(at, n, merges_at, address_of(scratch), address_of(out), id_size)
        if n_out < 0:
            n_out = merge_long(at, n, merges_at, address_of(scratch), address_of(out), id_size)
        sides[token, 0] = out[0]
        sides[token, 1] = -1
        if n > 1:
            if n_out != 2:
                return token
            sides[token, 1] = out[1]
            if not enter_merge(merges, sides[token, 0], sides[token, 1], token):
                return -1
    return sides.shape[0]


@kernel(reads(int64[:]), reads(int32[:]), reads(int32[:]), reads(int32[:]), int32[:], int32[:], int32[:], int32[:])
def find_pairs(lengths, starts_with, ends_with, ids, at_length, lefts, rights, results):
    """List all pairs of tokens that join to a token, by ascending token; for one token, the shortest left side first.

    lengths     : int64[n]            bytes of each token
    starts_with : int32[n]            the number of the longest other token that each begins with, or -1
    ends_with   : int32[n]            the number of the longest other token that each ends with, or -1
    ids         : int32[n]
    at_length   : int32[longest + 1], scratch, -1 throughout before and after
    lefts, rights, results : int32[*], filled as far as there is room

    The tokens that one begins with form a chain in `starts_with`, from the longest to the shortest; likewise at its end.

    Returns the number of pairs. Cost: one step for each link of these chains, of which there are fewer than bytes.
    """
    found = 0
    for token in range(ids.shape[0]):
        left = starts_with[token]
        while left >= 0:
            at_length[lengths[left]] = left
            left = starts_with[left]
        right = ends_with[token]
        while right >= 0:
            left = at_length[lengths[token] - lengths[right]]
            if left >= 0:
                if found < lefts.shape[0]:
                    lefts[found] = ids[left]
                    rights[found] = ids[right]
                    results[found] = ids[token]
                found += 1
            right = ends_with[right]
        left = starts_with[token]
        while left >= 0:
            at_length[lengths[left]] = -1
            left = starts_with[left]
    return found


@kernel(reads(uint8[:]), reads(int64[:]), Merges, uint64[:], uint32[:], boolean[:])
def mark_unmerged(text, starts, merges, scratch, out, is_unmerged):
    """Mark the tokens that merging their own bytes does not give.

    text, starts : as for find_sides;  merges, scratch, out : likewise, with all merges
    is_unmerged  : bool[n], filled

    Cost: merging n tokens.
    """
    merges_at = merges_addresses(merges)
    id_size = np.int64(4)  # not a literal 4, for which Numba would compile merging once more
    for token in range(is_unmerged.shape[0]):
        at, n = address_of(text) + starts[token], starts[token + 1] - starts[token]
        is_unmerged[token] = merge_pretoken(at, n, merges_at, address_of(scratch), address_of(out), id_size) != 1
