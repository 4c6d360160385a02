"""Progress of long work: a progress bar on a terminal, a callable, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .excerpt import shown

# None: a bar where stderr is a terminal. True or False: a bar, or none. A callable gets (stage, done, total or None).
ProgressOption = bool | Callable[[str, int, "int | None"], object] | None


def _bar(**options: Any) -> Any:
    from tqdm import tqdm  # imported only if a bar is shown: it takes as long as half of nbbpe

    class Bar(tqdm):  # type: ignore[misc]
        # No monitor thread: a process that forks should have one thread only.
        monitor_interval = 0

    return Bar(**options)


def _is_usable(stream: Any, must_be_terminal: bool) -> bool:
    """Whether text can be written to a stream and, with `must_be_terminal`, whether it is a terminal.

    In a background process the stream may be None or closed, and a program may replace it by any object with a `write`,
    perhaps of bytes. If it must be a terminal and is not, nothing is written to it, not even the empty text: a log may have
    a line for each call.
    """
    try:
        if must_be_terminal and not stream.isatty():
            return False
        stream.write("")
    except (AttributeError, TypeError, ValueError, OSError):
        return False
    return True


def shows_bar(option: ProgressOption) -> bool:
    """Whether a progress bar is to be shown. Raises TypeError if the option is invalid."""
    if not (option is None or isinstance(option, bool) or callable(option)):
        raise TypeError(f"progress must be True, False, None or a callable, not {shown(option)}")
    return not callable(option) and option is not False and _is_usable(sys.stderr, must_be_terminal=option is None)


class Progress:
    """One stage of work; use it as a context manager and call `advance` or `reach`."""

    def __init__(self, option: ProgressOption, stage: str, total: int | None, unit: str) -> None:
        self._stage = stage
        self._total = total
        self._done = 0
        self._call: Callable[[str, int, int | None], object] | None = None
        self._bar: Any = None
        if callable(option):
            self._call = option
        elif shows_bar(option):
            # By default, work that ends within half a second shows no bar.
            delay = 0 if option else 0.5
            self._bar = _bar(
                total=total, unit=unit, unit_scale=True, desc=stage, file=sys.stderr, delay=delay, mininterval=0.2
            )

    def advance(self, n: int) -> None:
        """Report that `n` more units are done."""
        self._done += n
        if self._bar is not None:
            self._bar.update(n)
        elif self._call is not None:
            self._call(self._stage, self._done, self._total)

    def reach(self, done: int) -> None:
        """Report that `done` units are done in all."""
        self.advance(done - self._done)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()
