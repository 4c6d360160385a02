"""Values, names, tokens, patterns and shares as short texts for messages, tables and pages."""

from __future__ import annotations

import itertools
import reprlib
import unicodedata
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
_MOST = 80  # characters of a value
_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = _MOST


def shown(value: object) -> str:
    """A value as errors quote it, shortened: a file that is one long line would hide the rest of the message."""
    # Repr shows only the first entries of containers.
    return cut(repr(value[:_MOST]) if isinstance(value, (str, bytes)) else _short.repr(value))


def shown_count(n: int) -> str:
    """A number for messages; a huge one, which Python is slow to write out or refuses to, as a power of two."""
    return f"{n:,}" if n.bit_length() <= 128 else f"about 2**{n.bit_length() - 1:,}"


def first_few(items: Sequence[T], most: int = 5, show: Callable[[T], str] = shown) -> str:
    """Items as a message lists them: the first of them, and dots for the others."""
    return ", ".join([*map(show, items[:most]), *["..."] * (len(items) > most)])


def cut(text: str, most: int = _MOST) -> str:
    """A text for an error message, without quotes, cut to `most` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: a Chinese character two, an accent by itself none."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def shortened(text: str, width: int) -> str:
    """A text for people to read, cut to a width in columns, with an ellipsis at its end if it was longer."""
    if columns(text) <= width:
        return text
    ends = itertools.accumulate(map(_columns_of, text))
    return "".join(character for character, end in zip(text, ends, strict=True) if end < width) + "…"


def printable(text: str) -> str:
    """A text, such as a file's name, as one line for any terminal: what is not printable is escaped, as repr does."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shown_token(token: bytes, most: int = 40) -> str:
    """A token for people to read: a quoted text, or bytes as Python writes them if it is not UTF-8; cut to `most`."""
    try:
        return shortened(repr(token.decode()), most)
    except UnicodeDecodeError:
        return shortened(repr(token), most)


def shown_pattern(spelling: str | list[str] | None) -> str:
    """A split pattern as one line."""
    return ", then ".join(spelling) if isinstance(spelling, list) else spelling or "none"


def percent(part: float, whole: float) -> str:
    """A share of a whole for people to read."""
    return f"{100 * part / whole:.1f} %" if whole else "-"
