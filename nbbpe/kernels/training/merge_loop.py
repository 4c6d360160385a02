"""The training loop: take the most frequent pair, merge it everywhere, keep the counts right, again."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, kernel, part
from ..compiler.signature import int32, int64, structure
from ..machine.intrinsics import address_of, prefetch, read_i32, read_i64, read_u32, write_i64, write_u32
from .bucket_queue import BucketQueue, TieRule, pop_heap, push, settle, tie_addresses
from .linked_words import NONE, LinkedWords, symbol_in, with_symbol, word_count
from .pair_table import (
    COUNT,
    KEY,
    N_OCCURRENCES,
    N_PAIRS,
    SLOTS_PER_PAIR,
    PairTable,
    enter_pair,
    find_pair,
    group_of,
    home_slot,
    key_of,
    reserve_lists,
    symbols_of,
)
from .token_limits import ASKS, HAS_LIMITS, MOST_BYTES, TokenLimits, keeps_limits

# How many list entries ahead the merge loop prefetches the cells around a boundary: lists of rare pairs point to random
# places in memory, and without this the loop waits for each of them.
AHEAD = 16

# Why `merge_batch` returned.
BATCH_DONE, TOKENS_DONE, NO_PAIRS, NEED_PAIRS, NEED_SLOTS, NEED_OCCURRENCES, NEED_TEXT, NEED_ANSWER = range(8)
MAY_MERGE, MAY_NOT_MERGE = -1, -2  # further results of `check_token`
N_TOKENS, WANTED, N_AT_START, ASKED, ANSWER = range(5)  # indexes of the numbers in Tokens.state
ALLOWED, REFUSED = 1, 2  # answers
N_BYTES = 256  # the number of tokens before the first merge, unless training extends a vocabulary


@structure(int32[:, :], int32[:], int32[:], int64[:])
class Tokens(NamedTuple):
    """The merges learned so far; merge i makes token state[N_AT_START] + i, whose bytes are kept in the TieRule.

    merges    : int32[n_merges, 2]    left and right id of each merge
    left_at   : int32[n_tokens]       scratch: the pair (symbol, new token) of the current merge, by symbol
    right_at  : int32[n_tokens]       scratch: the pair (new token, symbol)
    state     : int64[5]              tokens so far, bytes included; capacity wanted after a NEED_*; tokens at the start;
                                      the pair that was asked about last, and the answer
    """

    merges: NDArray[np.int32]
    left_at: NDArray[np.int32]
    right_at: NDArray[np.int32]
    state: NDArray[np.int64]


@part
def push_pairs(queue, rows, ties_at, first_pair, end_pair, min_count):
    """Queue the pairs from first_pair to end_pair that occur at least `min_count` times (>= 1)."""
    for pair in range(first_pair, end_pair):
        if rows[pair, COUNT] >= min_count:
            push(queue, pair, rows[pair, COUNT], ties_at)


@kernel(BucketQueue, PairTable, TieRule, int64)
def push_all_pairs(queue, table, ties, min_count):
    """Queue all pairs of a table that occur at least `min_count` times (>= 1)."""
    ties_at = tie_addresses(ties, table.rows)
    push_pairs(queue, table.rows, ties_at, np.int64(0), table.state[N_PAIRS], min_count)


@part
def spell_token(ties, token, left, right):
    """Write the bytes of id `token`, the bytes of `left` and then of `right`, and its prefix.

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


class PairAddresses(NamedTuple):
    """The part of a PairTable that counting new pairs needs: the addresses of two arrays, and the first new pair."""

    rows: int
    lengths: int
    first_new: int


