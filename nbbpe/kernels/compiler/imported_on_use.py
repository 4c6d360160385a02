"""Import modules on first use: those that few processes need."""

from __future__ import annotations

import importlib
from typing import Any


class imported_on_use:
    """A module that is imported when an attribute of it is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)
