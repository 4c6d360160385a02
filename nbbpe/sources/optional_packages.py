"""Packages that only some sources need, and their errors."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .inputs import File

# The oldest pyarrow that gives and takes all kinds of Arrow data, as the string views of polars; as in pyproject.toml.
OLDEST_PYARROW = 18
# Python's own from 3.14 on, and before that a package of the same interface.
ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_OF_PYTHON = ("bz2", "lzma", "zlib", "compression.zstd")  # left out where the headers of a library were missing


def require(module: str, name: str, what: str | None = None) -> Any:
    """A module of the extra `data`, or one of Python itself that not all builds have.

    Raises ImportError that says what needs it, and how to get it, also if it is too old.

    name : of what is read with it; what : what else needs it, if nothing is read
    """
    package = module if module == ZSTD else module.split(".")[0]
    try:
        found = importlib.import_module(module)
        if package == "pyarrow" and int((version := sys.modules[package].__version__).split(".")[0]) < OLDEST_PYARROW:
            raise ImportError(f"{OLDEST_PYARROW} or later, and {version} is installed")
        return found
    except ImportError as error:
        needing = what or f"reading {name!r}"
        way_out = "this Python was built without it" if module in _OF_PYTHON else 'pip install "nbbpe[data]"'
        raise ImportError(f"{needing} needs {package} ({error}): {way_out}", name=package) from error


def read_with_arrow(items: Iterator[Any], file: File, kind: str) -> Iterator[Any]:
    """What pyarrow reads of a file step by step, with its errors as in `naming_arrow_errors`, but nobody else's."""
    while True:
        with naming_arrow_errors(file, kind):
            item = next(items, None)
        if item is None:
            return
        yield item


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
