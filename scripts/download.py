"""Download a file over HTTP: resumable, its size checked, with a progress bar."""

from __future__ import annotations

import http.client
import os
import re
import time
import urllib.error
import urllib.request
from pathlib import Path

from progress_bar import ProgressBar

TIMEOUT = 10.0  # seconds to connect and for the next bytes to come; short: without a network one knows soon
ATTEMPTS = 5
BLOCK_BYTES = 1 << 20


class DownloadError(Exception):
    """The file could not be fetched; the message is one line. What came is kept in the `.part` file."""


class _Interrupted(Exception):
    """The connection failed on the way; another attempt may carry on."""


def part_path(path: Path) -> Path:
    """Return the path under which a download to `path` grows until it is whole."""
    return path.with_name(path.name + ".part")


def download(url: str, path: str | os.PathLike[str], timeout: float = TIMEOUT, attempts: int = ATTEMPTS) -> int:
    """Fetch `url` into the file `path`, which appears under its name only when it is whole.

    The bytes go to `path` + `.part`; if that is there from an earlier download, only the rest is fetched. A connection
    that breaks is taken up again, at most `attempts` times and only as long as each attempt brings something.

    Returns the size in bytes. Raises DownloadError if the server cannot be reached, refuses, does not say how long the
    file is or sends another length; OSError if the file cannot be written.
    """
    path = Path(path)
    part = part_path(path)
    for attempt in range(1, attempts + 1):
        before = _size(part)
        try:
            size = _fetch_rest(url, part, timeout)
            os.replace(part, path)
            return size
        except _Interrupted as error:
            if attempt == attempts or _size(part) <= before:
                raise DownloadError(str(error)) from error
            time.sleep(1.0)
    raise ValueError(f"attempts must be at least 1, not {attempts}")


def _fetch_rest(url: str, part: Path, timeout: float) -> int:
    """Append what `part` lacks of `url` and return the full size in bytes. Raises _Interrupted or DownloadError."""
    have = _size(part)
    request = urllib.request.Request(url, headers={"User-Agent": "nbbpe"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        response = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not have:
            raise DownloadError(f"{url}: the server answered {error.code} {error.reason}") from error
        # Nothing lies beyond what we have: it is whole, or it belongs to another file.
        if _total(error.headers.get("Content-Range", "")) == have:
            return have
        part.unlink()
        return _fetch_rest(url, part, timeout)
    except (OSError, http.client.HTTPException) as error:
        raise _Interrupted(f"{url}: {_reason(error)}") from error
    with response:
        if response.status == http.HTTPStatus.PARTIAL_CONTENT:
            content_range = response.headers.get("Content-Range", "")
            total = _total(content_range)
            if not content_range.startswith(f"bytes {have}-"):
                raise DownloadError(f"{url}: asked for the bytes from {have}, the server sends {content_range!r}")
        else:  # the whole file, whatever we asked for
            have = 0
            length = response.headers.get("Content-Length", "")
            total = int(length) if length.isdigit() else None
        if total is None:
            raise DownloadError(f"{url}: the server does not say how long the file is")
        _append(response, url, part, have, total)
    size = _size(part)
    if size < total:
        raise _Interrupted(f"{url}: the connection ended after {size:,} of {total:,} bytes")
    if size > total:
        part.unlink()
        raise DownloadError(f"{url}: {size:,} bytes came where {total:,} were announced")
    return total


def _append(response: http.client.HTTPResponse, url: str, part: Path, have: int, total: int) -> None:
    """Write the body of `response` to `part` behind its first `have` bytes (0 or all it has)."""
    with ProgressBar(part.stem, total, initial=have) as bar, open(part, "ab" if have else "wb") as file:
        while True:
            try:
                block = response.read(BLOCK_BYTES)
            except http.client.IncompleteRead as error:
                file.write(error.partial)
                return
            except (OSError, http.client.HTTPException) as error:
                raise _Interrupted(f"{url}: {_reason(error)}") from error
            if not block:
                return
            file.write(block)
            bar.update(len(block))


def _size(path: Path) -> int:
    """Return the size of a file in bytes, 0 if it is not there."""
    return path.stat().st_size if path.exists() else 0


def _total(content_range: str) -> int | None:
    """Return the length of the whole file from a Content-Range header such as `bytes 5-9/10`; None without one."""
    found = re.fullmatch(r"bytes (?:\d+-\d+|\*)/(\d+)", content_range)
    return int(found[1]) if found else None


def _reason(error: Exception) -> str:
    """Return why a connection failed, in a line."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return "no answer in time"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return " ".join(str(cause).split()) or type(cause).__name__
