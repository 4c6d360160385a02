"""The merges of a tokenizer.json, read from the bytes of the file without a Python object for each.

They are most of such a file. As objects, they took two thirds of the time of reading it.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...system.lazy import lazy
from ...system.paths import Path, check_tokenizer_file, checked_name
from ...text.utf8 import padded
from ..shared.json_text import parse_bytes
from ..vocab_json.packed_entries import ids_of_sides, packed_pairs

_LARGE = 1 << 18  # bytes of a file; `json` reads a smaller one in some milliseconds, before a kernel is loaded or compiled
_MERGES = re.compile(rb'"merges"[ \t\r\n]*:[ \t\r\n]*(\[)')


class MergesText:
    """The merges of a file.

    text   : uint8[*]           their sides, left, right, left, ..., one after another
    starts : int64[2 * n + 1]   where each starts in text
    """

    def __init__(self, source: bytes, text: NDArray[np.uint8], starts: NDArray[np.int64]) -> None:
        self._source = source
        self.text = text
        self.starts = starts

    def __len__(self) -> int:
        return len(self.starts) // 2

    @lazy
    def lines(self) -> list[Any]:
        """The merges as Python reads them."""
        lines: list[Any] = json.loads(self._source)
        return lines


def lines_of(merges: MergesText | list[Any]) -> list[Any]:
    """The merges of a file as Python reads them."""
    return merges.lines if isinstance(merges, MergesText) else merges


def ids_of(merges: MergesText | list[Any], entries: Mapping[str, Any]) -> NDArray[np.int32] | None:
    """The ids of left, right and result of each, int32[n, 3]; None if one of them is no entry, or is unusual."""
    if isinstance(merges, MergesText):
        return ids_of_sides(merges.text, merges.starts, entries)
    return packed_pairs(merges, entries)


def read_file(path: Path) -> Any:
    """What a tokenizer.json holds, as `read_json` gives it, except that merges may be a MergesText.

    The list of merges is read first, if it has nothing unusual, and then `json` reads the file with a mark in its place. If
    the mark does not come to be the merges of the model, or anything is wrong, `json` reads the whole file.
    """
    name = checked_name(path)
    check_tokenizer_file(name)
    with open(path, "rb") as file:
        data = file.read()
    return _with_merges_text(data, name) or parse_bytes(data, name)


def _with_merges_text(data: bytes, name: str) -> dict[str, Any] | None:
    """What a large file holds, with a MergesText; None if `json` must read the whole."""
    place = _MERGES.search(data) if len(data) >= _LARGE else None
    found = None if place is None else _read_merges(data, place.start(1))
    if place is None or found is None:
        return None
    merges, end = found
    mark = secrets.token_hex()
    try:
        document = parse_bytes(b'%b"%b"%b' % (data[: place.start(1)], mark.encode(), data[end:]), name)
        if document["model"]["merges"] != mark:
            return None
    except (ValueError, LookupError, TypeError):
        return None
    document["model"]["merges"] = merges
    return document


def _read_merges(data: bytes, start: int) -> tuple[MergesText, int] | None:
    """The merges of the list that begins at a place, and where it ends; None if `json` must read them."""
    from ...kernels.machine.intrinsics import BLOCK
    from ...kernels.records.json_merges import read_merges

    rest = data[start:]
    text = np.empty(len(rest) + BLOCK, dtype=np.uint8)
    starts = np.empty(rest.count(b'"') + 2, dtype=np.int64)
    n, end = read_merges(padded(rest + b"\0"), text, starts)
    if n < 0:
        return None
    starts = starts[: 2 * n + 1]
    return MergesText(rest[:end], text[: starts[-1]], starts), start + end
