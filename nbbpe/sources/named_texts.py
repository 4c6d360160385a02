"""Reads the argument `on` of reports and comparisons: several texts with names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ..system.excerpt import shown
from ..system.paths import Path, checked_name
from ..system.wrong_argument import WrongArgument
from .finding import find_inputs_of_each, is_mixture
from .inputs import Input

Texts = Mapping[str, object] | Sequence[Path] | Path


def named_sources(on: Texts) -> dict[str, object]:
    """The source of each text, by its name. Raises TypeError or ValueError if `on` is invalid."""
    if isinstance(on, (str, os.PathLike)):
        on = [on]
    if isinstance(on, Mapping):
        sources: dict[str, object] = dict(on)
    elif isinstance(on, (list, tuple)):
        names = short_names(list(map(checked_name, on)))
        check_distinct(names)
        sources = dict(zip(names, on, strict=True))
    else:
        way_out = ": give mixture.sources, which is such a dict" if is_mixture(on) else ""
        kinds = "a path, a list of paths, or a dict from names to sources"
        raise TypeError(f"on must be {kinds}, not {type(on).__name__}{way_out}")
    if not sources:
        raise ValueError("on names no text to report on")
    for name in sources:
        if not isinstance(name, str):
            raise TypeError(f"on must have names as its keys, and has {shown(name)}")
    return sources


def inputs_of_each(sources: Mapping[str, object], field: str | None, on_error: str) -> dict[str, list[Input]]:
    """The inputs of each text, by its name. Raises what `find_inputs` does."""
    found = find_inputs_of_each([("on", source) for source in sources.values()], field, on_error)
    return dict(zip(sources, found, strict=True))


def check_distinct(names: Sequence[str]) -> None:
    """Raise WrongArgument if two texts have the same name, as results by name would only have the last."""
    for number, name in enumerate(names):
        if name in names[:number]:
            raise WrongArgument(f"two texts have the name {name!r}, so that one would be lost: give each once")


def short_names(paths: Sequence[str]) -> list[str]:
    """The names of files without their folders, if they are distinct; else the paths."""
    short = [os.path.basename(path) for path in paths]
    return short if len(set(short)) == len(set(paths)) else list(paths)
