"""The default tokenizer of this process, for programs that use one tokenizer everywhere."""

from __future__ import annotations

import os
from typing import Any

from numpy.typing import DTypeLike, NDArray

from .encoding.decoder import Ids
from .loading import load
from .system.paths import Path
from .text.byte_source import Source
from .text.utf8 import Text
from .tokenizer import Tokenizer

_default: Tokenizer | None = None


def use(tokenizer: Tokenizer | Path) -> Tokenizer:
    """Make a tokenizer the default of this process, and return it; a path or object is loaded with `nbbpe.load`.

    Forked processes inherit it. Processes that are started otherwise (by spawn, or by forkserver, Python's default on Linux
    since 3.14) do not: set NBBPE_TOKENIZER before, or call `use` in each. Raises what `nbbpe.load` raises.

    >>> import nbbpe
    >>> nbbpe.use(nbbpe.train("corpus.txt", 260, ["<|endoftext|>"]))
    Tokenizer(260 tokens, 3 merges, 1 special, pattern='gpt2')
    >>> nbbpe.encode_array("the hat")
    array([258,  32, 104, 256], dtype=uint16)
    """
    global _default
    _default = load(tokenizer)
    return _default


def encode(text: Text | Source) -> list[int]:
    """Encode a text with the default tokenizer to a list of int; see `encode_array`.

    >>> import nbbpe
    >>> tok = nbbpe.use(nbbpe.train("corpus.txt", 260, ["<|endoftext|>"]))
    >>> nbbpe.encode("the hat")
    [258, 32, 104, 256]
    """
    return Tokenizer.encode(_chosen(), text)  # not the method of an nbbpe.tiktoken.Encoding, which has other defaults


def decode(ids: Ids) -> str:
    """Decode ids to text with the default tokenizer; see `encode_array` and `Tokenizer.decode`.

    >>> import nbbpe
    >>> tok = nbbpe.use(nbbpe.train("corpus.txt", 260, ["<|endoftext|>"]))
    >>> nbbpe.decode([258, 32, 104, 256])
    'the hat'
    """
    return Tokenizer.decode(_chosen(), ids)


def encode_array(text: Text | Source, *, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Encode a text with the default tokenizer to a 1-D array of its dtype, or of `dtype` ("int64" for torch).

    All special tokens are recognised. The default is the one that `nbbpe.use` set, else the one at the path in the
    environment variable NBBPE_TOKENIZER. Raises RuntimeError if no default is set, FileNotFoundError if the path does not
    exist.

    >>> import nbbpe
    >>> tok = nbbpe.use(nbbpe.train("corpus.txt", 260, ["<|endoftext|>"]))
    >>> nbbpe.encode_array("the hat")
    array([258,  32, 104, 256], dtype=uint16)
    >>> nbbpe.encode_array("the hat", dtype="int64")
    array([258,  32, 104, 256])
    """
    return _chosen().encode_array(text, dtype=dtype)


def _chosen() -> Tokenizer:
    """The default tokenizer."""
    global _default
    if _default is None:
        path = os.environ.get("NBBPE_TOKENIZER")
        if not path:
            raise RuntimeError(
                "no default tokenizer: call nbbpe.use(tokenizer_or_folder) first, or set the environment variable "
                "NBBPE_TOKENIZER to a folder that Tokenizer.save wrote; only forked processes inherit what nbbpe.use set"
            )
        try:
            named = load(path)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"the environment variable NBBPE_TOKENIZER: {error}") from None
        if _default is None:  # else another thread has called `use` meanwhile
            _default = named
    return _default
