"""An extension of griffe: this project's docstrings as Markdown.

They are written to be read in a terminal: underlined headings, and `name : what it is` with what follows indented. Here
that becomes a bold heading, and a list.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

# A name, or several, at the left; what it is after a colon, or indented on the lines below.
_ITEM = re.compile(r"(?P<names>[\w.]+(?:, [\w.]+)*)(?: *: +(?P<text>.+)|(?P<aligned> {2,}\S.*))")
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
    in_section = in_list = False
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if following and set(following) == {"-"}:
            in_section, in_list = line in _SECTIONS, False
            written += [f"**{line}**", ""]
            continue
        if line and set(line) == {"-"}:
            continue
        item = _ITEM.fullmatch(line)
        alone = in_section and re.fullmatch(r"[\w.]+(?:, [\w.]+)*", line) and following.startswith("    ")
        if item or alone:
            if not in_list and written and written[-1]:
                written.append("")
            in_list = True
            names = item["names"] if item else line
            text = (item["text"] or item["aligned"].strip()) if item else ""
            named = ", ".join(f"`{name}`" for name in names.split(", "))
            written.append(f"- {named}: {plain(text)}".rstrip())
        elif in_list and (line.startswith("    ") or not line):
            # A list item's own lines are indented by four already; a deeper alignment would be a block of code.
            written.append("    " + plain(line.strip()) if line else "")
        else:
            in_list = False
            written.append(line if line.startswith("    ") else plain(line))
    return "\n".join(written) + "\n"


def plain(text: str) -> str:
    """Text whose stars are stars, as in `data/*.txt`, and no emphasis."""
    return re.sub(r"`[^`]*`|\*", lambda found: "\\*" if found[0] == "*" else found[0], text)
