"""The fingerprint of a corpus: a digest of its words and their counts."""

import numpy as np

from ..compiler.jit import kernel
from ..compiler.signature import int64, reads, uint8
from ..machine.splitmix import mixed_bits

# A change of one of these, or of mixed_bits, changes the fingerprint of every corpus.
_ZERO, _FNV_PRIME = np.uint64(0), np.uint64(0x100000001B3)


@kernel(reads(uint8[:]), reads(int64[:]), reads(int64[:]))
def digest_words(text, starts, counts):
    """A digest of words and their counts that does not depend on their order, uint64.

    text   : uint8[*], read              the words' bytes, one after another
    starts : int64[n_words + 1], read    where each word starts in it
    counts : int64[n_words], read        how often it occurs

    The sum over all words of a hash of count and bytes (FNV-1a between two calls of mixed_bits). Words must be distinct
    (unchecked). Cost: O(n), 1 ns a byte.
    """
    total = _ZERO
    for word in range(counts.shape[0]):
        hashed = mixed_bits(np.uint64(counts[word]))
        for position in range(starts[word], starts[word + 1]):
            hashed = (hashed ^ np.uint64(text[position])) * _FNV_PRIME
        total += mixed_bits(hashed)
    return total
