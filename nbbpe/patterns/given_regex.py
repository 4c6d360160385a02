"""Limits the time and memory of regexes that users and files give, for split patterns and for anything else.

They may come from an attacker, take any amount of memory to compile, or backtrack without end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..system.excerpt import shown
from ..system.lazy import imported_on_use

regex: Any = imported_on_use("regex")  # few processes need it

# No regex that is of use comes near these limits. At the usual 6 to 9 MB/s, a character takes about 0.15 µs. `regex` counts
# the processor time of the whole process, in which a hundred threads may be busy; hence the factor of more than a hundred.
BASE_SECONDS = 5.0
_SECONDS_PER_CHARACTER = 20e-6

# `regex` writes the least number of repeats out when it compiles, at 270 bytes each. So many take 30 MB, which is enough.
_MOST_WRITTEN_OUT = 100_000
_REPEAT = re.compile(r"(\))?\{\s*(\d+)")
_IS_VERBOSE = re.compile(r"\(\?[A-Za-z0-9]*x")


def seconds_for(text: str | bytes) -> float:
    """How long a regex may take for a document, or a part of one."""
    return BASE_SECONDS + len(text) * _SECONDS_PER_CHARACTER


def check_repeats(pattern: str) -> None:
    """Raise ValueError for a regex that may take very much memory to compile."""
    if _n_written_out(pattern) > _MOST_WRITTEN_OUT:
        raise ValueError(
            f"pattern {shown(pattern)} repeats something more than {_MOST_WRITTEN_OUT:,} times, which `regex` would "
            "write out"
        )


def _n_written_out(pattern: str) -> int:
    """The most repeats that `regex` may write out; the repeats of a group multiply those inside it."""
    in_groups, others = 1, 0
    is_verbose = _IS_VERBOSE.search(pattern) is not None  # so that spaces may be between a group and its number
    for match in _REPEAT.finditer(pattern):
        # 20 digits are too large a number already, and Python refuses to read thousands of digits.
        number = max(int(match[2][:20]), 1)
        if match[1] or is_verbose:
            in_groups = min(in_groups * number, 1 << 60)
        else:
            others += number if number > 1 else 0
    return in_groups * max(others, 1)


@contextmanager
def naming_regex(what: str) -> Iterator[None]:
    """Turn an error of `regex` about a regex into a ValueError that begins with `what`."""
    try:
        yield
    except regex.error as error:
        raise ValueError(f"{what} is not a valid regex: {error}") from None
    except Exception as error:  # RecursionError of nested groups, and any other error
        raise ValueError(f"{what} is too complex for `regex` ({type(error).__name__})") from None


def n_groups(text: str) -> int:
    """How many numbered groups a valid regex has.

    >>> n_groups(r"(a)(?:b)")
    1
    """
    return int(regex.compile(text).groups)