@inlined
def count_new_pair(pair_at, left, right, weight, pairs, n_pairs):
    """Count an occurrence of a pair of the new token and another symbol; the pair is entered when it is first met.

    pair_at : int64            the address of the symbol's entry in left_at or right_at of Tokens, which is modified
    weight  : int64            how often the occurrence counts
    pairs   : PairAddresses
    n_pairs : int64            how many pairs there are

    Returns the pair and the new number of pairs.
    """
    pair = np.int64(read_i32(pair_at))
    if pair < pairs.first_new:
        pair = n_pairs
        n_pairs += 1
        write_u32(pair_at, pair)
        write_i64(pairs.rows + 16 * pair + 8 * KEY, key_of(left, right))
        write_i64(pairs.rows + 16 * pair + 8 * COUNT, weight)
        write_u32(pairs.lengths + 4 * pair, 1)
    else:
        count_at, length_at = pairs.rows + 16 * pair + 8 * COUNT, pairs.lengths + 4 * pair
        write_i64(count_at, read_i64(count_at) + weight)
        write_u32(length_at, np.int64(read_u32(length_at)) + 1)
    return pair, n_pairs


@part
def apply_merge(pair, token, left_length, right_length, words, table, tokens, found):
    """Replace every occurrence of `pair` by `token`, from left to right, and enter the pairs that this makes.

    left_length, right_length : int64  the bytes of the two sides of the pair
    words   : LinkedWords, modified
    table   : PairTable, modified      counts of the pairs around fall; new entries get counts and occurrences
    tokens  : Tokens                   left_at and right_at are modified; entries below the first new pair are stale
    found   : int64[*], scratch        pair << 32 | boundary of the new pairs, before they are sorted by pair; twice the
                                       longest list

    There must be room for two new occurrences and two new pairs for each entry of the pair's list, and for AHEAD more
    occurrences (unchecked). Two pairs for each symbol, the new one included, are enough.

    Returns how many occurrences were replaced, by word counts. Cost: O(1) for each entry of the list. With arrays in place
    of addresses, each index was tested for being negative, and the loop took 1.1 times as long.
    """
    cells_at, found_at = address_of(words.cells), address_of(found)
    left_at, right_at = address_of(tokens.left_at), address_of(tokens.right_at)
    starts, lengths, symbol_bits = table.starts, table.lengths, words.symbol_bits
    edge = (1 << symbol_bits) - 1
    first_new = table.state[N_PAIRS]
    pairs = PairAddresses(address_of(table.rows), address_of(lengths), first_new)
    left, right = symbols_of(table.rows[pair, KEY])
    to_first, to_end = 4 * left_length, 4 * right_length
    n_pairs = first_new
    free_at = found_at
    n_replaced = np.int64(0)
    n_in_a_row = np.int64(0)  # of these, the occurrences directly after another one
    entry_at = address_of(table.occurrences) + 4 * starts[pair]
    end_at = entry_at + 4 * np.int64(lengths[pair])
    for at in range(entry_at, min(entry_at + 4 * AHEAD, end_at), 4):
        prefetch_boundary(cells_at + 4 * np.int64(read_u32(at)), to_first, to_end)
    while entry_at < end_at:
        cell_at = cells_at + 4 * np.int64(read_u32(entry_at))
        prefetch_boundary(cells_at + 4 * np.int64(read_u32(entry_at + 4 * AHEAD)), to_first, to_end)
        entry_at += 4
        cell = read_u32(cell_at)
        if symbol_in(read_u32(cell_at - 4), symbol_bits) != left or symbol_in(cell, symbol_bits) != right:
            continue
        first_at, end_cell_at = cell_at - to_first, cell_at + to_end
        before = symbol_in(read_u32(first_at - 4), symbol_bits)
        after = symbol_in(read_u32(end_cell_at), symbol_bits)
        weight = word_count(cell, words, (cell_at - cells_at) >> 2)
        merged = with_symbol(cell, token, symbol_bits)
        write_u32(first_at, merged)
        write_u32(end_cell_at - 4, merged)
        n_replaced += weight
        if before != edge:
            if before == token:  # undo the last pair found, which has the symbol that is now replaced
                free_at -= 8
                count_at = pairs.rows + 16 * (read_i64(free_at) >> 32) + 8 * COUNT
                write_i64(count_at, read_i64(count_at) - weight)
                n_in_a_row += weight
            new_pair, n_pairs = count_new_pair(left_at + 4 * before, before, token, weight, pairs, n_pairs)
            write_i64(free_at, new_pair << 32 | (first_at - cells_at) >> 2)
            free_at += 8
        if after != edge:
            # It is never the new token: from left to right, nothing further on has been replaced yet. So a pair of two new
            # tokens is found only from its right side, by the code above, and is counted once.
            new_pair, n_pairs = count_new_pair(right_at + 4 * after, token, after, weight, pairs, n_pairs)
            write_i64(free_at, new_pair << 32 | (end_cell_at - cells_at) >> 2)
            free_at += 8
    table.state[N_PAIRS] = n_pairs
    take_from_old_pairs(token, left, right, group_of(pair, table), n_in_a_row, first_new, table)
    table.rows[pair, COUNT] = 0
    # The merged pair's list is not read again: most new lists take its place, which is in the processor's cache.
    table.state[N_OCCURRENCES] = reserve_lists(
        first_new, n_pairs, table.state[N_OCCURRENCES], starts[pair], lengths[pair], starts, lengths
    )
    lengths[pair] = 0
    starts_at, occurrences_at = address_of(starts), address_of(table.occurrences)
    for at in range(found_at, free_at, 8):
        new_pair, boundary = symbols_of(read_i64(at))
        length_at = pairs.lengths + 4 * new_pair
        length = np.int64(read_u32(length_at))
        write_u32(occurrences_at + 4 * (read_i64(starts_at + 8 * new_pair) + length), boundary)
        write_u32(length_at, length + 1)
    return n_replaced


