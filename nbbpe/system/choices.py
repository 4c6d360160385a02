"""Checks of arguments that are one of a few names, or True or False."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .excerpt import shown
from .lazy import imported_on_use

np: Any = imported_on_use("numpy")


def check_one_of(argument: str, value: object, names: Sequence[str]) -> None:
    """Raise ValueError unless the value of an argument is one of `names`."""
    # `value in names` fails for an array: it is compared item by item, and has no truth value.
    if not (isinstance(value, str) and value in names):
        raise ValueError(f"{argument} must be one of {', '.join(map(repr, names))}, not {shown(value)}")


def check_bool(argument: str, value: object) -> bool:
    """Return an argument that is a bool, of Python or NumPy. Raises TypeError for others: "no", for one, counts as true."""
    if not _is_bool(value):
        raise TypeError(f"{argument} must be True or False, not {shown(value)}")
    return bool(value)


def check_bool_or_none(argument: str, value: object) -> bool | None:
    """As `check_bool`, for an argument that may be None."""
    if not (value is None or _is_bool(value)):
        raise TypeError(f"{argument} must be True, False or None, not {shown(value)}")
    return None if value is None else bool(value)


def _is_bool(value: object) -> bool:
    return value is True or value is False or isinstance(value, np.bool_)  # imports NumPy only for other values
