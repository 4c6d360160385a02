"""Memory for large arrays, in large pages if the system has them.

Touching new memory in pages of 4 kB cost up to 10 us a page in a virtual machine: 40 ms for the tables and ids of 40 MB of
text, which are otherwise encoded in 80. NumPy requests large pages, too, but its arrays are not aligned to them.
"""

import contextlib
import mmap
import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LINE_BYTES = 64  # of a cache line
_PAGE_BYTES = 2 << 20  # of a large page
# MAP_NORESERVE: memory that is mostly unused need not exist. A machine may lack 4 bytes of ids for each byte of text.
_NO_RESERVE = 0x4000 if sys.platform == "linux" and os.uname().machine in ("x86_64", "aarch64") else 0
_HAS_PAGES = hasattr(mmap, "MADV_HUGEPAGE") and hasattr(mmap, "MAP_PRIVATE")


def zeros(n_words: int) -> NDArray[np.uint64]:
    """Zeros, uint64[n_words], aligned to a cache line, and to a large page if they fill one."""
    if 8 * n_words < _PAGE_BYTES or not _HAS_PAGES:
        raw = np.zeros(n_words + _LINE_BYTES // 8, dtype=np.uint64)
        return raw[_to_next(raw, _LINE_BYTES) // 8 :][:n_words]
    memory, start = _map(8 * n_words)
    return np.frombuffer(memory, dtype=np.uint64, count=n_words, offset=start)


def zeros_of(dtype: type[np.generic], n: int) -> NDArray[Any]:
    """As `zeros`, for `n` zeros of a type. Pages that are not touched take no memory."""
    return zeros(-(-n * np.dtype(dtype).itemsize // 8)).view(dtype)[:n]


def longer(array: NDArray[np.uint8], n_used: int, n_more: int) -> NDArray[np.uint8]:
    """Copy the first `n_used` bytes of an array into one with room for `n_more` more, and twice the size that this needs.

    It has at least the size of a large page, as growing once costs less than growing often.
    """
    n_bytes = max(2 * (n_used + n_more), _PAGE_BYTES)
    larger = zeros_of(np.uint8, n_bytes)
    larger[:n_used] = array[:n_used]
    return larger


class Room:
    """Room for an array of which only the maximum length is known.

    array : the room, n elements of a type with undefined content
    """

    def __init__(self, n: int, dtype: np.dtype[Any]) -> None:
        self._memory: mmap.mmap | None = None
        if n * dtype.itemsize < 2 * _PAGE_BYTES or not _HAS_PAGES:
            self.array = np.empty(n, dtype=dtype)
        else:
            self._memory, self._start = _map(n * dtype.itemsize, _NO_RESERVE)
            self.array = np.frombuffer(self._memory, dtype=dtype, count=n, offset=self._start)

    def cut(self, n: int) -> NDArray[Any]:
        """Return the first n elements as an array that holds no more memory than it needs. The room is unusable then."""
        array = self.array
        del self.array
        if self._memory is None:
            array.resize(n, refcheck=False)
            return array
        dtype = array.dtype
        del array  # memory with a view cannot be shortened
        with contextlib.suppress(BufferError, SystemError, OSError):  # untouched memory costs nothing if it is not freed
            self._memory.resize(self._start + max(n * dtype.itemsize, 1))
        return np.frombuffer(self._memory, dtype=dtype, count=n, offset=self._start)


def _to_next(raw: NDArray[Any], alignment: int) -> int:
    """The offset in bytes of the first address in an array that is a multiple of `alignment`."""
    return -raw.ctypes.data % alignment


def _map(n_bytes: int, more_flags: int = 0) -> tuple[mmap.mmap, int]:
    """Map memory of zeros. Returns it, and the offset of its first large page, where `n_bytes` begin. Raises MemoryError.

    It is private: by default, Python would map memory that processes share after a fork.
    """
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | more_flags
    try:
        memory = mmap.mmap(-1, n_bytes + _PAGE_BYTES, flags=flags)
    except OSError as error:
        raise MemoryError(f"could not get {n_bytes + _PAGE_BYTES:,} bytes of memory: {error.strerror}") from None
    with contextlib.suppress(OSError):  # some operating systems have no large pages
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory, _to_next(np.frombuffer(memory, dtype=np.uint8), _PAGE_BYTES)
