"""Packages that only some sources need, and the error where one is missing or too old."""

from __future__ import annotations

import importlib
import sys
from typing import Any

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
