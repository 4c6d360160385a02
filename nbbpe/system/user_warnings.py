"""Warnings that name the line of the user's code that called nbbpe."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def warn_user(message: str) -> None:
    """Warn as if at the line that called nbbpe: the first frame outside of the package, however far up it is.

    Frames of contextlib, which decorates our functions, count as ours. (`warnings.warn` can do that by itself since
    Python 3.12, with `skip_file_prefixes`.)
    """
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    warnings.warn(message, stacklevel=level)


def _is_ours(file: str) -> bool:
    with contextlib.suppress(OSError):  # the working folder is gone
        return file == contextlib.__file__ or os.path.abspath(file).startswith(_PACKAGE)
    return False
