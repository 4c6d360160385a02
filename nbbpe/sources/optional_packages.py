"""Imports packages that only some sources need, with an error if one is missing or too old."""

from __future__ import annotations

import importlib
import sys
from typing import Any

# The oldest pyarrow that supports all kinds of Arrow data, such as the string views of polars. Also in pyproject.toml.
OLDEST_PYARROW = 18
# Part of Python from 3.14 on; before that, a package with the same interface.
ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_OF_PYTHON = ("bz2", "lzma", "zlib", "compression.zstd")  # missing if Python was built without a library's headers


def require(module: str, name: str, what: str | None = None) -> Any:
    """Import a module of the extra `data`, or a module of Python that not all builds have.

    name : what is read with it, for the error
    what : what needs it, if nothing is read

    Raises ImportError that says what needs the module and how to get it, also if it is too old.
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
