"""Cut files into chunks that can be processed independently: at special tokens, or at certain boundaries."""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..system.integers import check_positive
from ..system.paths import Path, file_size
from .byte_source import read_at
from .normal_characters import Form
from .normalization import is_kept_between
from .special_search import find_breaks
from .utf8 import Data, padded, to_text
from .windows import WINDOW

if TYPE_CHECKING:
    from ..kernels.pieces.pattern_tables import PatternTables
    from ..kernels.pieces.special_tokens import SpecialTokens
    from ..patterns.pattern import Pattern

_LOOK = 1 << 16  # bytes of a file that are searched for a special token before it is cut at a boundary instead
_NEAR = 1 << 10  # bytes that are searched for a certain boundary at first: most texts have one every few words
_CONTEXT = 8  # bytes before a place that tell whether the character there is valid, and its class
_AFTER = 9  # bytes from a place on that have the three characters there, of which the first is ASCII
_MOST_TRIED = 64  # places that are checked one by one


class Chunk(NamedTuple):
    """Bytes `start` to `end` of a file; `end` None for everything, from a source without size (a pipe)."""

    path: Path
    start: int
    end: int | None


class CutRules(NamedTuple):
    """Where text may be cut, so that its parts can be split into pretokens one by one.

    pattern        : text may be cut at its certain boundaries
    special_tokens : and where one of these begins
    form           : the normal form that each part is put into alone before it is split; None for none
    """

    pattern: Pattern
    special_tokens: Sequence[bytes]
    form: Form | None = None

    def as_tables(self) -> CutTables:
        """The rules as kernels take them."""
        from ..kernels.pieces.special_tokens import new_special_tokens

        return CutTables(self.pattern.tables, new_special_tokens(list(self.special_tokens)), self.form)


class CutTables(NamedTuple):
    """CutRules as kernels take them.

    pattern  : its tables; None where it has no certain boundaries, so that text is cut at special tokens only
    specials : the special tokens
    form     : see CutRules
    """

    pattern: PatternTables | None
    specials: SpecialTokens
    form: Form | None = None


def find_chunk_boundaries(file: BinaryIO, desired_num_chunks: int, split_special_token: bytes) -> list[int]:
    """Cut a file into about `desired_num_chunks` chunks of equal size that each start at a special token.

    Parameters
    ----------
    file : a seekable binary file
    desired_num_chunks : at least 1; there may be fewer chunks if special tokens are far apart
    split_special_token : bytes; it is never cut, and each boundary but the first and the last is right before one

    Returns
    -------
    list of byte offsets, ascending without repeats, from 0 to the file's size; [0] for an empty file

    Raises TypeError for a path or a text file, and for a token that is not bytes; ValueError for an empty token, or for
    fewer than 1 chunk. The position of the file changes.

    >>> import nbbpe
    >>> with open("corpus.txt", "rb") as file:
    ...     nbbpe.find_chunk_boundaries(file, 3, b"<|endoftext|>")
    [0, 220, 449, 660]
    """
    if not hasattr(file, "seek") or isinstance(file, io.TextIOBase):
        raise TypeError(f'file must be a file of bytes, as of open(path, "rb"), not {type(file).__name__}')
    n_chunks = check_positive("desired_num_chunks", desired_num_chunks, "an integer")
    if not isinstance(split_special_token, bytes):
        raise TypeError(f"split_special_token must be bytes, not {type(split_special_token).__name__}")
    if not split_special_token:
        raise ValueError("split_special_token is empty")
    size = file.seek(0, os.SEEK_END)
    return sorted({0, size, *find_near(file, size, n_chunks, split_special_token)})


def find_near(file: BinaryIO, size: int, n_parts: int, token: bytes) -> Iterator[int]:
    """The offsets of the first `token` at or after each place that divides a file of `size` bytes into even parts.

    They ascend without repeats. The file is read once at most, except for the `token`'s length between two blocks: a search
    that goes beyond the next place serves that place, too.
    """
    block, begin = b"", 0
    part = 1
    while part < n_parts:
        position = size * part // n_parts
        found = -1
        while found < 0:
            if not begin <= position <= begin + len(block) - len(token):
                block, begin = read_at(file, position, max(1 << 16, 2 * len(token))), position
                if len(block) < len(token):
                    return
            found = block.find(token, position - begin)
            position = begin + len(block) - len(token) + 1
        yield begin + found
        part = _first_part_after(begin + found, size, n_parts)


