"""The training loop for parity between sources: the source that is compressed worst decides which pair is merged next.

Words are in groups, one after another: the words of each source, and then, if there are any, the words of texts that only
measure how well the vocabulary compresses. All groups share the linked words and the pair table of the plain loop, but a
pair has one entry for each group in which it occurs, and each source has a queue. A merge is made in every group. The
entries of one pair are siblings, linked in a circle: they are all made in the same step (the merge that makes the pair's
newest symbol, or before the first merge), so that links are set without a search.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import kernel, part
from ..compiler.signature import int32, int64, reads, structure
from .bucket_queue import BucketQueue, TieRule, pop_heap, settle, tie_addresses
from .linked_words import LinkedWords, word_count_at
from .merge_loop import (
    AHEAD,
    BATCH_DONE,
    MAY_MERGE,
    MAY_NOT_MERGE,
    N_AT_START,
    N_TOKENS,
    NEED_OCCURRENCES,
    NEED_PAIRS,
    NEED_SLOTS,
    NO_PAIRS,
    TOKENS_DONE,
    WANTED,
    Tokens,
    apply_merge,
    check_token,
    push_pairs,
)
from .pair_table import COUNT, KEY, N_OCCURRENCES, N_PAIRS, NONE, SLOTS_PER_PAIR, PairTable, add_pair, symbols_of
from .token_limits import TokenLimits

# The columns of ParityQueue.groups and of ParityQueue.sources.
SIZE, GROUP_TOKENS, GROUP_PAIRS, GROUP_WANTED = range(4)
MEASURED_BY, IS_DONE, N_TURNS = range(3)
NEXT_TURN, MOST_TURNS = 0, 1  # indexes of the numbers in ParityQueue.state


@structure(
    int32[:],
    int32[:, :],
    int32[:, :],
    int32[:],
    int32[:],
    int64[:],
    int64[:],
    int64[:, :],
    int64[:, :],
    int64[:, :],
    int32[:],
    int64[:],
)
class ParityQueue(NamedTuple):
    """The queues of all sources, and how well each is compressed.

    siblings    : int32[n_pairs]     the next entry of the same two symbols; the entries of one pair make a circle
    latest      : int32[2, n_tokens] scratch: the last entry of (symbol, new token) and of (new token, symbol), by symbol
    heads       : int32[n_sources, N_BUCKETS]    see BucketQueue, for each source
    links       : int32[n_pairs]     for all queues, as an entry is in one only
    heap_pairs  : int32[*]           the heaps of all queues, one after another
    heap_counts : int64[*]           the counts in these heaps
    heap_starts : int64[n_sources + 1]    where each source's heap starts; it has room for all pairs of the source
    queues      : int64[n_sources, 2]     the state of each BucketQueue
    groups      : int64[n_groups, 4]      SIZE: a number that, divided by the number of tokens, says how well a group is
                                          compressed; the tokens and the pairs so far; the room wanted after NEED_PAIRS
    sources     : int64[n_sources, 3]     MEASURED_BY: the group that says how well the source is compressed; IS_DONE:
                                          whether no pair is left; N_TURNS: how often the source is in `recent`
    recent      : int32[window]      the sources of the last merges, or NONE; empty for no limit
    state       : int64[2]           the index in `recent` of the next source; the most turns: a source with more waits, if
                                     there is another
    """

    siblings: NDArray[np.int32]
    latest: NDArray[np.int32]
    heads: NDArray[np.int32]
    links: NDArray[np.int32]
    heap_pairs: NDArray[np.int32]
    heap_counts: NDArray[np.int64]
    heap_starts: NDArray[np.int64]
    queues: NDArray[np.int64]
    groups: NDArray[np.int64]
    sources: NDArray[np.int64]
    recent: NDArray[np.int32]
    state: NDArray[np.int64]


@part
def queue_of(queue, source):
    """The BucketQueue of a source."""
    start, end = queue.heap_starts[source], queue.heap_starts[source + 1]
    return BucketQueue(
        queue.heads[source], queue.links, queue.heap_pairs[start:end], queue.heap_counts[start:end], queue.queues[source]
    )


@part
def is_lower_fraction(numerator_1, denominator_1, numerator_2, denominator_2):
    """Whether one fraction of two int64 (>= 0 and > 0) is less than another, exactly: by their continued fractions.

    A product of two such numbers may not fit into 64 bits.
    """
    a, b, c, d = numerator_1, denominator_1, numerator_2, denominator_2
    while True:
        whole_1, whole_2 = a // b, c // d
        if whole_1 != whole_2:
            return whole_1 < whole_2
        a, c = a - whole_1 * b, c - whole_2 * d
        if c == 0:
            return False
        if a == 0:
            return True
        a, b, c, d = d, c, b, a  # a / b < c / d if and only if d / c < b / a


@part
def worst_source(queue):
    """The source that is compressed worst, the first of several, or NONE if none has a pair left.

    A source that has had more than MOST_TURNS turns waits, if there is another.
    """
    groups, sources = queue.groups, queue.sources
    worst, waits, worst_size, worst_tokens = np.int64(NONE), False, np.int64(0), np.int64(1)
    for source in range(sources.shape[0]):
        if sources[source, IS_DONE]:
            continue
        must_wait = queue.recent.shape[0] > 0 and sources[source, N_TURNS] > queue.state[MOST_TURNS]
        group = sources[source, MEASURED_BY]
        size, n_tokens = groups[group, SIZE], groups[group, GROUP_TOKENS]
        is_worse = worst == NONE or (waits and not must_wait)
        if is_worse or (waits == must_wait and is_lower_fraction(size, n_tokens, worst_size, worst_tokens)):
            worst, waits, worst_size, worst_tokens = np.int64(source), must_wait, size, n_tokens
    return worst


@part
def note_turn(queue, source):
    """Enter a source into `recent`, the sources of the last merges."""
    recent, state = queue.recent, queue.state
    if recent.shape[0] == 0:
        return
    at = state[NEXT_TURN]
    if recent[at] != NONE:
        queue.sources[recent[at], N_TURNS] -= 1
    recent[at] = source
    queue.sources[source, N_TURNS] += 1
    state[NEXT_TURN] = 0 if at + 1 == recent.shape[0] else at + 1


@part
def link_sibling(queue, pair, group, before, first_pair):
    """Link an entry of a group to its sibling `before`. If that is below `first_pair`, the entry has no sibling yet."""
    queue.groups[group, GROUP_PAIRS] += 1
    queue.siblings[pair] = pair
    if before >= first_pair:
        queue.siblings[pair] = queue.siblings[before]
        queue.siblings[before] = pair


@kernel(PairTable, LinkedWords, reads(int64[:]), ParityQueue)
def divide_pairs(table, words, group_starts, queue):
    """Give each pair of a table an entry in each group, before the first merge.

    table        : PairTable, modified    filled, with room for an entry of each pair in each group; `groups` is filled, and
                                          `slots` must be made again
    words        : LinkedWords
    group_starts : int64[n_groups + 1]    the first cell of each group
    queue        : ParityQueue, modified  siblings and GROUP_PAIRS are filled

    The list of a pair is ascending, so the list of each group is a section of it. Cost: O(n).
    """
    starts, lengths, rows, occurrences = table.starts, table.lengths, table.rows, table.occurrences
    n_pairs = table.state[N_PAIRS]
    for pair in range(table.state[N_PAIRS]):
        first = starts[pair]
        end = first + lengths[pair]
        group = np.int64(NONE)
        entry = np.int64(pair)
        for i in range(first, end):
            position = np.int64(occurrences[i])
            if group == NONE or position >= group_starts[group + 1]:
                group += 1
                while position >= group_starts[group + 1]:
                    group += 1
                if i > first:
                    entry = n_pairs
                    n_pairs += 1
                    add_pair(rows[pair, KEY], entry, table)
                starts[entry] = i
                rows[entry, COUNT] = 0
                lengths[entry] = 0
                table.groups[entry] = group
                link_sibling(queue, entry, group, np.int64(pair) if i > first else np.int64(NONE), np.int64(0))
            rows[entry, COUNT] += word_count_at(words, position)
            lengths[entry] += 1
    table.state[N_PAIRS] = n_pairs


@kernel(ParityQueue, PairTable, TieRule, int64)
def push_divided_pairs(queue, table, ties, min_count):
    """Queue all pairs of all sources that occur at least `min_count` times (>= 1) in their source.

    queue : ParityQueue, modified    with room for all entries, none of which is in it
    table : PairTable, read          its entries belong to groups, see divide_pairs
    ties  : TieRule, read

    Cost: mostly O(1) for each entry.
    """
    ties_at = tie_addresses(ties, table.rows)
    for pair in range(table.state[N_PAIRS]):
        source = table.groups[pair]
        if source < queue.sources.shape[0]:
            push_pairs(queue_of(queue, source), table.rows, ties_at, pair, pair + 1, min_count)


@kernel(LinkedWords, PairTable, ParityQueue, TieRule, Tokens, int64[:], int64, TokenLimits, int64)
def merge_parity_batch(words, table, queue, ties, tokens, found, min_count, limits, budget):
    """As merge_batch, but the most frequent pair of the source that is compressed worst is merged, in all groups.

    The source that is compressed worst has the least SIZE divided by tokens, both of the group that measures it. A source
    without a pair that may be merged is passed over. After NEED_PAIRS, GROUP_WANTED says how many pairs each group
    needs room for. Cost: as merge_batch, and O(n_sources) for each merge.
    """
    state, merges, starts = tokens.state, tokens.merges, ties.starts
    rows, lengths, table_state = table.rows, table.lengths, table.state
    entry_groups, siblings, latest = table.groups, queue.siblings, queue.latest
    groups, sources, heap_starts = queue.groups, queue.sources, queue.heap_starts
    n_sources = sources.shape[0]
    ties_at = tie_addresses(ties, table.rows)
    work = 0
    while work < budget:
        token = state[N_TOKENS]
        if token - state[N_AT_START] >= merges.shape[0]:
            return TOKENS_DONE
        source = worst_source(queue)
        if source == NONE:
            return NO_PAIRS
        chosen = queue_of(queue, source)
        pair = settle(chosen, rows, min_count, ties_at)
        if pair == NONE:
            # It stays done: a pair that another source chooses is too rare in this source, or it would be in its queue, and
            # so are all pairs that this merge makes here.
            sources[source, IS_DONE] = 1
            continue
        status = check_token(pair, token, chosen, table, ties, ties_at, tokens, limits)
        if status == MAY_NOT_MERGE:
            work += 1
            continue
        if status != MAY_MERGE:
            return status

        for group in range(groups.shape[0]):
            groups[group, GROUP_WANTED] = groups[group, GROUP_PAIRS]
        length = np.int64(0)
        has_room = True
        sibling = pair
        while True:
            group = entry_groups[sibling]
            length += lengths[sibling]
            groups[group, GROUP_WANTED] += 2 * lengths[sibling]
            if group < n_sources and groups[group, GROUP_WANTED] > heap_starts[group + 1] - heap_starts[group]:
                has_room = False
            sibling = np.int64(siblings[sibling])
            if sibling == pair:
                break
        state[WANTED] = table_state[N_PAIRS] + 2 * length
        if state[WANTED] > rows.shape[0] or not has_room:
            return NEED_PAIRS
        if SLOTS_PER_PAIR * state[WANTED] > table.slots.shape[0]:
            return NEED_SLOTS
        state[WANTED] = table_state[N_OCCURRENCES] + 2 * length + AHEAD
        if state[WANTED] > table.occurrences.shape[0]:
            return NEED_OCCURRENCES

        pop_heap(chosen, ties_at)
        note_turn(queue, source)
        left, right = symbols_of(rows[pair, KEY])
        left_length, right_length = starts[left + 1] - starts[left], starts[right + 1] - starts[right]
        merges[token - state[N_AT_START], 0] = left
        merges[token - state[N_AT_START], 1] = right
        state[N_TOKENS] = token + 1
        first_pair = table_state[N_PAIRS]
        while True:
            group = np.int64(entry_groups[sibling])
            first_new = table_state[N_PAIRS]
            work += lengths[sibling]
            n_replaced = apply_merge(sibling, token, left_length, right_length, 0, words, table, tokens, found)
            groups[group, GROUP_TOKENS] -= n_replaced
            for new_pair in range(first_new, table_state[N_PAIRS]):
                new_left, new_right = symbols_of(rows[new_pair, KEY])
                side, symbol = (0, new_left) if new_right == token else (1, new_right)
                link_sibling(queue, new_pair, group, np.int64(latest[side, symbol]), first_pair)
                latest[side, symbol] = new_pair
            if group < n_sources:
                push_pairs(queue_of(queue, group), rows, ties_at, first_new, table_state[N_PAIRS], min_count)
            sibling = np.int64(siblings[sibling])
            if sibling == pair:
                break
        work += n_sources
    return BATCH_DONE
