"""The Markdown pages of the project, and what of their fenced blocks is to be run.

An HTML comment on the line before a block says what is not plain:

    <!-- needs: torch, transformers -->   run only where these modules can be found
    <!-- not run: why -->                 never run
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

RUN = {"python": "python", "bash": "shell"}  # by language; blocks of all others are never run
SHOWN = {"text", "json"}
_COMMANDS = re.compile(r"nbbpe |python -m nbbpe ")
_FENCE = re.compile(r"(?P<indent> *)(?P<ticks>```+|~~~+) *(?P<language>.*?) *")
_MARK = re.compile(r" *<!-- (?P<kind>needs|not run): (?P<text>.+?) -->")
_HOLDS_INDENTED = re.compile(r"[-*] |\d+\. |!!! |\?\?\? |=== |::: ")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    page  : path, relative to the folder of the project
    line  : number of its first line of code
    kind  : "python", "shell", or "" where it is not run
    needs : modules without which it cannot run
    """

    page: str
    line: int
    kind: str
    code: str
    needs: tuple[str, ...] = ()


def pages(root: Path) -> list[str]:
    """All pages: the README, CONTRIBUTING, the changelog, and all of docs/."""
    return [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        *sorted(path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md")),
    ]


def blocks_of(page: str, text: str) -> list[Block]:
    """The fenced blocks of a page, in order. Raises ValueError, with page and line, for whatever could hide one."""
    found: list[Block] = []
    lines = text.splitlines()
    holder = ""  # the last line that is not indented: an indented one after it is its own, or else a block of code
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        fence = _FENCE.fullmatch(line)
        if fence is None:
            if "```" in line or "~~~" in line:
                raise ValueError(f"{page}:{number}: a fence that begins or ends in the middle of a line")
            if "<pre" in line or "<code" in line:
                raise ValueError(f"{page}:{number}: code in HTML; put it in a fence")
            if line.startswith(("    ", "\t")) and not _HOLDS_INDENTED.match(holder):
                raise ValueError(f"{page}:{number}: an indented block of code; put it in a fence")
            holder = line if line and not line.startswith(" ") else holder
            continue
        first = number + 1
        code = []
        while number < len(lines) and lines[number].strip() != fence["ticks"]:
            code.append(lines[number].removeprefix(fence["indent"]))
            number += 1
        if number == len(lines):
            raise ValueError(f"{page}:{first - 1}: a fence that is never closed")
        number += 1
        mark = _MARK.fullmatch(lines[first - 3]) if first >= 3 else None
        found.append(_block(page, first, fence["language"], "\n".join(code) + "\n", mark))
    return found


def _block(page: str, line: int, language: str, code: str, mark: re.Match[str] | None) -> Block:
    """One block. Raises ValueError where it cannot be told what is to be done with it."""
    if (mark is not None and mark["kind"] == "not run") or language in SHOWN:
        return Block(page, line, "", code)
    if language not in RUN:
        names = ", ".join([*RUN, *sorted(SHOWN)])
        raise ValueError(f"{page}:{line - 1}: a block of {language or 'no language'!r}; known are {names}")
    if language == "bash" and not _COMMANDS.match(code):
        raise ValueError(f"{page}:{line}: a block of bash that does not begin with nbbpe; say why it is not run")
    needs = tuple(re.split(r",\s*", mark["text"])) if mark is not None else ()
    return Block(page, line, RUN[language], code, needs)
