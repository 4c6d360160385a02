"""Modules that few processes need."""

from __future__ import annotations

import importlib
from typing import Any


class imported_on_use:
    """A module that is imported when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)
