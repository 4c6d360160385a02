"""Sort words by their bytes: NumPy sorts them by their first eight bytes, and kernels sort words that agree in these.

Most words differ in their first bytes, so the kernels compare few of them byte by byte.
"""

import numpy as np

from ..compiler.jit import inlined, kernel, part
from ..compiler.signature import int64, reads, uint8, uint64

PREFIX_BYTES = 8


@inlined
def prefix_of(text, start, end):
    """The first PREFIX_BYTES bytes of text[start:end] as a big-endian uint64; a shorter text is padded with zeros."""
    prefix = np.uint64(0)
    for position in range(start, start + PREFIX_BYTES):
        prefix <<= np.uint64(8)
        if position < end:
            prefix |= np.uint64(text[position])
    return prefix


@kernel(reads(uint8[:]), reads(int64[:]), uint64[:])
def fill_prefixes(text, starts, prefixes):
    """Write the prefix of each word, see `prefix_of`.

    text     : uint8[*], starts : int64[n + 1], read    words in CSR form
    prefixes : uint64[n], filled

    Cost: O(n), PREFIX_BYTES steps a word.
    """
    for word in range(prefixes.shape[0]):
        prefixes[word] = prefix_of(text, starts[word], starts[word + 1])


@inlined
def is_less(text, starts, word, other):
    """Whether a word comes before another, of the same prefix, in the order of bytes. Cost: O(length)."""
    start, other_start = starts[word], starts[other]
    length, other_length = starts[word + 1] - start, starts[other + 1] - other_start
    shorter = min(length, other_length)
    # Equal prefixes of shorter words tell nothing: a zero byte of a word looks like the padding of another.
    for i in range(PREFIX_BYTES if shorter >= PREFIX_BYTES else 0, shorter):
        if text[start + i] != text[other_start + i]:
            return text[start + i] < text[other_start + i]
    return length < other_length


@part
def sift_down(text, starts, order, first, parent, end):
    """Move the word at `parent` of the heap order[first:end] down to where no child is greater."""
    word = order[first + parent]
    while True:
        child = 2 * parent + 1
        if first + child >= end:
            break
        if first + child + 1 < end and is_less(text, starts, order[first + child], order[first + child + 1]):
            child += 1
        if not is_less(text, starts, word, order[first + child]):
            break
        order[first + parent] = order[first + child]
        parent = child
    order[first + parent] = word


@kernel(reads(uint8[:]), reads(int64[:]), reads(uint64[:]), int64[:])
def order_equal_prefixes(text, starts, prefixes, order):
    """Sort the words of each run of equal prefixes by all of their bytes.

    text     : uint8[*], starts : int64[n + 1], read    words in CSR form
    prefixes : uint64[n], read                          the prefix of each word
    order    : int64[n], modified                       the words, sorted by prefix

    Cost: at most n log n comparisons for each run, by a heap sort in place.
    """
    first = 0
    while first < order.shape[0]:
        end = first + 1
        while end < order.shape[0] and prefixes[order[end]] == prefixes[order[first]]:
            end += 1
        for parent in range((end - first) // 2 - 1, -1, -1):
            sift_down(text, starts, order, first, parent, end)
        for last in range(end - 1, first, -1):
            greatest = order[first]
            order[first] = order[last]
            order[last] = greatest
            sift_down(text, starts, order, first, 0, last)
        first = end


@kernel(reads(uint8[:]), reads(int64[:]), reads(int64[:]), reads(int64[:]), uint8[:], int64[:], int64[:])
def gather_words(text, starts, counts, order, to_text, to_starts, to_counts):
    """Copy words in a given order, and add up the counts of equal words, which must be adjacent in it.

    text, starts, counts : words in CSR form, read
    order                : int64[n], read    the words to copy
    to_text, to_starts, to_counts : filled; with room for all of them

    Returns the number of distinct words. Cost: O(bytes).
    """
    n_words = 0
    position = 0
    to_starts[0] = 0
    for i in range(order.shape[0]):
        word = order[i]
        start, length = starts[word], starts[word + 1] - starts[word]
        if n_words > 0 and length == position - to_starts[n_words - 1]:
            former = to_starts[n_words - 1]
            same = 0
            while same < length and text[start + same] == to_text[former + same]:
                same += 1
            if same == length:
                to_counts[n_words - 1] += counts[word]
                continue
        for k in range(length):
            to_text[position + k] = text[start + k]
        to_counts[n_words] = counts[word]
        position += length
        n_words += 1
        to_starts[n_words] = position
    return n_words
