"""How often each id occurs."""

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int64, reads, uint16, uint32


@inlined
def _count(ids, counts):
    for i in range(ids.shape[0]):
        counts[ids[i]] += 1


@kernel(reads(uint16[:]), int64[:])
def count_short_ids(ids, counts):
    """Add to `counts` how often each id occurs.

    ids    : uint16[n]          each below the length of `counts` (unchecked)
    counts : int64[*], modified

    Cost: O(n), 1 ns an id.
    """
    _count(ids, counts)


@kernel(reads(uint32[:]), int64[:])
def count_long_ids(ids, counts):
    """As count_short_ids, for uint32[n]."""
    _count(ids, counts)
