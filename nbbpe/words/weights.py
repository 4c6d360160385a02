"""Weights of files and tables: positive numbers, as integers over a common denominator, so that nothing is rounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..system.arguments import argument
from ..system.excerpt import shown
from ..system.wrong_argument import WrongArgument


def check_weights(weights: object, n_items: int, items: str) -> list[Fraction]:
    """Weights as fractions (see `written_fraction`), one for each of the `n_items` items of the argument named `items`.

    Raises TypeError or ValueError for anything but positive numbers.
    """
    if isinstance(weights, (str, bytes)) or not isinstance(weights, Sequence):
        raise TypeError(f"weights must be a list with a number for each item of {items}, not {type(weights).__name__}")
    if len(weights) != n_items:
        needs = f"{argument('weights')} must have one number for each item of {argument(items)}"
        raise WrongArgument(f"{needs}: {n_items}, not {len(weights)}")
    return [_fraction(weight, number) for number, weight in enumerate(weights)]


def _fraction(weight: Any, number: int) -> Fraction:
    is_number = isinstance(weight, (int, float, Fraction)) or hasattr(weight, "__index__")
    if isinstance(weight, bool) or not is_number:
        raise TypeError(f"weights[{number}] must be a positive number or a Fraction, not {shown(weight)}")
    if isinstance(weight, float) and not math.isfinite(weight):
        raise ValueError(f"weights[{number}] must be a positive number, not {shown(weight)}")
    exact = written_fraction(weight)
    if exact <= 0:
        raise ValueError(f"weights[{number}] must be a positive number, not {shown(weight)}")
    return exact


def written_fraction(number: Any) -> Fraction:
    """A number as a fraction; a (finite) float as the decimal that it is written as: 0.1 is 1/10."""
    return Fraction(repr(float(number))) if isinstance(number, float) else exact_fraction(number)


def exact_fraction(number: Any) -> Fraction:
    """A number as a fraction of Python's integers. (A Fraction keeps NumPy's integers, whose products may wrap around.)"""
    fraction = Fraction(number.__index__() if hasattr(number, "__index__") else number)
    return Fraction(int(fraction.numerator), int(fraction.denominator))


def whole_factors(weights: Sequence[Fraction]) -> tuple[list[int], int]:
    """Weights as integers over the least common denominator: (the integers, the denominator)."""
    denominator = math.lcm(*(weight.denominator for weight in weights))
    return [int(weight * denominator) for weight in weights], denominator
