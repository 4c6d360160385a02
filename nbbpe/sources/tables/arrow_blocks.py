"""Finds the record batches of an Arrow file, and how many rows each has, without reading their data.

The footer at the end of a file says where its record batches begin, and each begins with a message that says how many rows
it has. Both are FlatBuffers: tables of fields, found by offsets (see File.fbs and Message.fbs of Arrow). pyarrow gives
access to neither.
"""

from __future__ import annotations

import struct
from typing import BinaryIO, NamedTuple

from ...text.byte_source import read_at

_MAGIC = b"ARROW1"
_CONTINUES = b"\xff\xff\xff\xff"  # before the length of a message, except in files of old versions
_RECORD_BATCHES = 3  # the field of a footer that lists record batches, 24 bytes each: offset, bytes of message, of data
_HEADER, _LENGTH = 2, 0  # the field of a message with its record batch; the field of a record batch with its rows
_LOOK = 1 << 12  # bytes of a message that are read; long lists of columns and buffers come after what is needed


class Block(NamedTuple):
    """A record batch: the number of its rows, and of its bytes in the file."""

    n_rows: int
    n_bytes: int


def find_blocks(file: BinaryIO, size: int) -> list[Block]:
    """Find the record batches of a file in Arrow's file format. Raises OSError if its footer is invalid."""
    n_end = 4 + len(_MAGIC)
    try:
        (n_footer,) = struct.unpack_from("<i", read_at(file, max(size - n_end, 0), n_end))
        footer = _read(file, size - n_end - n_footer, n_footer)
        blocks = []
        if (place := _field(footer, _follow(footer, 0), _RECORD_BATCHES)) is not None:
            place = _follow(footer, place)
            (n_blocks,) = struct.unpack_from("<I", footer, place)
            for i in range(n_blocks):
                start, n_message, n_data = struct.unpack_from("<qi4xq", footer, place + 4 + 24 * i)
                blocks.append(Block(_n_rows(_read(file, start, min(n_message, _LOOK))), n_message + n_data))
    except (struct.error, ValueError) as error:
        raise OSError(f"its footer does not lead to its record batches ({error})") from None
    return blocks


def _read(file: BinaryIO, place: int, n_bytes: int) -> bytes:
    """Read bytes of a file. Raises ValueError for a negative place or number."""
    if place < 0 or n_bytes < 0:
        raise ValueError(f"{n_bytes:,} bytes at byte {place:,}")
    return read_at(file, place, n_bytes)


def _n_rows(message: bytes) -> int:
    """The number of rows of a record batch, from the beginning of its message."""
    message = message[8 if message.startswith(_CONTINUES) else 4 :]
    header = _field(message, _follow(message, 0), _HEADER)
    place = None if header is None else _field(message, _follow(message, header), _LENGTH)
    n_rows: int = 0 if place is None else struct.unpack_from("<q", message, place)[0]
    if n_rows < 0:
        raise ValueError("a negative number of rows")
    return n_rows


def _follow(data: bytes, place: int) -> int:
    """The place that the offset at `place` points to."""
    return place + int(struct.unpack_from("<I", data, place)[0])


def _field(data: bytes, table: int, number: int) -> int | None:
    """The place of a field of the table at place `table`; None if it is omitted, because it is 0 or not set."""
    fields = table - struct.unpack_from("<i", data, table)[0]
    (n_bytes,) = struct.unpack_from("<H", data, fields)
    at = 4 + 2 * number
    (offset,) = struct.unpack_from("<H", data, fields + at) if at < n_bytes else (0,)
    return table + offset if offset else None
