"""Imports the package tiktoken, even if a program has put `nbbpe.tiktoken` in its place."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import PathFinder
from threading import Lock
from typing import Any

_OURS = "nbbpe.tiktoken"
_lock = Lock()
_hidden: list[Any] = []  # the package tiktoken, once it was imported although `nbbpe.tiktoken` is in its place


def tiktoken_package() -> Any:
    """Import the package tiktoken, with its modules `load` and `model`. Raises ImportError if it is not installed.

    Programs replace tiktoken for other libraries by `sys.modules["tiktoken"] = nbbpe.tiktoken`. A plain import would then
    give `nbbpe.tiktoken`, which gets its encodings from here, and so recurse forever.
    """
    if not _is_replaced():
        return _imported()
    with _lock:
        if not _hidden:
            ours = sys.modules.pop("tiktoken")
            try:
                _hidden.append(_imported())
            finally:
                sys.modules["tiktoken"] = ours
        return _hidden[0]


def path_of_modules() -> list[str]:
    """The folder of tiktoken's modules, so that `from tiktoken.load import ...` works with `nbbpe.tiktoken` in its place.

    Nothing is imported. Raises ImportError if tiktoken is not installed.
    """
    spec = PathFinder.find_spec("tiktoken")  # importlib.util.find_spec would find nbbpe.tiktoken
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'tiktoken'", name="tiktoken")
    return list(spec.submodule_search_locations)


def _is_replaced() -> bool:
    return getattr(sys.modules.get("tiktoken"), "__name__", None) == _OURS


def _imported() -> Any:
    package = importlib.import_module("tiktoken")
    # Both modules are imported now, as tiktoken's plugins import `load` later. The attribute may be missing on the package
    # if the module was imported before.
    for name in "load", "model":
        setattr(package, name, importlib.import_module(f"tiktoken.{name}"))
    return package
