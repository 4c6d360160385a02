"""Parts of files in a form in which other processes, perhaps on other machines, can find and recognise them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...system.paths import absolute
from ..inputs import Part
from .local import LocalFile


def portable_part(part: Any) -> Part:
    """A part that can be read wherever its file is found under the same path or URL.

    Raises TypeError for a source that only this process has.
    """
    file = getattr(part, "file", None)
    if file is None:
        raise TypeError("executor= needs a source of files: an iterator or a table can be read in this process only")
    if not isinstance(file, LocalFile):
        return part
    planned = None if file.planned is None else file.planned.portable()
    return replace(part, file=LocalFile(absolute(file.path), planned, file.name))
