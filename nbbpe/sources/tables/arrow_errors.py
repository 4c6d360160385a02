"""Converts pyarrow's errors about a file to OSErrors that name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..inputs import File
from ..optional_packages import require


def read_with_arrow(items: Iterator[Any], file: File, kind: str) -> Iterator[Any]:
    """Yield the items that pyarrow reads from a file, with its errors converted as in `naming_arrow_errors`.

    Errors of the code that uses the items are not converted.
    """
    while True:
        with naming_arrow_errors(file, kind):
            item = next(items, None)
        if item is None:
            return
        yield item


@contextmanager
def naming_arrow_errors(file: File, kind: str) -> Iterator[None]:
    """A context that converts pyarrow's errors to an OSError that names the file and its kind."""
    arrow = require("pyarrow", file.name)
    with file.naming_errors():
        try:
            yield
        # MemoryError comes from a wrong length, UnicodeDecodeError from an invalid name of a column.
        except (OSError, MemoryError, UnicodeDecodeError, arrow.ArrowException) as error:
            if isinstance(error, OSError) and (error.errno is not None or repr(file.name) in str(error)):
                raise
            raise OSError(f"{file.name!r} cannot be read as {kind}, or is broken: {error}") from error
