"""What pyarrow reads of a file, with its errors as OSErrors that name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..inputs import File
from ..optional_packages import require


def read_with_arrow(items: Iterator[Any], file: File, kind: str) -> Iterator[Any]:
    """What pyarrow reads of a file step by step, with its errors as in `naming_arrow_errors`, but nobody else's."""
    while True:
        with naming_arrow_errors(file, kind):
            item = next(items, None)
        if item is None:
            return
        yield item


@contextmanager
def naming_arrow_errors(file: File, kind: str) -> Iterator[None]:
    """Turn pyarrow's errors about a file of some kind into an OSError that names both."""
    arrow = require("pyarrow", file.name)
    with file.naming_errors():
        try:
            yield
        # A wrong length asks for any amount of memory; names of columns may not be UTF-8.
        except (OSError, MemoryError, UnicodeDecodeError, arrow.ArrowException) as error:
            if isinstance(error, OSError) and (error.errno is not None or repr(file.name) in str(error)):
                raise
            raise OSError(f"{file.name!r} cannot be read as {kind}, or is broken: {error}") from error
