"""What nbbpe warned of, among the warnings that pytest or Python recorded."""

from __future__ import annotations

import warnings
from collections.abc import Iterable


def of_nbbpe(recorded: Iterable[warnings.WarningMessage]) -> list[warnings.WarningMessage]:
    """The warnings for the user. Python may free what other tests left meanwhile, and warn of a file that nobody closed."""
    return [each for each in recorded if issubclass(each.category, UserWarning)]
