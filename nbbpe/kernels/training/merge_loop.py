"""The training loop: repeatedly take the most frequent pair, merge it everywhere, and update the counts.

Most pairs that merges make are too rare to be merged before the vocabulary is full. They are never needed, as the count of
a pair only falls after the merge that made it. So new pairs below a floor are not entered. The best floor, the count of the
last merge, is not known in advance, so the loop estimates it, on the low side, as it goes on. If an estimate was too high,
the loop runs out of pairs at or above the floor before the vocabulary is full: then `merge_batch` returns NEED_RARE, and
all pairs of the words are entered again. The merges are the same in any case. With 32,000 tokens, a fifth of the pairs of
323 MB of many languages is entered, three fifths of those of 8 MB of CJK text; the loop takes 0.86 and 0.88 of the time.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, kernel, part
from ..compiler.signature import int32, int64, structure
from ..machine.intrinsics import address_of, prefetch, read_i32, read_i64, read_u32, write_i64, write_u32
from .bucket_queue import BucketQueue, TieRule, pop_heap, push, settle, tie_addresses
from .linked_words import LinkedWords, edge_of, symbol_in, with_symbol, word_count
from .pair_table import (
    COUNT,
    KEY,
    N_OCCURRENCES,
    N_PAIRS,
    NONE,
    SLOTS_PER_PAIR,
    PairTable,
    enter_pair,
    find_pair,
    group_of,
    home_slot,
    key_of,
    symbols_of,
)
from .sort_words import prefix_of
from .token_limits import ASKS, HAS_LIMITS, MOST_BYTES, TokenLimits, keeps_limits

# How many list entries ahead the merge loop prefetches the cells around a boundary: lists of rare pairs point to random
# places in memory, and without this the loop waits for each of them.
AHEAD = 16

# Why `merge_batch` returned.
BATCH_DONE, TOKENS_DONE, NO_PAIRS, NEED_PAIRS, NEED_SLOTS, NEED_OCCURRENCES, NEED_TEXT, NEED_ANSWER, NEED_RARE = range(9)
MAY_MERGE, MAY_NOT_MERGE = -1, -2  # further results of `check_token`
N_TOKENS, WANTED, N_AT_START, ASKED, ANSWER, FLOOR, FLOOR_RISES = range(7)  # indexes of the numbers in Tokens.state
# The columns of Tokens.new_pairs after KEY and COUNT. LENGTH: how many entries the list of the pair gets. NEXT: the address
# where its next entry is written. By then STEP has replaced LENGTH: how many bytes further the entry after that goes.
NEXT, LENGTH = 2, 3
STEP = LENGTH
ROW_BYTES = 32
ALLOWED, REFUSED = 1, 2  # answers
N_BYTES = 256  # the number of tokens before the first merge, unless training extends a vocabulary


@structure(int32[:, :], int32[:], int32[:], int64[:, :], int64[:])
class Tokens(NamedTuple):
    """The merges learned so far; merge i makes token state[N_AT_START] + i, whose bytes are kept in the TieRule.

    merges    : int32[n_merges, 2]    left and right id of each merge
    left_numbers  : int32[n_tokens]   scratch: the number of the pair (symbol, new token) of the current merge, by symbol
    right_numbers : int32[n_tokens]   scratch: the number of the pair (new token, symbol)
    new_pairs : int64[2 * n_tokens, 4]    scratch: the pairs of the new token, by number
    state     : int64[7]              tokens so far, bytes included; capacity wanted after a NEED_*; tokens at the start;
                                      the pair that was asked about last, and the answer; the floor, and whether it rises
                                      (0 and 0 after NEED_RARE, and where tokens must be short)
    """

    merges: NDArray[np.int32]
    left_numbers: NDArray[np.int32]
    right_numbers: NDArray[np.int32]
    new_pairs: NDArray[np.int64]
    state: NDArray[np.int64]


def new_tokens(n_start: int, n_tokens: int) -> Tokens:
    """Make Tokens with no merges, `n_start` tokens, and room for `n_tokens`."""
    return Tokens(
        merges=np.empty((n_tokens - n_start, 2), dtype=np.int32),
        left_numbers=np.full(n_tokens, NONE, dtype=np.int32),
        right_numbers=np.full(n_tokens, NONE, dtype=np.int32),
        new_pairs=np.empty((2 * n_tokens, 4), dtype=np.int64),
        state=np.array([n_start, 0, n_start, NONE, 0, 0, 1], dtype=np.int64),
    )


@part
def push_pairs(queue, rows, ties_at, first_pair, end_pair, min_count):
    """Queue the pairs from first_pair to end_pair that occur at least `min_count` times (>= 1)."""
    for pair in range(first_pair, end_pair):
        if rows[pair, COUNT] >= min_count:
            push(queue, pair, rows[pair, COUNT], ties_at)


@kernel(BucketQueue, PairTable, TieRule, int64)
def push_all_pairs(queue, table, ties, min_count):
    """Queue all pairs of a table that occur at least `min_count` times (>= 1).

    queue : BucketQueue, modified    with room for all pairs, none of which is in it
    table : PairTable, read
    ties  : TieRule, read

    Cost: mostly O(1) for each pair, see bucket_queue.push.
    """
    ties_at = tie_addresses(ties, table.rows)
    push_pairs(queue, table.rows, ties_at, np.int64(0), table.state[N_PAIRS], min_count)


@part
def spell_token(ties, token, left, right):
    """Write the prefix and the bytes of id `token`: those of `left`, then those of `right`.

    The text must have room for them (unchecked).
    """
    text, starts = ties.text, ties.starts
    out = starts[token]
    for side in (left, right):
        for i in range(starts[side], starts[side + 1]):
            text[out] = text[i]
            out += 1
    starts[token + 1] = out
    ties.prefixes[token] = prefix_of(text, starts[token], out)


@inlined
def count_new_pair(number_at, left, right, weight, new_at, n_new):
    """Count an occurrence of a pair of the new token and another symbol; the pair gets a number when it is first met.

    number_at : int64   the address of the symbol's entry in left_numbers or right_numbers of Tokens, which is modified
    weight    : int64   how often the occurrence counts
    new_at    : int64   the address of Tokens.new_pairs, which is modified
    n_new     : int64   how many pairs have a number

    Returns the pair's number and the new number of pairs.
    """
    number = np.int64(read_i32(number_at))
    if number == NONE:
        number = n_new
        n_new += 1
        row_at = new_at + ROW_BYTES * number
        write_u32(number_at, number)
        write_i64(row_at + 8 * KEY, key_of(left, right))
        write_i64(row_at + 8 * COUNT, weight)
        write_i64(row_at + 8 * LENGTH, 1)
    else:
        row_at = new_at + ROW_BYTES * number
        write_i64(row_at + 8 * COUNT, read_i64(row_at + 8 * COUNT) + weight)
        write_i64(row_at + 8 * LENGTH, read_i64(row_at + 8 * LENGTH) + 1)
    return number, n_new


@part
def apply_merge(pair, token, left_length, right_length, floor, words, table, tokens, found):
    """Replace every occurrence of `pair` by `token`, from left to right, and enter the pairs that this makes.

    left_length, right_length : int64  the bytes of the two sides of the pair
    floor   : int64                    new pairs that occur less often are not entered
    words   : LinkedWords, modified
    table   : PairTable, modified      counts of neighbouring pairs fall; new entries get counts and occurrences
    tokens  : Tokens                   new_pairs is scratch; left_numbers and right_numbers are NONE before and after
    found   : int64[*], scratch        number << 32 | boundary, for each occurrence of a new pair; it has twice as many
                                       entries as the longest list

    There must be room for two new occurrences and two new pairs for each entry of the pair's list (but for no more than two
    new pairs for each symbol, the new one included), and for AHEAD more occurrences (unchecked).

    Returns how many occurrences were replaced, by word counts. Cost: O(1) for each entry of the list. With arrays in place
    of addresses, each index was tested for being negative, and the loop took 1.1 times as long.
    """
    cells_at, found_at = address_of(words.cells), address_of(found)
    left_at, right_at = address_of(tokens.left_numbers), address_of(tokens.right_numbers)
    starts, lengths, symbol_bits = table.starts, table.lengths, words.symbol_bits
    edge = edge_of(symbol_bits)
    new_at = address_of(tokens.new_pairs)
    left, right = symbols_of(table.rows[pair, KEY])
    to_first, to_end = 4 * left_length, 4 * right_length
    n_new = np.int64(0)
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
            if before == token:  # undo the last pair found: its right symbol is now replaced
                free_at -= 8
                row_at = new_at + ROW_BYTES * (read_i64(free_at) >> 32)
                write_i64(row_at + 8 * COUNT, read_i64(row_at + 8 * COUNT) - weight)
                write_i64(row_at + 8 * LENGTH, read_i64(row_at + 8 * LENGTH) - 1)
                n_in_a_row += weight
            number, n_new = count_new_pair(left_at + 4 * before, before, token, weight, new_at, n_new)
            write_i64(free_at, number << 32 | (first_at - cells_at) >> 2)
            free_at += 8
        if after != edge:
            # `after` is never the new token, as nothing to the right has been replaced yet. So a pair of two new tokens is
            # found only from its right token, by the code above, and is counted once.
            number, n_new = count_new_pair(right_at + 4 * after, token, after, weight, new_at, n_new)
            write_i64(free_at, number << 32 | (end_cell_at - cells_at) >> 2)
            free_at += 8
    enter_new_pairs(pair, token, left, right, n_new, n_in_a_row, floor, table, tokens)
    for at in range(found_at, free_at, 8):
        number, boundary = symbols_of(read_i64(at))
        row_at = new_at + ROW_BYTES * number
        next_at = read_i64(row_at + 8 * NEXT)
        write_u32(next_at, boundary)
        write_i64(row_at + 8 * NEXT, next_at + read_i64(row_at + 8 * STEP))
    return n_replaced


@inlined
def prefetch_boundary(cell_at, to_first, to_end):
    """Prefetch the symbols around a boundary, one or two cache lines."""
    prefetch(cell_at - to_first - 4)
    prefetch(cell_at + to_end)


@inlined
def replaced_key(key, token, left, right):
    """The key of the pair whose place the new pair `key` takes when `left` and `right` are merged into `token`."""
    new_left, new_right = symbols_of(key)
    return key_of(new_left, left) if new_right == token else key_of(right, new_right)


@inlined
def enter_new_pairs(pair, token, left, right, n_new, n_in_a_row, floor, table, tokens):
    """Enter the pairs that a merge has made, and subtract their counts from those of the pairs that they have replaced.

    n_new      : int64, how many rows of Tokens.new_pairs are filled; this sets their NEXT and STEP
    n_in_a_row : int64, how many of the replaced occurrences are directly after another one, by word counts
    floor      : int64, see apply_merge
    """
    rows, slots, starts, lengths = table.rows, table.slots, table.starts, table.lengths
    slots_at, rows_at, occurrences_at = address_of(slots), address_of(rows), address_of(table.occurrences)
    starts_at, lengths_at = address_of(starts), address_of(lengths)
    left_at, right_at = address_of(tokens.left_numbers), address_of(tokens.right_numbers)
    new_at = address_of(tokens.new_pairs)
    end_at = new_at + ROW_BYTES * n_new
    group = group_of(pair, table)  # also that of all pairs around it
    for row_at in range(new_at, end_at, ROW_BYTES):
        key = read_i64(row_at + 8 * KEY)
        prefetch(slots_at + 4 * home_slot(replaced_key(key, token, left, right), group, table))
        if read_i64(row_at + 8 * COUNT) >= floor:
            prefetch(slots_at + 4 * home_slot(key, group, table))
    for row_at in range(new_at, end_at, ROW_BYTES):
        slot = home_slot(replaced_key(read_i64(row_at + 8 * KEY), token, left, right), group, table)
        prefetch(rows_at + 16 * np.int64(read_i32(slots_at + 4 * slot)) - 16)
    # The merged pair's list is not read again: most new lists take its place, which is in the processor's cache.
    free, end_free = starts[pair], starts[pair] + np.int64(lengths[pair])
    lengths[pair] = 0
    n_pairs, n_occurrences = table.state[N_PAIRS], table.state[N_OCCURRENCES]
    for row_at in range(new_at, end_at, ROW_BYTES):
        key, count = read_i64(row_at + 8 * KEY), read_i64(row_at + 8 * COUNT)
        new_left, new_right = symbols_of(key)
        write_u32(left_at + 4 * new_left if new_right == token else right_at + 4 * new_right, NONE)
        if new_left != new_right:
            replaced = find_pair(replaced_key(key, token, left, right), group, table)
            if replaced != NONE:
                count_at = rows_at + 16 * replaced + 8 * COUNT
                write_i64(count_at, read_i64(count_at) - count)
        if count < floor:
            # It gets no list: each of its occurrences will be written over its key, which is not needed any more.
            write_i64(row_at + 8 * NEXT, row_at + 8 * KEY)
            write_i64(row_at + 8 * STEP, 0)
            continue
        write_i64(rows_at + 16 * n_pairs + 8 * KEY, key)
        write_i64(rows_at + 16 * n_pairs + 8 * COUNT, count)
        if table.groups.shape[0]:
            table.groups[n_pairs] = group
        enter_pair(n_pairs, key, group, table)
        length = read_i64(row_at + 8 * LENGTH)
        start = free
        if free + length <= end_free:
            free += length
        else:
            start = n_occurrences
            n_occurrences += length
        write_i64(starts_at + 8 * n_pairs, start)
        write_u32(lengths_at + 4 * n_pairs, length)
        n_pairs += 1
        write_i64(row_at + 8 * NEXT, occurrences_at + 4 * start)
        write_i64(row_at + 8 * STEP, 4)
    table.state[N_PAIRS] = n_pairs
    table.state[N_OCCURRENCES] = n_occurrences
    if n_in_a_row:
        replaced = find_pair(key_of(right, left), group, table)
        if replaced != NONE:
            rows[replaced, COUNT] -= n_in_a_row
    rows[pair, COUNT] = 0


@inlined
def likely_last_count(count, n_merges, n_wanted):
    """A probable lower bound on the count of the pair of the last of `n_wanted` merges, if that of merge `n_merges` is
    `count`.

    In text, the counts of merges fall more slowly than with the square of their number, whatever the language, the size of
    the text or of the vocabulary, unless tokens must be short. The bound may be too high if all remaining pairs are much
    rarer, as in texts that were copied with small changes.
    """
    done = n_merges / n_wanted
    return np.int64(0.75 * count * done * done)


@inlined
def check_token(pair, token, queue, table, ties, ties_at, tokens, limits):
    """Whether the pair at the head of a queue may become token `token`. Its bytes are written after those of all tokens.

    Returns MAY_MERGE; MAY_NOT_MERGE, with the pair removed from the queue; NEED_TEXT or NEED_ANSWER, see merge_batch.
    Inlined, as the loop took 1.2 times as long on 8 MB of code with a call.
    """
    state, starts = tokens.state, ties.starts
    left, right = symbols_of(table.rows[pair, KEY])
    n_bytes = starts[left + 1] - starts[left] + starts[right + 1] - starts[right]
    if n_bytes > limits.numbers[MOST_BYTES]:
        # The pair is not queued again. Its entry stays, as later merges still change its count.
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
    found      : int64[*], scratch, see apply_merge
    min_count  : int64   pairs that occur less often are not merged; >= 1
    limits     : pairs whose token would exceed them are not merged

    Returns one of the status codes above. After a NEED_ code, the current merge has changed nothing. After NEED_ANSWER,
    write to tokens.state[ANSWER] whether the pair is allowed, and call again; the bytes of its token are in ties.text,
    after those of all tokens. After NEED_RARE, enter all pairs of the words into a new table, and into the queue, which is
    empty, set the floor to 0 for good, and call again. After any other NEED_ code, give that structure room for
    tokens.state[WANTED] entries (slots for as many pairs), and call again.

    Cost: O(log n) for each pair that a merge makes, and O(1) for each occurrence; a call returns several times a second.
    Without prefetching the next pair, 32,000 merges of 3 MB of words took 1.07 times as long.
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
        pair = settle(queue, rows, max(min_count, state[FLOOR]), ties_at)
        if pair == NONE:
            return NO_PAIRS if state[FLOOR] <= min_count else NEED_RARE
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

        if state[FLOOR_RISES]:
            state[FLOOR] = max(state[FLOOR], likely_last_count(rows[pair, COUNT], token - n_at_start, merges.shape[0]))
        floor = max(min_count, state[FLOOR])
        pop_heap(queue, ties_at)
        # This is the next pair unless its count falls in this merge: prefetch the entries that are read first.
        following = np.int64(queue.heap_pairs[0])
        prefetch(address_of(rows) + 16 * following)
        prefetch(address_of(lengths) + 4 * following)
        prefetch(address_of(table.starts) + 8 * following)
        merges[token - n_at_start, 0] = left
        merges[token - n_at_start, 1] = right
        state[N_TOKENS] = token + 1
        first_new = table_state[N_PAIRS]
        left_length, right_length = starts[left + 1] - starts[left], starts[right + 1] - starts[right]
        apply_merge(pair, token, left_length, right_length, floor, words, table, tokens, found)
        prefetch(address_of(table.occurrences) + 4 * table.starts[following])
        push_pairs(queue, rows, ties_at, first_new, table_state[N_PAIRS], floor)
        work += length
    return BATCH_DONE
