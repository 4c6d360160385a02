"""An extension of griffe: this project's docstrings as Markdown.

They are written to be read in a terminal: underlined headings, `name : what it is` with more below it indented, and
examples with `>>>`. Here these become bold headings, definition lists (an entry for each name) and blocks of code.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

# A name, or several, at the left margin; what it is follows after a colon, or indented on the lines below.
_NAMES = r"(?P<names>[*\w.]+(?:, [*\w.]+)*)"
_ITEM = re.compile(rf"{_NAMES}(?: *: +(?P<text>.+)|(?P<aligned> {{2,}}\S.*))")
_ALONE = re.compile(_NAMES)
_SECTIONS = {"Parameters", "Attributes", "Returns", "Raises", "Yields"}


class Docstrings(griffe.Extension):
    """Rewrites the docstring of every object as it is read."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(docstring: str) -> str:
    """A docstring as Markdown."""
    lines = docstring.splitlines()
    written: list[str] = []
    in_section = in_item = in_example = False
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if in_example and not line.strip():
            in_example = False
            written += ["```", ""]
        elif in_example:
            written.append(line)
        elif line.startswith(">>> "):
            in_item, in_example = False, True
            written += ["", "```pycon", line]
        elif following and set(following) == {"-"}:
            in_section, in_item = line in _SECTIONS, False
            written += ["", f"**{line}**", ""]
        elif line and set(line) == {"-"}:
            pass  # under a heading
        elif item := _ITEM.fullmatch(line) or (
            _ALONE.fullmatch(line) if in_section and following.startswith("    ") else None
        ):
            in_item = True
            found = item.groupdict()
            text = found.get("text") or (found.get("aligned") or "").strip()
            written += ["", ", ".join(f"`{name}`" for name in item["names"].split(", "))]
            written += [f":   {plain(text)}"] if text else []
        elif in_item and (line.startswith("    ") or not line):
            # The text of an entry is indented by four already; a deeper alignment would be a block of code.
            begin = ":   " if _ALONE.fullmatch(lines[number - 1]) else "    "  # the first line below a name
            written.append(begin + plain(line.strip()) if line else "")
        else:
            in_item = False
            written.append(line if line.startswith("    ") else plain(line))
    if in_example:
        written.append("```")
    return "\n".join(written).strip("\n") + "\n"


def plain(text: str) -> str:
    """Text whose stars are stars, as in `data/*.txt`, and no emphasis."""
    return re.sub(r"`[^`]*`|\*", lambda found: "\\*" if found[0] == "*" else found[0], text)
