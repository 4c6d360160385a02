"""Merging what is so long that Ctrl-C must be answered meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..system.workers import interruptible

T = TypeVar("T")

LONG = 1 << 21  # bytes from which on merging takes 0.2 s or more


def interruptible_if_long(work: Callable[[], T], n_bytes: int) -> T:
    """What a call returns that merges so many bytes; see `interruptible`."""
    return work() if n_bytes < LONG else interruptible(work)
