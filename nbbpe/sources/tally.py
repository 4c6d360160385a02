"""Counts the bytes read, and malformed records, which are either errors, or skipped and counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..system.arguments import argument
from ..system.choices import check_one_of
from ..system.user_warnings import warn_user
from ..system.wrong_argument import WrongArgument

ON_ERROR = ("raise", "skip")
_MAX_NAMED = 5  # skipped records that the warning names


def way_out_of_nested() -> str:
    """The end of a message about an object, an array or the like where a text is expected."""
    option = argument("documents", ...)
    return f": give texts from within records as an iterator, with {option}: (record['a']['b'] for record in records)"


def check_on_error(on_error: str) -> None:
    """Raise ValueError unless the argument is one of ON_ERROR."""
    check_one_of("on_error", on_error, ON_ERROR)


class Skipped(NamedTuple):
    """Skipped records: their number, and for the first few of them the place (see places.py) and the reason."""

    n: int
    first: Sequence[tuple[object, str]]


class Tally:
    """Counts bytes and malformed records of one part. With on_error="raise", a malformed record is an error at once."""

    def __init__(self, on_error: str) -> None:
        self._on_error = on_error
        self._n_skipped = 0
        self._first: list[tuple[object, str]] = []
        self._n_reported = 0
        self.n_read = 0  # bytes of the file, compressed if it is

    @property
    def skips(self) -> bool:
        """Whether malformed records are skipped."""
        return self._on_error == "skip"

    def malformed(self, place: object, reason: str, wrong_field: bool = False) -> None:
        """Count a malformed record, or raise ValueError that names it.

        wrong_field : whether the argument `field` is wrong, and not the record; then the error is a WrongArgument
        """
        if not self.skips:
            kind = WrongArgument if wrong_field else ValueError
            raise kind(f"{place}: {reason} (pass {argument('on_error', 'skip')} to skip such records)")
        self._n_skipped += 1
        if len(self._first) < _MAX_NAMED:
            self._first.append((place, reason))

    def newly_read(self) -> int:
        """The bytes read since the last call."""
        n = self.n_read - self._n_reported
        self._n_reported = self.n_read
        return n

    def skipped(self) -> Skipped:
        """The records that were skipped."""
        return Skipped(self._n_skipped, self._first)


def warn_of_skipped(parts: Iterable[Skipped]) -> None:
    """Give one warning about all skipped records, in the order of the parts, if there are any."""
    parts = list(parts)
    n = sum(part.n for part in parts)
    if not n:
        return
    named = [skipped for part in parts for skipped in part.first][:_MAX_NAMED]
    places = "; ".join(f"{place}: {reason}" for place, reason in named)
    more = f"; and {n - len(named):,} more" if n > len(named) else ""
    records = "1 malformed record was" if n == 1 else f"{n:,} malformed records were"
    warn_user(f"{records} skipped: {places}{more}")
