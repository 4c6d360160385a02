"""Encodes parts of sources, in a worker, into files of ids and files of document ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..encoding.encoded_inputs import EncodesParts
from ..encoding.special_choice import ALL, Choice
from ..sources import Part, Tally
from ..system.lazy import lazy
from ..system.part_joiner import Joiner, Sink
from ..system.paths import Path
from ..text.utf8 import Text
from .block_writer import OutputFile
from .checksum import Checksum, checksum, checksum_of_parts
from .document_ends import END_DTYPE, MAGIC, ends_path
from .manifest import Finished
from .sidecar import Described

if TYPE_CHECKING:
    from ..encoding.encoder import Encoder

_REPORT_BYTES = 2 << 20  # of ids between two reports of progress


class EncodesFiles(Described, EncodesParts, Protocol):
    """The methods of a Tokenizer that writing a file of ids needs."""

    @lazy  # as in Tokenizer: with a property here, pyright would reject tok.encode_file
    def _encoder(self) -> Encoder: ...

    def _splitting_with(self, split_with: str | None) -> EncodesFiles: ...

    def _allowed_tokens(self, allowed_special: Choice | None) -> list[str] | None: ...

    def encode_iterable(self, texts: Iterable[Text], *, allowed_special: Choice = ALL) -> Iterator[int]:
        """Yield the ids of the concatenated texts, one by one."""


class PartEncoder(NamedTuple):
    """Encodes parts of sources: a Job for workers.

    With a `joiner`, the joiner writes the ids; without, those of part `number` go to the file of that name in `folder`.
    File 0 begins with `header` bytes that are filled in later. The ends of documents go to a file beside it; with a joiner,
    those of a small part are yielded instead. Records have ends, and with `ends_of_files` also files of plain text.
    """

    tokenizer: EncodesFiles
    output_path: Path
    header: int
    separator_id: int
    on_error: str
    allowed_special: Sequence[str] | None
    folder: str
    ends_of_files: bool = False
    joiner: Joiner | None = None

    def run(self, task: tuple[int, Part]) -> Iterator[int | NDArray[np.int64] | Finished]:
        """Encode part `number`.

        Yields from time to time the number of bytes read since the last time; then the ends of documents that were not
        written to a file, if any, as END_DTYPE[n]; and last, when the files are complete, a Finished.
        """
        number, part = task
        n_ids = n_waiting = 0
        dtype = self.tokenizer.dtype.newbyteorder("<")
        tally = Tally(self.on_error)
        checksums = []
        with ExitStack() as files:

            def open_output(path: str, start: bytes) -> OutputFile:
                return files.enter_context(OutputFile(path, self.output_path, b"" if number else start))

            path = os.path.join(self.folder, str(number))
            writer: Sink = (
                files.enter_context(self.joiner.part(number)) if self.joiner else open_output(path, bytes(self.header))
            )
            ends_file = _EndsFile(partial(open_output, ends_path(path), MAGIC))
            for ids, ends in self.tokenizer.encode_part(part, self.separator_id, tally, self.allowed_special):
                ids = ids.astype(dtype, copy=False)
                writer.write(ids.data)
                checksums.append(checksum(ids))
                if len(ends):
                    ends_file.add(ends + n_ids)
                n_ids += len(ids)
                n_waiting += ids.nbytes
                if n_waiting >= _REPORT_BYTES:
                    ends_file.write()
                    yield tally.newly_read()
                    n_waiting = 0
            if self.ends_of_files and part.is_last:
                ends_file.add(np.array([n_ids], dtype=np.int64))
            if self.joiner is None or ends_file.is_begun():
                ends_file.write()
            elif len(left := ends_file.take()):
                yield left
        yield tally.newly_read()
        ends_checksum = checksum_of_parts(ends_file.checksums)
        yield Finished(tally.n_read, n_ids, checksum_of_parts(checksums), ends_file.n_ends, ends_checksum, tally.skipped())

    def finish(self) -> None:
        """Do nothing: `run` has yielded all results."""


class _EndsFile:
    """Collects the ends of a part's documents, and writes them to a file that is opened for the first of them.

    They are written many at a time, because writing calls a kernel, after which a thread may have to wait for another.
    """

    def __init__(self, open_file: Callable[[], OutputFile]) -> None:
        self._open_file = open_file
        self._file: OutputFile | None = None
        self._waiting: list[NDArray[np.int64]] = []
        self.n_ends = 0
        self.checksums: list[Checksum] = []

    def add(self, ends: NDArray[np.int64]) -> None:
        """Add ends, without writing them yet."""
        self._waiting.append(ends)

    def is_begun(self) -> bool:
        """Whether ends have been written."""
        return self._file is not None

    def write(self) -> None:
        """Write the waiting ends."""
        if self._waiting:
            self._file = self._file or self._open_file()
            self._file.write(self.take().data)

    def take(self) -> NDArray[np.int64]:
        """Return the waiting ends, for the caller to write, and count them as written."""
        if not self._waiting:
            return np.empty(0, dtype=END_DTYPE)
        ends = np.concatenate(self._waiting).astype(END_DTYPE, copy=False)
        self._waiting.clear()
        self.n_ends += len(ends)
        self.checksums.append(checksum(ends))
        return ends
