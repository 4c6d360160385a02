"""Opens tables of counts: files, URLs, tables and dicts in memory, streams of record batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ..sources.finding import find_files, name_of
from ..sources.inputs import File
from ..sources.other_formats import refuse_pointer
from ..sources.tables.arrow import is_arrow, reader_of
from ..sources.tables.arrow_errors import naming_arrow_errors, read_with_arrow
from ..sources.tables.arrow_files import ipc_batches, open_ipc
from ..sources.tables.columns import COUNT, WORD
from ..sources.tables.parquet import PARQUET, open_parquet
from ..system.excerpt import shown
from ..system.integers import check_positive
from ..system.wrong_argument import WrongArgument
from ..text.item_checks import check_collected
from ..text.utf8 import each_to_bytes
from .count_description import KEY
from .count_tables import ENDINGS, arrow, batch_of, check_columns, schema_of, words_of
from .gathering import MOST_COUNT
from .word_counts import WordCounts, words_from_lists

_BATCH_ROWS = 1 << 17  # read at a time


class Counts(NamedTuple):
    """One table of counts.

    name     : as messages show it
    metadata : of its schema, if any
    batches  : a function that gives its record batches; may be called once
    """

    name: str
    metadata: dict[bytes, bytes] | None
    batches: Callable[[], Iterator[Any]]


def open_counts(data: object, argument: str = "counts") -> list[Counts]:
    """The tables that an item names: a path, a pattern or a URL of files, a table, a stream, an iterator of record batches,
    a dict from word to count.

    Raises TypeError for anything else, OSError for files that cannot be read, ImportError without pyarrow.
    """
    arrow()
    if isinstance(data, (str, os.PathLike)):
        return [_file_counts(file) for file in find_files(data)]
    if is_arrow(data):
        return [_arrow_counts(data, argument)]
    if isinstance(data, Iterator):
        return [_stream_counts(data, argument)]
    if isinstance(data, Mapping):
        return [_dict_counts(data, argument)]
    check_collected(data, argument)
    raise TypeError(
        f"{argument} must be a path, an Arrow table or stream, an iterator of record batches, a dict from word to count, "
        f"or a list of these, not {type(data).__name__}"
    )


def _arrow_counts(data: Any, argument: str) -> Counts:
    pa = arrow()
    try:
        if hasattr(data, "__arrow_c_stream__"):
            reader = reader_of(data)
            return Counts(argument, reader.schema.metadata, lambda: iter(reader))
        batch = pa.record_batch(data)
    except (pa.ArrowInvalid, TypeError, ValueError) as error:
        raise TypeError(f"{argument} must be a table with the columns {WORD!r} and {COUNT!r}: {error}") from None
    return Counts(argument, batch.schema.metadata, lambda: iter([batch]))


def _stream_counts(stream: Iterator[Any], argument: str) -> Counts:
    """An iterator of record batches, or of objects that can be converted to them; the first has the metadata of all."""
    first = next(stream, None)
    if first is None:
        return Counts(argument, None, lambda: iter(()))
    of_first = _batch_counts(first, 0, argument)

    def batches() -> Iterator[Any]:
        yield from of_first.batches()
        for number, item in enumerate(stream, 1):
            each = _batch_counts(item, number, argument)
            if (each.metadata or {}).get(KEY) != (of_first.metadata or {}).get(KEY):
                raise ValueError(f"item {number:,} of {argument} has other metadata of nbbpe than the first item")
            yield from each.batches()

    return Counts(argument, of_first.metadata, batches)


def _batch_counts(item: object, number: int, argument: str) -> Counts:
    """The counts of item `number` of an iterator."""
    if not is_arrow(item):
        raise TypeError(f"item {number:,} of {argument} is {type(item).__name__}, and must be a record batch")
    return _arrow_counts(item, argument)


def _dict_counts(counts: Mapping[Any, Any], argument: str) -> Counts:
    """A dict from word (str or bytes) to count, as a Counter is."""
    numbers = [
        count if type(count) is int and count > 0 else check_positive(f"{argument}[{shown(word)}]", count)
        for word, count in counts.items()
    ]
    if numbers and max(numbers) > MOST_COUNT:
        raise OverflowError(f"{argument!r} has a count of {max(numbers):,}, which does not fit in int64")
    words = words_from_lists(list(each_to_bytes(counts, "word")), numbers)
    batch = batch_of(words, schema_of({}, int(words.starts[-1])))
    return Counts(argument, None, lambda: iter([batch]))


def _file_counts(file: File) -> Counts:
    name = name_of(file).lower()
    if not name.endswith(ENDINGS):
        raise WrongArgument(f"{file.name!r} is not a file of counts by its name: those end in {', '.join(ENDINGS)}")
    refuse_pointer(file)
    file.check()
    if (size := file.size()) is None:
        raise WrongArgument(f"{file.name!r} has no known size (a pipe?), and counts are not read in order: give a file")
    is_parquet = name.endswith(PARQUET)
    with file.open() as raw, naming_arrow_errors(file, "a file of counts"):
        schema = open_parquet(file, raw).schema_arrow if is_parquet else open_ipc(raw, size).schema
        _ = schema.names  # raises for names that are not UTF-8
    check_columns(schema, file.name)

    def batches() -> Iterator[Any]:
        with file.open() as raw:
            with naming_arrow_errors(file, "a file of counts"):
                if is_parquet:
                    reader = open_parquet(file, raw)
                    groups = range(reader.metadata.num_row_groups)
                    record_batches = reader.iter_batches(_BATCH_ROWS, row_groups=groups, use_threads=False)
                else:
                    record_batches = ipc_batches(open_ipc(raw, size))
            yield from read_with_arrow(record_batches, file, "a file of counts")

    return Counts(file.name, schema.metadata, batches)


def words_in(counts: Counts) -> Iterator[WordCounts]:
    """The words of a table, in parts; a part may have a word several times."""
    row = 0
    for batch in counts.batches():
        yield words_of(batch, counts.name, row)
        row += len(batch)
