"""Detect files in UTF-16, as PowerShell 5 writes the output of a command, where UTF-8 is expected."""

from __future__ import annotations

_MARKS = (b"\xff\xfe", b"\xfe\xff")  # neither is ever in UTF-8
BEGINS_LIKE_UTF_16 = (
    "begins like UTF-16: convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8, or in PowerShell Out-File -Encoding utf8)"
)


def begins_like_utf_16(start: bytes) -> bool:
    """Whether the first bytes of a file are the mark of UTF-16."""
    return start.startswith(_MARKS)


def refuse_utf_16(start: bytes, name: str) -> None:
    """Raise ValueError for a file that begins like UTF-16, as nothing of it can be read."""
    if begins_like_utf_16(start):
        raise ValueError(f"{name} {BEGINS_LIKE_UTF_16}")
