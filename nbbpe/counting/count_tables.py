"""Words with counts as Arrow tables and back, checked row by row."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, BinaryIO

import numpy as np

from ..sources.optional_packages import require
from ..sources.tables.arrow_files import ARROW
from ..sources.tables.arrow_numpy import arrow_numbers, numpy_numbers
from ..sources.tables.columns import COUNT, WORD, as_strings, check_kind, null_rows, offsets_of, shown_columns
from ..sources.tables.parquet import PARQUET
from ..system.arguments import argument
from ..system.paths import Path, checked_name
from ..text.utf8 import padded
from .word_counts import WordCounts, empty_words

ENDINGS = (*PARQUET, *ARROW)
_MOST_BINARY = 2**31 - 1  # bytes of the words of a batch whose type is binary


def arrow() -> Any:
    """pyarrow. Raises ImportError that says how to get it."""
    return require("pyarrow", "counts", "a table of counts")


def schema_of(metadata: dict[bytes, bytes], longest: int = 0) -> Any:
    """The schema of a table of counts; `longest`, the bytes of the longest word, decides if words are large_binary."""
    pa = arrow()
    word = pa.large_binary() if longest > _MOST_BINARY else pa.binary()
    fields = [pa.field(WORD, word, nullable=False), pa.field(COUNT, pa.int64(), nullable=False)]
    return pa.schema(fields, metadata=metadata)


def batch_of(words: WordCounts, schema: Any) -> Any:
    """Words with counts as a record batch, without a copy of text and counts."""
    pa = arrow()
    start, end = int(words.starts[0]), int(words.starts[-1])
    is_large = schema.field(WORD).type == pa.large_binary()
    offsets = (words.starts - start).astype(np.int64 if is_large else np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(words.text[start:end])]
    word = pa.Array.from_buffers(schema.field(WORD).type, len(words.counts), buffers)
    return pa.record_batch([word, arrow_numbers(words.counts)], schema=schema)


def check_output(output: Path) -> None:
    """Raise ValueError unless the ending of the name is that of a format for counts."""
    if not checked_name(output).lower().endswith(ENDINGS):
        raise ValueError(
            f"{argument('output', os.fspath(output))} must end in one of {', '.join(ENDINGS)}, which says how it is written"
        )


def write_counts(batches: Iterable[WordCounts], schema: Any, path: str) -> int:
    """Write sorted words to a parquet or Arrow file, batch after batch; returns how many."""
    n_words = 0
    # Opened by Python, as pyarrow takes no name that is not UTF-8.
    with open(path, "wb") as raw, _writer(path, raw, schema) as writer:
        for words in batches:
            writer.write_batch(batch_of(words, schema))
            n_words += len(words.counts)
    return n_words


def _writer(path: str, raw: BinaryIO, schema: Any) -> Any:
    if path.lower().endswith(PARQUET):
        # Each word is there once, so a dictionary saves nothing. Sorted words begin as their neighbours do, which zstd
        # makes use of.
        options = {"use_dictionary": False, "compression": "zstd", "write_statistics": [COUNT]}
        return require("pyarrow.parquet", path).ParquetWriter(raw, schema, **options)
    return arrow().ipc.new_file(raw, schema)


def count_rows(path: Path) -> int:
    """The number of rows of a file of counts that `write_counts` has written."""
    with open(path, "rb") as raw:
        if os.fspath(path).lower().endswith(PARQUET):
            return require("pyarrow.parquet", os.fspath(path)).read_metadata(raw).num_rows
        with arrow().ipc.open_file(raw) as reader:
            return sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))


def check_columns(schema: Any, name: str) -> None:
    """Raise ValueError unless a table with this schema may be one of counts."""
    for column in WORD, COUNT:
        if schema.names.count(column) != 1:
            raise ValueError(f"{name!r} must have one column {column!r}; its columns are {shown_columns(schema)}")


def words_of(batch: Any, name: str, first_row: int) -> WordCounts:
    """The words of a record batch, whose first row is row `first_row` of the table. Equal words are not added up.

    Raises ValueError that names the row if it does not have a word and a count.
    """
    pa = arrow()
    check_columns(batch.schema, name)
    word, count = batch.column(batch.schema.names.index(WORD)), batch.column(batch.schema.names.index(COUNT))
    for column, array in (WORD, word), (COUNT, count):
        if not len(array):
            continue  # pyarrow calls an empty slice of views broken
        try:
            array.validate(full=True)  # files and streams may have offsets that point outside of their text
        except pa.ArrowInvalid as error:
            raise ValueError(f"the column {column!r} of {name!r} is broken: {error}") from None
    check_kind(f"column {WORD!r} of {name!r}", word.type, may_be_null=False)
    word = as_strings(word)  # before nulls are counted: the values of a dictionary may be null
    for column, array in (WORD, word), (COUNT, count):
        if array.null_count:
            row = first_row + null_rows(array)[0]
            raise ValueError(f"{name!r}, row {row:,} (from 0): the column {column!r} is null")
    counts = _whole_counts(count, name, first_row)
    if not len(word):
        return empty_words(0, 0)
    starts = offsets_of(word)
    empty = np.flatnonzero(np.diff(starts) == 0)
    if len(empty):
        raise ValueError(f"{name!r}, row {first_row + int(empty[0]):,} (from 0): the word is empty")
    start, end = int(starts[0]), int(starts[-1])
    return WordCounts(padded(memoryview(word.buffers()[2])[start:end]), starts - start, counts)


def _whole_counts(count: Any, name: str, first_row: int) -> Any:
    """A column of counts as int64[n], each 1 or more."""
    pa = arrow()
    kind = count.type
    is_whole = pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale <= 0)
    if not is_whole:
        raise ValueError(
            f"the column {COUNT!r} of {name!r} is of type {kind}, and must hold whole numbers (int64): in SQL, "
            "CAST(SUM(count) AS BIGINT)"
        )
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        count = count.cast(pa.decimal128(38, 0))  # pyarrow (up to version 26 at least) casts no decimal32 to int64
    try:
        whole = count if kind == pa.int64() else count.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise OverflowError(f"{name!r}, after row {first_row:,} (from 0): a count does not fit in int64: {error}") from None
    counts = numpy_numbers(whole)
    wrong = np.flatnonzero(counts < 1)
    if len(wrong):
        row, value = first_row + int(wrong[0]), int(counts[wrong[0]])
        raise ValueError(f"{name!r}, row {row:,} (from 0): the count is {value}, and must be 1 or more")
    return counts
