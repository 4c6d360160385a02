"""The files of a run that can be resumed: which of them are whole, what is joined already, what must be encoded again.

In the folder, "0" is the file of ids as it grows; part i, from 0, is in file i + 1 until it is joined. The ends of
documents lie beside each. Nothing is synced: after a kill or a loss of power, the checksum of a file tells whether it is
whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count, takewhile
from typing import Any, BinaryIO

import numpy as np

from ..system.kept_folder import KeptFolder, kept_folder, remove_kept_folder
from ..system.lazy import imported_on_use
from ..system.links import target_of
from ..system.paths import Path, check_name_beside
from ..system.read_numbers import read_numbers
from ..system.scratch import named_instead
from .checksum import Checksum, checksum, checksum_of_parts
from .document_ends import END_DTYPE, MAGIC, ends_path
from .manifest import NAME, EncodingJob, Finished, Span, new_manifest, read_manifest

shutil: Any = imported_on_use("shutil")

_AT_ONCE = 1 << 20  # numbers that are read at a time


def folder_of(output_path: Path) -> str:
    """The folder of the finished parts of an output: next to the file that is written."""
    return target_of(output_path) + ".resume"


def remove_parts(output_path: Path) -> None:
    """Remove the parts that runs on this output have kept, unless one of them is at work."""
    remove_kept_folder(folder_of(output_path))


@contextmanager
def kept_parts(output_path: Path, job: EncodingJob, in_forks: bool = True) -> Iterator[KeptParts]:
    """The parts that runs of the same job have kept; if there are any, they stay after an error.

    in_forks : see kept_folder

    Raises ValueError where the job differs, BlockingIOError while another run is at work, FileExistsError where the
    folder's name is taken.
    """
    check_name_beside(output_path, folder_of(output_path))
    with kept_folder(folder_of(output_path), in_forks) as folder:
        parts = KeptParts(folder, job)
        try:
            with named_instead(folder.path, output_path):
                yield parts
        finally:
            if not parts.finished:
                folder.done()


class KeptParts:
    """The parts of a job; `plan` is called first."""

    def __init__(self, folder: KeptFolder, job: EncodingJob) -> None:
        self._folder = folder
        self._job = job
        self._manifest = read_manifest(folder.file(NAME), job)
        self.folder = folder.path
        self.n_joined = 0

    @property
    def part_bytes(self) -> int | None:
        """The size of parts where a run has begun; None where none has."""
        return None if self._manifest is None else self._manifest.part_bytes

    @property
    def finished(self) -> dict[int, Finished]:
        """The finished parts, by number."""
        return {} if self._manifest is None else self._manifest.finished

    def plan(self, part_bytes: int, spans: list[Span], header: int, dtype: np.dtype[Any]) -> None:
        """Begin, or go on where a run has begun: then `finished` are the parts whose files are whole.

        The first `n_joined` of them are joined in the file "0", which begins with `header` bytes to be filled in.
        """
        if self._manifest is not None and self._manifest.spans != spans:
            raise ValueError(
                f"cannot resume: the sources are cut into other parts than when the run began; delete {self.folder!r} to "
                "encode from the beginning"
            )
        if self._manifest is None:
            self._manifest = new_manifest(self._folder.file(NAME), self._job, part_bytes, spans)
        self.n_joined = _take_up(self.folder, header, dtype, self.finished, len(spans))

    def add(self, number: int, finished: Finished) -> None:
        """Note that the files of a part are complete."""
        assert self._manifest is not None
        self._manifest.add(number, finished)

    def hand_over(self, folder: str) -> str:
        """Put the complete file of ids, with its ends, into a scratch folder, too; returns its path there.

        So a run that is killed while these files get their names finds them here again.
        """
        path, whole = os.path.join(folder, "0"), self._folder.file("0")
        for mine, theirs in (whole, path), (ends_path(whole), ends_path(path)):
            if os.path.exists(mine):
                try:
                    os.link(mine, theirs)
                except OSError:  # a file system without links
                    shutil.copyfile(mine, theirs)
        return path

    def done(self) -> None:
        """Say that the output has its name: nothing is kept any more."""
        self._folder.done()


def _take_up(folder: str, header: int, dtype: np.dtype[Any], finished: dict[int, Finished], n_parts: int) -> int:
    """Leave in a folder only files that are whole, and in `finished`, of `n_parts`, only their parts; returns how many are
    joined."""
    path = os.path.join(folder, "0")
    in_order = [finished[i] for i in takewhile(finished.__contains__, count())]
    n_joined = _n_whole(path, header, dtype, in_order)
    is_complete = n_joined == n_parts
    _set_size(path, header + sum(finished[i].n_ids for i in range(n_joined)) * dtype.itemsize, is_complete)
    if n_ends := sum(finished[i].n_ends for i in range(n_joined)):
        _set_size(ends_path(path), len(MAGIC) + n_ends * END_DTYPE.itemsize, is_complete)
    else:
        with suppress(FileNotFoundError):
            os.remove(ends_path(path))
    waiting = {i for i in finished if i >= n_joined and _is_whole(os.path.join(folder, str(i + 1)), dtype, finished[i])}
    for i in [i for i in finished if i >= n_joined and i not in waiting]:
        del finished[i]
    used = {"0", "0.ends", *(str(i + 1) for i in waiting), *(f"{i + 1}.ends" for i in waiting if finished[i].n_ends)}
    for name in os.listdir(folder):
        if name not in used and name.removesuffix(".ends").isdecimal():
            os.remove(os.path.join(folder, name))
    return n_joined


def _n_whole(path: str, header: int, dtype: np.dtype[Any], parts: list[Finished]) -> int:
    """With how many of the parts a file begins, undamaged."""
    n_ids = 0
    with suppress(FileNotFoundError), open(path, "rb") as file, _open_ends(ends_path(path), MAGIC) as ends:
        file.seek(header)
        for number, part in enumerate(parts):
            if not _is_next(file, ends, dtype, part, n_ids):
                return number
            n_ids += part.n_ids
        return len(parts)
    return 0


def _is_whole(path: str, dtype: np.dtype[Any], part: Finished) -> bool:
    """Whether the files of a part that is not joined yet are as they were written."""
    with suppress(FileNotFoundError), open(path, "rb") as file, _open_ends(ends_path(path), b"") as ends:
        return _is_next(file, ends, dtype, part, 0) and not file.read(1) and not (part.n_ends and ends and ends.read(1))
    return False


@contextmanager
def _open_ends(path: str, magic: bytes) -> Iterator[BinaryIO | None]:
    """A file of ends after its magic, None if there is none."""
    if not os.path.exists(path):
        yield None
        return
    with open(path, "rb") as file:
        yield file if file.read(len(magic)) == magic else None


def _is_next(ids: BinaryIO, ends: BinaryIO | None, dtype: np.dtype[Any], part: Finished, n_before: int) -> bool:
    """Whether the next ids and ends in two files are those of a part, before which there are `n_before` ids."""
    if _checksum_of_next(ids, dtype, part.n_ids) != part.checksum:
        return False
    if not part.n_ends:
        return True
    return ends is not None and _checksum_of_next(ends, END_DTYPE, part.n_ends, n_before) == part.ends


def _checksum_of_next(file: BinaryIO, dtype: np.dtype[Any], n: int, minus: int = 0) -> Checksum | None:
    """The checksum of the next `n` numbers of a file, each less `minus`; None where the file ends before."""
    parts = []
    while n:
        numbers = read_numbers(file, dtype.newbyteorder("<"), min(n, _AT_ONCE))
        if not len(numbers):
            return None
        parts.append(checksum(numbers - minus if minus else numbers))
        n -= len(numbers)
    return checksum_of_parts(parts)


def _set_size(path: str, size: int, is_complete: bool) -> None:
    """Cut a file to a size; one that is missing is made, of zeros.

    One that has another name, too, is copied before it changes, now or as parts are joined until it `is_complete`: a run
    that was killed when it had published the file has left both.
    """
    with suppress(FileNotFoundError):
        about = os.stat(path)
        if about.st_nlink > 1 and not is_complete:
            shutil.copyfile(path, path + ".own")
            os.replace(path + ".own", path)
    with open(path, "ab") as file:
        file.truncate(size)
