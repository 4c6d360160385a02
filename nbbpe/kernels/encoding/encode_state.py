"""The state of encoding: one array with the addresses of everything that its kernels use; and the reasons why they stop.

Calls only take the address of this array: passing twenty arrays from Python would take longer than encoding a short text.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined
from ..machine.addresses import n_numbers, numbers_of, offset_of, read_fields
from ..machine.intrinsics import read_i64, write_i64
from ..pieces.growing_table import spread_entries
from ..pieces.pattern_tables import OF_PIECES, PatternTables
from ..pieces.piece_batch import ScanAddresses
from ..pieces.piece_table import N_ENTRIES, PieceTable, TableAddresses
from ..pieces.special_tokens import SpecialAddresses, SpecialTokens
from ..pieces.unmergeable_boundaries import Joins
from .merge_table import MergeAddresses, Merges
from .piece_cache import CacheAddresses

# Why encoding stopped, see encode_text.encode_pieces.
DONE, NEED_OUT, NEED_SCRATCH, NEED_CACHE, NEED_LONG = range(5)


class EncodeState(NamedTuple):
    """The numbers in the array of a state: int64 each, addresses unless stated otherwise.

    scan, merges       : the pattern's tables for pieces that text follows, with scratch of the scan; the tables of merges
    joins              : the places at which merges join tokens
    split              : scratch, see pretokens.new_split_scratch; where `regex` splits, see split_ahead.py
    batch, n_rows      : scratch of the scan, and its rows
    scratch, longest   : scratch for merging pretokens of up to `longest` bytes
    cache              : the cache of pieces
    n_before, displaced : the words in the slots of the cache's table before it grew, 0 if its entries are spread already;
                         and scratch for spreading them, see growing_table.spread_entries
    pending            : new pieces that are merged together, see pending_pieces.new_pending
    text, out, out_bytes, id_size : where a short text is copied to; where ids are written, the room there, bytes of each
    specials           : the special tokens to find in a short text
    breaks, n_breaks   : where those found are listed, and how many there is room for
    work               : the text to encode, see Work
    """

    scan: ScanAddresses
    merges: MergeAddresses
    joins: Joins
    split: int
    batch: int
    n_rows: int
    scratch: int
    longest: int
    cache: CacheAddresses
    n_before: int
    displaced: int
    pending: int
    text: int
    out: int
    out_bytes: int
    id_size: int
    specials: SpecialAddresses
    breaks: int
    n_breaks: int
    work: int


class Work(NamedTuple):
    """The text to encode, and how much of it is done, int64 each; kernels change position, n_ids and piece_end.

    text      : address of a text with PADDING bytes after `end`
    position  : start of a piece; the ids of the text before it are written
    end       : end of the text
    limit     : boundaries after it are not certain yet; `end` if no text follows
    breaks, n_breaks : see pieces/breaks.py; the id of each break is written, unless it is -1
    marks     : address of int64[n_breaks], filled with the number of ids before each break without id (-1) that was
                reached; 0 for no marks
    out, out_bytes : where ids are written, and the room there
    n_ids     : how many ids are written already
    id_size   : bytes of each, 2 or 4
    step      : id_size; or 0 if the ids are only counted, and `out` is just scratch
    piece_end : if encoding stopped early, there must be room for the text from `position` to here
    """

    text: int
    position: int
    end: int
    limit: int
    breaks: int
    n_breaks: int
    marks: int
    out: int
    out_bytes: int
    n_ids: int
    id_size: int
    step: int
    piece_end: int


# The places of a Work's numbers in its array.
TEXT, POSITION, N_IDS, PIECE_END = (Work._fields.index(name) for name in ("text", "position", "n_ids", "piece_end"))
_N_BEFORE = offset_of(EncodeState, "n_before")
_SPECIALS = offset_of(EncodeState, "specials") // 8


def new_work() -> NDArray[np.int64]:
    """Make the array of a Work, int64[13]."""
    return np.zeros(len(Work._fields), dtype=np.int64)


def array_of(state: EncodeState) -> NDArray[np.int64]:
    """Make the array of a state. Everything that the state points to must outlive it."""
    return np.fromiter(numbers_of(state), dtype=np.int64, count=n_numbers(EncodeState))


def addresses_of_scan(pattern: PatternTables, classes: NDArray[np.uint64]) -> ScanAddresses:
    """The addresses of the scratch, and of a pattern's tables for pieces that text follows."""
    return ScanAddresses(pattern.ctypes.data + int(pattern.view(np.int64)[OF_PIECES]), classes.ctypes.data)


def addresses_of_merges(merges: Merges) -> MergeAddresses:
    """As `merges_addresses`, which only kernels can call."""
    return MergeAddresses(
        entries=merges.entries.ctypes.data,
        byte_pairs=merges.byte_pairs.ctypes.data,
        symbols=merges.symbols.ctypes.data,
        ids=merges.ids.ctypes.data,
        whole=merges.whole.ctypes.data if len(merges.whole) else 0,
        last_entry=len(merges.entries) - 1,
        last_symbol=len(merges.symbols) - 1,
        last_id=len(merges.ids) - 1,
        n_ascending=merges.n_ascending,
        secret=int(merges.secret.view(np.int64)),
    )


def joins_of(merges: Merges) -> Joins:
    """The places at which merges join tokens."""
    return Joins(merges.joins.ctypes.data if len(merges.joins) else 0, 8 * len(merges.joins) - 1)


def addresses_of_cache(table: PieceTable, ids_pool: NDArray[np.uint8], cache_state: NDArray[np.int64]) -> CacheAddresses:
    """The addresses of a cache of pieces."""
    of_table = TableAddresses(
        slots=table.slots.ctypes.data,
        n_words=len(table.slots),
        pool=table.pool.ctypes.data,
        pool_size=len(table.pool),
        state=table.state.ctypes.data,
    )
    return CacheAddresses(of_table, ids_pool.ctypes.data, len(ids_pool), cache_state.ctypes.data)


def put_specials(state: NDArray[np.int64], specials: SpecialTokens) -> None:
    """Replace the special tokens of a state. Their arrays must outlive its use."""
    addresses = addresses_of_specials(specials)
    state[_SPECIALS : _SPECIALS + len(addresses)] = addresses


def addresses_of_specials(specials: SpecialTokens) -> SpecialAddresses:
    """As `specials_addresses`, which only kernels can call."""
    return SpecialAddresses(
        specials.nodes.ctypes.data,
        specials.root.ctypes.data,
        specials.tokens.ctypes.data,
        specials.last_bytes.ctypes.data,
        len(specials.last_bytes),
        specials.longest,
    )


@inlined
def state_of(state_at):
    """The EncodeState at an address."""
    return read_fields(EncodeState, state_at)


@inlined
def work_of(work_at):
    """The Work at an address."""
    return read_fields(Work, work_at)


@inlined
def leave(work_at, position, piece_end, n_ids):
    """Store how much of the work is done."""
    write_i64(work_at + 8 * POSITION, position)
    write_i64(work_at + 8 * PIECE_END, piece_end)
    write_i64(work_at + 8 * N_IDS, n_ids)


@inlined
def finish_growth(state_at):
    """Spread the entries of the cache if its table has grown since they were entered."""
    state = state_of(state_at)
    if state.n_before != 0:
        table_at = state.cache.table
        n_lost = spread_entries(table_at, state.n_before, state.displaced)
        n_entries_at = table_at.state + 8 * N_ENTRIES
        write_i64(n_entries_at, read_i64(n_entries_at) - n_lost)
        write_i64(state_at + _N_BEFORE, 0)
