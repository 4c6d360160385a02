"""Count distinct pieces and words in a piece table, where value_0 of a slot is the count."""

import numpy as np

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int64, reads, uint8, uint64
from ..machine.intrinsics import PADDING, address_of, prefetch, read_u64, write_u64
from ..pieces.breaks import Breaks, first_break_after
from ..pieces.pattern_tables import PLAIN_WORDS, number_of
from ..pieces.piece_batch import (
    ScanAddresses,
    batch_of,
    bound_of,
    find_prepared,
    has_key,
    home_of,
    next_pieces,
    prepared_key,
    row_of_break,
)
from ..pieces.piece_table import (
    INLINE_BYTES,
    SLOT_WORDS,
    SPILL_BYTES,
    PieceTable,
    copy_key,
    copy_key_exactly,
    find_from,
    home_secret_of,
    home_slot,
    insert,
    is_free,
    key_length,
    key_of,
    prefetch_key,
    table_addresses,
)
from ..pieces.plain_words import is_plain_key
from ..pieces.pretokens import begin_piece, pretoken_end
from ..pieces.unmergeable_boundaries import NO_JOINS

_ONE = np.uint64(1)
_SLOTS_AHEAD = 64 * SLOT_WORDS  # distance from the slot that is read to the one whose key is prefetched


@inlined
def add_at(slot_at, n):
    """Add `n`, uint64, to the count in the slot at an address."""
    write_u64(slot_at + 16, read_u64(slot_at + 16) + n)


@kernel(
    reads(uint8[:]), int64, int64, int64, reads(int64[:, :]), int64, reads(uint64[:]), uint64[:], uint64[:, :], PieceTable
)
def count_pieces(text, start, end, limit, breaks, n_breaks, pattern, classes, batch, table):
    """Count the pieces of a text.

    text   : uint8[>= end + PADDING], read
    start  : int64                  start of a piece
    end    : int64                  end of the text
    limit  : int64                  boundaries after it are not used yet, as more text follows; `end` if none follows
    breaks : int64[>= n_breaks, 3]  stretches that are not counted, such as special tokens (see pieces/breaks.py)
    pattern : uint64[*], read       see pattern_tables.py
    classes : uint64[8], scratch    see boundaries.new_classes
    batch  : uint64[n, ROW_WORDS], scratch    see piece_batch.new_batch
    table  : PieceTable, modified   the counts

    Returns (position up to which pieces were counted, whether all pieces up to `limit` were). If not, the table is full:
    grow it and call again from that position. Cost: scan and one look-up a piece, 2 ns a byte of prose.
    """
    text_at, breaks_at, table_at = address_of(text), address_of(breaks), table_addresses(table)
    rows = batch_of(address_of(batch), batch.shape[0])
    scan = ScanAddresses(address_of(pattern), address_of(classes))
    next_break = first_break_after(breaks_at, n_breaks, start)
    piece = start
    block = start
    state = 0
    while block < end:
        some_breaks = Breaks(breaks_at, next_break, n_breaks)
        found, block, state = next_pieces(text_at, piece, block, end, state, some_breaks, scan, NO_JOINS, table_at, rows)
        is_done = False
        while found > 0 and bound_of(rows, found) > limit:
            found -= 1
            is_done = True
        row = 0
        while row < found:
            break_row = row_of_break(rows, row, found, breaks_at, next_break, n_breaks)
            while row < break_row:
                piece = bound_of(rows, row)
                length = bound_of(rows, row + 1) - piece
                slot_at = home_of(rows, row)
                if has_key(rows, row, slot_at):
                    add_at(slot_at, np.uint64(length > 0))  # an empty piece has the key of a free slot
                elif length > 0:
                    slot = find_prepared(rows, row, table_at, text_at + piece, length)
                    if is_free(table_at, slot):
                        low, high = prepared_key(rows, row)
                        if not insert(table_at, slot, text_at + piece, length, low, high):
                            return piece, False
                    add_at(table_at.slots + 8 * slot, _ONE)
                row += 1
            if row < found:  # the break, or an empty piece before it
                next_break += bound_of(rows, row + 1) > bound_of(rows, row)
                row += 1
        piece = bound_of(rows, found)
        if is_done:
            break
    return piece, True


@kernel(reads(uint8[:]), reads(int64[:]), reads(int64[:]), int64, PieceTable, uint64[:, :])
def add_words(text, starts, counts, first_word, table, keys):
    """Add words with counts to a table.

    text   : uint8[* + PADDING]     the words' bytes, one after another; starts : int64[n + 1]; counts : int64[n]
    table  : PieceTable, modified
    keys   : uint64[n_together, 3], scratch    the keys of some words and their home slots

    Returns the first word that was not added: n, or less if the table is full. Cost: one look-up a word; of `n_together`
    words, the home slots are prefetched first, then the pool entries of their keys.
    """
    text_at, table_at = address_of(text), table_addresses(table)
    home_secret = home_secret_of(table_at.state)
    for first in range(first_word, counts.shape[0], keys.shape[0]):
        n_together = min(keys.shape[0], counts.shape[0] - first)
        for i in range(n_together):
            start, end = starts[first + i], starts[first + i + 1]
            if end > start:
                low, high = key_of(text_at + start, end - start, table_at.state)
                home = home_slot(low, high, table_at.n_words, home_secret)
                prefetch(table_at.slots + 8 * home)
                keys[i, 0], keys[i, 1], keys[i, 2] = low, high, home
        for i in range(n_together):
            if starts[first + i + 1] - starts[first + i] > INLINE_BYTES:
                prefetch_key(table_at, np.int64(keys[i, 2]))
        for i in range(n_together):
            key_at, length = text_at + starts[first + i], starts[first + i + 1] - starts[first + i]
            if length == 0:
                continue
            low, high = keys[i, 0], keys[i, 1]
            slot = find_from(table_at, np.int64(keys[i, 2]), key_at, length, low, high)
            if is_free(table_at, slot) and not insert(table_at, slot, key_at, length, low, high):
                return first + i
            add_at(table_at.slots + 8 * slot, np.uint64(counts[first + i]))
    return counts.shape[0]


