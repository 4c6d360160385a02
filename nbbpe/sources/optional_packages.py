"""Packages that only some sources need, and their errors."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .inputs import File


def require(module: str, name: str, what: str | None = None) -> Any:
    """A module of the extra `data`. Raises ImportError that says what needs it, and how to get it.

    name : of what is read with it; what : what else needs it, if nothing is read
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        needing = what or f"reading {name!r}"
        raise ImportError(f'{needing} needs {package} ({error}): pip install "nbbpe[data]"', name=package) from error


@contextmanager
def naming_arrow_errors(file: File, kind: str) -> Iterator[None]:
    """Turn pyarrow's errors about a file of some kind into an OSError that names both."""
    arrow = require("pyarrow", file.name)
    with file.naming_errors():
        try:
            yield
        # A wrong length asks for any amount of memory; names of columns may not be UTF-8.
        except (OSError, MemoryError, UnicodeDecodeError, arrow.ArrowException) as error:
            if isinstance(error, OSError) and (error.errno is not None or repr(file.name) in str(error)):
                raise
            raise OSError(f"{file.name!r} cannot be read as {kind}, or is broken: {error}") from error
