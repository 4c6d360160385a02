"""The types of Arrow data, defined by the methods of Arrow's C interface, so that no library is needed."""

from __future__ import annotations

from typing import Any, Protocol


class ArrowStream(Protocol):
    """A table, a stream of record batches or a chunked column."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...


class ArrowArray(Protocol):
    """A column or a record batch."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...


ArrowData = ArrowStream | ArrowArray
