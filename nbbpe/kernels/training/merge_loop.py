"""The training loop: take the most frequent pair, merge it everywhere, keep the counts right, again."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, kernel, part
from ..compiler.signature import int32, int64, structure
from ..machine.intrinsics import address_of, prefetch
from .bucket_queue import BucketQueue, TieRule, pop_heap, push, settle, tie_addresses
from .linked_words import NONE, PAIR, SYMBOL, LinkedWords, word_count_at
from .pair_table import N_OCCURRENCES, N_PAIRS, PairTable, count_new_pair, reserve_lists
from .token_limits import ASKS, HAS_LIMITS, MOST_BYTES, TokenLimits, keeps_limits

# How many list entries ahead the merge loop asks for a position's cache lines. Lists of rare pairs point all over the
# memory: on 8.3 million positions this and the row layout of the nodes took the loop from 1.05 to 0.76 s. The symbols
# around the pair are often in another cache line, that of some positions before it or that of the symbol after it: asking
# for both took the loop from 0.52 to 0.39 s.
AHEAD = 16
_BEFORE = 2

# Why `merge_batch` returned.
BATCH_DONE, TOKENS_DONE, NO_PAIRS, NEED_PAIRS, NEED_OCCURRENCES, NEED_TEXT, NEED_ANSWER = range(7)
MAY_MERGE, MAY_NOT_MERGE = -1, -2  # what `check_token` returns beside these
N_TOKENS, WANTED, N_AT_START, ASKED, ANSWER = range(5)  # where Tokens.state keeps its numbers
ALLOWED, REFUSED = 1, 2  # answers
N_BYTES = 256  # the tokens that are there before any merge, unless training goes on from a vocabulary


@structure(int32[:, :], int32[:], int32[:], int64[:])
class Tokens(NamedTuple):
    """The merges learned so far; merge i makes token state[N_AT_START] + i, whose bytes are kept in the TieRule.

    merges    : int32[n_merges, 2]    left and right id of each merge
    left_at   : int32[n_tokens]       scratch: the pair (symbol, new token) of the present merge, by symbol
    right_at  : int32[n_tokens]       scratch: the pair (new token, symbol)
    state     : int64[5]              tokens so far, bytes included; capacity wanted after a NEED_*; tokens at the start;
                                      the pair that was asked about last, and the answer
    """

    merges: NDArray[np.int32]
    left_at: NDArray[np.int32]
    right_at: NDArray[np.int32]
    state: NDArray[np.int64]


@part
def push_pairs(queue, counts, ties_at, first_pair, end_pair, min_count):
    """Queue the pairs from first_pair to end_pair that occur at least `min_count` times (>= 1)."""
    for pair in range(first_pair, end_pair):
        if counts[pair] >= min_count:
            push(queue, pair, counts[pair], ties_at)


@kernel(BucketQueue, PairTable, TieRule, int64)
def push_all_pairs(queue, table, ties, min_count):
    """Queue all pairs of a table that occur at least `min_count` times (>= 1)."""
    ties_at = tie_addresses(ties, table.left, table.right)
    push_pairs(queue, table.counts, ties_at, np.int64(0), table.state[N_PAIRS], min_count)


@part
def spell_token(ties, token, left, right):
    """Write the bytes of id `token`, those of `left` and then of `right`, and its prefix.

    The text must have room for them (unchecked).
    """
    text, starts = ties.text, ties.starts
    out = starts[token]
    for side in (left, right):
        for i in range(starts[side], starts[side + 1]):
            text[out] = text[i]
            out += 1
    starts[token + 1] = out
    prefix = np.uint64(0)
    for i in range(starts[token], starts[token] + 8):
        prefix <<= np.uint64(8)
        if i < out:
            prefix |= np.uint64(text[i])
    ties.prefixes[token] = prefix


@part
def apply_merge(pair, token, left_length, right_length, words, table, tokens, found):
    """Replace every occurrence of `pair` by `token`, left to right, and enter the pairs that this makes.

    left_length, right_length : int64  the bytes of the two sides of the pair
    words   : LinkedWords, modified
    table   : PairTable, modified      counts of the pairs around fall; new entries get counts and occurrences
    tokens  : Tokens                   left_at and right_at are modified; entries below the first new pair: stale
    found   : int32[*, 2], scratch     position and index of the new pairs, before they are sorted by pair; twice the
                                       longest list

    Room for two new pairs and two new occurrences for each entry of the pair's list, and for AHEAD occurrences more,
    must be there (unchecked).

    Returns how many occurrences were replaced, by word counts. Cost: O(1) for each entry of the list.
    """
    nodes = words.nodes
    nodes_at, word_counts_at = address_of(nodes), address_of(words.counts)
    counts, starts, lengths, occurrences = table.counts, table.starts, table.lengths, table.occurrences
    left_at, right_at = tokens.left_at, tokens.right_at
    first_new = table.state[N_PAIRS]
    n_pairs = first_new
    n_found = 0
    both_lengths = left_length + right_length
    for i in range(starts[pair], starts[pair] + lengths[pair]):
        position = occurrences[i]
        ahead = np.int64(occurrences[i + AHEAD])
        prefetch(nodes_at + 8 * (ahead - _BEFORE))
        prefetch(nodes_at + 8 * (ahead + both_lengths))
        prefetch(word_counts_at + 2 * ahead)
        if nodes[position, PAIR] != pair:
            continue
        removed = position + left_length
        after = removed + right_length
        weight = word_count_at(words, position)
        nodes[position, SYMBOL] = token
        nodes[after - 1, SYMBOL] = -both_lengths
        before = position + min(nodes[position - 1, SYMBOL], -1) if position > 0 else position
        pair_before = nodes[before, PAIR] if position > 0 else NONE
        if pair_before != NONE:  # else the word begins here, and another ends before it
            counts[pair_before] -= weight
            symbol = nodes[before, SYMBOL]
            new_pair, n_pairs = count_new_pair(left_at, symbol, symbol, token, weight, first_new, n_pairs, table)
            nodes[before, PAIR] = new_pair
            if n_found == 0 or found[n_found - 1, 0] != before:  # else its pair has changed once more
                n_found += 1
            found[n_found - 1, 0] = before
            found[n_found - 1, 1] = new_pair
        pair_after = nodes[removed, PAIR]
        if pair_after == NONE:
            nodes[position, PAIR] = NONE
        else:
            counts[pair_after] -= weight
            symbol = nodes[after, SYMBOL]
            # Never the new token: from left to right, nothing further on has been replaced yet. So a pair of two new
            # tokens is found from its right side only, by the code above, and has one entry.
            new_pair, n_pairs = count_new_pair(right_at, symbol, token, symbol, weight, first_new, n_pairs, table)
            nodes[position, PAIR] = new_pair
            found[n_found, 0] = position
            found[n_found, 1] = new_pair
            n_found += 1
        nodes[removed, PAIR] = NONE
    n_replaced = counts[pair]  # those that overlapped one before them have been taken off
    counts[pair] = 0
    table.state[N_PAIRS] = n_pairs
    # The merged pair's list is not read again: most new lists are put there, where the memory is in the cache.
    table.state[N_OCCURRENCES] = reserve_lists(
        first_new, n_pairs, table.state[N_OCCURRENCES], starts[pair], lengths[pair], starts, lengths
    )
    lengths[pair] = 0
    for i in range(n_found):
        new_pair = found[i, 1]
        occurrences[starts[new_pair] + lengths[new_pair]] = found[i, 0]
        lengths[new_pair] += 1
    return n_replaced


@inlined
def check_token(pair, token, queue, table, ties, ties_at, tokens, limits):
    """Whether the pair at the head of a queue may become token `token`. Its bytes are written behind those of all tokens.

    Returns MAY_MERGE; MAY_NOT_MERGE, and the pair is no longer in the queue; NEED_TEXT or NEED_ANSWER, see merge_batch.
    Inlined, as the loop took 1.2 times as long on 8 MB of code with a call.
    """
    state, starts = tokens.state, ties.starts
    left, right = table.left[pair], table.right[pair]
    n_bytes = starts[left + 1] - starts[left] + starts[right + 1] - starts[right]
    if n_bytes > limits.numbers[MOST_BYTES]:
        # It is not queued again. It keeps its count and its occurrences, which the merges around it change.
        pop_heap(queue, ties_at)
        return MAY_NOT_MERGE
    state[WANTED] = starts[token] + n_bytes + 3
    if state[WANTED] > ties.text.shape[0]:
        return NEED_TEXT
    spell_token(ties, token, left, right)
    if limits.numbers[HAS_LIMITS]:
        if limits.numbers[ASKS] and state[ASKED] != pair:
            state[ASKED], state[ANSWER] = pair, 0
        keeps = keeps_limits(ties.text, starts[token], starts[token] + n_bytes, limits)
        if keeps and limits.numbers[ASKS] and not state[ANSWER]:
            return NEED_ANSWER
        if not keeps or state[ANSWER] == REFUSED:
            pop_heap(queue, ties_at)
            return MAY_NOT_MERGE
    return MAY_MERGE


@kernel(LinkedWords, PairTable, BucketQueue, TieRule, Tokens, int32[:, :], int64, TokenLimits, int64)
def merge_batch(words, table, queue, ties, tokens, found, min_count, limits, budget):
    """Learn merges until an array is full, no pair is left, or about `budget` list entries were read.

    words, table, queue, ties, tokens : modified
    found      : scratch, see apply_merge
    min_count  : int64   pairs that occur less often are not merged; >= 1
    limits     : pairs whose token would not keep them are not merged

    Returns one of the status codes above. After NEED_PAIRS, NEED_OCCURRENCES and NEED_TEXT nothing was changed: give the
    structure named room for tokens.state[WANTED] entries and call again. After NEED_ANSWER, write to tokens.state[ANSWER]
    whether the pair is allowed; its token's bytes stand in ties.text after those of all tokens. Cost: O(log n) for each
    pair that a merge makes, and O(1) for each occurrence; a call returns several times a second.
    """
    state, merges, starts = tokens.state, tokens.merges, ties.starts
    left_of, right_of, counts, lengths, table_state = table.left, table.right, table.counts, table.lengths, table.state
    max_pairs, max_occurrences = left_of.shape[0], table.occurrences.shape[0]
    ties_at = tie_addresses(ties, table.left, table.right)
    n_at_start = state[N_AT_START]
    work = 0
    while work < budget:
        token = state[N_TOKENS]
        if token - n_at_start >= merges.shape[0]:
            return TOKENS_DONE
        pair = settle(queue, counts, min_count, ties_at)
        if pair == NONE:
            return NO_PAIRS
        left = left_of[pair]
        right = right_of[pair]
        status = check_token(pair, token, queue, table, ties, ties_at, tokens, limits)
        if status == MAY_NOT_MERGE:
            work += 1
            continue
        if status != MAY_MERGE:
            return status
        length = np.int64(lengths[pair])
        state[WANTED] = table_state[N_PAIRS] + 2 * length
        if state[WANTED] > max_pairs:
            return NEED_PAIRS
        state[WANTED] = table_state[N_OCCURRENCES] + 2 * length + AHEAD
        if state[WANTED] > max_occurrences:
            return NEED_OCCURRENCES

        pop_heap(queue, ties_at)
        merges[token - n_at_start, 0] = left
        merges[token - n_at_start, 1] = right
        state[N_TOKENS] = token + 1
        first_new = table_state[N_PAIRS]
        left_length, right_length = starts[left + 1] - starts[left], starts[right + 1] - starts[right]
        apply_merge(pair, token, left_length, right_length, words, table, tokens, found)
        push_pairs(queue, counts, ties_at, first_new, table_state[N_PAIRS], min_count)
        work += length
    return BATCH_DONE
