"""Arrow IPC files and streams, read through pyarrow; see table_file.py."""

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

ARROW = (".arrow", ".ipc", ".feather")  # how names of such files end
_KIND = "Arrow IPC"
_FILE, _STREAM = b"ARROW1", b"\xff\xff\xff\xff"  # how they begin
_STREAM_END = b"\xff\xff\xff\xff\0\0\0\0"


class _Bounded:
    """An open file of which no more is read than there is: a broken length would ask for any amount of memory."""

    def __init__(self, raw: BinaryIO, size: int) -> None:
        self._raw = raw
        self._size = size

    @property
    def closed(self) -> bool:
        """Whether it is closed, which pyarrow asks for."""
        return self._raw.closed

    def tell(self) -> int:
        """The position in the file."""
        return self._raw.tell()

    def read(self, n: int) -> bytes:
        """The next bytes, at most so many."""
        return self._raw.read(max(min(n, self._size - self._raw.tell()), 0))


def open_ipc(raw: BinaryIO, size: int, column: int | None = None) -> Any:
    """pyarrow's reader of Arrow's file format, or of its stream format, which polars and others write under the same names.

    size : how many bytes the file has
    column : the number of the one that is read; None for all
    """
    arrow = require("pyarrow", _KIND)
    options = arrow.ipc.IpcReadOptions(included_fields=[] if column is None else [column], use_threads=False)
    begin = read_at(raw, 0, len(_FILE))
    raw.seek(0)
    if begin == _FILE:
        return arrow.ipc.open_file(raw, options=options)
    if begin.startswith(_STREAM):
        return arrow.ipc.open_stream(_Bounded(raw, size), options=options)
    # Read as a stream of the first version, anything else would be the length of something huge.
    raise arrow.ArrowInvalid("it begins neither as an Arrow file nor as a stream")


def ipc_batches(reader: Any, first: int = 0, n: int | None = None) -> Iterator[Any]:
    """The record batches of a reader: of a stream all of them, of a file `n` from the first on."""
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
        """Raise OSError for a stream that was cut off between two record batches, or that another one follows."""
        end = raw.tell()
        if read_at(raw, max(end - len(_STREAM_END), 0), len(_STREAM_END)) != _STREAM_END:
            raise OSError("the stream has no end: it was truncated, or whoever wrote it did not close it")
        if read_at(raw, end, 1):
            raise OSError(f"more follows after the end of the stream, at byte {end:,}: write one stream, or several files")


class ArrowFile(TableFile):
    """An Arrow IPC file, or a stream, which is one part; see Input."""

    _part = ArrowPart

    def __init__(self, file: File, column: str) -> None:
        super().__init__(file, column)
        self._n_text = 0

    def n_text(self) -> int:
        """See Input. It is estimated by the first record batch."""
        return super().n_text() or self._n_text

    def check(self, on_error: str) -> None:
        """See Input. Finds a missing package, a file of another format, a column that is missing or holds no text."""
        self.file.check()
        if (size := self.size()) is None:
            raise ValueError(f"{self.file.name!r} has no known size (a pipe?), and an Arrow file cannot be read in order")
        with self.file.open() as raw, naming_arrow_errors(self.file, _KIND):
            reader = open_ipc(raw, size)
            check_column(self.file.name, reader.schema, self._column)
            is_file = hasattr(reader, "get_batch")
            # Of a remote file, each record batch would take a request.
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
