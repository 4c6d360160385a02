"""The default tokenizer of this process, for programs that have one and pass it nowhere."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

from .conversion import load
from .system.paths import Path
from .text.byte_source import Source
from .text.utf8 import Text
from .tokenizer import Tokenizer

_default: Tokenizer | None = None


def use(tokenizer: Tokenizer | Path) -> Tokenizer:
    """Make a tokenizer, given as such or as `nbbpe.load` takes it, the default of this process, and return it.

    Processes that are forked from this one have it too; spawned ones take NBBPE_TOKENIZER. Raises what `nbbpe.load` raises.
    """
    global _default
    _default = load(tokenizer)
    return _default


def encode(text: Text | Source) -> list[int]:
    """The ids of a text with the default tokenizer, a list of int; see `encode_array`."""
    return _chosen().encode(text)


def decode(ids: Iterable[int] | NDArray[Any]) -> str:
    """The text that ids of the default tokenizer stand for; see `encode_array` and `Tokenizer.decode`."""
    return _chosen().decode(ids)


def encode_array(text: Text | Source) -> NDArray[Any]:
    """The ids of a text with the default tokenizer, as a 1-D array of its dtype.

    All special tokens are recognised. The default is what `nbbpe.use` set, else what the environment variable
    NBBPE_TOKENIZER names, a path for `nbbpe.load`. Raises RuntimeError where there is none, FileNotFoundError where nothing
    is there.
    """
    return _chosen().encode_array(text)


def _chosen() -> Tokenizer:
    """The default tokenizer."""
    global _default
    if _default is None:
        path = os.environ.get("NBBPE_TOKENIZER")
        if not path:
            raise RuntimeError(
                "no default tokenizer: call nbbpe.use(tokenizer_or_folder) first, or set the environment variable "
                "NBBPE_TOKENIZER to a folder that Tokenizer.save wrote"
            )
        try:
            _default = load(path)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"the environment variable NBBPE_TOKENIZER: {error}") from None
    return _default
