"""Writes an output file in large blocks."""

from __future__ import annotations

import numpy as np

from ..system.atomic_files import begin_sync, name_in_errors
from ..system.paths import Path

# The page cache uses pages as large as a write that is aligned to its own size, and most free memory is in large pages:
# writing 20 MB took 20 to 75 ms in blocks of 256 kB, and 5 ms in blocks of 2 MB.
BLOCK = 2 << 20
# The disk is asked to write after each so many blocks: it does while the next are made, and the sync at the end is short.
_BLOCKS_PER_SYNC = 4


class OutputFile:
    """An unfinished output file, written in blocks. Write errors name the output and not `path`, a temporary file."""

    def __init__(self, path: str, output_path: Path, start: bytes = b"") -> None:
        """`start` holds the first bytes of the file."""
        self._file = open(path, "wb")  # noqa: SIM115
        self._output_path = output_path
        # Not filled with zeros, so that a small file touches little of this memory.
        self._block: memoryview = np.empty(BLOCK, dtype=np.uint8).data
        self._n = 0
        self._n_blocks = 0
        self.write(start)

    def write(self, data: memoryview | bytes) -> None:
        """Append bytes."""
        with name_in_errors(self._output_path):
            left = memoryview(data).cast("B")
            while left:
                n = min(len(left), BLOCK - self._n)
                if n == BLOCK:  # a whole block is written without copying it first
                    self._put(left[:n])
                else:
                    self._block[self._n : self._n + n] = left[:n]
                    self._n += n
                    if self._n == BLOCK:
                        self._flush()
                left = left[n:]

    def __enter__(self) -> OutputFile:
        return self

    def __exit__(self, error: type[BaseException] | None, *rest: object) -> None:
        with name_in_errors(self._output_path), self._file:
            if error is None:
                self._flush()

    def _flush(self) -> None:
        """Write the buffered bytes: a whole block, except at the end."""
        n, self._n = self._n, 0
        self._put(self._block[:n])

    def _put(self, block: memoryview) -> None:
        self._file.write(block)
        self._n_blocks += 1
        if self._n_blocks % _BLOCKS_PER_SYNC == 0:
            begin_sync(self._file, (self._n_blocks - _BLOCKS_PER_SYNC) * BLOCK, _BLOCKS_PER_SYNC * BLOCK)
