"""Warns of files that are probably not plain text, or not what their names say, by their names and first bytes."""

from __future__ import annotations

import os
import re

from ..system.git_lfs import IS_LFS_POINTER, LARGEST_LFS_POINTER, is_lfs_pointer
from ..system.user_warnings import warn_user
from .first_bytes import begins_like
from .inputs import File
from .plain import PlainText

_BY_NAME = {
    ".csv .tsv": "is a table, whose separators and quotes would be text: write its column as .jsonl or .parquet, or in "
    "Python give what pyarrow.csv.open_csv opens",
    ".orc .avro": "is a table of a format that is not read: write its column as .parquet",
    ".html .htm .xml": "is markup, whose tags are text, too",
    ".doc .docx .xlsx .pdf .png .jpg .jpeg .gif .mp3 .mp4 .npy .bin .pt .pickle": "is not a text file by its name",
}
_JSON_RECORD = rb'(\xef\xbb\xbf)?(\[\s*)?\{\s*"[^"\n]*"\s*:'
_IS_JSON = (
    "begins like JSON, whose syntax is text, too: to read a field of its records, give a file or a named pipe whose name "
    "ends in .jsonl or .json"
)
_LOOKED_AT = 1 << 12  # bytes


def refuse_pointer(file: File) -> None:
    """Raise ValueError if a file of this machine, which should not be plain text, is a pointer of Git LFS."""
    if _is_pointer(file):
        raise ValueError(f"{file.name!r} {IS_LFS_POINTER}")


def _is_pointer(file: File) -> bool:
    size = file.size() if file.path is not None else None
    if not size or size > LARGEST_LFS_POINTER:  # larger files, of which there may be thousands, need not be opened
        return False
    with file.open() as raw:
        return is_lfs_pointer(raw, size)


def warn_of_other_formats(text: PlainText, name: str) -> None:
    """Warn if a file of plain text has the name of another format, contains NUL bytes, or begins like UTF-16, a compressed
    file, a table, JSON or a pointer of Git LFS.

    name : the result of `name_of` in finding.py
    """
    suffix = os.path.splitext(name.lower().removesuffix(text.compression))[1]
    problem = next((problem for suffixes, problem in _BY_NAME.items() if suffix in suffixes.split()), None)
    if not text.compression and _is_pointer(text.file):
        problem = IS_LFS_POINTER
    if problem is None and not text.compression and text.file.path is not None and text.size():
        with text.file.open() as file:
            start = file.read(_LOOKED_AT)
        problem = begins_like(start)
        if not problem and b"\0" in start:
            problem = "contains NUL bytes, which files of text do not have"
        if not problem and re.match(_JSON_RECORD, start):
            problem = _IS_JSON
    if problem:
        warn_user(f"{text.file.name!r} {problem}; it is read as plain text, byte for byte")
