"""Errors about what a file holds, with the name of the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from ...system.excerpt import shown


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Have every ValueError name the file that a value was read from."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise ValueError(f"{os.fspath(path)}: {shown(error.object)} holds a lone surrogate, which has no UTF-8") from None
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None
