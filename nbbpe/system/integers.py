"""Checks of arguments that must be integers: of any integer type, such as NumPy's, except bool."""

from __future__ import annotations

import operator
from typing import Any

from .excerpt import shown


def check_integer(name: str, value: Any, at_least: int | None = None, kind: str = "an integer") -> int:
    """Return an argument as an int. Raises TypeError if it is not an integer, ValueError if it is below `at_least`.

    name, kind : what errors call the argument, and what it must be
    """
    try:  # an array has `__index__`, too, which raises TypeError unless it has one integer
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{name} must be {kind}, not {shown(value)}")
    if at_least is not None and number < at_least:
        raise ValueError(f"{name} must be at least {at_least}, not {number}")
    return number


def check_positive(name: str, value: Any, kind: str = "a positive integer") -> int:
    """Return an argument as an int. Raises TypeError or ValueError unless it is a positive integer."""
    return check_integer(name, value, 1, kind)


def check_limit(name: str, value: Any) -> int | None:
    """Return an argument as an int, or None for no limit. Raises TypeError or ValueError unless it is positive or None."""
    return None if value is None else check_positive(name, value, "a positive integer or None")
