"""Recognises by its first bytes a file that is not text or JSON, although its name says so."""

from __future__ import annotations

import re

from ..system.utf16 import BEGINS_LIKE_UTF_16, begins_like_utf_16

_COMPRESSED = "begins like a file of {}: decompress it, or add {} to its name"
_TABLE = "begins like {}: give it a name that ends in {}"
# Hardly any text begins like these: most of them have a NUL byte, or are invalid UTF-8.
_BEGINNINGS = {
    rb"\x1f\x8b": _COMPRESSED.format("gzip", ".gz"),
    rb"BZh[1-9]1AY&SY": _COMPRESSED.format("bzip2", ".bz2"),
    rb"\xfd7zXZ\x00": _COMPRESSED.format("xz", ".xz"),
    rb"\x28\xb5\x2f\xfd": _COMPRESSED.format("Zstandard", ".zst"),
    rb"ARROW1\x00\x00": _TABLE.format("an Arrow file", ".arrow"),
    rb"PAR1\x15": _TABLE.format("parquet", ".parquet"),
    rb"PK\x03\x04": "begins like a zip archive: extract its files first",
}


def begins_like(start: bytes) -> str:
    """A message about a file that begins with these bytes, if it is not text; else ""."""
    if begins_like_utf_16(start):
        return BEGINS_LIKE_UTF_16
    return next((problem for beginning, problem in _BEGINNINGS.items() if re.match(beginning, start)), "")


def refuse_other(start: bytes, name: str) -> None:
    """Raise ValueError if a file of records begins like a file of another format."""
    if problem := begins_like(start):
        raise ValueError(f"{name} {problem}")
