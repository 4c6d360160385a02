"""Text as windows of bytes: streams and documents, special tokens found in both, and files cut where they can be."""

from __future__ import annotations

import codecs
import io
import mmap
import os
import stat
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .kernels.special import SpecialTokens
    from .patterns import Pattern

Path = str | os.PathLike[str]
Data = bytes | memoryview
Text = str | Data | bytearray | mmap.mmap | NDArray[np.uint8]

WINDOW = 1 << 20  # bytes of a file in memory at a time, unless one piece is longer
_COPIED = 1 << 16  # bytes of a text in memory up to which it is sooner copied than made a window of where it is
TEXT_WINDOW = 1 << 23  # of a text in memory: windows of 1 MB made a pass 5 % longer, by what happens between two of them
_LOOK = 1 << 16  # bytes of a file in which a special token is looked for before a boundary will do as a place to cut it
BATCH = 1 << 20  # bytes of an iterable's documents that are taken together
LONGEST_CHARACTER = 4  # bytes of UTF-8
SEPARATOR = b"\xff"  # stands between joined documents: no part of any UTF-8 text, so nothing grows together across it


class Chunk(NamedTuple):
    """Bytes `start` to `end` of a file; `end` None for all that comes, from something that has no size (a pipe)."""

    path: Path
    start: int
    end: int | None


class Window(NamedTuple):
    """A stretch of text in memory.

    data   : uint8[>= end + PADDING]   the text lies at data[start:end]
    start  : int                       first byte that is to be taken; a piece starts there
    end    : int
    limit  : int                       boundaries after it cannot be trusted, because more text follows; else `end`
    breaks : int64[n, 3]               start, end and id of each stretch that is no text, ascending
    """

    data: NDArray[np.uint8]
    start: int
    end: int
    limit: int
    breaks: NDArray[np.int64]

    def documents(self) -> Iterator[tuple[bytes, int]]:
        """Each stretch of text and the id of the break after it, -1 at the end; stretches may be empty."""
        start = self.start
        for first, end, break_id in [*self.breaks.tolist(), (self.end, self.end, -1)]:
            yield self.data[start:first].tobytes(), break_id
            start = end


def _keep_surrogates(error: UnicodeError) -> tuple[bytes, int]:
    """Encode the surrogates that UTF-8 cannot (an error handler of `codecs`)."""
    assert isinstance(error, UnicodeEncodeError)
    character = error.object[error.start]
    errors = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return character.encode(errors=errors), error.start + 1


_KEEP_SURROGATES = "nbbpe.keep_surrogates"
codecs.register_error(_KEEP_SURROGATES, _keep_surrogates)


def to_bytes(text: Text) -> bytes:
    """A text as UTF-8. What `surrogateescape` made of undecodable bytes becomes those bytes again.

    Other lone surrogates, which have no UTF-8, become the three bytes that `surrogatepass` gives: nothing is lost.
    """
    data = to_data(text)
    return data if isinstance(data, bytes) else data.tobytes()


def check_texts(texts: object) -> None:
    """Raise TypeError for one text where many are wanted: its letters, or bytes, would be taken for texts."""
    try:
        is_one = isinstance(texts, str) or memoryview(texts).format in ("B", "b", "c")  # type: ignore[arg-type]
    except TypeError:
        return
    if is_one:
        raise TypeError(f"texts must be a list of texts, or any iterable of them, not one {type(texts).__name__}")


def each_to_bytes(texts: Iterable[Text], what: str) -> Iterator[bytes]:
    """Each of some texts as UTF-8. A TypeError for one that is no text says which; `what` is what they are called."""
    for number, text in enumerate(texts):
        try:
            data = to_bytes(text)
        except TypeError as error:
            raise TypeError(f"{error}: {what} {number:,} (from 0) is {text!r:.100}") from None
        yield data


def to_data(text: Text | Source) -> Data:
    """As `to_bytes`, but of much text that is in no `bytes` (a mapped file, say) a view, without a copy.

    What is no text, but read from, is for `as_source`; here it is a TypeError.
    """
    if isinstance(text, str):  # first, as it mostly is
        return text.encode("utf-8", _KEEP_SURROGATES)
    if type(text) is bytes:  # and nothing derived, which a kernel would not know
        return text
    try:
        view = memoryview(text)  # type: ignore[arg-type]
    except TypeError:
        of_a_file = ' (of a file, open(path, "rb"))' if isinstance(text, (io.IOBase, os.PathLike)) else ""
        raise TypeError(f"text must be str or bytes{of_a_file}, not {type(text).__name__}") from None
    if view.format not in ("B", "c") or view.ndim != 1 or not view.c_contiguous:
        raise TypeError(
            f"text must be str or bytes, not {type(text).__name__} of format {view.format!r} and shape {view.shape}, "
            "which is no row of bytes (uint8) without gaps"
        )
    return view.tobytes() if is_copied(len(view)) else view


