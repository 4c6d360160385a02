"""Opens a file as a stream of bytes, decompressed if its name says that it is compressed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO

from ..inputs import WHOLE, Extent, File, Stream
from ..optional_packages import ZSTD, require
from ..tally import Tally
from .read_ahead import read_ahead

_READ_AHEAD = 1 << 20  # bytes; a thread decompresses larger files in advance
_ROOM = 1 << 18  # bytes of text that are decompressed at a time
_MOST_XZ_MEMORY = 1 << 31  # 65 MB for `xz -9`; the format allows more than 4 GB
_BLOCK = 1 << 18
_GZIP_FORMAT = 31  # wbits of zlib: gzip's format, with the largest window


@contextmanager
def open_stream(
    file: File, compression: str, tally: Tally, extent: Extent = WHOLE, reads_ahead: bool = True
) -> Iterator[Stream]:
    """Open a file as a stream from the extent's start on; for a compressed file, of the extent's decompressed bytes.

    With `reads_ahead`, a thread decompresses a large file of this machine in advance. (Not a pipe, which has no size: the
    thread might wait forever.)
    """
    with file.open() as raw, ExitStack() as stack:
        if extent.start:
            raw.seek(extent.start)
        plain = _FileStream(file, raw, tally, extent)
        stream: Stream = _DECOMPRESSORS[compression](plain, extent) if compression else plain
        if compression and reads_ahead and file.path is not None and (file.size() or 0) >= _READ_AHEAD:
            stream = stack.enter_context(read_ahead(stream))
        yield stream


class _FileStream:
    """An open file as a stream; counts the bytes read in a Tally."""

    def __init__(self, file: File, raw: BinaryIO, tally: Tally, extent: Extent) -> None:
        self.name = file.name
        self.position = extent.start
        self.tally = tally
        self._end = extent.end
        self._file = file
        self._raw = raw

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes."""
        with self._file.naming_errors():
            data = self._raw.read(size)
        self._count(len(data))
        return data

    def readinto(self, buffer: memoryview, /) -> int:
        with self._file.naming_errors():
            n: int = self._raw.readinto(buffer) or 0  # type: ignore[attr-defined]
        self._count(n)
        return n

    def _count(self, n: int) -> None:
        """Count bytes, but not those after the extent's end, which another part counts."""
        begin, self.position = self.position, self.position + n
        self.tally.n_read += n if self._end is None else max(min(self.position, self._end) - begin, 0)


