"""Remote files, named by a URL and read through fsspec."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, BinaryIO, NamedTuple

from ..optional_packages import require

# File systems that are never freed. In a forked process, fsspec drops those of the parent, which would close their
# connections there, and so remove them from what the parent's event loop waits for: it would wait without end.
_kept: set[Any] = set()


def _after_fork() -> None:
    """Let fsspec start its own thread in a forked process; versions before 2025.5 wait for that of the parent."""
    asyn = sys.modules.get("fsspec.asyn")
    if asyn is not None:
        asyn.reset_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class RemoteFile(NamedTuple):
    """A file by its URL; see inputs.File."""

    name: str  # its URL
    n_bytes: int | None
    path: None = None

    def size(self) -> int | None:
        return self.n_bytes

    def mtime_ns(self) -> None:
        """See File."""

    def check(self) -> None:
        """See File. There was one when it was found."""

    def open(self) -> BinaryIO:
        with naming_errors(self.name):
            # Each process opens its own connection: those of a parent do not survive a fork.
            filesystem, path = _resolve(self.name)
            return filesystem.open(path, "rb")

    def naming_errors(self) -> AbstractContextManager[None]:
        return naming_errors(self.name)


def local_path(url: str) -> str | None:
    """The path that a URL of this machine's own file system names; None for any other URL.

    Its files are read as those that are named by a path: so it is known which file it is, and whether it is to be written.
    """
    if url.partition(":")[0].lower() not in ("file", "local"):
        return None
    with naming_errors(url):
        return str(_resolve(url)[1])


def find_remote(url: str) -> list[RemoteFile]:
    """The file that a URL names, or the files, sorted by name, that it matches as a pattern.

    Raises FileNotFoundError, IsADirectoryError, ImportError where a package for this kind of URL is missing, and OSError
    for what else stands in the way; all name the URL.
    """
    with naming_errors(url):
        filesystem, path = _resolve(url)
        # In a URL, a question mark begins the query.
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
    """fsspec's file system for a URL, and the path in it. The scheme may be in capitals, of which fsspec knows none."""
    scheme, colon, rest = url.partition(":")
    filesystem, path = require("fsspec.core", url).url_to_fs(scheme.lower() + colon + rest)
    _kept.add(filesystem)  # of two that are equal, the first stays
    return filesystem, path


@contextmanager
def naming_errors(url: str) -> Iterator[None]:
    """Turn any error about a URL into an OSError or ImportError that names it. File systems raise errors of all kinds."""
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
            reason = "its server sends no parts of files, which this format needs (HTTP range requests); download it first"
        # Of a missing file, fsspec gives only the path; if a host cannot be reached, too, and the cause has the reason.
        if isinstance(error, FileNotFoundError) and url.endswith(reason.lstrip("/")):
            reason = str(error.__cause__ or "there is no such file")
        elif error.__cause__:
            reason += f" ({error.__cause__})"
        raise kind(f"{url!r} cannot be read: {reason}") from error
