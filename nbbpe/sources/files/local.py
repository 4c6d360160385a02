"""Opens files in this machine's file system, and notices if they change."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import BinaryIO, NamedTuple

from ...system.atomic_files import name_in_errors
from ...system.paths import Path, check_readable

_ANY = -1  # in place of a number that is not compared


class FileState(NamedTuple):
    """Identifies a regular file and its content at one moment, to notice another file or a change."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int  # also changes if somebody sets mtime_ns back

    def difference(self, now: FileState | None) -> str:
        """What has happened to a file since it had this state, to follow its name in a message; "" for nothing.

        now : its state now; None if it is not a regular file
        """
        if now is not None and self.inode == _ANY:
            now = now.portable()
        if now is None or now[:2] != self[:2]:
            return "another file was put in its place"
        if now.size != self.size:
            return f"it has {now.size:,} bytes, and had {self.size:,} when reading was planned"
        if not self.size:  # files that the system generates on reading, in /proc, have size 0 and changing times
            return ""
        if now.mtime_ns != self.mtime_ns:
            return "it was written to"
        return "it was moved or replaced, or its permissions changed" if now != self else ""

    def portable(self) -> FileState:
        """The state without the numbers that differ on other machines that share the file."""
        return self._replace(device=_ANY, inode=_ANY, ctime_ns=_ANY)


def state_of(path: Path | int) -> FileState | None:
    """The state of a file, by its path or its open descriptor; None for what is not a regular file."""
    # os.stat also takes descriptors, but its error would have the number in place of a name.
    found = os.fstat(path) if isinstance(path, int) else os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        return None
    return FileState(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class LocalFile(NamedTuple):
    """A file, pipe or the like by its path, and its state when it was found; see inputs.File.

    A file is opened again for each of its parts, also in other processes, and must still be in the planned state.
    """

    path: Path
    planned: FileState | None = None  # None for a pipe or the like, and for a missing file
    given: str = ""  # the user's name for it, if that is not `path`

    @property
    def name(self) -> str:
        return self.given or os.fspath(self.path)

    def size(self) -> int | None:
        return None if self.planned is None else self.planned.size

    def mtime_ns(self) -> int | None:
        return None if self.planned is None else self.planned.mtime_ns

    def check(self) -> None:
        """See File. Pipes are not opened, as they can be read only once."""
        check_readable(self.path)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        with open(self.path, "rb", buffering=0, opener=_opener(self.planned)) as file:
            self._check_unchanged(file)
            try:
                yield file
            except Exception:
                # A file that has changed may look broken in many ways: then this error tells the real reason.
                self._check_unchanged(file)
                raise
            self._check_unchanged(file)

    def _check_unchanged(self, file: BinaryIO) -> None:
        """Raise OSError if an open file is not in the planned state."""
        if self.planned is None:
            return
        with self.naming_errors():
            now = state_of(file.fileno())
        if difference := self.planned.difference(now):
            raise OSError(
                f"{self.name!r} changed while it was read: {difference}; wait until nobody writes to it, or read a copy"
            )

    def naming_errors(self) -> AbstractContextManager[None]:
        return name_in_errors(self.path)


def find_local(path: Path) -> LocalFile:
    """Make a LocalFile with the present state of the file."""
    planned = None
    with suppress(OSError, ValueError):  # `check` raises them later
        planned = state_of(path)
    return LocalFile(path, planned)


def _opener(planned: FileState | None) -> Callable[[str, int], int]:
    """The opener for a file. If it was a regular file, opening does not block, even if a pipe has taken its place."""
    flags = getattr(os, "O_NONBLOCK", 0) if planned is not None else 0
    return lambda path, others: os.open(path, others | flags)
