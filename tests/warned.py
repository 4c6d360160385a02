"""What a test warned of, among the warnings that pytest or Python recorded meanwhile."""

from __future__ import annotations

import warnings
from collections.abc import Iterable


def here(recorded: Iterable[warnings.WarningMessage]) -> list[warnings.WarningMessage]:
    """All but those of files that nobody closed: Python may free what other tests left, at any time."""
    return [each for each in recorded if not issubclass(each.category, ResourceWarning)]
