"""A file written in large blocks."""

from __future__ import annotations

import numpy as np

from ..system.atomic_files import begin_sync, name_in_errors
from ..system.paths import Path

# The system keeps what is written in pages as large as the write, where it begins at a multiple of its size. 20 MB written
# 256 kB at a time have taken 20 to 75 ms, and 2 MB at a time 5, as large pages are what there is most of.
BLOCK = 2 << 20
# Blocks that the disk is told of at once: it writes them while the next ones are made, and the sync at the end is short.
_TOLD = 4


class OutputFile:
    """An unfinished output file, written in blocks; errors of writing name the output."""

    def __init__(self, path: str, output_path: Path, start: bytes = b"") -> None:
        """`start` is what the file begins with."""
        self._file = open(path, "wb")  # noqa: SIM115
        self._output_path = output_path
        # Memory without zeros, of which a small file touches little.
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
                if n == BLOCK:  # a whole one need not be copied first
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
        if self._n_blocks % _TOLD == 0:
            begin_sync(self._file, (self._n_blocks - _TOLD) * BLOCK, _TOLD * BLOCK)
