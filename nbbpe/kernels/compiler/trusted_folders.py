"""Folders that code may be loaded from: only this user and root may write to them, or users who can change nbbpe itself.

A file of machine code is executed. So it is read only if no other user can have written it, as ssh does with its keys: each
folder of the path belongs to this user or to root, and others can write to none of them. A folder in which everybody may
create entries but only change their own (sticky, as /tmp) may be part of the path, as others cannot replace our entries
there: a private folder below /tmp is as good as any. Files are never stored in such a folder itself.

Windows has neither these owners nor these modes, and gives each user a cache folder that others cannot write to: there,
a folder must have an absolute path, and nothing else is checked.
"""

from __future__ import annotations

import contextlib
import glob
import os
import stat
import time
from abc import ABC, abstractmethod

_HAS_OWNERS = os.name != "nt"
_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_MAX_LINKS = 40  # as many as Linux follows
_LONGEST_WRITE = 3600.0  # seconds that a process may take to write a file, on a slow disk that other machines share


class Untrusted(Exception):
    """A folder or a file must not be used; the message says which, and why."""


class Folder(ABC):
    """A folder that may hold machine code.

    path : its path; it need not exist
    """

    def __init__(self, path: str) -> None:
        self.path = path

    @abstractmethod
    def check(self) -> str:
        """The path of this folder without symlinks. Raises Untrusted, or OSError if it is missing or not accessible."""

    @abstractmethod
    def make(self) -> str:
        """Make this folder unless it exists; then return and raise as `check`."""

    def owners(self) -> set[int]:
        """The users whose files may be read."""
        return {0, os.geteuid()} if _HAS_OWNERS else set()

    def is_trusted(self, found: os.stat_result) -> bool:
        """Whether only the owners can write to a file or folder with this status."""
        return not _HAS_OWNERS or (found.st_uid in self.owners() and not found.st_mode & _BY_OTHERS)

    def read(self, name: str) -> bytes:
        """The content of a file. Raises Untrusted if others could have written it, OSError if it cannot be read."""
        path = os.path.join(self.check(), name)
        # Do not follow symlinks, or wait for the writer of a pipe.
        descriptor = os.open(path, os.O_RDONLY | _flags("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
        try:
            # Check the file that was opened; there may be another one by now.
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise Untrusted(f"{path} is not a regular file")
            if not self.is_trusted(found):
                raise Untrusted(f"others can write to {path}")
            with open(descriptor, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(descriptor)

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically, as readable as this folder. Partial files of processes that were killed are removed.

        Raises Untrusted, or OSError.
        """
        folder = self.make()
        path = os.path.join(folder, name)
        partial = f"{path}.{os.urandom(8).hex()}"
        readable = 0o600 | (os.stat(folder).st_mode & 0o044)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _flags("O_CLOEXEC", "O_BINARY"), 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                if _HAS_OWNERS:
                    with contextlib.suppress(OSError):  # a file system without modes
                        os.fchmod(descriptor, readable)
            os.replace(partial, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.remove(partial)
            raise
        # Partial files of all names, as some names, such as those of former sources, are never written again.
        kind = os.path.splitext(name)[1]
        for left in glob.glob(os.path.join(glob.escape(folder), f"*{glob.escape(kind)}.{'[0-9a-f]' * 16}")):
            with contextlib.suppress(OSError):
                if os.stat(left).st_mtime < time.time() - _LONGEST_WRITE:
                    os.remove(left)


class PrivateFolder(Folder):
    """A folder that only this user, or root, can write to."""

    def check(self) -> str:
        return _real_path(self.path, self.owners())

    def make(self) -> str:
        if not os.path.isabs(self.path):
            raise _not_absolute(self.path)
        self._make(os.path.normpath(self.path))
        return self.check()

    def _make(self, path: str) -> str:
        try:
            return _real_path(path, self.owners(), may_be_sticky=True)
        except FileNotFoundError:
            if path == os.path.dirname(path):
                raise
            parent = self._make(os.path.dirname(path))
        made = os.path.join(parent, os.path.basename(path))
        with contextlib.suppress(FileExistsError):  # made by another process; `check` tests its owner
            os.mkdir(made, 0o700)
        return made


class InstalledFolder(Folder):
    """A folder inside the folder of the sources: users who can write to it can also change the code that runs.

    So it is as trustworthy as the sources, whoever owns them; and users who can read the sources can read it.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._sources = os.path.dirname(path)

    def owners(self) -> set[int]:
        return super().owners() | {os.stat(self._sources).st_uid}

    def is_trusted(self, found: os.stat_result) -> bool:
        """Whether only the owners, and users who can write to the folder of the sources, can write to a file or folder.

        With a umask of 002, pip lets the group write to each file and folder that it installs.
        """
        if not _HAS_OWNERS:
            return True
        sources = os.stat(self._sources)
        also = sources.st_mode if found.st_gid == sources.st_gid else sources.st_mode & ~stat.S_IWGRP
        return found.st_uid in self.owners() and not found.st_mode & _BY_OTHERS & ~also

    def check(self) -> str:
        found = os.lstat(self.path)
        if not stat.S_ISDIR(found.st_mode):
            raise Untrusted(f"{self.path} is not a folder")
        if not self.is_trusted(found):
            raise Untrusted(f"{self.path} can be written to by others than the folder that contains it")
        return self.path

    def make(self) -> str:
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.path, 0o700)
            if _HAS_OWNERS:
                os.chmod(self.path, 0o700 | (os.stat(self._sources).st_mode & 0o055))
        return self.check()


def _real_path(path: str, owners: set[int], may_be_sticky: bool = False) -> str:
    """The path of a folder without symlinks, if only the owners can replace any part of it.

    may_be_sticky : whether others may create entries in the folder itself, but not change those of others

    Raises Untrusted, or OSError if the folder is missing or not accessible.
    """
    if not os.path.isabs(path):
        raise _not_absolute(path)
    if not _HAS_OWNERS:
        os.stat(path)
        return path
    current = "/"
    found = os.lstat(current)
    _check_entry(current, found, owners)
    parts = path.split("/")[::-1]
    n_links = 0
    while parts:
        part = parts.pop()
        entry = os.path.normpath(os.path.join(current, part))
        entry_found = os.lstat(entry)
        _check_entry(entry, entry_found, owners)
        if stat.S_ISLNK(entry_found.st_mode):
            n_links += 1
            if n_links > _MAX_LINKS:
                raise Untrusted(f"{path} leads through too many symlinks")
            target = os.readlink(entry)
            parts += target.split("/")[::-1]
            if os.path.isabs(target):
                current, found = "/", os.lstat("/")
            continue
        current, found = entry, entry_found
    if not may_be_sticky and found.st_mode & _BY_OTHERS:
        raise Untrusted(f"others can write to {current}")
    return current


def _check_entry(path: str, found: os.stat_result, owners: set[int]) -> None:
    if found.st_uid not in owners:
        raise Untrusted(f"{path} belongs to another user (uid {found.st_uid})")
    if stat.S_ISLNK(found.st_mode):
        return  # a symlink has no mode; its folder determines who can replace it
    if not stat.S_ISDIR(found.st_mode):
        raise Untrusted(f"{path} is not a folder")
    if found.st_mode & _BY_OTHERS and not found.st_mode & stat.S_ISVTX:
        raise Untrusted(f"others can write to {path}")


def _not_absolute(path: str) -> Untrusted:
    return Untrusted(f"{path!r} is not an absolute path")


def _flags(*names: str) -> int:
    """The flags of os.open with these names, combined; without those that this system lacks."""
    return sum(getattr(os, name, 0) for name in names)
