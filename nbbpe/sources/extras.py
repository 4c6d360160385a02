"""Packages that only some sources need."""

from __future__ import annotations

import importlib
from typing import Any


def require(module: str, name: str) -> Any:
    """A module of the extra `data`. Raises ImportError that says what needs it, and how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise ImportError(f'reading {name!r} needs {package} ({error}): pip install "nbbpe[data]"', name=package) from error
