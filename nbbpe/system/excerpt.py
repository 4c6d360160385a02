"""What errors quote from files: the name, and an excerpt of a value."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterator
from contextlib import contextmanager

_MOST = 80  # characters of a value
_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = _MOST


def shown(value: object) -> str:
    """A value as errors quote it, shortened: a file may be one long line, which would hide the message."""
    if isinstance(value, (str, bytes)):
        text = repr(value[:_MOST]) if len(value) > _MOST else repr(value)
        is_cut = len(value) > _MOST
    else:
        text, is_cut = _short.repr(value), False  # shows only the first entries of what is nested
    return text if len(text) <= _MOST and not is_cut else text[: _MOST - 3] + "..."


def cut(text: str, most: int = _MOST) -> str:
    """A text for an error message, without quotes, cut to `most` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Have every ValueError name the file that a value was read from."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise ValueError(f"{os.fspath(path)}: {shown(error.object)} holds a lone surrogate, which has no UTF-8") from None
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None