@inlined
def prefetch_boundary(cell_at, to_first, to_end):
    """Prefetch the symbols around a boundary, one or two cache lines."""
    prefetch(cell_at - to_first - 4)
    prefetch(cell_at + to_end)


@inlined
def replaced_key(key, token, left, right):
    """The key of the pair that a new pair has replaced by the merge of `left` and `right`."""
    new_left, new_right = symbols_of(key)
    return key_of(new_left, left) if new_right == token else key_of(right, new_right)


@inlined
def take_from_old_pairs(token, left, right, group, n_in_a_row, first_new, table):
    """Subtract the counts of the new pairs from those of the pairs that they have replaced, and give the new ones a slot.

    group      : int64, the group of the pair that was merged, and so of all pairs around it
    n_in_a_row : int64, how many of the replaced occurrences are directly after another one, by word counts
    """
    rows, slots = table.rows, table.slots
    n_pairs = table.state[N_PAIRS]
    slots_at, rows_at = address_of(slots), address_of(rows)
    for pair in range(first_new, n_pairs):
        key = rows[pair, KEY]
        prefetch(slots_at + 4 * home_slot(replaced_key(key, token, left, right), group, table))
        prefetch(slots_at + 4 * home_slot(key, group, table))
    for pair in range(first_new, n_pairs):
        slot = home_slot(replaced_key(rows[pair, KEY], token, left, right), group, table)
        prefetch(rows_at + 16 * np.int64(slots[slot]) - 16)
    for pair in range(first_new, n_pairs):
        key = rows[pair, KEY]
        if table.groups.shape[0]:
            table.groups[pair] = group
        enter_pair(pair, key, group, table)
        if key != key_of(token, token):
            rows[find_pair(replaced_key(key, token, left, right), group, table), COUNT] -= rows[pair, COUNT]
    if n_in_a_row:
        rows[find_pair(key_of(right, left), group, table), COUNT] -= n_in_a_row


