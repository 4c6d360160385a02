"""What every source offers: files that can be opened, inputs that can be checked and cut, parts that one worker reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol

from ..system.paths import Path
from ..text.windows import NO_ID as NO_ID
from ..text.windows import Windows
from .tally import Tally

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from ..text.chunks import Seams


class Extent(NamedTuple):
    """Where a part lies in its file: from byte `start` to byte `end`, up to the file's end where that is None.

    Of a compressed file, `start` and `end` are where frames begin (of gzip: members), and the part begins `skip` bytes of
    text after its start, and ends `end_skip` bytes of text after its end.
    """

    start: int = 0
    end: int | None = None
    skip: int = 0
    end_skip: int = 0

    def n_bytes(self, compression: str) -> int | None:
        """How many bytes of text it has; None for a compressed file, and for one that is read to its end."""
        return None if compression or self.end is None else self.end - self.start


class Stream(Protocol):
    """Bytes, in order."""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer or part of it; returns the number of bytes, 0 at the end."""


class File(Protocol):
    """Something with a name that holds bytes; it can be sent to another process."""

    @property
    def name(self) -> str:
        """What messages call it; its ending says what it holds."""

    @property
    def path(self) -> Path | None:
        """Where it lies in this machine's file system, None for a file that lies elsewhere."""

    def size(self) -> int | None:
        """The number of its bytes when it was found; None where only reading can tell (a pipe)."""

    def mtime_ns(self) -> int | None:
        """When it was last changed, as it was found, in nanoseconds since 1970; None where nobody knows."""

    def check(self) -> None:
        """Raise the OSError that opening it would raise."""

    def open(self) -> AbstractContextManager[BinaryIO]:
        """The file from its first byte on; it can seek, unless `size` is None.

        Raises OSError if this is not the file that was found, or if it changed within the `with` block.
        """

    def naming_errors(self) -> AbstractContextManager[None]:
        """A context in which an error of reading gets the file's name, where it has none."""


class Part(Protocol):
    """What one worker reads at a time. It can be sent to another process (but for an iterable, which is one part)."""

    @property
    def has_records(self) -> bool:
        """As of the Input that it is a part of."""

    def span(self) -> tuple[int, int | None]:
        """Where it begins and ends in its input, in bytes, of a table in rows; None for up to the end."""

    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> AbstractContextManager[Windows]:
        """The windows of the part's text.

        With `at_once`, no document is divided among windows. After each document stands a break whose id is `separator`,
        which may be NO_ID. `tally` counts the bytes that are read and the malformed records.
        """


class Input(ABC):
    """One source of text: a file, or an iterable of documents.

    file        : the file that it reads; None for what has none
    has_records : whether each of its documents is a record, row or item; not text that special tokens divide
    in_python   : whether reading it takes Python more than a moment, so that threads would wait for each other
    """

    file: File | None = None
    has_records: bool
    in_python: bool

    def path(self) -> Path | None:
        """Where it lies in the file system, None where it does not."""
        return None if self.file is None else self.file.path

    def size(self) -> int | None:
        """Its bytes as they lie there, which reading its parts adds up to, see File; None where nobody knows."""
        return None if self.file is None else self.file.size()

    def mtime_ns(self) -> int | None:
        """When it was last changed, see File."""
        return None if self.file is None else self.file.mtime_ns()

    def is_read_once(self) -> bool:
        """Whether its text is gone when it has been read: that of a pipe, an iterator, a stream."""
        return self.path() is not None and self.size() is None

    @abstractmethod
    def n_text(self) -> int:
        """About how many bytes of text it holds, 0 where nobody knows: whether several workers pay, and how to cut."""

    @abstractmethod
    def check(self, on_error: str) -> None:
        """Raise what reading it would raise at its beginning, as far as that is cheap: before long work is begun."""

    @abstractmethod
    def cut(self, part_bytes: int, seams: Seams) -> Sequence[Part]:
        """Parts of about `part_bytes` bytes of text that can be read in any order; at least one.

        Their documents are whole, but those of plain text, which is cut at `seams`.
        """


class ReadOnce(Input):
    """An Input of records in memory, and its one Part: it is read in one go, and in this process.

    It has no file, and nobody knows its size.
    """

    has_records = True

    def is_read_once(self) -> bool:
        """See Input."""
        return True

    def span(self) -> tuple[int, None]:
        """See Part."""
        return 0, None

    def n_text(self) -> int:
        """See Input."""
        return 0

    def check(self, on_error: str) -> None:
        """See Input."""

    def cut(self, part_bytes: int, seams: Seams) -> Sequence[Any]:
        """See Input."""
        return [self]


def total_size(inputs: Sequence[Input]) -> int | None:
    """The sizes of inputs together; None where one of them is not known."""
    sizes = [each.size() for each in inputs]
    return None if None in sizes else sum(size for size in sizes if size is not None)
