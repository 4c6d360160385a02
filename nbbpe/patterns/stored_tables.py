"""Stores the tables of patterns on disk, next to the kernels, so that later processes load them without parsing a regex."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
from collections.abc import Callable, Sequence

import numpy as np

from ..kernels.compiler.store import modules_in, read_data, version_of, write_data
from ..kernels.machine.large_pages import zeros
from ..kernels.pieces import pattern_tables as layout


def stored_pattern_tables(regexes: Sequence[str]) -> layout.PatternTables | None:
    """The tables of regexes that split in turn, if they are stored beside the kernels; else None."""
    content = read_data(_file_name(regexes))
    if content is None:
        return None
    tables = zeros(len(content) // 8)
    tables[:] = np.frombuffer(content, dtype=np.uint64)
    tables.flags.writeable = False
    return tables


def store_pattern_tables(regexes: Sequence[str], tables: layout.PatternTables, into: str | None = None) -> None:
    """Store tables for later processes, in the folder `into` if that is given. Tables must be as trusted as kernels, which
    compute addresses from them without a check."""
    _write(_file_name(regexes), tables.tobytes(), into)


def stored_text(what: str, make: Callable[[], str], into: str | None = None) -> str:
    """A short text that depends only on these modules and `regex`: read from disk, or made and stored there, or in the
    folder `into` if that is given."""
    name = _file_name([what])
    content = read_data(name)
    found = make() if content is None else content.decode()
    if content is None or into is not None:
        _write(name, found.encode(), into)
    return found


def _write(name: str, content: bytes, into: str | None) -> None:
    """Store content, unless these modules were replaced while this process ran, as the old ones have made it."""
    with contextlib.suppress(OSError):  # the modules may be gone
        if _digest_of_sources() == _sources():
            write_data(name, content, into)


def _file_name(regexes: Sequence[str]) -> str:
    """A name that depends on everything that tables are made from: the regexes, the version of `regex` (and so its classes
    of characters), and these modules."""
    made_from = repr((list(regexes), version_of("regex"), sys.byteorder)).encode() + _sources()
    return f"pattern.{hashlib.sha256(made_from).hexdigest()[:32]}.tables"


@functools.cache
def _sources() -> bytes:
    """A digest of the modules that make tables, as they were when this module was imported."""
    return _digest_of_sources()


def _digest_of_sources() -> bytes:
    digest = hashlib.sha256()
    for path in [*modules_in(os.path.dirname(__file__)), layout.__file__]:
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.digest()


_sources()