def _first_part_after(position: int, size: int, n_parts: int) -> int:
    """The number of the first even part of a file that starts after an offset."""
    return -(-(position + 1) * n_parts // size)


def cut_file(path: Path, chunk_bytes: int, rules: CutRules) -> list[Chunk]:
    """Cut a file into chunks of about `chunk_bytes` that can be processed independently of each other.

    Each cut is at a special token soon after an even place, else at the next certain boundary or special token. A file that
    cannot be cut, or has no size, is one chunk. Only some bytes at each place are read, and no byte more than once, except
    where a special token may reach across two blocks.
    """
    size = file_size(path)
    if not size:  # files that the system generates during reading (in /proc) have size 0, too
        return [Chunk(path, 0, None)]
    n_chunks = round(size / chunk_bytes)
    cuts: list[int] = []
    if n_chunks > 1:
        tables = rules.as_tables()
        # No chunk is shorter than a special token, so that less than two chunks are read around one place.
        n_chunks = min(n_chunks, size // max(tables.specials.longest, 1))
        with open(path, "rb", buffering=0) as file:
            cuts = list(find_cuts(_FileBytes(file), size, n_chunks, tables))
    return [Chunk(path, start, end) for start, end in pairwise([0, *cuts, size])]


def find_cut(text: bytes, rules: CutRules) -> int | None:
    """The first place where a text that begins within a longer one may be cut, as by `cut_file`; None if there is none.

    It is not among the first bytes, which may belong to a special token or a character that begins before them.
    """
    tables = rules.as_tables()
    reach = max(tables.specials.longest, _CONTEXT)
    until = len(text) - reach
    return _first_cut(PositionedBytes(text), reach, until, len(text), tables) if reach < until else None


class Positioned(ABC):
    """Text whose parts can be read: its places are bytes of a file or of memory, or characters of a str."""

    @abstractmethod
    def read(self, begin: int, end: int) -> bytes:
        """The text between two places, as UTF-8."""

    def place(self, begin: int, n_bytes: int) -> int:
        """The place that is `n_bytes` bytes after another."""
        return begin + n_bytes


class PositionedBytes(Positioned):
    """Bytes in memory."""

    def __init__(self, text: Data) -> None:
        self._text = text

    def read(self, begin: int, end: int) -> bytes:
        return bytes(self._text[begin:end])


class _FileBytes(Positioned):
    """The bytes of an open file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, begin: int, end: int) -> bytes:
        block = read_at(self._file, begin, end - begin)
        if len(block) < end - begin:
            raise OSError(f"{self._file.name!r} became shorter while it was read")
        return block


def find_cuts(text: Positioned, size: int, n_parts: int, tables: CutTables, look: int = _LOOK) -> Iterator[int]:
    """Yield where to cut a text into about `n_parts` parts: at or soon after the places that divide it evenly, ascending
    without repeats. `look` is how much is searched for a special token before a cut at a boundary."""
    part = 1
    longest = tables.specials.longest
    if not longest:  # there are none
        look = min(look, _NEAR)
    while part < n_parts:
        position = max(size * part // n_parts, 1)
        n_searched = max(min(look, size // n_parts), longest, 1)
        cut = None
        while cut is None:
            if position >= size:
                return
            until = min(position + n_searched, size)
            cut = _first_cut(text, position, until, size, tables)
            position = until
            n_searched = max(n_searched, min(2 * n_searched, WINDOW))
        yield cut
        part = _first_part_after(cut, size, n_parts)


def _first_cut(text: Positioned, position: int, until: int, size: int, tables: CutTables) -> int | None:
    """The first place from `position` to `until` where a special token starts, else where there is a certain boundary.

    No special token reaches across it, and the normal form changes nothing there. None if there is no such place.
    """
    pattern, specials, form = tables
    reach = max(specials.longest, _CONTEXT)
    begin = max(position - reach, 0)
    before, between = text.read(begin, position), text.read(position, until)
    block = before + between + text.read(until, min(until + reach, size))
    first, stop = len(before), len(before) + len(between)
    data = padded(block)
    starts, ends, _ = find_breaks(data, 0, len(block), min(stop + 1, len(block)), specials, overlapping=True).T
    covered = np.maximum.accumulate(np.concatenate([[0], ends]))  # special tokens that start before may reach up to here
    for places in _places(data, first, stop, len(block), starts, pattern):
        free = places[covered[np.searchsorted(starts, places)] <= places] if len(starts) else places
        if form is not None:
            free = _kept(data, free, len(block), starts, form)
        if len(free):
            return text.place(begin, int(free[0]))
    return None


def _kept(
    data: NDArray[np.uint8], places: NDArray[np.int64], n_bytes: int, starts: NDArray[np.int64], form: Form
) -> NDArray[np.int64]:
    """Some of `places`, the first one included, where a block of `n_bytes` bytes may be cut before it is put into a normal
    form: special tokens, which begin at `starts`, and boundaries beside which the form keeps each character."""
    view = memoryview(data)  # type: ignore[arg-type]
    for number, place in enumerate(places[:_MOST_TRIED].tolist()):
        before, after = to_text(view[max(place - _CONTEXT, 0) : place]), to_text(view[place : min(place + _AFTER, n_bytes)])
        if place in starts or is_kept_between(before, after, form):
            return places[number : number + 1]
    # After the text comes padding, which is ASCII.
    return places[(data[places - 1] | data[places] | data[places + 1] | data[places + 2]) < 128]


def _places(
    data: NDArray[np.uint8],
    first: int,
    stop: int,
    n_bytes: int,
    starts: NDArray[np.int64],
    tables: PatternTables | None,
) -> Iterator[NDArray[np.int64]]:
    """Yield places where a block of `n_bytes` bytes may be cut, from `first` to `stop`, if no special token reaches there:
    special tokens, which begin at `starts`; certain boundaries soon after `first`, which mostly suffice; all others."""
    yield starts[(first <= starts) & (starts < stop)]
    near = min(first + _NEAR, stop)
    for end in sorted({near, stop}):
        places = _certain_boundaries(data, min(end + _CONTEXT, n_bytes), tables)
        places = places[(first <= places) & (places < end)]
        # A boundary is not certain if a special token begins at the second character after it, as the text ends there.
        yield places[~np.isin(places + 1, starts, assume_unique=True)] if len(starts) else places


def _certain_boundaries(text: NDArray[np.uint8], n_bytes: int, tables: PatternTables | None) -> NDArray[np.intp]:
    """The certain boundaries before an ASCII character of a text with padding after `n_bytes`."""
    if tables is None:
        return np.empty(0, dtype=np.intp)
    from ..kernels.pieces.boundaries import mark_cuts, new_classes

    is_cut = np.zeros(n_bytes, dtype=np.uint8)
    mark_cuts(text, n_bytes, tables, new_classes(), is_cut)
    return np.flatnonzero(is_cut[1:].astype(bool) & (text[1:n_bytes] < 128)) + 1
