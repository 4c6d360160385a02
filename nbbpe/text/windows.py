"""Read text from files, streams and memory as windows of bytes, in which the special tokens are found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .byte_source import BlockStream, Source
from .special_search import find_breaks
from .utf8 import LONGEST_CHARACTER, Data, Text, each_to_bytes, is_copied, padded, to_text

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens


# Bytes of a file in memory at a time, unless one piece is longer. With 1 MB, two threads took 8 % more time: after each
# call of a kernel a thread may have to wait for the other one, which is in Python.
WINDOW = 1 << 21
TEXT_WINDOW = 1 << 23  # of a text in memory: windows of 1 MB made a pass 5 % longer, by the work between two windows
BATCH = 1 << 20  # bytes of an iterable's documents that are taken together
MOST_ROWS = 1 << 14  # texts that are copied into one window, at most
NO_ID = -1  # the id of a break that ends a document and writes no id
CUT = -2  # the id of a break within a document: text was dropped there, or is split there
SEPARATOR = b"\xff"  # between concatenated documents: no part of any UTF-8 text, so nothing merges across it


class Window(NamedTuple):
    """A stretch of text in memory.

    data   : uint8[>= end + PADDING]   the text is data[start:end]
    start  : int                       the first byte to encode or count; a piece starts there
    end    : int
    limit  : int                       boundaries after it are not certain, because more text follows; else `end`
    breaks : int64[n, 3]               start, end and id (or NO_ID, or CUT) of each stretch that is not text, ascending;
        those that begin up to a byte after the limit are among them
    """

    data: NDArray[np.uint8]
    start: int
    end: int
    limit: int
    breaks: NDArray[np.int64]

    def ends_document(self) -> NDArray[np.bool_]:
        """Which of the breaks are the end of a document without an id after it, bool[n]."""
        return self.breaks[:, 2] == NO_ID

    def ends_text(self, place: int) -> bool:
        """Whether no text follows a place where a piece ends: a break does, or nothing."""
        i = int(np.searchsorted(self.breaks[:, 0], place))
        return place == (int(self.breaks[i, 0]) if i < len(self.breaks) else self.end)

    def of_whole_documents(self) -> Window:
        """The same window up to its last break if more text follows, as the text after that may continue in the next
        window."""
        if self.limit == self.end:
            return self
        return self._replace(end=int(self.breaks[-1, 1]) if len(self.breaks) else self.start)

    def documents(self) -> Iterator[tuple[bytes, int]]:
        """Each stretch of text and the id of the break after it, NO_ID at the end; stretches may be empty."""
        for start, end, break_id in self._stretches():
            yield self.data[start:end].tobytes(), break_id

    def texts(self) -> Iterator[tuple[str, int]]:
        """As `documents`, each stretch as `to_text` decodes it; without a copy of its bytes."""
        view = memoryview(self.data)  # type: ignore[arg-type]
        for start, end, break_id in self._stretches():
            yield to_text(view[start:end]), break_id

    def _stretches(self) -> Iterator[tuple[int, int, int]]:
        start = self.start
        for first, end, break_id in [*self.breaks.tolist(), (self.end, self.end, NO_ID)]:
            yield start, first, break_id
            start = end


class TextStream(BlockStream):
    """An iterable of texts as one stream of bytes."""

    def __init__(self, texts: Iterable[Text]) -> None:
        super().__init__(each_to_bytes(texts, "item"))


def hold_back(specials: SpecialTokens) -> int:
    """How many bytes before the end of a window are not certain while more text follows.

    A boundary depends on the two characters after it (if the second one matters, the first may have one byte), and on
    whether a special token begins with one of these. And the end may be the beginning of a special token.
    """
    return max(specials.longest, 1) + LONGEST_CHARACTER


def _breaks(data: NDArray[np.uint8], start: int, end: int, specials: SpecialTokens) -> NDArray[np.int64]:
    """The special tokens of a window that more text follows, as far as boundaries up to its limit depend on them."""
    return find_breaks(data, start, end, end - hold_back(specials) + 2, specials)


class Windows(Protocol):
    """Text window by window.

    n_expected : about how many bytes of text there are, to prepare for them; 0 if it is not known
    """

    n_expected: int = 0

    def advance(self, taken: int) -> Window | None:
        """The next window, which starts with what the caller has not `taken` of the last one; None after the last.

        At first, `taken` is 0. A window of which nothing could be taken comes again, longer.
        """


class TextReader(Windows):
    """Windows of a text in memory, without a copy except of its last bytes, as kernels read past the end."""

    def __init__(self, text: Data, specials: SpecialTokens) -> None:
        from ..kernels.machine.intrinsics import PADDING

        self.n_expected = len(text)
        self._text = text
        self._data = np.frombuffer(text, dtype=np.uint8)
        self._end_of_views = len(text) - PADDING
        self._specials = specials
        self._hold_back = hold_back(specials)
        self._last = Window(self._data, 0, 0, 0, np.empty((0, 3), dtype=np.int64))

    def advance(self, taken: int) -> Window | None:
        data, start, end, limit, _ = self._last
        if data is not self._data and limit == end:
            return None
        size = TEXT_WINDOW if taken > start else 2 * (end - start) or TEXT_WINDOW
        until = min(taken + size, self._end_of_views)
        if until > end and not is_copied(until - taken):
            end = until
            limit = max(end - self._hold_back, taken)
            breaks = _breaks(data, taken, end, self._specials)
        else:
            data = padded(memoryview(self._text)[taken:])
            end = limit = len(self._text) - taken
            taken = 0
            breaks = find_breaks(data, 0, end, end, self._specials)
        self._last = Window(data, taken, end, limit, breaks)
        return self._last


class Reader(Windows):
    """Reads a source window by window; the text that was not taken of one window starts the next.

    The memory it holds is a window, or twice the longest piece where that is more; with `at_once`, the whole source.
    """

    def __init__(self, source: Source, n_bytes: int | None, specials: SpecialTokens, at_once: bool = False) -> None:
        """`n_bytes` is how much to read, None for all; `at_once` puts all of it into one window."""
        from ..kernels.machine.intrinsics import PADDING

        self.n_expected = n_bytes or 0
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
        if self._whole:
            return None
        self._keep(taken)
        self._whole = self._fill()
        while self._at_once and not self._whole:
            self._keep(0)
            self._whole = self._fill()
        data, end, specials = self._data, self._end, self._specials
        if self._whole:
            return Window(data, 0, end, end, find_breaks(data, 0, end, end, specials))
        return Window(data, 0, end, max(end - self._hold_back, 0), _breaks(data, 0, end, specials))

    def _keep(self, taken: int) -> None:
        """Move the text that was not taken to the front, of a buffer twice as long if it fills this one."""
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
            if got is None:  # no bytes yet, which is not the end
                raise BlockingIOError(
                    f"{getattr(self._source, 'name', 'the file')!r} is non-blocking and has no bytes yet: open it blocking"
                )
            if not got:
                if self._left:
                    raise OSError(f"{getattr(self._source, 'name', 'the file')!r} became shorter while it was read")
                break
            if not 0 < got <= wanted:  # kernels would read beyond the buffer
                name = getattr(self._source, "name", "the file")
                raise OSError(f"readinto of {name!r} returned {got} of at most {wanted} bytes, not how many it has read")
            self._end += got
            if self._left is not None:
                self._left -= got
        else:
            if self._left != 0:
                return False
        self._data[self._end : self._end + self._padding] = 0
        return True


class DocumentReader(Windows):
    """Reads whole documents, about BATCH bytes a window, each with a break after it.

    Errors of the iterable pass through.
    """

    def __init__(self, documents: Iterable[bytes], specials: SpecialTokens, break_id: int) -> None:
        self._windows = (concatenated(group, specials, break_id) for group in groups(documents))

    def advance(self, taken: int) -> Window | None:
        """See Windows. The caller must take every window whole, which is always possible."""
        return next(self._windows, None)


def groups(documents: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Documents in lists of about BATCH bytes; no list is empty."""
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


