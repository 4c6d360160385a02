"""How much the tests try: what a person waits for, or all of it, as CI does once.

NBBPE_EXHAUSTIVE=1 raises the number of examples; `pytest -m "slow or not slow"` runs what is marked slow too, which are the
tests that compile kernels into empty folders, and cells of large matrices in which the same code runs on other data.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest

EXHAUSTIVE = os.environ.get("NBBPE_EXHAUSTIVE") == "1"


def examples(usually: int, exhaustive: int) -> int:
    """How many examples to try."""
    return exhaustive if EXHAUSTIVE else usually


def mostly_slow(values: Iterable[Any], usual: Collection[Any]) -> list[Any]:
    """Parameters of a test, all but the usual ones marked slow."""
    return [value if value in usual else pytest.param(value, marks=pytest.mark.slow) for value in values]
