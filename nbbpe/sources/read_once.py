"""What all inputs that are not files have in common: they are read once, and in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .inputs import Input

if TYPE_CHECKING:
    from ..text.pattern import Pattern


class ReadOnce(Input):
    """An Input of records in memory, and its one Part: it has no file, and nobody knows its size."""

    has_records = True

    def span(self) -> tuple[int, None]:
        """See Part."""
        return 0, None

    def n_text(self) -> int:
        """See Input."""
        return 0

    def check(self, on_error: str) -> None:
        """See Input."""

    def cut(self, part_bytes: int, pattern: Pattern, special_tokens: Sequence[bytes]) -> Sequence[Any]:
        """See Input."""
        return [self]
