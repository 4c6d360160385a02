"""Handle Ctrl-C while the command `nbbpe` is being imported: end without a traceback, as later.

Python imports the package before any code of the command runs. So the package imports this module first, and the module
installs its handler when it is imported.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType


def end_at_once(number: int, frame: FrameType | None) -> None:
    """Handle SIGINT by ending the process: there is nothing to clean up yet, and imports may lose an exception."""
    try:
        os.write(2, b"nbbpe: interrupted\n")
    finally:
        os._exit(128 + number)


def _is_the_command() -> bool:
    """Whether this process is the command, not a program that imports nbbpe."""
    program = sys.argv[0] if sys.argv else ""
    if program == "-m":  # the value until Python has found the module to run
        named = "".join(sys.orig_argv[-len(sys.argv) :][:1])  # before the arguments: "nbbpe", or with options, "-Bmnbbpe"
        return named == "nbbpe" or (named.startswith("-") and named.endswith("mnbbpe"))
    return os.path.basename(program) in ("nbbpe", "nbbpe.exe")


_is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not where Ctrl-C is ignored
if _is_the_command() and _is_usual and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, end_at_once)
