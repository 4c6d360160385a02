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

    In a compressed file, frames (of gzip: members; of bzip2: streams) begin at `start` and `end`. The part begins `skip`
    bytes of text after its start, and ends `end_skip` bytes of text after its end.
    """

    start: int = 0
    end: int | None = None
    skip: int = 0
    end_skip: int = 0

    def n_bytes(self, compression: str) -> int | None:
        """How many bytes of text it has; None for a compressed file, and for one that is read to its end."""
        return None if compression or self.end is None else self.end - self.start


WHOLE = Extent()


class Stream(Protocol):
    """Bytes, in order."""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer or part of it; returns the number of bytes, 0 at the end."""


class File(Protocol):
    """Something with a name that holds bytes; it can be sent to another process."""

    @property
    def name(self) -> str:
        """Its name in messages; the ending says what it holds."""

    @property
    def path(self) -> Path | None:
        """Its path in this machine's file system, None for a file elsewhere."""

    def size(self) -> int | None:
        """The number of its bytes when it was found; None if only reading can tell (a pipe)."""

    def mtime_ns(self) -> int | None:
        """The time of its last change when it was found, in nanoseconds since 1970; None if not known."""

    def check(self) -> None:
        """Raise the OSError that opening it would raise."""

    def open(self) -> AbstractContextManager[BinaryIO]:
        """The file from its first byte on; it can seek, unless `size` is None.

        Raises OSError if this is not the file that was found, or if it changed within the `with` block.
        """

    def naming_errors(self) -> AbstractContextManager[None]:
        """A context in which an error of reading gets the file's name, if it has none."""


class Part(ABC):
    """A part that one worker reads at a time. It can be sent to another process (except that of an iterable).

    has_records : as of the Input that it is a part of
    is_last     : whether a file of plain text, which is a document, ends with it
    """

    has_records = True
    is_last = False

    def span(self) -> tuple[int, int | None]:
        """Its start and end in its input, in bytes, or in rows of a table; None for the end of the input."""
        return 0, None

    @abstractmethod
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> AbstractContextManager[Windows]:
        """The windows of the part's text.

        With `at_once`, no document is divided among windows. After each document stands a break whose id is `separator`,
        which may be NO_ID. `tally` counts the bytes that are read and the malformed records.
        """


class Input(ABC):
    """One source of text: a file, or an iterable of documents.

    file        : the file that it reads; None if there is none
    has_records : whether each of its documents is a record, row or item; not text that special tokens divide
    in_python   : whether reading it takes Python more than a moment, so that threads would wait for each other
    """

    file: File | None = None
    has_records = True
    in_python = False

    def path(self) -> Path | None:
        """Its path in the file system, None if it has none."""
        return None if self.file is None else self.file.path

    def size(self) -> int | None:
        """Its bytes in the file system, the sum of what its parts read, see File; None if not known."""
        return None if self.file is None else self.file.size()

    def mtime_ns(self) -> int | None:
        """The time of its last change, see File."""
        return None if self.file is None else self.file.mtime_ns()

    def is_read_once(self) -> bool:
        """Whether its text can be read only once: a pipe, an iterator, a stream."""
        return self.path() is not None and self.size() is None

    @abstractmethod
    def n_text(self) -> int:
        """About how many bytes of text it holds, 0 if not known: to decide whether several workers pay off, and how to
        cut."""

    def most_text(self) -> int | None:
        """How many bytes of text it holds at most; None if only reading tells, as of what is compressed."""
        return None

    @abstractmethod
    def check(self, on_error: str) -> None:
        """Raise the errors that reading its beginning would raise, as far as that is cheap, before long work begins."""

    @abstractmethod
    def cut(self, part_bytes: int, rules: CutRules) -> Sequence[Part]:
        """Parts of about `part_bytes` bytes of text that can be read in any order; at least one.

        No part cuts a document, except in plain text, which is cut by `rules`.
        """


class ReadOnce(Input, Part):
    """An Input of records in memory, and its one Part: it is read in one go, and in this process.

    It has no file, and its size is not known.
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
    """Raise WrongArgument for a pipe among the inputs of the argument of this name, which is read so many times."""
    for each in inputs:
        if each.file is not None and each.is_read_once():
            raise WrongArgument(
                f"{argument(name)} is read {times}, and {each.file.name!r} is a pipe or the like, which can be read once "
                "only: write the text to a file first"
            )
