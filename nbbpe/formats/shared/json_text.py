"""Reads JSON files: errors name the file and the place, and duplicate keys are errors.

Deep nesting is an error here, so that code that walks through the result need not care about Python's recursion limit.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain
from typing import Any

from ...system.excerpt import shown
from ...system.git_lfs import IS_LFS_POINTER, LFS_POINTER
from ...system.paths import Path, check_tokenizer_file, checked_name
from ...system.utf16 import refuse_utf_16

_CONTAINERS = {dict, list}
_DEEPEST = 100  # levels of nesting; tokenizer files have ten


def read_json(path: Path, may_be_pipe: bool = False) -> Any:
    """Read a JSON file. Raises ValueError that names the file, and the line if it is invalid JSON.

    may_be_pipe : False for a file of a tokenizer, see `check_tokenizer_file`
    """
    name = checked_name(path)
    if not may_be_pipe:
        check_tokenizer_file(name)
    with open(path, "rb") as file:  # in half the time of a text file, which looks for ends of lines
        return parse_bytes(file.read(), name)


def parse_bytes(data: bytes, name: str) -> Any:
    """As `parse_json`, for the bytes of a file. Raises ValueError also where they are not valid UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        refuse_utf_16(error.object, f"{name}:")
        raise ValueError(f"{name}: not valid UTF-8 (byte {error.start})") from None
    return parse_json(text, name)


def parse_json(text: str, name: str) -> Any:
    """Parse a JSON text; `name` is its name in errors."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        entries = dict(pairs)
        if len(entries) != len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise ValueError(f"the key {shown(twice)} comes twice")
        return entries

    try:
        value = json.loads(text, object_pairs_hook=unique)
        if _is_deep(value):
            raise RecursionError
        return value
    except json.JSONDecodeError as error:
        if text.startswith(LFS_POINTER.decode()):
            raise ValueError(f"{name}: {IS_LFS_POINTER}") from None
        raise ValueError(f"{name}, line {error.lineno}: not valid JSON ({error.msg}, column {error.colno})") from None
    except ValueError as error:  # a duplicate key, or a number of thousands of digits, which Python rejects
        raise ValueError(f"{name}: {error}") from None
    except RecursionError:
        raise ValueError(f"{name}: not valid JSON (nested too deeply)") from None


def check_format(value: Any, name: str, format_name: str, *versions: int) -> None:
    """Raise ValueError that names the file unless `value` is an object of this format of nbbpe, in one of `versions`."""
    if not isinstance(value, dict) or value.get("format") != format_name:
        raise ValueError(f'{name}: must be an object with "format": "{format_name}"')
    if value.get("version") not in versions:
        known = " and ".join(map(str, versions))
        raise ValueError(f"{name}: has version {shown(value.get('version'))}, and this nbbpe reads {known}")


def check_known(part: dict[str, Any], known: set[str], where: str) -> None:
    """Raise ValueError if an object has an unknown key, as its meaning could not be honoured."""
    unknown = sorted(set(part) - known)
    if unknown:
        raise ValueError(f"{where} has {shown(unknown[0])}, which nbbpe does not know, so it cannot honour it")


def check_entries(entries: dict[str, Any], name: str, rules: Iterable[tuple[str, object, str]]) -> None:
    """Raise ValueError that names the file for the first invalid entry.

    rules : for each entry its key, whether it is valid, and what it must be
    """
    for key, fits, wanted in rules:
        if not fits:
            raise ValueError(f"{name}: {key} must be {wanted}, and is {shown(entries.get(key))}")


def _is_deep(value: Any) -> bool:
    """Whether dicts and lists are nested more than _DEEPEST levels deep."""
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(_DEEPEST + 1):
        if not level:
            return False
        lists = [each for each in level if type(each) is list]
        objects = [each for each in level if type(each) is dict]
        parts = chain(chain.from_iterable(lists), chain.from_iterable(map(dict.values, objects)))
        level = [part for part in parts if type(part) in _CONTAINERS]
    return bool(level)