def concatenated(documents: list[bytes], specials: SpecialTokens, break_id: int | None = None) -> Window:
    """One window of all documents, with special tokens found.

    Without a `break_id`, there is a break of NO_ID between any two; with one, a break of that id after each.
    """
    n_breaks = len(documents) - (break_id is None) if documents else 0
    text = SEPARATOR.join(documents if break_id is None else [*documents, b""])
    after = np.full((n_breaks, 3), NO_ID if break_id is None else break_id, dtype=np.int64)
    if n_breaks:
        after[:, 1] = np.cumsum([len(document) + 1 for document in documents[:n_breaks]])
        after[:, 0] = after[:, 1] - 1
    return separated(padded(text), len(text), after, specials)


class RowWindows(Windows):
    """Windows of texts that are copied one after another, each with a break of the id `separator` after it.

    The caller must take every window whole, which is always possible; the next window reuses its memory.
    """

    def __init__(self, specials: SpecialTokens, separator: int, most_rows: int = MOST_ROWS) -> None:
        self._specials = specials
        self._separator = separator
        self._out = np.empty(0, dtype=np.uint8)
        self._breaks = np.empty((most_rows, 3), dtype=np.int64)

    def _make_room(self, n_bytes: int, n_rows: int = 0) -> None:
        """Make room in `_out` for `n_bytes` bytes, for the padding of the window, and for what kernels write beyond; and in
        `_breaks` for `n_rows` rows."""
        from ..kernels.machine.intrinsics import PADDING

        if len(self._out) < n_bytes + 2 * PADDING:
            self._out = np.empty(n_bytes + 2 * PADDING, dtype=np.uint8)
        if len(self._breaks) < n_rows:
            self._breaks = np.empty((n_rows, 3), dtype=np.int64)

    def _window(self, n_bytes: int, n_rows: int) -> Window:
        """The window of the first bytes of `_out` and the first rows of `_breaks`, which are filled."""
        from ..kernels.machine.intrinsics import PADDING

        self._out[n_bytes : n_bytes + PADDING] = 0
        return separated(self._out, n_bytes, self._breaks[:n_rows], self._specials)


def separated(data: NDArray[np.uint8], end: int, separators: NDArray[np.int64], specials: SpecialTokens) -> Window:
    """A window of documents, data[:end], that have breaks between them already, with special tokens found.

    data : uint8[>= end + PADDING];  separators : int64[n, 3], ascending
    """
    breaks = find_breaks(data, 0, end, end, specials)
    if not len(breaks):
        return Window(data, 0, end, end, separators)
    breaks = np.concatenate([breaks, separators])
    return Window(data, 0, end, end, breaks[np.argsort(breaks[:, 0], kind="stable")])