@kernel(PieceTable, int64, int64)
def measure_words(table, first_slot, end_slot):
    """Return (number of keys with a count, sum of their lengths in bytes) for the slots from `first_slot` to `end_slot`.

    table : PieceTable, read

    Cost: one pass over the slots.
    """
    table_at = table_addresses(table)
    n_words = 0
    n_bytes = 0
    for slot in range(first_slot, end_slot, SLOT_WORDS):
        prefetch_key(table_at, (slot + _SLOTS_AHEAD) & (table_at.n_words - 1))
        if table.slots[slot + 2] != 0:
            n_words += 1
            n_bytes += key_length(table_at, slot)
    return n_words, n_bytes


@kernel(PieceTable, int64, int64, int64, uint8[:], int64[:], int64[:])
def take_words(table, first_slot, end_slot, position, text, starts, counts):
    """Move keys that have a count out of a table, as words in CSR form, as many as there is room for.

    table      : PieceTable, modified       the counts of the keys that are taken become 0
    first_slot, end_slot : int64            the slots that are read
    position   : int64                      where the first word starts in the text
    text       : uint8[* + PADDING], starts : int64[n + 1], counts : int64[n], filled    the padding is not written to

    Returns (slot, number of words): all keys before the slot are taken. The slot is below `end_slot` if there is no room
    for the next key. Cost: one pass over the slots.
    """
    text_at, table_at = address_of(text), table_addresses(table)
    n_words = 0
    starts[0] = position
    for slot in range(first_slot, end_slot, SLOT_WORDS):
        prefetch_key(table_at, (slot + _SLOTS_AHEAD) & (table_at.n_words - 1))
        if table.slots[slot + 2] != 0:
            length = key_length(table_at, slot)
            if n_words == counts.shape[0] or position + length > text.shape[0] - PADDING:
                return slot, n_words
            if position + length + SPILL_BYTES <= text.shape[0] - PADDING:
                copy_key(table_at, slot, text_at + position)
            else:
                copy_key_exactly(table_at, slot, text_at + position)
            position += length
            counts[n_words] = np.int64(table.slots[slot + 2])
            table.slots[slot + 2] = 0
            n_words += 1
            starts[n_words] = position
    return end_slot, n_words


@kernel(PieceTable, reads(uint64[:]), int64[:], int64, int64, uint8[:], int64[:], int64[:])
def take_compound(table, pattern, split_scratch, first_slot, end_slot, text, starts, counts):
    """Take pieces that are not single pretokens out of a table, and split them into words.

    table      : PieceTable, modified      the counts of the pieces that are taken become 0
    pattern    : uint64[*], read           see pattern_tables.py
    split_scratch : int64[*], scratch      see pretokens.new_split_scratch
    first_slot, end_slot : int64           the slots that are read
    text       : uint8[* + PADDING], starts : int64[n + 1], counts : int64[n], filled    as for take_words, but a word may
                 come several times

    Returns (slot, number of words): all pieces before the slot are done. The slot is below `end_slot` if the next piece
    may need more room than there is. Cost: a pass over the slots, and a look-up for each character except in plain words.
    """
    pattern_at, split_at = address_of(pattern), address_of(split_scratch)
    text_at, table_at = address_of(text), table_addresses(table)
    room = min(text.shape[0] - PADDING, counts.shape[0])  # words have a byte or more, so position >= n_words
    n_words = 0
    position = 0
    starts[0] = 0
    keeps_plain = number_of(pattern_at, PLAIN_WORDS) != 0
    for slot in range(first_slot, end_slot, SLOT_WORDS):
        prefetch_key(table_at, (slot + _SLOTS_AHEAD) & (table_at.n_words - 1))
        count = np.int64(table.slots[slot + 2])
        if count == 0:
            continue
        length = key_length(table_at, slot)
        if keeps_plain and length <= INLINE_BYTES and is_plain_key(table.slots[slot], table.slots[slot + 1], length):
            continue
        if position + length > room:
            return slot, n_words
        end = position + copy_key(table_at, slot, text_at + position)
        begin_piece(split_at, pattern_at)
        n, pretoken = n_words, position
        while pretoken < end:
            counts[n] = count
            n += 1
            pretoken = pretoken_end(text_at + pretoken, text_at + end, pattern_at, split_at) - text_at
            starts[n] = pretoken
        if n > n_words + 1:
            table.slots[slot + 2] = 0
            n_words, position = n, end
    return end_slot, n_words
