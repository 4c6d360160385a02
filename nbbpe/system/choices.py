"""Arguments that are one of a few names, or True or False."""

from __future__ import annotations

from collections.abc import Sequence

from .excerpt import shown


def check_one_of(argument: str, value: object, names: Sequence[str]) -> None:
    """Raise ValueError unless the value of an argument is one of some names."""
    # An array is compared item by item, and has no truth value.
    if not (isinstance(value, str) and value in names):
        raise ValueError(f"{argument} must be one of {', '.join(map(repr, names))}, not {shown(value)}")


def check_bool(argument: str, value: object, or_none: bool = False) -> None:
    """Raise TypeError unless the value of an argument is True or False, or with `or_none` None: "no" counts as true."""
    if not (isinstance(value, bool) or (or_none and value is None)):
        raise TypeError(f"{argument} must be {'True, False or None' if or_none else 'True or False'}, not {shown(value)}")
