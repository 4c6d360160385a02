"""Finds where the frames of a compressed file begin, without decompressing them.

A Zstandard file is a concatenation of frames, several if `pzstd` wrote it or files were concatenated; the headers of a
frame's blocks give its length. Members of gzip only give their length if `bgzip` wrote them (BGZF). Streams of bzip2
(`pbzip2` writes one for each 900 kB of text) are found by the ten bytes with which they begin. Each frame, member or stream
can be decompressed without those before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from ...text.byte_source import read_at

MOST_WINDOW = 32 << 20  # bytes of memory to decompress a frame, as several workers decompress frames at the same time
# Compressed bytes of a frame. The blocks of a longer one are not followed: each takes a small read.
MOST_FRAME = 256 << 20

_MAGIC = b"\x28\xb5\x2f\xfd"  # the beginning of a Zstandard frame
_BLOCK_HEADER = 3  # bytes
_SKIPPABLE = b"\x2a\x4d\x18"  # after a byte from 0x50 to 0x5f
_LONGEST_HEADER = 18
_RLE, _RESERVED = 1, 3  # types of blocks; the length of other blocks is in their headers
_BGZF = b"\x1f\x8b\x08\x04"  # gzip, deflate, with an extra field
_BGZF_EXTRA = b"\x06\x00BC\x02\x00"  # the beginning of the extra field; two bytes follow: the member's length minus one
_BGZF_EXTRA_AT = 10
_BGZF_HEADER = 18
_BZIP2 = re.compile(rb"BZh[1-9]1AY&SY")  # the beginning of a stream and its first block; other blocks begin at any bit
_BZIP2_BYTES = 10
_BZIP2_LOOK = 1 << 20  # bytes that are searched at a time


def find_frames(file: BinaryIO, compression: str) -> Iterator[int]:
    """Yield where the frames of a compressed file that have text begin, in order, as far as their headers tell.

    Ends at a damaged frame, a gzip member without its length, and a frame that is very long or needs much memory. Yields
    nothing for xz. Damage is reported when the last frame that was yielded is read.
    """
    if compression == ".gz":
        return _bgzf_frames(file)
    if compression == ".bz2":
        return _bzip2_frames(file)
    return _zstd_frames(file) if compression in (".zst", ".zstd") else iter(())


def _zstd_frames(file: BinaryIO) -> Iterator[int]:
    start = 0
    while len(data := read_at(file, start, _LONGEST_HEADER)) > 8:
        if _is_skippable(data):
            start += 8 + int.from_bytes(data[4:8], "little")
            continue
        if not data.startswith(_MAGIC):
            return
        yield start
        if _zstd_window(data) > MOST_WINDOW or (end := _zstd_end(file, start, data[4])) is None:
            return
        start = end


def _is_skippable(data: bytes) -> bool:
    """Whether these bytes begin a skippable frame, which has no text; bytes 4 to 7 are its length."""
    return data[1:4] == _SKIPPABLE and data[0] >> 4 == 5


def _around_blocks(descriptor: int) -> tuple[int, int]:
    """The bytes before and after the blocks of a frame, from the byte after its magic number.

    See RFC 8878, section 3.1.1.1.1.
    """
    single_segment = descriptor >> 5 & 1
    n_dictionary = (0, 1, 2, 4)[descriptor & 3]
    n_size = (single_segment, 2, 4, 8)[descriptor >> 6]
    return len(_MAGIC) + 1 + (1 - single_segment) + n_dictionary + n_size, descriptor & 4  # bit 2, and 4 bytes: a checksum


def _block(header: bytes) -> tuple[bool, int | None]:
    """Read the header of a block: (whether it is the last of its frame, its length after the header or None if invalid)."""
    value = int.from_bytes(header, "little")
    kind, size = value >> 1 & 3, value >> 3
    return bool(value & 1), None if kind == _RESERVED else 1 if kind == _RLE else size


def _zstd_window(data: bytes) -> int:
    """The bytes of memory to decompress a frame, from its header."""
    if not data[4] & 0x20:
        base = 1 << (10 + (data[5] >> 3))
        return base + base // 8 * (data[5] & 7)
    n_header, _ = _around_blocks(data[4])  # the last field is the size of the text, which is also the window
    n_size = (1, 2, 4, 8)[data[4] >> 6]
    return int.from_bytes(data[n_header - n_size : n_header], "little") + (256 if n_size == 2 else 0)


def _zstd_end(file: BinaryIO, start: int, descriptor: int) -> int | None:
    """Where a frame ends, from the headers of its blocks; None if they are invalid, or the frame is too long."""
    n_header, n_after = _around_blocks(descriptor)
    position = start + n_header
    while len(data := read_at(file, position, _BLOCK_HEADER)) == _BLOCK_HEADER and position - start < MOST_FRAME:
        is_last, size = _block(data)
        if size is None:
            return None
        position += _BLOCK_HEADER + size
        if is_last:
            return position + n_after
    return None


def _bgzf_frames(file: BinaryIO) -> Iterator[int]:
    start = 0
    while len(data := read_at(file, start, _BGZF_HEADER)) == _BGZF_HEADER:
        if not data.startswith(_BGZF) or data[_BGZF_EXTRA_AT:-2] != _BGZF_EXTRA:
            if data.startswith(_BGZF[:2]) and start:
                yield start
            return
        yield start
        start += int.from_bytes(data[-2:], "little") + 1


def _bzip2_frames(file: BinaryIO) -> Iterator[int]:
    last = position = 0
    before = b""  # the last nine bytes, with which a match may begin
    while position - last < MOST_FRAME and (data := read_at(file, position, _BZIP2_LOOK)):
        data = before + data
        position += len(data) - len(before)
        for found in _BZIP2.finditer(data):
            last = position - len(data) + found.start()
            yield last
        before = data[1 - _BZIP2_BYTES :]
