"""The bytes of a file as a stream, decompressed if its name says that it is compressed."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Protocol

from ..system.paths import Path
from .extras import require
from .inputs import File
from .tally import Tally

_PACKED_FACTOR = 4  # text becomes about a quarter of its size

_FEED = 1 << 10  # compressed bytes for zstandard at a time, which become at most 32 MB
_ZSTD_ROOM = 1 << 16
_ZSTD_MAX_WINDOW = 1 << 31  # large dumps are made with --long=31, which readers must allow
_BLOCK = 1 << 16


class Stream(Protocol):
    """Bytes, in order."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; none at the end only."""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer or part of it; returns the number of bytes, 0 at the end."""


@contextmanager
def open_stream(file: File, packing: str, tally: Tally, start: int = 0) -> Iterator[Stream]:
    """The bytes of a file from `start` on; of a compressed file, the decompressed bytes (then `start` is 0)."""
    with file.open() as raw:
        if start:
            raw.seek(start)
        plain = _FileStream(file, raw, tally)
        yield _UNPACKERS[packing](plain, file.name, tally) if packing else plain


class PackableFile:
    """A file of text that may be compressed: what all inputs of such files have in common (see Input)."""

    def __init__(self, file: File, packing: str) -> None:
        """`packing` is one of PACKINGS, or empty."""
        self.file = file
        self.packing = packing

    def path(self) -> Path | None:
        """See Input."""
        return self.file.path

    def size(self) -> int | None:
        """See Input."""
        return self.file.size()

    def mtime_ns(self) -> int | None:
        """See Input."""
        return self.file.mtime_ns()

    def n_text(self) -> int:
        """See Input."""
        return (self.size() or 0) * (_PACKED_FACTOR if self.packing else 1)

    def can_be_cut(self) -> bool:
        """A compressed stream can be read from its beginning only, and a remote one is best read so."""
        return not self.packing and self.file.path is not None and self.size() is not None

    def check(self, on_error: str) -> None:
        """See Input. Finds a missing package, and a file that is not compressed as its name says."""
        self.file.check()
        if self.packing in _ZSTD:
            require("zstandard", self.file.name)
        if self.packing and self.size() is not None:
            with open_stream(self.file, self.packing, Tally(on_error)) as stream:
                stream.read(1)


class _FileStream:
    """A file, read and counted."""

    def __init__(self, file: File, raw: BinaryIO, tally: Tally) -> None:
        self.name = file.name
        self._file = file
        self._raw = raw
        self._tally = tally

    def read(self, size: int = -1, /) -> bytes:
        """See Stream."""
        with self._file.naming_errors():
            data = self._raw.read(size)
        self._tally.n_read += len(data)
        return data

    def readinto(self, buffer: memoryview, /) -> int:
        """See Stream."""
        with self._file.naming_errors():
            n: int = self._raw.readinto(buffer) or 0  # type: ignore[attr-defined]
        self._tally.n_read += n
        return n


class _Unpacked:
    """The decompressed bytes of a stream. Raises OSError that names the file if it is broken or truncated."""

    def __init__(self, compressed: _FileStream, name: str, tally: Tally) -> None:
        self.name = name
        self._compressed = compressed
        self._tally = tally

    def readinto(self, buffer: memoryview, /) -> int:
        """See Stream."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def read(self, size: int, /) -> bytes:
        """See Stream."""
        try:
            data = self._read(size)
        except self._errors() as error:
            raise OSError(f"{self.name!r} is broken or truncated, and cannot be decompressed: {error}") from error
        if not data and not self._tally.n_read:
            raise OSError(f"{self.name!r} is empty, and even a compressed empty file has some bytes: it was truncated")
        return data

    def _read(self, size: int) -> bytes:
        raise NotImplementedError

    def _errors(self) -> tuple[type[Exception], ...]:
        raise NotImplementedError


class _Gzip(_Unpacked):
    """One or several members of gzip."""

    def __init__(self, compressed: _FileStream, name: str, tally: Tally) -> None:
        super().__init__(compressed, name, tally)
        self._file = gzip.GzipFile(mode="rb", fileobj=compressed)  # type: ignore[call-overload]

    def _read(self, size: int) -> bytes:
        return self._file.read(size)

    def _errors(self) -> tuple[type[Exception], ...]:
        return EOFError, gzip.BadGzipFile, zlib.error


class _Zstd(_Unpacked):
    """One or several frames of Zstandard."""

    def __init__(self, compressed: _FileStream, name: str, tally: Tally) -> None:
        super().__init__(compressed, name, tally)
        self._zstandard = require("zstandard", name)
        self._blocks = self._unpack()
        self._left = memoryview(b"")

    def _read(self, size: int) -> bytes:
        if not self._left:
            self._left = memoryview(next(self._blocks, b""))
        data, self._left = bytes(self._left[:size]), self._left[size:]
        return data

    def _unpack(self) -> Iterator[bytes]:
        # zstandard's own stream reader takes the end of a file that was cut off for the end of its text.
        decompressor = self._zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW)
        frame: Any = None
        while compressed := self._compressed.read(_BLOCK):
            left = memoryview(compressed)
            while left:
                if frame is None:
                    frame = decompressor.decompressobj(write_size=_ZSTD_ROOM)
                fed, left = left[:_FEED], left[_FEED:]
                if block := frame.decompress(fed):
                    yield block
                if frame.eof:
                    left = memoryview(compressed)[len(compressed) - len(left) - len(frame.unused_data) :]
                    frame = None
        if frame is not None:
            raise EOFError("its last frame has no end")

    def _errors(self) -> tuple[type[Exception], ...]:
        return EOFError, self._zstandard.ZstdError


_ZSTD = (".zst", ".zstd")
_UNPACKERS = {".gz": _Gzip, ".zst": _Zstd, ".zstd": _Zstd}
PACKINGS = tuple(_UNPACKERS)
