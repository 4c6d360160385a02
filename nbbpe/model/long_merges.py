"""Merging of pretokens so long that Ctrl-C must be handled meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..system.kernel_threads import interruptible

T = TypeVar("T")

LONG = 1 << 21  # bytes; merging as many takes 0.2 s or more


def interruptible_if_long(work: Callable[[], T], n_bytes: int) -> T:
    """The result of a call that merges this many bytes; see `interruptible`."""
    return work() if n_bytes < LONG else interruptible(work)