@inlined
def check_token(pair, token, queue, table, ties, ties_at, tokens, limits):
    """Whether the pair at the head of a queue may become token `token`. Its bytes are written after those of all tokens.

    Returns MAY_MERGE; MAY_NOT_MERGE, and the pair is out of the queue; NEED_TEXT or NEED_ANSWER, see merge_batch.
    Inlined, as the loop took 1.2 times as long on 8 MB of code with a call.
    """
    state, starts = tokens.state, ties.starts
    left, right = symbols_of(table.rows[pair, KEY])
    n_bytes = starts[left + 1] - starts[left] + starts[right + 1] - starts[right]
    if n_bytes > limits.numbers[MOST_BYTES]:
        # It is not queued again. Its entry stays, as later merges still change its count.
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


@kernel(LinkedWords, PairTable, BucketQueue, TieRule, Tokens, int64[:], int64, TokenLimits, int64)
def merge_batch(words, table, queue, ties, tokens, found, min_count, limits, budget):
    """Learn merges until an array is full, no pair is left, or about `budget` list entries were read.

    words, table, queue, ties, tokens : modified
    found      : scratch, see apply_merge
    min_count  : int64   pairs that occur less often are not merged; >= 1
    limits     : pairs whose token would exceed them are not merged

    Returns one of the status codes above. After a NEED_ code, the current merge has changed nothing. After NEED_ANSWER,
    write to tokens.state[ANSWER] whether the pair is allowed, and call again; the bytes of its token are in ties.text,
    after those of all tokens. After any other NEED_ code, give that structure room for tokens.state[WANTED] entries (slots
    for as many pairs), and call again. Cost: O(log n) for each pair that a merge makes, and O(1) for each occurrence; a
    call returns several times a second. Without prefetching the next pair, 32,000 merges of 3 MB of words took 1.07 times
    as long.
    """
    state, merges, starts = tokens.state, tokens.merges, ties.starts
    rows, lengths, table_state = table.rows, table.lengths, table.state
    max_pairs, max_occurrences = rows.shape[0], table.occurrences.shape[0]
    ties_at = tie_addresses(ties, table.rows)
    n_at_start = state[N_AT_START]
    work = 0
    while work < budget:
        token = state[N_TOKENS]
        if token - n_at_start >= merges.shape[0]:
            return TOKENS_DONE
        pair = settle(queue, rows, min_count, ties_at)
        if pair == NONE:
            return NO_PAIRS
        left, right = symbols_of(rows[pair, KEY])
        status = check_token(pair, token, queue, table, ties, ties_at, tokens, limits)
        if status == MAY_NOT_MERGE:
            work += 1
            continue
        if status != MAY_MERGE:
            return status
        length = np.int64(lengths[pair])
        state[WANTED] = table_state[N_PAIRS] + 2 * min(length, token + 1)
        if state[WANTED] > max_pairs:
            return NEED_PAIRS
        if SLOTS_PER_PAIR * state[WANTED] > table.slots.shape[0]:
            return NEED_SLOTS
        state[WANTED] = table_state[N_OCCURRENCES] + 2 * length + AHEAD
        if state[WANTED] > max_occurrences:
            return NEED_OCCURRENCES

        pop_heap(queue, ties_at)
        # Probably the next pair, unless its count falls in this merge: prefetch the entries that are read first.
        following = np.int64(queue.heap_pairs[0])
        prefetch(address_of(rows) + 16 * following)
        prefetch(address_of(lengths) + 4 * following)
        prefetch(address_of(table.starts) + 8 * following)
        merges[token - n_at_start, 0] = left
        merges[token - n_at_start, 1] = right
        state[N_TOKENS] = token + 1
        first_new = table_state[N_PAIRS]
        left_length, right_length = starts[left + 1] - starts[left], starts[right + 1] - starts[right]
        apply_merge(pair, token, left_length, right_length, words, table, tokens, found)
        prefetch(address_of(table.occurrences) + 4 * table.starts[following])
        push_pairs(queue, rows, ties_at, first_new, table_state[N_PAIRS], min_count)
        work += length
    return BATCH_DONE
