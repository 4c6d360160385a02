"""Opens remote files by their URLs, through fsspec."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, BinaryIO, NamedTuple

from ..optional_packages import require

# File systems that are never freed. In a forked process, fsspec drops the parent's file systems. If they were freed, that
# would close their connections, and remove them from the set that the parent's event loop waits for: it would hang.
_kept: set[Any] = set()


def _after_fork() -> None:
    """Let fsspec start a new thread in a forked process; versions before 2025.5 would wait for the parent's thread."""
    asyn = sys.modules.get("fsspec.asyn")
    if asyn is not None:
        asyn.reset_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class RemoteFile(NamedTuple):
    """A file by its URL; see inputs.File."""

    name: str  # the URL
    n_bytes: int | None
    path: None = None

    def size(self) -> int | None:
        return self.n_bytes

    def mtime_ns(self) -> None:
        """See File."""

    def check(self) -> None:
        """See File. `find_remote` has checked that it exists."""

    def open(self) -> BinaryIO:
        with naming_errors(self.name):
            # Each process opens its own connection, as connections do not survive a fork.
            filesystem, path = _resolve(self.name)
            return filesystem.open(path, "rb")

    def naming_errors(self) -> AbstractContextManager[None]:
        return naming_errors(self.name)


def local_path(url: str) -> str | None:
    """The path in a URL of this machine's file system; None for other URLs.

    Such a file is then treated like one given by its path, so that all checks for local files apply.
    """
    if url.partition(":")[0].lower() not in ("file", "local"):
        return None
    with naming_errors(url):
        return str(_resolve(url)[1])


def find_remote(url: str) -> list[RemoteFile]:
    """Find the file that a URL names, or if it is a pattern, the files that it matches, sorted by name.

    Raises FileNotFoundError, IsADirectoryError, ImportError if a package for this kind of URL is missing, and OSError for
    other errors; all name the URL.
    """
    with naming_errors(url):
        filesystem, path = _resolve(url)
        # In an HTTP URL, a question mark is no wildcard: it begins the query.
        magic = "*[" if url.lower().startswith("http") else "*[?"
        if any(character in path for character in magic) and not filesystem.exists(path):
            found = filesystem.glob(path, detail=True)
            files = [
                RemoteFile(filesystem.unstrip_protocol(name), info.get("size"))
                for name, info in sorted(found.items())
                if info.get("type") != "directory"
            ]
            if not files:
                raise FileNotFoundError("no file matches the pattern")
            return files
        info = filesystem.info(path)
        if info.get("type") == "directory":
            raise IsADirectoryError("it is a folder; give the text files in it")
        return [RemoteFile(url, info.get("size"))]


def _resolve(url: str) -> tuple[Any, str]:
    """fsspec's file system for a URL, and the path in it. The scheme is made lower case, as fsspec requires."""
    scheme, colon, rest = url.partition(":")
    filesystem, path = require("fsspec.core", url).url_to_fs(scheme.lower() + colon + rest)
    _kept.add(filesystem)  # if an equal one is there, that one stays
    return filesystem, path


@contextmanager
def naming_errors(url: str) -> Iterator[None]:
    """Convert any error to an OSError or ImportError that names the URL. (File systems raise errors of all kinds.)"""
    try:
        yield
    except Exception as error:
        if repr(url) in str(error):
            raise
        if isinstance(error, ImportError):
            raise ImportError(f"reading {url!r} needs a package that is missing: {error}") from error
        kinds = (FileNotFoundError, IsADirectoryError, PermissionError, OSError)
        kind = next((kind for kind in kinds if isinstance(error, kind)), OSError)
        reason = str(error) if type(error) in kinds else f"{type(error).__name__}: {error}"
        if "range requests" in reason:
            reason = "its server does not send parts of files (range requests), which this format needs; download it first"
        # For a missing file or an unreachable host, fsspec's message is only the path; the reason is in the cause, if any.
        if isinstance(error, FileNotFoundError) and url.endswith(reason.lstrip("/")):
            reason = str(error.__cause__ or "there is no such file")
        elif error.__cause__:
            reason += f" ({error.__cause__})"
        raise kind(f"{url!r} cannot be read: {reason}") from error
