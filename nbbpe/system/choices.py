"""Arguments that are one of a few names."""

from __future__ import annotations

from collections.abc import Sequence

from .excerpt import shown


def check_one_of(argument: str, value: object, names: Sequence[str]) -> None:
    """Raise ValueError unless the value of an argument is one of some names."""
    # An array is compared item by item, and has no truth value.
    if not (isinstance(value, str) and value in names):
        raise ValueError(f"{argument} must be one of {', '.join(map(repr, names))}, not {shown(value)}")
