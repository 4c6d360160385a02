"""Converts parts of files to a form that processes on other machines can use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...system.paths import absolute
from ..inputs import Part
from .local import LocalFile


def portable_part(part: Any) -> Part:
    """Convert a part so that it can be read on any machine where its file has the same path or URL.

    Raises TypeError for a source that can only be read in this process.
    """
    file = getattr(part, "file", None)
    if file is None:
        raise TypeError("executor= needs a source of files: an iterator or a table can be read in this process only")
    if not isinstance(file, LocalFile):
        return part
    planned = None if file.planned is None else file.planned.portable()
    return replace(part, file=LocalFile(absolute(file.path), planned, file.name))
