"""Keeps the parts of a run that can be resumed, and finds which are undamaged and which must be encoded again.

In the folder, the file "0" is the growing file of ids; part i, from 0, is in file i + 1 until it is joined to it. The ends
of documents are beside each. Nothing is synced: after a kill or a power failure, checksums tell which files are undamaged.
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

_AT_ONCE = 1 << 20  # numbers read at a time


def folder_of(output_path: Path) -> str:
    """The folder of an output's finished parts, next to the output (for a symlink: next to what it points to)."""
    return target_of(output_path) + ".resume"


def remove_parts(output_path: Path) -> None:
    """Remove the parts that earlier runs on this output have kept, unless such a run is still at work."""
    remove_kept_folder(folder_of(output_path))


@contextmanager
def kept_parts(output_path: Path, job: EncodingJob, in_forks: bool = True) -> Iterator[KeptParts]:
    """Open the folder of an output's kept parts. After an error, it stays if at least one part is finished.

    in_forks : see `kept_folder`

    Raises ValueError if the kept parts are of another job, BlockingIOError if another run is still at work,
    FileExistsError if something else has the folder's name.
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
    """The kept parts of a job. Call `plan` first."""

    def __init__(self, folder: KeptFolder, job: EncodingJob) -> None:
        self._folder = folder
        self._job = job
        self._manifest = read_manifest(folder.file(NAME), job)
        self.folder = folder.path
        self.n_joined = 0

    @property
    def part_bytes(self) -> int | None:
        """The size of the parts in the run that is resumed; None if there is no earlier run."""
        return None if self._manifest is None else self._manifest.part_bytes

    @property
    def finished(self) -> dict[int, Finished]:
        """The finished parts, by number."""
        return {} if self._manifest is None else self._manifest.finished

    def plan(self, part_bytes: int, spans: list[Span], header: int, dtype: np.dtype[Any]) -> None:
        """Begin a run, or resume one: then `finished` holds the parts whose files are undamaged.

        The first `n_joined` parts are joined in the file "0", which begins with `header` bytes that are filled in later.
        """
        if self._manifest is not None and self._manifest.spans != spans:
            raise ValueError(
                f"cannot resume: the sources are cut into other parts than when the run began; delete {self.folder!r} to "
                "encode from the beginning"
            )
        if self._manifest is None:
            self._manifest = new_manifest(self._folder.file(NAME), self._job, part_bytes, spans)
        self.n_joined = _keep_undamaged(self.folder, header, dtype, self.finished, len(spans))

    def add(self, number: int, finished: Finished) -> None:
        """Note that the files of a part are complete."""
        assert self._manifest is not None
        self._manifest.add(number, finished)

    def hand_over(self, folder: str) -> str:
        """Link or copy the complete file of ids and its ends into a scratch folder, and return the new path of the ids.

        The kept files stay: if the run is killed while the others are published, the next run finds them here.
        """
        path, whole = os.path.join(folder, "0"), self._folder.file("0")
        for mine, theirs in (whole, path), (ends_path(whole), ends_path(path)):
            if os.path.exists(mine):
                try:
                    os.link(mine, theirs)
                except OSError:  # a file system without hard links
                    shutil.copyfile(mine, theirs)
        return path

    def done(self) -> None:
        """Remove the folder, as the output is published."""
        self._folder.done()


def _keep_undamaged(folder: str, header: int, dtype: np.dtype[Any], finished: dict[int, Finished], n_parts: int) -> int:
    """Remove damaged and unfinished parts from a folder, and from `finished`; return how many parts are joined.

    n_parts : the number of all parts of the job
    """
    path = os.path.join(folder, "0")
    in_order = [finished[i] for i in takewhile(finished.__contains__, count())]
    n_joined = _n_joined_undamaged(path, header, dtype, in_order)
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


def _n_joined_undamaged(path: str, header: int, dtype: np.dtype[Any], parts: list[Finished]) -> int:
    """Count how many of the parts, from the first on, are undamaged in the file in which they are joined."""
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
    """Whether the files of a part that is not joined yet are undamaged."""
    with suppress(FileNotFoundError), open(path, "rb") as file, _open_ends(ends_path(path), b"") as ends:
        return _is_next(file, ends, dtype, part, 0) and not file.read(1) and not (part.n_ends and ends and ends.read(1))
    return False


@contextmanager
def _open_ends(path: str, magic: bytes) -> Iterator[BinaryIO | None]:
    """Open a file of ends and read its magic; None if there is no such file, or it has another magic."""
    if not os.path.exists(path):
        yield None
        return
    with open(path, "rb") as file:
        yield file if file.read(len(magic)) == magic else None


def _is_next(ids: BinaryIO, ends: BinaryIO | None, dtype: np.dtype[Any], part: Finished, n_before: int) -> bool:
    """Whether the next ids and ends in two open files are those of a part. `n_before` ids precede the part."""
    if _checksum_of_next(ids, dtype, part.n_ids) != part.checksum:
        return False
    if not part.n_ends:
        return True
    return ends is not None and _checksum_of_next(ends, END_DTYPE, part.n_ends, n_before) == part.ends


def _checksum_of_next(file: BinaryIO, dtype: np.dtype[Any], n: int, minus: int = 0) -> Checksum | None:
    """The checksum of the next `n` numbers of a file, with `minus` subtracted from each; None if there are fewer."""
    parts = []
    while n:
        numbers = read_numbers(file, dtype.newbyteorder("<"), min(n, _AT_ONCE))
        if not len(numbers):
            return None
        parts.append(checksum(numbers - minus if minus else numbers))
        n -= len(numbers)
    return checksum_of_parts(parts)


def _set_size(path: str, size: int, is_complete: bool) -> None:
    """Truncate a file to a size; a missing file is made, filled with zeros.

    A killed run may have published the file, which then has two names (hard links). If parts are still to be joined to it
    (it is not `is_complete`), the file is copied first, so that the published one does not change.
    """
    with suppress(FileNotFoundError):
        about = os.stat(path)
        if about.st_nlink > 1 and not is_complete:
            shutil.copyfile(path, path + ".own")
            os.replace(path + ".own", path)
    with open(path, "ab") as file:
        file.truncate(size)
