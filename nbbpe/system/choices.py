"""Arguments that must be one of a few values."""

from __future__ import annotations

from collections.abc import Sequence


def check_one_of(name: str, value: object, values: Sequence[str]) -> None:
    """Raise ValueError that names the argument unless it is one of some values."""
    if value not in values:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, values))}, not {value!r}")
