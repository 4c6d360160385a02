"""Finds the files that a pattern of paths matches, such as "data/**/*.txt".

The result is that of Python's `glob`, without two of its faults: it silently skips folders that it may not read; and with
**, it follows a symlink to a parent folder again and again, so that it finds each file 41 times, or with two such symlinks
does not end. Files that nbbpe has written itself (files of ids, and kept parts of a run that can be resumed) are excluded:
otherwise they would be sources when the same run is repeated.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from ...system.beside_ids import files_of_ids
from ...system.kept_folder import is_kept_folder
from ...system.paths import file_of


class Matches(NamedTuple):
    """The result for a pattern.

    files  : the paths of files, sorted, each once; no folders
    closed : the folders that could not be searched, sorted
    """

    files: list[str]
    closed: list[str]


def is_pattern(name: str) -> bool:
    """Whether a path has wildcards."""
    return glob.has_magic(name)


def find_matches(pattern: str) -> Matches:
    """Find the files that a pattern matches; ** matches any folders."""
    drive, rest = os.path.splitdrive(pattern)
    rest = rest.replace(os.altsep, os.sep) if os.altsep else rest
    parts = [part for part in rest.split(os.sep) if part]
    if rest.endswith(os.sep):  # matches folders only, so no file
        parts.append("")
    search = _Search()
    # A set, as **/** finds a file several times, once for each way to divide its folders between the two.
    found = set(search.matches(drive + os.sep * rest.startswith(os.sep), parts))
    kept = set(filter(is_kept_folder, set(map(os.path.dirname, found))))
    ours = set(files_of_ids(found))
    files = sorted(
        path for path in found if path not in ours and not os.path.isdir(path) and os.path.dirname(path) not in kept
    )
    return Matches(files, sorted(search.closed))


class _Search:
    """Searches for paths that a pattern matches; adds folders that cannot be searched to `closed`."""

    def __init__(self) -> None:
        self.closed: set[str] = set()

    def matches(self, folder: str, parts: list[str]) -> Iterator[str]:
        """Yield the paths in a folder that match `parts`, the components of a pattern."""
        if not parts:
            yield folder
            return
        part, *rest = parts
        if part == "**":
            for each in self._with_folders_below(folder):
                yield from self.matches(each, rest or ["*"])
        elif is_pattern(part):
            is_match = re.compile(fnmatch.translate(os.path.normcase(part))).match
            for entry in self._entries(folder):
                is_hidden = entry.name.startswith(".") and not part.startswith(".")
                if not is_hidden and is_match(os.path.normcase(entry.name)) and (not rest or self._is_folder(entry)):
                    yield from self.matches(os.path.join(folder, entry.name), rest)
        elif self._has(folder, part):
            yield from self.matches(os.path.join(folder, part), rest)

    def _with_folders_below(self, folder: str) -> Iterator[str]:
        """Yield a folder and all folders below it that are not hidden, without following a symlink to a parent folder."""
        left = [(folder, frozenset([file_of(folder or os.curdir)]))]
        while left:
            each, above = left.pop()
            yield each
            for entry in self._entries(each):
                if entry.name.startswith(".") or not self._is_folder(entry):
                    continue
                path = os.path.join(each, entry.name)
                if (file := file_of(path)) not in above:
                    left.append((path, above | {file}))

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        """The entries of a folder; [] if it does not exist or cannot be searched."""
        try:
            with os.scandir(folder or os.curdir) as entries:
                return list(entries)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError:
            self.closed.add(folder or os.curdir)
            return []

    def _is_folder(self, entry: os.DirEntry[str]) -> bool:
        """Whether an entry is a folder, or a symlink to one."""
        try:
            return entry.is_dir()
        except PermissionError:
            self.closed.add(os.path.dirname(entry.path))
        except OSError:  # a symlink to itself
            pass
        return False

    def _has(self, folder: str, name: str) -> bool:
        """Whether a folder has an entry of this name."""
        try:
            os.lstat(os.path.join(folder, name))
            return True
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            self.closed.add(folder or os.curdir)
            return False
