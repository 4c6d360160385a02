"""What users should know and no program waits for: one line on stderr."""

import contextlib
import sys


def say(text: str) -> None:
    """Print a line on stderr, where there is one that takes it: a notice must not stop what it tells of."""
    if sys.stderr is not None:  # for which print would take stdout
        with contextlib.suppress(OSError, ValueError):
            print(f"nbbpe: {text}", file=sys.stderr, flush=True)
