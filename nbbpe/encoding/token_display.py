"""Display tokens: as text in which everything is visible, with coloured backgrounds."""

from __future__ import annotations

import itertools
import os
import sys
import unicodedata
from collections.abc import Iterable
from typing import TextIO

from ..system.choices import check_bool_or_none
from ..text.utf8 import to_text

COLOURS = [("#cfe5ff", 153), ("#d3f0c8", 157), ("#fff0b0", 229), ("#ffd5d8", 217), ("#e5d8ff", 183)]  # HTML, terminal
_RESET = "\x1b[0m"


def visible(token: bytes) -> str:
    """A token as text in which everything is visible: invalid UTF-8, control characters, unusual spaces.

    A line feed stays, after its symbol.
    """
    text = to_text(token)
    if unicodedata.category(text[0]).startswith("M"):
        text = "\u25cc" + text  # a mark combines with a dotted circle, not with the token before it
    return "".join(map(_visible_character, text))


def _visible_character(character: str) -> str:
    code = ord(character)
    if character.isprintable():
        return character
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x20:
        return chr(0x2400 + code) + ("\n" if character == "\n" else "")
    if code == 0x7F:
        return "\u2421"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def show(tokens: Iterable[bytes], file: TextIO | None, color: bool | None) -> None:
    """Print tokens so that their ends are visible: with coloured backgrounds, or with | between them.

    file  : None for standard output
    color : None for colours where the file is a terminal, and the environment has no NO_COLOR
    """
    color = check_bool_or_none("color", color)
    file = sys.stdout if file is None else file
    if file is None:  # a process without standard output, where print writes nothing either
        return
    if color is None:
        # Notebooks show colours, though their output is not a terminal.
        is_notebook = type(file).__module__.startswith("ipykernel.")
        has_colours = is_notebook or (getattr(file, "isatty", bool)() and os.environ.get("TERM") != "dumb")
        color = has_colours and not os.environ.get("NO_COLOR")
    shown = map(visible, tokens)
    text = "".join(map(_coloured, shown, itertools.cycle(COLOURS))) if color else "|".join(shown)
    # What the file's encoding cannot hold (a terminal that is not UTF-8) is escaped.
    encoding = getattr(file, "encoding", None) or "utf-8"
    file.write(text.encode(encoding, errors="backslashreplace").decode(encoding) + "\n")


def _coloured(text: str, colours: tuple[str, int]) -> str:
    """Text with a coloured background for a terminal; the colour stops at line ends, because it would otherwise fill the
    line."""
    begin = f"\x1b[30;48;5;{colours[1]}m"
    return begin + text.replace("\n", f"{_RESET}\n{begin}") + _RESET
