"""The state of a thread that encodes: the cache of pieces, the output, and scratch for merging."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.encoding import encode_state, encode_text, merge_long, merge_pretoken, piece_cache
from ..kernels.encoding.merge_short import SHORT
from ..kernels.encoding.merge_table import Merges
from ..kernels.encoding.pending_pieces import new_pending
from ..kernels.encoding.split_ahead import new_split_ahead
from ..kernels.machine.intrinsics import PADDING
from ..kernels.machine.large_pages import longer
from ..kernels.pieces import growing_table, piece_table
from ..kernels.pieces.boundaries import new_classes
from ..kernels.pieces.pattern_tables import BY_REGEX, PatternTables
from ..kernels.pieces.piece_batch import new_batch
from ..kernels.pieces.pretokens import new_split_scratch
from ..kernels.pieces.special_tokens import SpecialTokens

# Bytes of the longest pretoken that scratch (20 bytes for each of its bytes) has room for: at first, and at most between
# calls.
_FIRST_SCRATCH, _KEPT_SCRATCH = SHORT, 1 << 18
_LONG_TEXT, _LARGE_TEXT = 1 << 19, 1 << 22  # bytes of text from which the cache's table is made large, and twice as large
_SHORT_BREAKS = 1024  # special tokens in a short text; a text with more is encoded as a long one
OUT_BYTES = 5 << 18  # of ids that are passed on together: mostly those of one window of a file


class Fixed(NamedTuple):
    """The data that encoding only reads. A state refers to this and not to the encoder, which refers to its states: such a
    cycle would delay freeing them."""

    merges: Merges
    pattern_tables: PatternTables
    dtype: np.dtype[Any]
    max_pieces: int


class EncoderState:
    """The data that encoding changes; used by one thread at a time."""

    def __init__(self, fixed: Fixed, specials: SpecialTokens) -> None:
        self._fixed = fixed
        self.specials = specials
        # Emptying the cache overwrites it with zeros, so it has no more slots than the limit needs.
        self.table = piece_table.new_table(min(1 << 13, piece_table.slots_for(fixed.max_pieces)), 1 << 16)
        self._room = growing_table.SlotRoom(self.table.slots)
        self.ids_pool = np.empty(1 << 16, dtype=np.uint8)
        self.cache_state = np.zeros(piece_cache.STATE_SIZE, dtype=np.int64)
        self.cache_state[piece_cache.LIMIT] = fixed.max_pieces
        self.at = 0
        self._classes = new_classes()
        by_regex = fixed.pattern_tables.view(np.int64)[BY_REGEX]
        self.split = new_split_ahead() if by_regex else new_split_scratch(fixed.pattern_tables)
        self._batch = new_batch()
        self.work = encode_state.new_work()
        self._text = np.zeros(encode_text.SHORT_TEXT + PADDING, dtype=np.uint8)
        self._breaks = np.empty((_SHORT_BREAKS, 3), dtype=np.int64)
        self._pending = new_pending()
        self._longest = _FIRST_SCRATCH
        self._scratch = merge_pretoken.new_scratch(self._longest, fixed.merges)
        self.need_out(OUT_BYTES)

    def need_out(self, n_bytes: int) -> None:
        """Make room in `out` for `n_bytes` bytes of ids."""
        dtype = self._fixed.dtype
        self.out = np.empty((max(n_bytes, OUT_BYTES) + piece_cache.SPARE_BYTES) // dtype.itemsize, dtype=dtype)
        self.ids = self.out.data  # the same memory as a memoryview, whose `tolist` is faster for a few ids
        self._renew()

    def need_scratch(self, n_bytes: int) -> None:
        """Make room for merging a pretoken of `n_bytes` bytes."""
        if n_bytes > self._longest:
            # Twice as much, so that it grows rarely; for a huge pretoken, that may be more memory than there is.
            longest = n_bytes + (n_bytes if n_bytes <= _KEPT_SCRATCH else n_bytes // 8)
            self._longest = max(n_bytes, min(longest, merge_long.MOST_BYTES))
            self._scratch = merge_pretoken.new_scratch(self._longest, self._fixed.merges)
            self._renew()

    def trim(self) -> None:
        """Free memory that only a huge piece needed."""
        if self._longest > _KEPT_SCRATCH or self.out.nbytes > 2 * OUT_BYTES:
            self._longest = _FIRST_SCRATCH
            self._scratch = merge_pretoken.new_scratch(self._longest, self._fixed.merges)
            self.need_out(OUT_BYTES)

    def need_cache(self, n_bytes: int) -> None:
        """Make room to cache one more piece of `n_bytes` bytes. At its limits, the cache is emptied.

        The alternative is to stop caching. Measured on 80 MB of texts in many languages with room for 100,000 of some
        600,000 distinct pieces: emptying gives 203 MB/s against 92 where languages follow each other, and 129 against 132
        where they are finely shuffled.
        """
        n_entries, key_bytes = self.table.state[: piece_table.SECRET].tolist()
        limit = int(self.cache_state[piece_cache.LIMIT])
        if n_entries >= limit or key_bytes + n_bytes > piece_cache.BYTES_PER_PIECE * limit:
            piece_table.clear(self.table)
            self.cache_state[piece_cache.IDS_USED] = 0
            return
        displaced = None
        self.table = growing_table.with_pool(self.table, n_bytes)
        if piece_table.is_full(self.table):
            self.table, displaced = self._room.lengthened(self.table, growing_table.more_slots(self.table))
        used = int(self.cache_state[piece_cache.IDS_USED])
        needed = n_bytes * self._fixed.dtype.itemsize + piece_cache.SPARE_BYTES
        if used + needed > len(self.ids_pool):
            self.ids_pool = longer(self.ids_pool, used, needed)
        self._renew(displaced)

    def expect(self, n_bytes: int) -> None:
        """Lengthen the cache's table for `n_bytes` of new text: beginning with a short one takes 5 to 10 % more time."""
        large = growing_table.LARGE_SLOTS
        wanted = 2 * large if n_bytes >= _LARGE_TEXT else large if n_bytes >= _LONG_TEXT else 0
        n_slots = min(wanted, piece_table.slots_for(self._fixed.max_pieces))
        if n_slots * piece_table.SLOT_WORDS > len(self.table.slots):
            self.table, displaced = self._room.lengthened(self.table, n_slots)
            self._renew(displaced)

    def _renew(self, displaced: NDArray[np.uint64] | None = None) -> None:
        """Write the addresses of the arrays again into the array that kernels take."""
        fixed = self._fixed
        self._displaced = displaced  # alive, as the next kernel writes to it
        # The memory of the state, without the fixed amount that every state takes.
        self.n_bytes = sum(
            part.nbytes for part in (self.table.slots, self.table.pool, self.ids_pool, self._scratch, self.out)
        )
        state = encode_state.EncodeState(
            scan=encode_state.addresses_of_scan(fixed.pattern_tables, self._classes),
            merges=encode_state.addresses_of_merges(fixed.merges),
            joins=encode_state.joins_of(fixed.merges),
            split=self.split.ctypes.data,
            batch=self._batch.ctypes.data,
            n_rows=len(self._batch),
            scratch=self._scratch.ctypes.data,
            longest=self._longest,
            cache=encode_state.addresses_of_cache(self.table, self.ids_pool, self.cache_state),
            n_before=0 if displaced is None else 2 * len(displaced),
            displaced=0 if displaced is None else displaced.ctypes.data,
            pending=self._pending.ctypes.data,
            text=self._text.ctypes.data,
            out=self.out.ctypes.data,
            out_bytes=self.out.nbytes,
            id_size=self.out.itemsize,
            specials=encode_state.addresses_of_specials(self.specials),
            breaks=self._breaks.ctypes.data,
            n_breaks=len(self._breaks),
            work=self.work.ctypes.data,
        )
        self._array = encode_state.array_of(state)
        self.at = self._array.ctypes.data

    def look_for(self, specials: SpecialTokens) -> None:
        """Set the special tokens that are found in short texts."""
        encode_state.put_specials(self._array, specials)
        self.specials = specials  # which keeps them alive while the array has their addresses
