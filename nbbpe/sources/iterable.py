"""Reads an iterable of documents, once and in this process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..system.user_warnings import warn_user
from ..text.utf8 import Text, one_to_bytes
from ..text.windows import DocumentReader, Windows
from .inputs import ReadOnce
from .places import Document
from .tally import Tally

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens

LONGEST_NAME = 4096  # characters


class Documents(ReadOnce):
    """Documents as str or bytes: an Input, and its only Part. Errors that the iterable raises are passed on.

    argument : the name of the argument, for warnings
    """

    in_python = True

    def __init__(self, documents: Iterable[Text], argument: str = "documents") -> None:
        self._documents = documents
        self._argument = argument

    def is_read_once(self) -> bool:
        return isinstance(self._documents, Iterator)

    @contextmanager
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> Iterator[Windows]:
        yield DocumentReader(self._as_bytes(tally), specials, separator)

    def _as_bytes(self, tally: Tally) -> Iterator[bytes]:
        is_empty = True
        for number, document in enumerate(_no_names(self._documents)):
            is_empty = False
            if document is None and tally.skips:  # like a null in a column
                tally.malformed(Document(number), "the text is None, and must be str or bytes")
                continue
            data = one_to_bytes(document, "document", number)
            tally.n_read += len(data)
            yield data
        if is_empty and isinstance(self._documents, Iterator):
            warn_of_nothing(f"{self._argument} is an iterator that gives no document")


def _no_names(documents: Iterable[Text]) -> Iterator[Text]:
    """Yield the documents. Warns if the first is the name of a file, as from glob.iglob; raises TypeError for a path."""
    iterator = iter(documents)
    for first in iterator:
        if isinstance(first, os.PathLike):
            raise TypeError(f"the source gives paths ({first!r}), so it must be a list or a tuple of them: list(paths)")
        if isinstance(first, str):
            warn_of_name(first)
        yield first
        break
    yield from iterator


def warn_of_nothing(problem: str) -> None:
    """Warn about an iterator that gives no documents, probably because it was used before."""
    warn_user(f"{problem}: if it was used before, it is at its end, so make a new one for each use")


def warn_of_name(first: str | bytes) -> None:
    """Warn if the first of many texts is the name of a file."""
    if len(first) <= LONGEST_NAME and os.path.isfile(first):
        warn_user(
            f"the first text is the name of a file, {str(os.fsdecode(first))!r}, and is treated as a text; to read files, "
            "give a list or a tuple of their names"
        )
