"""Ctrl-C in the time that the command `nbbpe` takes to be imported: it ends as it would later, without a traceback.

Python imports the package before it comes to anything that is the command's own. So this module is the first that the
package imports, and does its work when it is imported.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType


def end_at_once(number: int, frame: FrameType | None) -> None:
    """A handler of SIGINT for when there is nothing to clean up; exceptions may get lost while modules are imported."""
    try:
        os.write(2, b"nbbpe: interrupted\n")
    finally:
        os._exit(128 + number)


def _is_the_command() -> bool:
    """Whether this process is the command, not a program that imports nbbpe."""
    program = sys.argv[0] if sys.argv else ""
    if program == "-m":  # which stands there until Python has found the module to run
        return "nbbpe" in sys.orig_argv
    return os.path.basename(program) in ("nbbpe", "nbbpe.exe")


_is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not where Ctrl-C is ignored
if _is_the_command() and _is_usual and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, end_at_once)
