"""Makes errors about the content of a file name the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from ...system.excerpt import shown


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """A context in which every ValueError names the file that is being read."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise ValueError(f"{os.fspath(path)}: {shown(error.object)} holds a lone surrogate, which has no UTF-8") from None
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None
