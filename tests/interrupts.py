"""Ctrl-C wherever it may come: `interrupted(work, files)` runs some work again and again, each time with it a step later.

Python answers signals where a function begins, and where one of C has returned. (A trace function for lines would also
interrupt where it never does, as between a `with` and the end of it.)
"""

from __future__ import annotations

import inspect
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator
from types import FrameType
from typing import Any, NamedTuple


class Interrupted(NamedTuple):
    """How some work ended after Ctrl-C.

    where   : the file, the line, the function, and the function of C that had returned there
    seconds : from Ctrl-C to the end
    error   : what was raised, None if nothing was
    """

    where: str
    seconds: float
    error: BaseException | None


class _Steps:
    """A profile function that counts the steps of this thread in some files, and sends the process Ctrl-C at one."""

    def __init__(self, files: Collection[str], at: int, number: int) -> None:
        self._files = files
        self._number = number
        self._left = at
        self._process = os.getpid()
        self.seen: set[str] = set()
        self.where = ""
        self.since = 0.0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        name = os.path.basename(code.co_filename)
        if event not in ("call", "c_return") or name not in self._files or self.where or os.getpid() != self._process:
            return
        if event == "call" and code.co_flags & inspect.CO_GENERATOR:
            return  # one that is closed looks the same as one that goes on, and is not interrupted there
        self.seen.add(name)
        if not self._left:
            returned = argument.__name__ if event == "c_return" else ""
            self.where = f"{name}:{frame.f_lineno} {code.co_name} {returned}"
            self.since = time.monotonic()
            signal.raise_signal(self._number)
        self._left -= 1


def interrupted(
    work: Callable[..., object],
    files: Collection[str],
    number: int = signal.SIGINT,
    prepare: Callable[[], object] | None = None,
) -> Iterator[Interrupted]:
    """The ends of `work` with Ctrl-C at the first step that this thread takes in these files, at the next one, and so on.

    files   : the names of modules' files, as "threading.py"; each must have a step, as one that gets another name has none
    number  : of another signal in place of Ctrl-C
    prepare : called before each time, without Ctrl-C; `work` gets what it returns
    """
    at = 0
    while True:
        steps = _Steps(files, at, number)
        error: BaseException | None = None
        arguments = [] if prepare is None else [prepare()]
        before = sys.getprofile()
        sys.setprofile(steps)
        try:
            work(*arguments)
        except BaseException as raised:
            error = raised
        finally:
            sys.setprofile(before)
        if not steps.where:
            assert error is None, error
            assert steps.seen == set(files), f"nothing of {sorted(set(files) - steps.seen)} runs"
            return
        ends = [Interrupted(steps.where, time.monotonic() - steps.since, error)]
        del error  # what its traceback refers to is only the caller's, who may let go of it
        yield ends.pop()
        at += 1
