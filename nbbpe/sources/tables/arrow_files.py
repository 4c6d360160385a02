"""Reads Arrow IPC files and streams through pyarrow; see table_file.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from ...text.byte_source import read_at
from ..inputs import File
from ..optional_packages import require
from .arrow import n_bytes_of
from .arrow_blocks import find_blocks
from .arrow_errors import naming_arrow_errors, read_with_arrow
from .columns import as_strings, check_column, checked, may_grow
from .table_file import MAX_BATCH_ROWS, RowGroup, RowsPart, TableFile

ARROW = (".arrow", ".ipc", ".feather")  # the endings of such files' names
_KIND = "Arrow IPC"
_FILE, _STREAM = b"ARROW1", b"\xff\xff\xff\xff"  # the first bytes of a file and of a stream
_STREAM_END = b"\xff\xff\xff\xff\0\0\0\0"


class _Bounded:
    """An open file that is never asked for more bytes than it has: a broken length could ask for any amount of memory."""

    def __init__(self, raw: BinaryIO, size: int) -> None:
        self._raw = raw
        self._size = size

    @property
    def closed(self) -> bool:
        """Whether the file is closed; needed by pyarrow."""
        return self._raw.closed

    def tell(self) -> int:
        """The position in the file."""
        return self._raw.tell()

    def read(self, n: int) -> bytes:
        """Read at most `n` bytes."""
        return self._raw.read(max(min(n, self._size - self._raw.tell()), 0))


def open_ipc(raw: BinaryIO, size: int, column: int | None = None) -> Any:
    """Open pyarrow's reader for Arrow's file format, or its stream format, which polars and others give the same names.

    size   : the size of the file in bytes
    column : the number of the column to read; None for all
    """
    arrow = require("pyarrow", _KIND)
    options = arrow.ipc.IpcReadOptions(included_fields=[] if column is None else [column], use_threads=False)
    begin = read_at(raw, 0, len(_FILE))
    raw.seek(0)
    if begin == _FILE:
        return arrow.ipc.open_file(raw, options=options)
    if begin.startswith(_STREAM):
        return arrow.ipc.open_stream(_Bounded(raw, size), options=options)
    # Without this error, pyarrow would read the first bytes as the length of a message, as in the first version of streams.
    raise arrow.ArrowInvalid("it begins neither as an Arrow file nor as a stream")


def ipc_batches(reader: Any, first: int = 0, n: int | None = None) -> Iterator[Any]:
    """The record batches of a reader: all of a stream, or of a file `n` batches (None: the rest) from `first` on."""
    if not hasattr(reader, "get_batch"):
        return iter(reader)
    return (reader.get_batch(i) for i in range(first, reader.num_record_batches if n is None else first + n))


@dataclass(frozen=True, eq=False)
class ArrowPart(RowsPart):
    """Some record batches of a file, or a stream; see RowsPart."""

    def _batches(self, raw: Any) -> Iterator[Any]:
        return read_with_arrow(self._slices(raw), self.file, _KIND)

    def _slices(self, raw: Any) -> Iterator[Any]:
        size = self.file.size() or 0
        reader = open_ipc(raw, size, open_ipc(raw, size).schema.names.index(self.column))
        for batch in ipc_batches(reader, self.first_group, len(self.groups) or None):
            column = checked(batch.column(0))
            n = MAX_BATCH_ROWS if may_grow(column) else max(len(column), 1)
            for row in range(0, len(column), n):
                yield as_strings(column.slice(row, n))
        if not hasattr(reader, "get_batch"):
            self._check_stream_end(raw)

    def _check_stream_end(self, raw: Any) -> None:
        """Raise OSError if a stream was truncated between two record batches, or another stream follows."""
        end = raw.tell()
        if read_at(raw, max(end - len(_STREAM_END), 0), len(_STREAM_END)) != _STREAM_END:
            raise OSError("the stream has no end: it was truncated, or the program that wrote it did not close it")
        if read_at(raw, end, 1):
            raise OSError(f"more follows after the end of the stream, at byte {end:,}: write one stream, or several files")


class ArrowFile(TableFile):
    """An Arrow IPC file, or a stream, which is one part; see Input."""

    _part = ArrowPart

    def __init__(self, file: File, column: str) -> None:
        super().__init__(file, column)
        self._n_text = 0

    def n_text(self) -> int:
        """See Input. The estimate is based on the first record batch that has rows."""
        return super().n_text() or self._n_text

    def check(self, on_error: str) -> None:
        """See Input. Notices a missing package, a file of another format, and a column that is missing or holds no text."""
        self.file.check()
        if (size := self.size()) is None:
            raise ValueError(f"{self.file.name!r} has no known size (a pipe?), and an Arrow file cannot be read in order")
        with self.file.open() as raw, naming_arrow_errors(self.file, _KIND):
            reader = open_ipc(raw, size)
            check_column(self.file.name, reader.schema, self._column)
            is_file = hasattr(reader, "get_batch")
            # Not for a remote file, where each record batch would take a request.
            blocks = find_blocks(raw, size) if is_file and self.file.path is not None else []
            reader = open_ipc(raw, size, reader.schema.names.index(self._column))
            start = raw.tell()
            for number, batch in enumerate(ipc_batches(reader)):
                if not len(batch):
                    continue
                if is_file:
                    n_bytes = blocks[number].n_bytes if blocks else size // reader.num_record_batches
                else:
                    n_bytes = raw.tell() - start
                rows = checked(batch.column(0)).slice(0, MAX_BATCH_ROWS)
                share = n_bytes_of(as_strings(rows)) / len(rows) * len(batch) / max(n_bytes, 1)
                self._groups = [RowGroup(block.n_rows, max(int(share * block.n_bytes), 1)) for block in blocks]
                self._n_text = max(int(share * size), 1)
                break
