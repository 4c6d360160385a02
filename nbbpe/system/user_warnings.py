"""Warnings that name the line of the user's that they are about."""

from __future__ import annotations

import os
import sys
import warnings

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def warn_user(message: str) -> None:
    """Warn as if at the line that called nbbpe: the first frame outside of the package, however far up it is.

    (`warnings.warn` can do that by itself since Python 3.12, with `skip_file_prefixes`.)
    """
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, stacklevel=level)
