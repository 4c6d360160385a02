"""Names of the files beside a file of ids `corpus.bin`: its sidecar `corpus.bin.json`, and `corpus.bin.ends`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

SIDECAR, ENDS = ".json", ".ends"
IDS_FORMAT = "nbbpe ids"
_BEGIN = re.compile(rb'\{\s*"format":\s*"%s"' % IDS_FORMAT.encode())
_LONGEST = 64  # bytes to read; a match of `_BEGIN` is shorter


def files_of_ids(paths: Iterable[str]) -> Iterator[str]:
    """For each sidecar among `paths` whose file of ids exists, yield its path, that of the ids, and that of the ends."""
    for path in paths:
        ids_path = path.removesuffix(SIDECAR)
        if path.endswith(SIDECAR) and os.path.isfile(ids_path) and _is_sidecar(path):
            yield from (path, ids_path, ids_path + ENDS)


def _is_sidecar(path: str) -> bool:
    """Whether a path is a sidecar; False if it is not a regular file, or cannot be read."""
    with suppress(OSError):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return _BEGIN.match(file.read(_LONGEST)) is not None
    return False