class _Decompressed(ABC):
    """The decompressed bytes of an extent, which may have several concatenated frames.

    Uses the modules that GzipFile and the like are based on: those classes take smaller steps, and some of them ignore data
    after a frame. Raises OSError that names the file if it is broken or truncated.
    """

    module: str  # the module that decompresses, which may not be installed
    error = ""  # the name of the module's exception for broken data
    padding = b"\0"  # bytes that may follow a frame

    def __init__(self, compressed: _FileStream, extent: Extent) -> None:
        self._name = compressed.name
        self._compressed = compressed
        self._end = extent.end
        self._skip, self._left = extent.skip, extent.end_skip  # bytes of text to skip first, and to read after `_end`
        self._is_done = False
        self._buffer = memoryview(b"")
        self._module = require(self.module, compressed.name)
        own = [getattr(self._module, self.error)] if self.error else []
        self._errors: tuple[type[Exception], ...] = EOFError, *own
        self._texts = self._decompress()

    def readinto(self, buffer: memoryview, /) -> int:
        n = 0
        if not buffer:
            return 0
        try:
            while not n and not self._is_done:
                n = self._some(buffer)
        except self._errors as error:
            raise OSError(f"{self._name!r} is broken or truncated, and cannot be decompressed: {error}") from error
        if not n and not self._compressed.tally.n_read:
            raise OSError(f"{self._name!r} is empty, and even a compressed empty file has some bytes: it was truncated")
        return n

    def _some(self, buffer: memoryview) -> int:
        """Like `readinto`, but may return 0 before the end."""
        self._buffer = buffer
        frame, n_all = next(self._texts, (0, 0))
        self._buffer = memoryview(b"")
        n = max(n_all - self._skip, 0)
        if n < n_all:
            buffer[:n] = buffer[n_all - n : n_all]
            self._skip -= n_all - n
        is_end = self._end is not None and frame >= self._end
        if self._left and (not n_all or (is_end and frame != self._end)):
            raise EOFError(f"at byte {self._end:,} is not the frame that its headers lead to")
        if is_end:
            n = min(n, self._left)
            self._left -= n
        self._is_done = not n_all or (is_end and not self._left)
        return n

    def _decompress(self) -> Iterator[tuple[int, int]]:
        """Write text to `_buffer`; yield (byte where its frame begins, bytes of text, never 0) after each step."""
        member: Any = None
        data = b""
        start = 0
        is_first = True
        while data or _has_input(member) or (data := self._compressed.read(_BLOCK)):
            if member is None:
                data = data if is_first else data.lstrip(self.padding)
                if not data:
                    continue
                member = self._new()
                start = self._compressed.position - len(data)
                is_first = False
            if n := self._write(member, data):
                yield start, n
            data = member.unused_data if member.eof else getattr(member, "unconsumed_tail", b"")
            if member.eof:
                member = None
        if member is not None:  # it is None after the end of a frame
            raise EOFError("Compressed file ended before the end-of-stream marker was reached")

    @abstractmethod
    def _new(self) -> Any:
        """Make an object that decompresses one frame."""

    def _write(self, member: Any, data: bytes) -> int:
        """Decompress some text to `_buffer`, and return its size."""
        text = member.decompress(data, min(len(self._buffer), _ROOM))
        self._buffer[: len(text)] = text
        return len(text)


def _has_input(member: Any) -> bool:
    """Whether an object of bz2, lzma or zstd still holds input. (zlib returns unused input.)"""
    return member is not None and not getattr(member, "needs_input", True)


class _Gzip(_Decompressed):
    """One or several members of gzip."""

    module = "zlib"
    error = "error"

    def _new(self) -> Any:
        return self._module.decompressobj(_GZIP_FORMAT)


class _Bzip2(_Decompressed):
    """One or several streams of bzip2; files of `pbzip2` and Wikipedia's dumps have many."""

    module = "bz2"

    def _new(self) -> Any:
        return self._module.BZ2Decompressor()

    def _write(self, member: Any, data: bytes) -> int:
        try:
            return super()._write(member, data)
        except OSError as error:  # bz2 has no exception of its own; converted, as a read error is also an OSError
            raise EOFError(str(error)) from None


class _Xz(_Decompressed):
    """One or several streams of xz, or one of lzma, its forerunner."""

    module = "lzma"
    error = "LZMAError"

    def __init__(self, compressed: _FileStream, extent: Extent) -> None:
        super().__init__(compressed, extent)
        self._errors += (MemoryError,)  # a broken header may ask for any amount of memory

    def _new(self) -> Any:
        return self._module.LZMADecompressor(memlimit=_MOST_XZ_MEMORY)


class _Zstd(_Decompressed):
    """One or several frames of Zstandard, and skippable frames, which have no text."""

    module = ZSTD
    error = "ZstdError"
    padding = b""

    def _new(self) -> Any:
        window_log_max = self._module.DecompressionParameter.window_log_max
        _, largest = window_log_max.bounds()  # large dumps are made with --long=31, which must be allowed explicitly
        return self._module.ZstdDecompressor(options={window_log_max: largest})


_DECOMPRESSORS: dict[str, type[_Decompressed]] = {
    ".gz": _Gzip,
    ".zst": _Zstd,
    ".zstd": _Zstd,
    ".bz2": _Bzip2,
    ".xz": _Xz,
    ".lzma": _Xz,
}
COMPRESSIONS = tuple(_DECOMPRESSORS)


def require_module(compression: str, name: str) -> None:
    """Raise ImportError that names the file if the module to decompress it is missing."""
    require(_DECOMPRESSORS[compression].module, name)
