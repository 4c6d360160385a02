"""The interface of sources: files that can be opened, inputs that can be checked and cut, parts that one worker reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Protocol

from ..system.arguments import argument
from ..system.paths import Path
from ..system.wrong_argument import WrongArgument
from ..text.windows import Windows
from .tally import Tally

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from ..text.chunks import CutRules


class Extent(NamedTuple):
    """The place of a part in its file: from byte `start` to byte `end`, or to the end of the file if that is None.

    In a compressed file, frames (in gzip: members; in bzip2: streams) begin at `start` and `end`. The part begins `skip`
    bytes of text after `start`, and ends `end_skip` bytes of text after `end`.
    """

    start: int = 0
    end: int | None = None
    skip: int = 0
    end_skip: int = 0

    def n_bytes(self, compression: str) -> int | None:
        """The number of bytes of text; None if not known: for a compressed file, and if `end` is None."""
        return None if compression or self.end is None else self.end - self.start


WHOLE = Extent()


class Stream(Protocol):
    """Bytes, in order."""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer or part of it; returns the number of bytes, 0 at the end."""


class File(Protocol):
    """A file, pipe or URL. It can be sent to another process."""

    @property
    def name(self) -> str:
        """The name in messages; its ending says what the file holds."""

    @property
    def path(self) -> Path | None:
        """The path in this machine's file system; None for a file elsewhere."""

    def size(self) -> int | None:
        """The number of bytes when the file was found; None if only reading can tell (a pipe)."""

    def mtime_ns(self) -> int | None:
        """The modification time when the file was found, in nanoseconds since 1970; None if not known."""

    def check(self) -> None:
        """Raise the OSError that opening it would raise."""

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Open the file to read from its first byte. It can seek unless `size` is None.

        Raises OSError if this is not the file that was found, or if it changes within the `with` block.
        """

    def naming_errors(self) -> AbstractContextManager[None]:
        """A context in which a read error that does not name a file gets the name of this one."""


class Part(ABC):
    """A part of an input, read by one worker. It can be sent to another process (except the part of an iterable).

    has_records : the same as of its Input
    is_last     : whether it is the end of a file of plain text, and so the end of a document
    """

    has_records = True
    is_last = False

    def span(self) -> tuple[int, int | None]:
        """The start and end of the part in its input, in bytes, or in rows of a table; None for the end of the input."""
        return 0, None

    @abstractmethod
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> AbstractContextManager[Windows]:
        """Read the part's text window by window.

        at_once   : True so that each document is in one window
        separator : the id of the break after each document; may be NO_ID
        tally     : counts the bytes read and the malformed records
        """


class Input(ABC):
    """One source of text: a file, or an iterable of documents.

    file        : the file that is read; None if there is none
    has_records : whether each document is a record, row or item, and not text that special tokens divide
    in_python   : whether reading runs much Python code, so that threads would wait for each other
    """

    file: File | None = None
    has_records = True
    in_python = False

    def path(self) -> Path | None:
        """The path in the file system; None if there is none."""
        return None if self.file is None else self.file.path

    def size(self) -> int | None:
        """The number of bytes in the file system, which the parts together read; None if not known. See File."""
        return None if self.file is None else self.file.size()

    def mtime_ns(self) -> int | None:
        """The modification time, see File."""
        return None if self.file is None else self.file.mtime_ns()

    def is_read_once(self) -> bool:
        """Whether the text can be read only once: from a pipe, an iterator, a stream."""
        return self.path() is not None and self.size() is None

    @abstractmethod
    def n_text(self) -> int:
        """An estimate of the bytes of text, 0 if not known: for the number of workers, and the size of parts."""

    def most_text(self) -> int | None:
        """An upper limit for the bytes of text; None if only reading can tell, as for compressed files."""
        return None

    @abstractmethod
    def check(self, on_error: str) -> None:
        """Raise the errors that reading the beginning would raise, if checking is cheap; called before long work."""

    @abstractmethod
    def cut(self, part_bytes: int, rules: CutRules) -> Sequence[Part]:
        """Parts of about `part_bytes` bytes of text that can be read in any order; at least one.

        No part cuts a document, except in plain text, which is cut by `rules`.
        """


class ReadOnce(Input, Part):
    """An Input of records in memory, which is also its only Part. It is read in this process.

    There is no file, and the size is not known.
    """

    def is_read_once(self) -> bool:
        return True

    def n_text(self) -> int:
        return 0

    def check(self, on_error: str) -> None:
        """See Input."""

    def cut(self, part_bytes: int, rules: CutRules) -> Sequence[Part]:
        return [self]


def total_size(inputs: Sequence[Input]) -> int | None:
    """The sizes of inputs together; None if one of them is not known."""
    sizes = [each.size() for each in inputs]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def check_read_again(name: str, times: str, inputs: Sequence[Input]) -> None:
    """Raise WrongArgument if one of the inputs of an argument is a pipe, but must be read several times.

    times : how often, in the message, such as "twice"
    """
    for each in inputs:
        if each.file is not None and each.is_read_once():
            raise WrongArgument(
                f"{argument(name)} is read {times}, and {each.file.name!r} is a pipe or the like, which can be read once "
                "only: write the text to a file first"
            )
