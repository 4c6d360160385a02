"""The package tiktoken itself, also where a program has put `nbbpe.tiktoken` in its place."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import PathFinder
from threading import Lock
from typing import Any

_OURS = "nbbpe.tiktoken"
_lock = Lock()
_hidden: list[Any] = []  # the package that `nbbpe.tiktoken` stands in place of, once it is found


def tiktoken_package() -> Any:
    """The package tiktoken, with its modules `load` and `model`. Raises ImportError where it is not installed.

    After `sys.modules["tiktoken"] = nbbpe.tiktoken`, a way to replace it for other libraries, an import would give
    `nbbpe.tiktoken`, which takes its encodings from here, and so from itself without end.
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
    """The folder of tiktoken's modules, for `from tiktoken.load import ...` where `nbbpe.tiktoken` is in its place.

    Nothing is imported. Raises ImportError where tiktoken is not installed.
    """
    spec = PathFinder.find_spec("tiktoken")  # importlib.util would say where nbbpe.tiktoken is
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'tiktoken'", name="tiktoken")
    return list(spec.submodule_search_locations)


def _is_replaced() -> bool:
    return getattr(sys.modules.get("tiktoken"), "__name__", None) == _OURS


def _imported() -> Any:
    package = importlib.import_module("tiktoken")
    for name in "load", "model":  # its plugins import `load`, which they find from then on
        setattr(package, name, importlib.import_module(f"tiktoken.{name}"))  # of one that is imported it may be missing
    return package
