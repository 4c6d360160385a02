"""The merges of a tokenizer as tables: which symbol a pair becomes, and at which rank.

Inside the kernels a token is a *symbol*: 0 to 255 are the single bytes, and all others follow. The ranks of pairs are in
two tables. Pairs of bytes, with which every pretoken begins, are found in a table of all 65,536. All other pairs are
in a hash table whose buckets are cache lines of eight entries, compared all at once: a look-up has no branch that could be
mispredicted, and most look-ups of a new pretoken find nothing.

Tokenizer files may come from an attacker, so the line of a pair depends on a secret (see secret.py). The pair, a number of
42 bits, is multiplied by a secret odd number modulo 2^64, and the bits from 32 on select the line. Let two pairs differ by
an odd number times 2^t. Then their products differ by a number whose bit t is set and whose higher bits are uniform. If t <
32, the pairs share one of n lines with a chance of 2 : n at the most. If t >= 32, bit t keeps them apart, as a tokenizer
that has so many symbols has so many lines that bit t counts. If too many entries collide all the same, `fill_merges`
reports it, and the table is made again with another secret.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, kernel
from ..compiler.signature import int64, reads, structure, uint8, uint32, uint64
from ..machine import secret
from ..machine.intrinsics import (
    KEY_SHIFT,
    LINE,
    NO_RANK,
    RANK_BITS,
    address_of,
    prefetch_shared,
    rank_in_line,
    read_i64,
    read_u32,
    read_u64,
    write_u16,
    write_u32,
)
from ..machine.large_pages import zeros
from ..pieces.piece_table import STATE_SIZE, PieceTable, TableAddresses, find, is_free, key_of
from ..pieces.unmergeable_boundaries import JOINS_BYTES, byte_ends, folded, join_ends, mark_joins

_SYMBOL_BITS = 21
NO_SYMBOL = (1 << _SYMBOL_BITS) - 1  # no symbol has this number: it is before and after a pretoken
MAX_RANKS = 1 << RANK_BITS
CONTEST_BITS = 2  # of a pair of bytes: which of the two bytes another merge may take before the turn of the pair
RIGHT_CONTESTED, LEFT_CONTESTED, BOTH_CONTESTED = 1, 2, 3
_NO_BYTE_PAIR = NO_RANK << CONTEST_BITS | BOTH_CONTESTED

_MOST_GAPS = 16  # ids for each symbol: with fewer, a table of all ids is made
MOST_LINES = 64  # that a look-up reads; in tables that are half full, one in 10^20 would need more

_FREE = np.uint64(0xFFFFFFFFFFFFFFFF)
_SYMBOL_SHIFT = np.uint64(_SYMBOL_BITS)
_KEY_SHIFT = np.uint64(KEY_SHIFT)
_LAST = np.uint64(1 << RANK_BITS)  # in the last entry of a line: no entry of this line is in the next line


@structure(uint64[:], uint32[:], uint32[:], uint32[:], uint64[:], int64, uint8[:], uint64)
class Merges(NamedTuple):
    """The merges of a tokenizer, read only; made by `new_merges`.

    entries     : uint64[LINE * n_lines]  (left << 43 | right << 22 | 1 << 21 | rank) of each pair, all ones where free; the
                                          number of lines is a power of two, each a cache line. Bit 21 of a line's last
                                          entry is 0 if entries without room in the line are in the next one
    byte_pairs  : uint32[65536]           of each pair of bytes, at [left << 8 | right], rank << CONTEST_BITS and which of
                                          its bytes are contested, see `contested_bytes`; all ones if it has no rank
    symbols     : uint32[*]               the symbol that a pair of each rank becomes, shortened by `without_final_run`
    ids         : uint32[*]               the id of each symbol, likewise
    whole       : uint64[*]               tokens that merging their bytes does not give, but that a pretoken of these bytes
                                          becomes, see `pack_whole`; empty for most vocabularies
    n_ascending : int                     the number of ranks, if each merge has a higher rank than the merges that make its
                                          two sides: then a long pretoken can be merged rank by rank (merge_long); else 0
    joins       : uint8[*]                bits of the places at which merges join (unmergeable_boundaries); empty if they
                                          are unknown, or if a part of a pretoken may merge differently from the whole
    secret      : np.uint64               determines the line of each pair; odd
    """

    entries: NDArray[np.uint64]
    byte_pairs: NDArray[np.uint32]
    symbols: NDArray[np.uint32]
    ids: NDArray[np.uint32]
    whole: NDArray[np.uint64]
    n_ascending: int
    joins: NDArray[np.uint8]
    secret: np.uint64


class MergeAddresses(NamedTuple):
    """Merges in the form that compiled code takes.

    entries, byte_pairs, symbols, ids, whole : the addresses of these arrays; 0 for a `whole` without entries
    last_entry, last_symbol, last_id         : the number of the last of entries, symbols and ids
    n_ascending, secret                      : as in Merges, but int64
    """

    entries: int
    byte_pairs: int
    symbols: int
    ids: int
    whole: int
    last_entry: int
    last_symbol: int
    last_id: int
    n_ascending: int
    secret: int


def empty_merges(n_merges: int, symbols: NDArray[Any], ids: NDArray[Any], numbers: NDArray[np.uint64]) -> Merges:
    """Make empty tables with room for `n_merges` merges.

    symbols, ids : as in Merges, of any integer type
    numbers      : a secret

    Raises ValueError for more tokens or ranks than an entry can distinguish: some two million of each.
    """
    if len(ids) >= NO_SYMBOL or len(symbols) >= MAX_RANKS:
        raise ValueError(
            f"a tokenizer can have {NO_SYMBOL - 1:,} tokens and {MAX_RANKS - 1:,} merges, "
            f"not {len(ids):,} and {len(symbols):,}"
        )
    byte_pairs = np.full(1 << 16, _NO_BYTE_PAIR, dtype=np.uint32)
    n_lines = 1
    while n_lines * LINE < 2 * n_merges:
        n_lines *= 2
    entries = zeros(LINE * n_lines)  # a look-up reads one line at once, so each must be within one cache line
    entries[:] = _FREE
    whole, joins = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint8)
    return Merges(
        entries, byte_pairs, without_final_run(symbols), without_final_run(ids), whole, 0, joins, numbers[secret.PAIRS]
    )


def without_final_run(numbers: NDArray[Any]) -> NDArray[np.uint32]:
    """Numbers whose last run n, n + 1, n + 2, ... is shortened to n; uint32[*], not empty.

    Most vocabularies number their tokens in the order of the merges, so that few numbers remain. Then a merge need not read
    its result from an address that is mostly in no cache, which takes 3 to 10 % off a first pass.
    """
    steps = np.flatnonzero(np.diff(numbers) != 1)
    n_kept = steps[-1] + 2 if len(steps) else 1
    return np.append(numbers, 0)[:n_kept].astype(np.uint32)


def new_merges(
    lefts: NDArray[np.int32],
    rights: NDArray[np.int32],
    ranks: NDArray[np.int32],
    results: NDArray[np.int32],
    byte_ids: NDArray[np.int32],
) -> Merges:
    """Make the tables of merges.

    lefts, rights, ranks, results : of each merge, the ids of its two sides, its rank, and the id of its result; int32[n]
    byte_ids : int32[256]; -1 for a byte that no text has
    If a pair comes twice, its lower rank is kept. Merges must come by ascending rank (else ValueError), and merges of one
    rank must have one result (unchecked).
    """
    if (ranks[1:] < ranks[:-1]).any():
        raise ValueError("merges must come by ascending rank")
    ids, (left_symbols, right_symbols, result_symbols) = _symbols_of(byte_ids, [lefts, rights, results])
    symbols = np.zeros(int(ranks.max(initial=-1)) + 1, dtype=np.uint32)
    symbols[ranks] = result_symbols
    made_by = np.full(len(ids), -1)  # the highest rank that makes each symbol
    made_by[result_symbols] = ranks  # if a place is written twice, the last value stays
    ascending = (np.maximum(made_by[left_symbols], made_by[right_symbols]) < ranks).all()
    columns = left_symbols, right_symbols, ranks.astype(np.int64), result_symbols
    numbers = secret.of_process()
    n_joins = -1
    while n_joins < 0:
        merges = empty_merges(len(lefts), symbols, ids, numbers)
        if ascending:
            merges = merges._replace(n_ascending=len(symbols), joins=np.zeros(JOINS_BYTES, dtype=np.uint8))
        n_joins = fill_merges(*columns, np.zeros(len(ids), dtype=np.int64), merges)
        numbers = secret.fresh()
    if not ascending:
        return merges
    contested = contested_bytes(merges.byte_pairs >> CONTEST_BITS, left_symbols, right_symbols, ranks)
    return merges._replace(
        byte_pairs=merges.byte_pairs & ~np.uint32(BOTH_CONTESTED) | contested, joins=folded(merges.joins, n_joins)
    )


def _symbols_of(byte_ids: NDArray[np.int32], columns: list[NDArray[np.int32]]) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """The id of each symbol; and for each column of ids the column of their symbols, int64[n]."""
    highest = max(int(each.max(initial=0)) for each in (byte_ids, *columns))
    if highest >= _MOST_GAPS * (len(byte_ids) + len(columns[0])):
        ids = np.concatenate([byte_ids, _others(np.concatenate(columns), byte_ids)])
        order = np.argsort(ids)
        return ids, [order[np.searchsorted(ids, each, sorter=order)].astype(np.int64) for each in columns]
    # A table of all ids takes a fifth of the time of sorting and searching.
    is_other = np.zeros(highest + 1, dtype=np.bool_)
    for each in columns:
        is_other[each] = True
    has_byte = byte_ids >= 0
    is_other[byte_ids[has_byte]] = False
    ids = np.concatenate([byte_ids, np.flatnonzero(is_other)])
    symbol_of = np.zeros(highest + 1, dtype=np.int64)
    symbol_of[byte_ids[has_byte]] = np.flatnonzero(has_byte)
    symbol_of[ids[len(byte_ids) :]] = np.arange(len(byte_ids), len(ids))
    return ids, [symbol_of[each] for each in columns]


def _others(numbers: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
    """The distinct numbers not in `known`, ascending. (np.setdiff1d would do, but imports numpy.ma, which takes 10 ms.)"""
    numbers, known = np.sort(numbers), np.sort(known)
    distinct = numbers[np.diff(numbers, prepend=numbers[:1] - 1) != 0]
    return distinct[known[np.searchsorted(known, distinct).clip(max=len(known) - 1)] != distinct]


def contested_bytes(
    byte_ranks: NDArray[Any], lefts: NDArray[np.int64], rights: NDArray[np.int64], ranks: NDArray[np.int32]
) -> NDArray[np.uint32]:
    """Which bytes of each pair of bytes another merge may take before the pair's turn comes: LEFT_CONTESTED and so on.

    byte_ranks : uint32[65536]    the rank of each pair, or NO_RANK
    lefts, rights, ranks : int64[n], int64[n], int32[n]    symbols and ranks of all merges, by ascending rank, each higher
                 than those that make its sides

    The left byte is contested if a symbol of several bytes before it merges with it at a lower rank than the pair; the
    right byte likewise. If neither is, only the pairs of bytes next to it can merge before the pair.
    """
    # The lowest rank at which each byte merges with a symbol of several bytes after it, and before it.
    first_after, first_before = np.full((2, 256), NO_RANK, dtype=np.uint32)
    for firsts, bytes_, others in (first_after, lefts, rights), (first_before, rights, lefts):
        found = np.flatnonzero((bytes_ < 256) & (others >= 256))[::-1]  # if a place is written twice, the last value stays
        firsts[bytes_[found]] = ranks[found]
    pair_ranks = byte_ranks.reshape(256, 256)
    contested = (pair_ranks >= first_before[:, None]) * LEFT_CONTESTED + (pair_ranks >= first_after) * RIGHT_CONTESTED
    return contested.astype(np.uint32).ravel()


@inlined
def enter_merge(merges, left, right, rank):
    """Enter a pair of symbols with its rank. Ranks must ascend (unchecked): if a pair comes twice, the first is kept.

    left, right, rank : int64;  merges : Merges, entries or byte_pairs modified; there must be room (unchecked)

    Returns whether it found room in one of MOST_LINES lines; if not, the table needs another secret.
    """
    if left < 256 and right < 256:
        pair = left << 8 | right
        merges.byte_pairs[pair] = min(merges.byte_pairs[pair], np.uint32(rank << CONTEST_BITS | BOTH_CONTESTED))
    else:
        key = pair_key(left, right)
        mask = merges.entries.shape[0] - 1
        entry = first_entry(key, mask, merges.secret)
        n_entries = 1
        while merges.entries[entry] != _FREE and merges.entries[entry] >> _KEY_SHIFT != key:
            if n_entries == MOST_LINES * LINE:
                return False
            if entry % LINE == LINE - 1:
                merges.entries[entry] &= ~_LAST
            entry = (entry + 1) & mask
            n_entries += 1
        if merges.entries[entry] == _FREE:
            merges.entries[entry] = (key << _KEY_SHIFT) | _LAST | np.uint64(rank)
    return True


@inlined
def has_long_searches(entries):
    """Whether so many adjacent lines overflow that a look-up would read more than MOST_LINES lines."""
    n_over = 0
    for i in range(LINE - 1, 2 * entries.shape[0], LINE):  # twice, because the first line follows the last
        n_over = n_over + 1 if entries[i & (entries.shape[0] - 1)] & _LAST == 0 else 0
        if n_over >= MOST_LINES:
            return True
    return False


@kernel(reads(int64[:]), reads(int64[:]), reads(int64[:]), reads(int64[:]), int64[:], Merges)
def fill_merges(lefts, rights, ranks, results, ends, merges):
    """Enter many merges, and the places at which they join, unless `joins` is empty.

    lefts, rights, ranks, results : int64[n], by ascending rank
    ends   : int64[number of symbols], overwritten    the ends of each symbol
    merges : Merges, modified

    Returns how many bits of `joins` are set; -1 if look-ups would take too long, so that the table needs another secret.
    """
    for byte in range(min(256, ends.shape[0])):
        ends[byte] = byte_ends(byte)
    n_joins = 0
    for i in range(lefts.shape[0]):
        left, right = lefts[i], rights[i]
        if not enter_merge(merges, left, right, ranks[i]):
            return -1
        if merges.joins.shape[0] > 0:
            n_joins += mark_joins(merges.joins, ends[left], ends[right])
            ends[results[i]] = join_ends(ends[left], ends[right])
    return -1 if has_long_searches(merges.entries) else n_joins


def pack_whole(table: PieceTable) -> NDArray[np.uint64]:
    """A piece table from tokens to ids as one array, which is cheaper to pass: number of slot words, state, slots, pool."""
    pool = np.zeros(-(-len(table.pool) // 8), dtype=np.uint64)
    pool.view(np.uint8)[: len(table.pool)] = table.pool
    return np.concatenate([np.array([len(table.slots)], dtype=np.uint64), table.state.view(np.uint64), table.slots, pool])


@inlined
def whole_token(whole_at, key_at, length):
    """The id of the token of `length` bytes at an address, or -1 if the table at `whole_at` (see pack_whole) has none."""
    n_words = read_i64(whole_at)
    state_at = whole_at + 8
    slots_at = state_at + 8 * STATE_SIZE
    table_at = TableAddresses(slots_at, n_words, slots_at + 8 * n_words, np.int64(0), state_at)
    low, high = key_of(key_at, length, state_at)
    slot = find(table_at, key_at, length, low, high)
    if is_free(table_at, slot):
        return -1
    return read_i64(slots_at + 8 * slot + 16)


@inlined
def merges_addresses(merges):
    """The MergeAddresses of Merges."""
    return MergeAddresses(
        address_of(merges.entries),
        address_of(merges.byte_pairs),
        address_of(merges.symbols),
        address_of(merges.ids),
        address_of(merges.whole) if merges.whole.shape[0] > 0 else np.int64(0),
        merges.entries.shape[0] - 1,
        merges.symbols.shape[0] - 1,
        merges.ids.shape[0] - 1,
        merges.n_ascending,
        np.int64(merges.secret),
    )


@inlined
def pair_key(left, right):
    """A pair of symbols as one number."""
    return (np.uint64(left) << _SYMBOL_SHIFT) | np.uint64(right)


@inlined
def first_entry(key, mask, factor):
    """The first entry of the line where the search for a pair starts.

    mask : one less than the number of entries;  factor : the secret of Merges
    """
    return np.int64(key * factor >> np.uint64(32)) * LINE & mask


@inlined
def pair_rank(merges_at, left, right):
    """The rank of a pair of symbols that are not both bytes, or NO_RANK. Cost: one cache line."""
    entries_at, mask = merges_at.entries, merges_at.last_entry
    key = pair_key(left, right)
    entry = first_entry(key, mask, np.uint64(merges_at.secret))
    rank = rank_in_line(entries_at + 8 * entry, key)
    # Few lines overflow, so few look-ups read another line. Testing this first keeps the branch predictable: a mispredicted
    # branch discards the work that was begun after it, which costs as much as several look-ups.
    while read_u64(entries_at + 8 * (entry + LINE - 1)) & _LAST == 0 and rank == NO_RANK:
        entry = (entry + LINE) & mask
        rank = rank_in_line(entries_at + 8 * entry, key)
    return rank


@inlined
def prefetch_pair(merges_at, left, right):
    """Prefetch the cache line where `pair_rank` will look for a pair."""
    entry = first_entry(pair_key(left, right), merges_at.last_entry, np.uint64(merges_at.secret))
    prefetch_shared(merges_at.entries + 8 * entry)


@inlined
def byte_pair_rank(merges_at, left, right):
    """The rank of a pair of bytes, or NO_RANK."""
    return byte_pair(merges_at, left, right) >> CONTEST_BITS


@inlined
def byte_pair(merges_at, left, right):
    """The entry of a pair of bytes in Merges.byte_pairs."""
    return np.int64(read_u32(merges_at.byte_pairs + 4 * (left << 8 | right)))


@inlined
def number_at(numbers_at, last, i):
    """Number i of a sequence, of which `without_final_run` kept numbers 0 to `last`; these are at `numbers_at`."""
    listed = min(i, last)
    return np.int64(read_u32(numbers_at + 4 * listed)) + (i - listed)


@inlined
def merged_symbol(merges_at, rank):
    """The symbol that a pair of this rank becomes."""
    return number_at(merges_at.symbols, merges_at.last_symbol, rank)


@inlined
def id_of(merges_at, symbol):
    """The id of a symbol."""
    return number_at(merges_at.ids, merges_at.last_id, symbol)


@inlined
def write_id(at, token_id, id_size):
    """Write an id of `id_size` bytes, 2 or 4."""
    if id_size == 2:
        write_u16(at, token_id)
    else:
        write_u32(at, token_id)
