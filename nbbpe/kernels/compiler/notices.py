"""Notices to the user: one line on stderr."""

import contextlib
import sys


def say(text: str) -> None:
    """Print a line on stderr if that is possible: a failing notice must not stop the work."""
    if sys.stderr is not None:  # print would write to stdout then
        # AttributeError and TypeError: for a stream that the user has put there, without `flush` or for bytes.
        with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
            print(f"nbbpe: {text}", file=sys.stderr, flush=True)
