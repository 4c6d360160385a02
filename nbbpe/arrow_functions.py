"""Count and encode by plain functions from Arrow to Arrow, for engines that call them in their workers.

`count_batches` and `encode_batches` take record batches and yield record batches, as Spark's `mapInArrow` wants it;
`count_table` and `encode_table` do the same with a table, for Ray's `map_batches(batch_format="pyarrow")`, Dask, DuckDB and
Polars. `functools.partial` fixes their other arguments, and its result can be pickled. All need pyarrow (extra `data`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .encoding.special_choice import ALL, Choice
from .model.special_tokens import check_special_tokens
from .patterns.pattern_argument import PatternLike, get_pattern
from .sources import Skipped, check_on_error, warn_of_skipped
from .sources.optional_packages import require
from .sources.tables.arrow import ArrowColumn, is_arrow
from .system.excerpt import shown
from .text.item_checks import check_collected

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

_BATCH_BYTES = 32 << 20  # bytes of the words in a batch that is yielded


def count_batches(
    batches: Iterable[Any],
    *,
    field: str = "text",
    pattern: PatternLike = "gpt2",
    special_tokens: Sequence[str] = (),
    on_error: str = "raise",
) -> Iterator[Any]:
    """Count the words of the texts in record batches; yields record batches of `word: binary, count: int64`.

    Each word occurs once, in no particular order. The engine adds up the results of all calls (GROUP BY word, SUM(count)),
    and `nbbpe.train(counts=..., pattern=..., special_tokens=...)` trains from them. The arguments are those of
    `nbbpe.count_words`: a null text is an error, or skipped with a warning.

    >>> import nbbpe.arrow_functions, pyarrow as pa
    >>> texts = pa.record_batch({"text": ["the cat", "the"]})
    >>> [batch.to_pylist() for batch in nbbpe.arrow_functions.count_batches([texts])]
    [[{'word': b' cat', 'count': 1}, {'word': b'the', 'count': 2}]]
    """
    from .counting.count_description import Description
    from .counting.count_tables import arrow, batch_of, schema_of
    from .counting.counters import WordRules, make_counter
    from .counting.sorted_runs import in_blocks, sorted_words

    pa = arrow()
    specials = check_special_tokens(special_tokens)
    split = get_pattern(pattern)
    check_on_error(on_error)
    counter = make_counter(WordRules(split, [token.encode() for token in specials], on_error))
    skipped = []
    for batch in batches:
        results = counter.run(ArrowColumn(pa.Table.from_batches([batch]), field))
        skipped += [result for result in results if isinstance(result, Skipped)]
    warn_of_skipped(skipped)
    words = sorted_words(counter.finish())
    schema = schema_of(Description(split, specials).metadata())
    for block in in_blocks(words, _BATCH_BYTES):
        yield batch_of(block, schema)


def count_table(
    table: Any,
    *,
    field: str = "text",
    pattern: PatternLike = "gpt2",
    special_tokens: Sequence[str] = (),
    on_error: str = "raise",
) -> Any:
    """Count the words of the texts in a table, or in anything with Arrow's C interface, to a table; see `count_batches`.

    >>> import nbbpe.arrow_functions, pyarrow as pa
    >>> nbbpe.arrow_functions.count_table(pa.table({"text": ["the cat", "the"]})).num_rows
    2
    """
    pa = require("pyarrow", "Arrow data")
    from .counting.count_description import Description
    from .counting.count_tables import schema_of

    check_collected(table, "table")
    batches = _as_table(table).to_batches()
    specials = check_special_tokens(special_tokens)  # a list, as it is used twice
    counts = count_batches(batches, field=field, pattern=pattern, special_tokens=specials, on_error=on_error)
    schema = schema_of(Description(get_pattern(pattern), specials).metadata())
    return pa.Table.from_batches(counts, schema=schema)


def add_up_counts(tables: Iterable[Any]) -> Any:
    """Add up one or more tables of counts, as a step of a tree reduction. Returns a table with each word once, sorted.

    tables : an iterable of tables, or one; each as the `counts` of `nbbpe.train`

    The metadata of the tables must be equal, or missing; the result has the same. Raises ValueError for other tables,
    TypeError for anything else.

    >>> import nbbpe.arrow_functions, pyarrow as pa
    >>> counts = nbbpe.arrow_functions.count_table(pa.table({"text": ["the cat", "the"]}))
    >>> nbbpe.arrow_functions.add_up_counts([counts, counts]).to_pylist()
    [{'word': b' cat', 'count': 2}, {'word': b'the', 'count': 4}]
    """
    from .counting.count_description import KEY
    from .counting.count_sources import open_counts, words_in
    from .counting.count_tables import arrow, batch_of, schema_of
    from .counting.gathering import Gathering, Limit

    pa = arrow()
    gathering = Gathering(Limit())
    if is_arrow(tables) or isinstance(tables, (str, os.PathLike, Mapping)) or not isinstance(tables, Iterable):
        opened = list(open_counts(tables, "tables"))  # one table, whose items are not tables
    else:
        opened = [each for number, table in enumerate(tables) for each in open_counts(table, f"tables[{number}]")]
    if not opened:
        raise ValueError("give at least one table of counts: there is nothing to add up")
    descriptions = {(each.metadata or {}).get(KEY) for each in opened}
    if len(descriptions) > 1:
        raise ValueError(
            "the tables have different metadata of nbbpe, or some have lost it: count all texts with the same pattern, "
            "special tokens and weights, and the same versions of nbbpe and regex"
        )
    for counts in opened:
        for words in words_in(counts):
            gathering.add(words, are_distinct=False)
    (metadata,) = descriptions
    schema = schema_of({} if metadata is None else {KEY: metadata})
    return pa.Table.from_batches([batch_of(words, schema) for words in gathering.finish().sorted_batches()], schema=schema)


def encode_batches(
    batches: Iterable[Any],
    *,
    tokenizer: Tokenizer,
    field: str = "text",
    to: str = "ids",
    id_type: Any = None,
    allowed_special: Choice = ALL,
) -> Iterator[Any]:
    """Encode a text column: yields the batches with one more column, the list of ids of each text, or null for a null.

    The other columns stay as they are, and so does the metadata.

    field   : the column that holds the text
    to      : the name of the new column; one of this name is replaced
    id_type : an Arrow type for the ids, such as pyarrow.int32(), for engines that lack `tokenizer.dtype` (Spark)
    allowed_special : which special tokens in the text become their ids, as in `Tokenizer.encode`: by default all; ()
        treats them as plain text, for records from strangers

    >>> import nbbpe.arrow_functions, pyarrow as pa
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
    >>> texts = pa.record_batch({"text": ["the cat", None]})
    >>> [batch.to_pylist() for batch in nbbpe.arrow_functions.encode_batches([texts], tokenizer=tok)]
    [[{'text': 'the cat', 'ids': [258, 261]}, {'text': None, 'ids': None}]]
    """
    pa = require("pyarrow", "Arrow data")
    if not hasattr(tokenizer, "encode_arrow"):
        raise TypeError(f"tokenizer must be a Tokenizer (see nbbpe.load), not {shown(tokenizer)}")
    for batch in batches:
        (ids,) = tokenizer.encode_arrow(batch, field=field, allowed_special=allowed_special).chunks
        if id_type is not None:
            ids = ids.cast(pa.list_(id_type))
        # By number, as two columns may have one name.
        kept = [number for number, name in enumerate(batch.schema.names) if name != to]
        fields = [*map(batch.schema.field, kept), pa.field(to, ids.type)]
        schema = pa.schema(fields, metadata=batch.schema.metadata)
        yield pa.RecordBatch.from_arrays([*map(batch.column, kept), ids], schema=schema)


def encode_table(
    table: Any,
    *,
    tokenizer: Tokenizer,
    field: str = "text",
    to: str = "ids",
    id_type: Any = None,
    allowed_special: Choice = ALL,
) -> Any:
    """Encode a text column of a table, or of anything with Arrow's C interface; see `encode_batches`. Returns a table.

    >>> import nbbpe.arrow_functions, pyarrow as pa
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
    >>> nbbpe.arrow_functions.encode_table(pa.table({"text": ["the cat"]}), tokenizer=tok).column_names
    ['text', 'ids']
    """
    pa = require("pyarrow", "Arrow data")
    check_collected(table, "table")
    whole = _as_table(table)
    # A table without rows has no batch, but its result must have the column, too.
    empty = pa.RecordBatch.from_arrays([pa.nulls(0, each.type) for each in whole.schema], schema=whole.schema)
    batches = whole.to_batches() or [empty]
    return pa.Table.from_batches(
        encode_batches(batches, tokenizer=tokenizer, field=field, to=to, id_type=id_type, allowed_special=allowed_special)
    )


def _as_table(table: Any) -> Any:
    """Convert to a pyarrow.Table; one that is such a table already stays, as pyarrow.table would import pandas for it."""
    pa = require("pyarrow", "Arrow data")
    return table if isinstance(table, pa.Table) else pa.table(table)
