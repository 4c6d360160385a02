"""Concatenates encoded parts in order: their ids in one file, and the ends of their documents beside it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..system.lazy import imported_on_use
from .document_ends import append_ends, ends_path
from .manifest import Finished

shutil: Any = imported_on_use("shutil")


class JoinedParts:
    """The file "0" of a folder, in which finished parts are joined in order, with their document ends beside it.

    n_ids : the number of ids joined
    ends  : the document ends of parts that are not joined yet, by part number, if no file holds them
    """

    def __init__(self, folder: str, first_file: int, copies: bool, n_parts: int, finished: Mapping[int, Finished]) -> None:
        """Part i is in file `first_file` + i; `n_parts` are joined already; without `copies`, a Joiner writes the ids.

        finished : the finished parts, by number; the caller adds more
        """
        self._folder = folder
        self._first_file = first_file
        self._copies = copies
        self._n_parts = n_parts
        self._finished = finished
        self.n_ids = sum(finished[number].n_ids for number in range(n_parts))
        self.ends: dict[int, NDArray[np.int64]] = {}

    def join(self) -> None:
        """Join all parts that are finished and come next in order."""
        whole = os.path.join(self._folder, "0")
        while self._n_parts in self._finished:
            part = os.path.join(self._folder, str(self._first_file + self._n_parts))
            if (ends := self.ends.pop(self._n_parts, None)) is not None:
                append_ends(ends_path(whole), ends, self.n_ids)
            elif part != whole:
                has_ends = self._finished[self._n_parts].n_ends > 0
                if has_ends:
                    append_ends(ends_path(whole), ends_path(part), self.n_ids)
                if self._copies:
                    _append(whole, part)
                    os.remove(part)
                if has_ends:  # removed last: if a run is killed before, a resumed one still finds the part whole
                    os.remove(ends_path(part))
            self.n_ids += self._finished[self._n_parts].n_ids
            self._n_parts += 1


def _append(whole: str, part: str) -> None:
    """Append the file `part` to the file `whole`; within the operating system, if the system and the disk support that."""
    with open(part, "rb", buffering=0) as file:
        if sys.platform == "linux":
            # Not every file system supports sendfile. The rest is copied below, and an error of writing is raised there.
            with suppress(OSError), open(whole, "r+b", buffering=0) as out:
                out.seek(0, os.SEEK_END)
                while os.sendfile(out.fileno(), file.fileno(), None, 1 << 30):
                    pass
        with open(whole, "ab") as rest:
            shutil.copyfileobj(file, rest, 1 << 20)
