"""A queue that finds the most frequent pair: buckets by count, and a heap for the open one, the highest that is not empty.

A pair's count only falls after the merge that made it, so its bucket is an upper bound: pairs are moved down lazily, when
their bucket is opened. Small counts have a bucket each; large ones share a bucket with similar counts (2**MANTISSA_BITS
buckets for each power of two). The pairs of the open bucket are in a binary heap, ordered by count and then by the tie
rule; all others wait in singly linked lists, at no cost. A pair whose bucket is the open one or higher goes straight into
the heap.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, part
from ..compiler.signature import int32, int64, structure, uint8, uint64
from ..machine.intrinsics import address_of, prefetch, read_i32, read_i64, read_u8, read_u64
from .pair_table import COUNT, NONE, symbols_of

MANTISSA_BITS = 10
N_BUCKETS = (64 - MANTISSA_BITS) << MANTISSA_BITS
OPEN, HEAP_SIZE = 0, 1  # indexes of the numbers in BucketQueue.state
BY_BYTES, BY_ORDER = 0, 1  # tie rules: greatest byte strings first, or smallest order numbers first


@structure(int32[:], int32[:], int32[:], int64[:], int64[:])
class BucketQueue(NamedTuple):
    """The arrays of the queue.

    heads       : int32[N_BUCKETS]   first pair of each bucket's list, or NONE
    links       : int32[n_pairs]     the next pair in the same bucket, or NONE
    heap_pairs  : int32[n_pairs]     the heap of the open bucket, as a binary tree in an array
    heap_counts : int64[n_pairs]     each heap entry's count when it was pushed; the pair's own may have fallen since
    state       : int64[2]           the open bucket (all above it are empty), the number of entries in the heap
    """

    heads: NDArray[np.int32]
    links: NDArray[np.int32]
    heap_pairs: NDArray[np.int32]
    heap_counts: NDArray[np.int64]
    state: NDArray[np.int64]


@structure(int64[:], uint64[:], int32[:], uint8[:], int64[:])
class TieRule(NamedTuple):
    """How pairs of equal count are ordered.

    kind     : int64[1]            BY_BYTES or BY_ORDER
    prefixes : uint64[n_tokens]    the first 8 bytes of each token, big-endian, padded with zeros
    order    : int32[n_tokens]     BY_ORDER: the smaller number comes first
    text     : uint8[*]            bytes of all tokens, one after another
    starts   : int64[n_tokens + 1] where each token's bytes start in text
    """

    kind: NDArray[np.int64]
    prefixes: NDArray[np.uint64]
    order: NDArray[np.int32]
    text: NDArray[np.uint8]
    starts: NDArray[np.int64]


def new_queue() -> BucketQueue:
    """Make an empty queue, without room for pairs."""
    return BucketQueue(
        heads=np.full(N_BUCKETS, NONE, dtype=np.int32),
        links=np.empty(0, dtype=np.int32),
        heap_pairs=np.empty(0, dtype=np.int32),
        heap_counts=np.empty(0, dtype=np.int64),
        state=np.array([N_BUCKETS - 1, 0], dtype=np.int64),
    )


@inlined
def bucket_of(count):
    """The bucket of a count >= 0: a larger count never has a lower bucket."""
    exponent = 0
    while (count >> exponent) >> (MANTISSA_BITS + 1):
        exponent += 1
    return (exponent << MANTISSA_BITS) + (count >> exponent)


@inlined
def tie_addresses(ties, rows):
    """The arguments of the comparisons: the kind of the tie rule, and the addresses of its arrays and of the pairs' rows;
    intrinsics.py says why helpers take addresses."""
    return (
        ties.kind[0],
        address_of(ties.prefixes),
        address_of(ties.order),
        address_of(ties.text),
        address_of(ties.starts),
        address_of(rows),
    )


@part
def compare_spelling(token_1, token_2, ties_at):
    """-1, 0 or 1 as the bytes of token_1 are less than, equal to or greater than those of token_2. Cost: O(length)."""
    _, _, _, text_at, starts_at, _ = ties_at
    start_1, end_1 = read_i64(starts_at + 8 * token_1), read_i64(starts_at + 8 * token_1 + 8)
    start_2, end_2 = read_i64(starts_at + 8 * token_2), read_i64(starts_at + 8 * token_2 + 8)
    length_1, length_2 = end_1 - start_1, end_2 - start_2
    for i in range(min(length_1, length_2)):
        byte_1, byte_2 = read_u8(text_at + start_1 + i), read_u8(text_at + start_2 + i)
        if byte_1 != byte_2:
            return -1 if byte_1 < byte_2 else 1
    return (length_1 > length_2) - (length_1 < length_2)


@inlined
def comes_first(pair_1, pair_2, ties_at):
    """Whether the tie rule puts pair_1 before pair_2, both of the same count. Cost: mostly one or two 8-byte compares."""
    kind, prefixes_at, order_at, _, _, rows_at = ties_at
    left_1, right_1 = symbols_of(read_i64(rows_at + 16 * pair_1))
    left_2, right_2 = symbols_of(read_i64(rows_at + 16 * pair_2))
    for token_1, token_2 in ((left_1, left_2), (right_1, right_2)):
        if token_1 == token_2:
            continue
        if kind == BY_ORDER:
            return read_i32(order_at + 4 * token_1) < read_i32(order_at + 4 * token_2)
        prefix_1, prefix_2 = read_u64(prefixes_at + 8 * token_1), read_u64(prefixes_at + 8 * token_2)
        if prefix_1 != prefix_2:
            return prefix_1 > prefix_2
        # No two tokens have the same bytes, but the bytes after the prefix may differ, or the number of zeros at the end.
        return compare_spelling(token_1, token_2, ties_at) > 0
    return False


@part
def push_heap(queue, pair, count, ties_at):
    """Add a pair to the heap. Cost: O(log n) comparisons."""
    heap_pairs, heap_counts = queue.heap_pairs, queue.heap_counts
    child = queue.state[HEAP_SIZE]
    queue.state[HEAP_SIZE] = child + 1
    while child > 0:
        parent = (child - 1) >> 1
        if heap_counts[parent] > count:
            break
        if heap_counts[parent] == count and not comes_first(pair, np.int64(heap_pairs[parent]), ties_at):
            break
        heap_pairs[child] = heap_pairs[parent]
        heap_counts[child] = heap_counts[parent]
        child = parent
    heap_pairs[child] = pair
    heap_counts[child] = count


@part
def pop_heap(queue, ties_at):
    """Remove the first entry of a heap that is not empty; the caller has already read it. Cost: O(log n) comparisons."""
    heap_pairs, heap_counts = queue.heap_pairs, queue.heap_counts
    size = queue.state[HEAP_SIZE] - 1
    queue.state[HEAP_SIZE] = size
    pair = np.int64(heap_pairs[size])
    count = heap_counts[size]
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            heap_counts[other] > heap_counts[child]
            or (
                heap_counts[other] == heap_counts[child]
                and comes_first(np.int64(heap_pairs[other]), np.int64(heap_pairs[child]), ties_at)
            )
        ):
            child = other
        if heap_counts[child] < count:
            break
        if heap_counts[child] == count and comes_first(pair, np.int64(heap_pairs[child]), ties_at):
            break
        heap_pairs[parent] = heap_pairs[child]
        heap_counts[parent] = heap_counts[child]
        parent = child
    heap_pairs[parent] = pair
    heap_counts[parent] = count


@part
def push(queue, pair, count, ties_at):
    """Add a pair with its count (> 0) to its bucket, or to the heap if that bucket is open. Cost: mostly O(1)."""
    bucket = bucket_of(count)
    if bucket >= queue.state[OPEN]:
        push_heap(queue, pair, count, ties_at)
    else:
        queue.links[pair] = queue.heads[bucket]
        queue.heads[bucket] = pair


@part
def settle(queue, rows, min_count, ties_at):
    """Bring the most frequent pair to the head of the heap and return it, or NONE if no pair occurs `min_count` times.

    rows      : int64[n_pairs, 2], read   see PairTable; heap entries with an old count are pushed again
    min_count : int64, >= 1            pairs below it are dropped

    The pair stays in the queue; pop_heap removes it. Cost: O(log n) for each push of a pair, amortised over all calls.
    """
    while True:
        while queue.state[HEAP_SIZE] > 0:
            pair = np.int64(queue.heap_pairs[0])
            count = rows[pair, COUNT]
            if count == queue.heap_counts[0]:
                return pair
            pop_heap(queue, ties_at)
            if count >= min_count:
                push(queue, pair, count, ties_at)
        bucket = queue.state[OPEN] - 1
        while bucket >= 0 and queue.heads[bucket] == NONE:
            bucket -= 1
        if bucket < 0:
            return np.int64(NONE)
        queue.state[OPEN] = bucket
        pair = np.int64(queue.heads[bucket])
        queue.heads[bucket] = NONE
        while pair != NONE:
            following = np.int64(queue.links[pair])
            prefetch(address_of(rows) + 16 * following)  # any address may be prefetched, also the one computed from NONE
            prefetch(address_of(queue.links) + 4 * following)
            if rows[pair, COUNT] >= min_count:
                push(queue, pair, rows[pair, COUNT], ties_at)
            pair = following