class Lent:
    """For as long as a text is worked with that is somebody else's memory: after an error nothing of ours holds it.

    Else the frames that an error has passed would, and a map of a file could not be closed while the error is on its way:
    `with` would raise a BufferError of its own instead.
    """

    def __init__(self, data: Data) -> None:
        self._data = data

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None and isinstance(self._data, memoryview):
            traceback.clear_frames(trace)
            with suppress(BufferError):
                self._data.release()


def is_copied(n_bytes: int) -> bool:
    """Whether so many bytes of text in memory are sooner copied than made a window of where they are."""
    return n_bytes <= _COPIED


def to_text(data: bytes) -> str:
    """Bytes as the text that `regex` is asked about: an undecodable byte is a character of its own."""
    return data.decode(errors="surrogateescape")


def byte_lengths(texts: Iterable[str]) -> list[int]:
    """The number of bytes of each text that `to_text` gave, or of a part of it."""
    return [len(text) if text.isascii() else len(text.encode(errors="surrogateescape")) for text in texts]


def padded(data: Data) -> NDArray[np.uint8]:
    """A copy of `data` as uint8, with the spare bytes that kernels may read past its end."""
    from .kernels.simd import PADDING

    text = np.empty(len(data) + PADDING, dtype=np.uint8)
    text[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    text[len(data) :] = 0
    return text


def find_breaks(data: NDArray[np.uint8], start: int, end: int, stop: int, specials: SpecialTokens) -> NDArray[np.int64]:
    """The special tokens in data[start:end] that start before `stop`, as int64[n, 3]: start, end, id."""
    return specials_in(data, start, end, stop, specials, False)


def specials_in(
    data: NDArray[np.uint8], start: int, end: int, stop: int, specials: SpecialTokens, overlapping: bool
) -> NDArray[np.int64]:
    """See `find_breaks`; with `overlapping`, those are listed, too, that begin within one before them."""
    from .kernels.special import NO_ROOM, find_specials

    parts = []
    at_once, room = WINDOW, 1 << 14
    breaks = np.empty((0, 3), dtype=np.int64)
    while specials.longest and start < stop:
        until = min(start + max(at_once, specials.longest), stop)
        if len(breaks) == 0:
            breaks = np.empty((min(room, until - start), 3), dtype=np.int64)
        found, going_on = find_specials(data.ctypes.data, start, end, until, specials, breaks, overlapping)
        if found == NO_ROOM:  # so many: as few bytes at once as there is room for whatever they hold
            at_once = 1 << 16
            room = max(at_once, specials.longest)
            breaks = breaks[:0]
            continue
        if found:
            parts.append(breaks[:found].copy())
        start = going_on
    return np.concatenate(parts) if parts else np.empty((0, 3), dtype=np.int64)


def first_special(text: Data, specials: SpecialTokens) -> bytes | None:
    """The first of some special tokens in a text, the longest at its place; None where there is none."""
    reader = TextReader(text, specials)
    taken = 0
    while (window := reader.advance(taken)) is not None:
        for start, end, _ in window.breaks[:1].tolist():
            return window.data[start:end].tobytes()
        taken = window.limit
    return None


class Source(Protocol):
    """Where a Reader reads from: an unbuffered file, or a TextStream."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill the buffer or part of it; returns the number of bytes, 0 at the end, None where they are still to come."""


def as_source(text: object) -> Source | None:
    """A file of bytes, or what reads like one, as something to read from; None for all else."""
    return cast(Source, text) if hasattr(text, "readinto") else None


def bytes_left(source: Source) -> int | None:
    """How many bytes an open file has from where it stands on; None where only reading tells (a pipe, packed text)."""
    raw = getattr(source, "raw", source)
    if not isinstance(raw, io.FileIO):
        return None
    file = cast(io.FileIO, source)
    file.flush()  # what was written to it counts
    size = file_size(raw.fileno())
    if not size:  # files that the system makes up as they are read say 0
        return None
    return max(size - file.tell(), 0) or None


class TextStream:
    """An iterable of texts as one stream of bytes; its errors pass through."""

    def __init__(self, texts: Iterable[Text]) -> None:
        self._texts = each_to_bytes(texts, "item")
        self._left = memoryview(b"")

    def readinto(self, buffer: memoryview, /) -> int:
        """See Source."""
        while not self._left:
            try:
                self._left = memoryview(next(self._texts))
            except StopIteration:
                return 0
        n = min(len(buffer), len(self._left))
        buffer[:n] = self._left[:n]
        self._left = self._left[n:]
        return n


def hold_back(specials: SpecialTokens) -> int:
    """How many bytes before the end of a window are not certain while more text follows.

    A boundary needs the whole character after it; a special token that has only begun may yet be one.
    """
    return max(specials.longest, 1) - 1 + LONGEST_CHARACTER


class Windows(Protocol):
    """Text window by window."""

    def advance(self, taken: int) -> Window | None:
        """The next window, which starts with what the caller has not `taken` of the last one; None after the last.

        At first, `taken` is 0. A window of which nothing could be taken comes again, longer.
        """


class TextReader:
    """Windows of a text in memory, without a copy but of its last bytes, which have nothing to read after them."""

    def __init__(self, text: Data, specials: SpecialTokens) -> None:
        from .kernels.simd import PADDING

        self._text = text
        self._data = np.frombuffer(text, dtype=np.uint8)
        self._end_of_views = len(text) - PADDING
        self._specials = specials
        self._hold_back = hold_back(specials)
        self._last = Window(self._data, 0, 0, 0, np.empty((0, 3), dtype=np.int64))

    def advance(self, taken: int) -> Window | None:
        """See Windows."""
        data, start, end, limit, _ = self._last
        if data is not self._data and limit == end:
            return None
        size = TEXT_WINDOW if taken > start else 2 * (end - start) or TEXT_WINDOW
        until = min(taken + size, self._end_of_views)
        if until > end and not is_copied(until - taken):
            end = until
            limit = max(end - self._hold_back, taken)
        else:
            data = padded(memoryview(self._text)[taken:])
            end = limit = len(self._text) - taken
            taken = 0
        self._last = Window(data, taken, end, limit, find_breaks(data, taken, end, limit, self._specials))
        return self._last


class Reader:
    """Reads a source window by window; what was not taken of one window starts the next.

    The memory it holds is a window, or twice the longest piece where that is more; with `at_once`, the whole source.
    """

    def __init__(self, source: Source, n_bytes: int | None, specials: SpecialTokens, at_once: bool = False) -> None:
        """`n_bytes` is how much to read, None for all; `at_once` puts all of it into one window."""
        from .kernels.simd import PADDING

        self._source = source
        self._left = n_bytes
        self._specials = specials
        self._at_once = at_once
        self._padding = PADDING
        self._data = np.empty(WINDOW + PADDING, dtype=np.uint8)
        self._end = 0
        self._whole = False  # whether all has been read
        self._hold_back = hold_back(specials)

    def advance(self, taken: int) -> Window | None:
        """See Windows."""
        if self._whole:
            return None
        self._keep(taken)
        self._whole = self._fill()
        while self._at_once and not self._whole:
            self._keep(0)
            self._whole = self._fill()
        end = self._end
        limit = end if self._whole else max(end - self._hold_back, 0)
        return Window(self._data, 0, end, limit, find_breaks(self._data, 0, end, limit, self._specials))

    def _keep(self, taken: int) -> None:
        """Move what was not taken to the front, of a buffer twice as long where it fills this one."""
        kept = self._end - taken
        data = self._data
        if kept == len(data) - self._padding:
            self._data = np.empty(2 * len(data), dtype=np.uint8)
        self._data[:kept] = data[taken : self._end]
        self._end = kept

    def _fill(self) -> bool:
        """Read until the buffer is full; True where all has been read."""
        room = len(self._data) - self._padding
        view = memoryview(self._data)  # type: ignore[arg-type]
        while self._end < room:
            wanted = room - self._end if self._left is None else min(room - self._end, self._left)
            got = self._source.readinto(view[self._end : self._end + wanted]) if wanted else 0
            if got is None:  # which is not its end
                raise BlockingIOError(
                    f"{getattr(self._source, 'name', 'the file')!r} does not wait for its text; open it blocking"
                )
            if not got:
                if self._left:
                    raise OSError(f"{getattr(self._source, 'name', 'the file')!r} became shorter while it was read")
                break
            self._end += got
            if self._left is not None:
                self._left -= got
        else:
            if self._left != 0:
                return False
        self._data[self._end : self._end + self._padding] = 0
        return True


class DocumentReader:
    """Reads whole documents, some BATCH bytes of them a window, each with a break after it."""

    def __init__(self, documents: Iterable[bytes], specials: SpecialTokens, break_id: int) -> None:
        self._windows = batches(documents, specials, break_id)

    def advance(self, taken: int) -> Window | None:
        """See Windows. Every window must be taken whole, as it can be."""
        return next(self._windows, None)


def check_readable(paths: Sequence[Path]) -> None:
    """Raise the OSError that reading any of the files would raise, before long work is begun."""
    for path in paths:
        if stat.S_ISDIR(os.stat(path).st_mode):
            raise IsADirectoryError(f"{os.fspath(path)!r} is a folder; give the text files in it")
        if stat.S_ISREG(os.stat(path).st_mode):
            open(path, "rb").close()


def file_size(path: Path | int) -> int | None:
    """The size of a regular file in bytes, by its path or its number where it is open; None for a pipe or the like."""
    status = os.stat(path)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def batches(documents: Iterable[Text], specials: SpecialTokens, break_id: int | None = None) -> Iterator[Window]:
    """Documents joined into windows of some BATCH bytes, with breaks as `join` puts them. Errors of the iterable pass."""
    for group in groups(map(to_bytes, documents)):
        yield join(group, specials, break_id)


def groups(documents: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Documents in lists of some BATCH bytes; no list is empty."""
    gathered: list[bytes] = []
    size = 0
    for document in documents:
        gathered.append(document)
        size += len(document)
        if size >= BATCH:
            yield gathered
            gathered, size = [], 0
    if gathered:
        yield gathered


def join(documents: list[bytes], specials: SpecialTokens, break_id: int | None = None) -> Window:
    """One window of all documents, with special tokens found.

    Without a `break_id`, a break of id -1 stands between any two; with one, such a break after each.
    """
    n_breaks = len(documents) - (break_id is None)
    text = SEPARATOR.join(documents if break_id is None else [*documents, b""])
    data = padded(text)
    end = len(text)
    breaks = find_breaks(data, 0, end, end, specials)
    if n_breaks > 0:
        ends = np.cumsum([len(document) + 1 for document in documents[:n_breaks]], dtype=np.int64)
        after = np.stack([ends - 1, ends, np.full(n_breaks, -1 if break_id is None else break_id)], axis=1)
        breaks = np.concatenate([breaks, after])
        breaks = breaks[np.argsort(breaks[:, 0], kind="stable")]
    return Window(data, 0, end, end, breaks)


def find_chunk_boundaries(file: BinaryIO, desired_num_chunks: int, split_special_token: bytes) -> list[int]:
    """Cut a file into about `desired_num_chunks` parts of even size that each start at a special token.

    Parameters
    ----------
    file : a seekable binary file
    desired_num_chunks : at least 1; there may be fewer, where special tokens are far apart
    split_special_token : bytes; it is never cut, and each boundary but the first and the last stands before one

    Returns
    -------
    list of byte offsets, ascending without repeats, from 0 to the file's size; [0] for an empty file

    Raises TypeError for a path or a file of text, and for a token that is not bytes; ValueError for an empty one or for no
    chunks. The file is left at any position.
    """
    if not hasattr(file, "seek") or isinstance(file, io.TextIOBase):
        raise TypeError(f'file must be a file of bytes, as of open(path, "rb"), not {type(file).__name__}')
    if isinstance(desired_num_chunks, bool) or not hasattr(desired_num_chunks, "__index__"):
        raise TypeError(f"desired_num_chunks must be an integer, not {desired_num_chunks!r}")
    if not isinstance(split_special_token, bytes):
        raise TypeError(f"split_special_token must be bytes, not {type(split_special_token).__name__}")
    if not split_special_token:
        raise ValueError("split_special_token is empty")
    if desired_num_chunks < 1:
        raise ValueError(f"desired_num_chunks must be at least 1, not {desired_num_chunks}")
    size = file.seek(0, os.SEEK_END)
    return sorted({0, size, *find_near(file, size, desired_num_chunks, split_special_token)})


def find_near(file: BinaryIO, size: int, n_parts: int, token: bytes) -> Iterator[int]:
    """The offsets of the first `token` at or after each place that divides a file of `size` bytes into even parts.

    Ascending, each once. The file is read once at most, but for the `token`'s length between two blocks: a search that goes
    beyond the next place serves that, too.
    """
    block, begin = b"", 0
    part = 1
    while part < n_parts:
        position = size * part // n_parts
        found = -1
        while found < 0:
            if not begin <= position <= begin + len(block) - len(token):
                block, begin = _read_at(file, position, max(1 << 16, 2 * len(token))), position
                if len(block) < len(token):
                    return
            found = block.find(token, position - begin)
            position = begin + len(block) - len(token) + 1
        yield begin + found
        part = _first_part_after(begin + found, size, n_parts)


def _first_part_after(position: int, size: int, n_parts: int) -> int:
    """The number of the first of the even parts of a file that starts after an offset of it."""
    return -(-(position + 1) * n_parts // size)


def _read_at(file: BinaryIO, position: int, n_bytes: int) -> bytes:
    """So many bytes of a file, or as many as there are."""
    file.seek(position)
    blocks = [file.read(n_bytes)]
    while blocks[-1] and sum(map(len, blocks)) < n_bytes:
        blocks.append(file.read(n_bytes - sum(map(len, blocks))))
    return b"".join(blocks)


def cut_file(path: Path, chunk_bytes: int, pattern: Pattern, special_tokens: Sequence[bytes]) -> list[Chunk]:
    """Cut a file into chunks of about `chunk_bytes` that can be taken independently of each other.

    At a special token soon after each even place, else at the next certain boundary or special token. What cannot be cut,
    or has no size, is one chunk. Only some bytes at each place are read, and never all of the file more than once, but for
    what special tokens reach across two blocks.
    """
    from .kernels.special import new_special_tokens

    size = file_size(path)
    if not size:  # of what the system makes when it is read (in /proc) it says 0, too
        return [Chunk(path, 0, None)]
    specials = new_special_tokens(list(special_tokens), [0] * len(special_tokens))
    # No chunk is shorter than a special token, so that what is read around one place is less than two chunks.
    n_chunks = max(1, min(round(size / chunk_bytes), size // max(specials.longest, 1)))
    cuts = []
    if n_chunks > 1:
        with open(path, "rb", buffering=0) as file:
            cuts = list(_find_cuts(file, size, n_chunks, pattern, specials))
    return [Chunk(path, start, end) for start, end in pairwise([0, *cuts, size])]


def _find_cuts(file: BinaryIO, size: int, n_chunks: int, pattern: Pattern, specials: SpecialTokens) -> Iterator[int]:
    """Where to cut a file, at or soon after the places that divide it evenly; ascending, each once."""
    part = 1
    while part < n_chunks:
        position = size * part // n_chunks
        n_bytes = max(min(_LOOK, size // n_chunks), specials.longest)
        cut = None
        while cut is None:
            if position >= size:
                return
            until = min(position + n_bytes, size)
            cut = _first_cut(file, position, until, size, pattern, specials)
            position = until
            n_bytes = max(n_bytes, min(2 * n_bytes, WINDOW))
        yield cut
        part = _first_part_after(cut, size, n_chunks)


def _first_cut(
    file: BinaryIO, position: int, until: int, size: int, pattern: Pattern, specials: SpecialTokens
) -> int | None:
    """The first place from `position` to `until` where a special token starts, else where a certain boundary stands.

    No special token lies across it. None where there is no such place.
    """
    reach = max(specials.longest, 1)
    begin, end = max(position - reach, 0), min(until + reach, size)
    block = _read_at(file, begin, end - begin)
    if len(block) < end - begin:
        raise OSError(f"{file.name!r} became shorter while it was read")
    text = padded(block)
    starts, ends, _ = specials_in(text, 0, len(block), until - begin, specials, True).T
    covered = np.maximum.accumulate(np.concatenate([[0], ends]))  # up to where special tokens reach that start before
    for find in lambda: starts, lambda: _certain_boundaries(text, len(block), pattern):
        places = find()
        places = places[(position - begin <= places) & (places < until - begin)]
        is_free = covered[np.searchsorted(starts, places)] <= places
        if is_free.any():
            return begin + int(places[is_free.argmax()])
    return None


def _certain_boundaries(text: NDArray[np.uint8], n_bytes: int, pattern: Pattern) -> NDArray[np.intp]:
    """The certain boundaries between two ASCII characters of a text with padding after `n_bytes`.

    ASCII, because the class of another character may depend on bytes before the place where reading began.
    """
    if (tables := pattern.tables) is None:
        return np.empty(0, dtype=np.intp)
    from .kernels.scan import mark_cuts, new_masks

    is_cut = np.zeros(n_bytes, dtype=np.uint8)
    mark_cuts(text, n_bytes, tables, new_masks(), is_cut)
    return np.flatnonzero(is_cut[1:].astype(bool) & (text[1:n_bytes] < 128) & (text[: n_bytes - 1] < 128)) + 1
