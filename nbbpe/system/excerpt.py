"""What errors show of a file that people made: its name, and as much of a value as helps."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterator
from contextlib import contextmanager

_MOST = 80  # characters of a value
_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = _MOST


def shown(value: object) -> str:
    """A value as errors name it: a whole file may stand on one line, and would bury what they say."""
    if isinstance(value, (str, bytes)):
        text = repr(value[:_MOST]) if len(value) > _MOST else repr(value)
        is_cut = len(value) > _MOST
    else:
        text, is_cut = _short.repr(value), False  # looks at the first entries of what is nested, and not at all
    return text if len(text) <= _MOST and not is_cut else text[: _MOST - 3] + "..."


def cut(text: str, most: int = _MOST) -> str:
    """A text that stands in an error without quotes, of so many characters at the most."""
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
