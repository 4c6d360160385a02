"""Files of this machine's file system."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import BinaryIO, NamedTuple

from ...system.atomic_files import name_in_errors
from ...system.paths import Path, check_readable

_ANY = -1  # in the place of a number that may differ


class FileState(NamedTuple):
    """Identifies a regular file and its content at one moment, to recognise other files and changes."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int  # also moves on where somebody sets the other time back

    def difference(self, now: FileState | None) -> str:
        """What happened to a file that was in this state, as words to follow its name; empty if nothing did.

        now : its state now; None if it is not a regular file
        """
        if now is not None and self.inode == _ANY:
            now = now.portable()
        if now is None or now[:2] != self[:2]:
            return "another file was put in its place"
        if now.size != self.size:
            return f"it has {now.size:,} bytes, and had {self.size:,} when reading was planned"
        if not self.size:  # files that the system makes up as they are read, in /proc, have no bytes and any time
            return ""
        if now.mtime_ns != self.mtime_ns:
            return "it was written to"
        return "it was moved or replaced, or its permissions changed" if now != self else ""

    def portable(self) -> FileState:
        """The state for other machines that share the file, which may number disks and files differently."""
        return self._replace(device=_ANY, inode=_ANY, ctime_ns=_ANY)


def state_of(path: Path | int) -> FileState | None:
    """The state of a file, by its path or its open descriptor; None for what is not a regular file."""
    # os.stat takes descriptors, too, but its error has the number in the place of a name.
    found = os.fstat(path) if isinstance(path, int) else os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        return None
    return FileState(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class LocalFile(NamedTuple):
    """A file, pipe or the like by its path, and how it was when it was found; see inputs.File.

    A file is opened again for each of its parts, in other processes, too, and all of them must find what was planned.
    """

    path: Path
    planned: FileState | None = None  # None for a pipe or the like, and for a missing file
    given: str = ""  # the user's name for it, where the path is another

    @property
    def name(self) -> str:
        return self.given or os.fspath(self.path)

    def size(self) -> int | None:
        return None if self.planned is None else self.planned.size

    def mtime_ns(self) -> int | None:
        return None if self.planned is None else self.planned.mtime_ns

    def check(self) -> None:
        """See File. Pipes are not opened: what is in them can be read once only."""
        check_readable(self.path)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        with open(self.path, "rb", buffering=0, opener=_opener(self.planned)) as file:
            self._check_unchanged(file)
            try:
                yield file
            except Exception:
                # What was read of a file that changed may look broken in many ways; this is the reason for them all.
                self._check_unchanged(file)
                raise
            self._check_unchanged(file)

    def _check_unchanged(self, file: BinaryIO) -> None:
        """Raise OSError where an open file is not what was planned."""
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
    """A file as it is now."""
    planned = None
    with suppress(OSError, ValueError):  # what `check` raises
        planned = state_of(path)
    return LocalFile(path, planned)


def _opener(planned: FileState | None) -> Callable[[str, int], int]:
    """How a file is opened: one that was a regular file never waits, as it would for a pipe that took its place."""
    flags = getattr(os, "O_NONBLOCK", 0) if planned is not None else 0
    return lambda path, others: os.open(path, others | flags)
