"""The context of encoding: the addresses of all that its kernels work with, in one array; and the reasons why they stop.

A call takes one address, that of a context. Passing twenty arrays from Python would take longer than encoding a short text.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined
from ..machine.intrinsics import read_i64, read_u64, write_i64
from ..pieces.pattern_tables import PatternTables
from ..pieces.piece_table import PieceTable
from ..pieces.special_tokens import SpecialTokens
from .merge_table import Merges

# Where the parts of a context start.
PATTERN, MASKS, SPLIT, MERGES, BATCH, SCRATCH, TABLE, IDS_POOL, TEXT, WAITING = 0, 1, 2, 7, 17, 19, 21, 26, 29, 33
JOINS, FORMER, WORK, SPECIALS, BREAKS = 34, 36, 38, 39, 45
_SIZE = 47
# Why encoding stopped, see encode_text.encode_pieces.
DONE, NEED_OUT, NEED_SCRATCH, NEED_MEMORY, NEED_LONG = range(5)
# Where in the work some of it stands; encoding changes the first two, and the last.
POSITION, N_IDS, ID_SIZE, STEP, PIECE_END = 1, 9, 10, 11, 12


def new_work() -> NDArray[np.int64]:
    """Make room for what is to be encoded, and how far it has come: int64[13].

    text      : address of a text with PADDING bytes after `end`
    position  : start of a piece; the ids before it are there
    end       : end of the text
    limit     : boundaries after it are not trusted yet; `end` where no text follows
    breaks, n_breaks : see piece_batch.next_pieces; a break's id stands for it, -1 for nothing
    marks     : address of int64[n_breaks], filled with the number of ids before each break without id (-1) that was
                reached; or 0
    out, out_bytes : where ids go, and how much room is there
    n_ids     : how many ids there are already
    id_size   : bytes of each, 2 or 4
    step      : id_size; or 0 to count the ids only, where `out` is just scratch
    piece end : where encoding stopped before all was done, the end of what there must be room for, from `position` on
    """
    return np.zeros(13, dtype=np.int64)


def new_context(
    pattern: PatternTables,
    masks: NDArray[np.uint64],
    split_scratch: NDArray[np.int64],
    merges: Merges,
    batch: NDArray[np.uint64],
    scratch: NDArray[np.uint64],
    longest: int,
    table: PieceTable,
    ids_pool: NDArray[np.uint8],
    memory_state: NDArray[np.int64],
    text: NDArray[np.uint8],
    out: NDArray[Any],
    waiting: NDArray[np.uint64],
    former: NDArray[np.uint64] | None,
    work: NDArray[np.int64],
    specials: SpecialTokens,
    breaks: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The addresses of all that encoding works with, and some sizes. The arrays must outlive it.

    pattern, merges         : what is known of the pattern and of the merges; read
    masks, batch            : scratch of the scan
    split_scratch           : see pretokens.new_split_scratch
    scratch, longest        : scratch for merging pretokens of up to `longest` bytes
    table                   : the remembered pieces
    ids_pool, memory_state  : uint8[*], ids of those with many; int64[2], the bytes used of it, and how many pieces may be
                              remembered
    text, out               : uint8[SHORT_TEXT + PADDING], where a short text is copied to, and uint16[*] or uint32[*],
                              where its ids go
    waiting                 : new pieces that wait to be merged, see pending_pieces.new_waiting
    former                  : slots the entries of which are to be moved into the table, see piece_table.with_room
    work                    : see new_work
    specials, breaks        : the special tokens to find in a short text; int64[n, 3], where they are listed then
    """
    context = np.empty(_SIZE, dtype=np.int64)
    context[PATTERN], context[MASKS] = pattern.ctypes.data, masks.ctypes.data
    context[SPLIT] = split_scratch.ctypes.data
    context[MERGES:BATCH] = (
        merges.entries.ctypes.data,
        merges.byte_pairs.ctypes.data,
        merges.symbols.ctypes.data,
        merges.ids.ctypes.data,
        len(merges.entries) - 1,
        merges.whole.ctypes.data if len(merges.whole) else 0,
        len(merges.symbols) - 1,
        len(merges.ids) - 1,
        merges.n_ascending,
        merges.secret.view(np.int64),
    )
    context[BATCH:SCRATCH] = batch.ctypes.data, len(batch)
    context[SCRATCH:TABLE] = scratch.ctypes.data, longest
    context[TABLE:IDS_POOL] = (
        table.slots.ctypes.data,
        len(table.slots),
        table.pool.ctypes.data,
        len(table.pool),
        table.state.ctypes.data,
    )
    context[IDS_POOL:TEXT] = ids_pool.ctypes.data, len(ids_pool), memory_state.ctypes.data
    context[TEXT:WAITING] = text.ctypes.data, out.ctypes.data, out.nbytes, out.itemsize
    context[WAITING] = waiting.ctypes.data
    context[JOINS:FORMER] = merges.joins.ctypes.data if len(merges.joins) else 0, 8 * len(merges.joins) - 1
    context[FORMER:WORK] = (0, 0) if former is None else (former.ctypes.data, len(former))
    context[WORK] = work.ctypes.data
    put_specials(context, specials)
    context[BREAKS:_SIZE] = breaks.ctypes.data, len(breaks)
    return context


def put_specials(context: NDArray[np.int64], specials: SpecialTokens) -> None:
    """Put other special tokens into a context, which must outlive their use."""
    context[SPECIALS:BREAKS] = (
        specials.nodes.ctypes.data,
        specials.root.ctypes.data,
        specials.tokens.ctypes.data,
        specials.last_bytes.ctypes.data,
        len(specials.last_bytes),
        specials.longest,
    )


@inlined
def five(context_at, part):
    """Five entries of a context or of its work: what helpers of the table take, and the first of what others do."""
    at = context_at + 8 * part
    return read_i64(at), read_i64(at + 8), read_i64(at + 16), read_i64(at + 24), read_i64(at + 32)


@inlined
def specials_of(context_at):
    """What the helpers of special tokens take, see special_tokens.specials_addresses."""
    return *five(context_at, SPECIALS), read_i64(context_at + 8 * (SPECIALS + 5))


@inlined
def merges_of(context_at):
    """What the helpers of merging take."""
    at = context_at + 8 * (MERGES + 5)
    more = read_i64(at), read_i64(at + 8), read_i64(at + 16), read_i64(at + 24)
    return *five(context_at, MERGES), *more, read_u64(at + 32)


@inlined
def leave(work_at, position, piece_end, n_ids):
    """Write down how far the work has come."""
    write_i64(work_at + 8 * POSITION, position)
    write_i64(work_at + 8 * PIECE_END, piece_end)
    write_i64(work_at + 8 * N_IDS, n_ids)
