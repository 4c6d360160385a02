"""What nbbpe writes beside a file of ids, `corpus.bin`: its sidecar, `corpus.bin.json`, and `corpus.bin.ends`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

SIDECAR, ENDS = ".json", ".ends"
IDS_FORMAT = "nbbpe ids"
_BEGIN = re.compile(rb'\{\s*"format":\s*"%s"' % IDS_FORMAT.encode())
_LONGEST = 64  # bytes of what `_BEGIN` finds


def files_of_ids(paths: Iterable[str]) -> Iterator[str]:
    """The names of files of ids, and of those beside them, as far as their sidecars are among some paths."""
    for path in paths:
        ids_path = path.removesuffix(SIDECAR)
        if path.endswith(SIDECAR) and os.path.isfile(ids_path) and _is_sidecar(path):
            yield from (path, ids_path, ids_path + ENDS)


def _is_sidecar(path: str) -> bool:
    """Whether a file is a sidecar; False for what is no file, or may not be read."""
    with suppress(OSError):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return _BEGIN.match(file.read(_LONGEST)) is not None
    return False
