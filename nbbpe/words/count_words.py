"""`nbbpe.count_words`: counts the words of a text once, as a table for any number of trainings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from ..model.special_tokens import check_special_tokens
from ..patterns.pattern_argument import PatternLike, get_pattern, splits_by_regex
from ..sources.tables.arrow_data import ArrowData
from ..system.atomic_files import whole_file
from ..system.memory_limits import MemoryLimit
from ..system.paths import Path, check_not_read
from ..system.progress import ProgressOption
from ..text.utf8 import Text
from .counting_options import check_counting_options


def count_words(
    source: Path | Sequence[Path] | Iterator[Text] | ArrowData | None = None,
    *,
    pattern: PatternLike = "gpt2",
    special_tokens: Sequence[str] = (),
    workers: int | None = None,
    field: str | None = None,
    on_error: str = "raise",
    split_with: str | None = None,
    documents: Iterable[Text] | None = None,
    progress: ProgressOption = None,
    weights: Sequence[Any] | None = None,
    memory_limit: MemoryLimit = None,
    output: Path | None = None,
    executor: Any = None,
) -> Any:
    """Count the distinct words (pretokens) of a text, as an Arrow table that `train(counts=...)` trains from.

    Counts of several texts can be added up in any order, by `train` or by any engine with a GROUP BY. So each text is
    counted once, where it is stored, and tokenizers of any vocabulary size and tie rule can be trained from the counts.
    Needs pyarrow (`pip install "nbbpe[data]"`).

    Parameters
    ----------
    source, pattern, special_tokens, workers, field, on_error, split_with, documents, progress
        As in `train`.
    weights
        A positive number (int, float or Fraction) for each item of `source`, by which its counts are multiplied. A float
        means the decimal that it is written as: 0.1 is 1/10. Counts stay whole numbers: all are multiplied by the common
        denominator of the weights, which the table's metadata name.
    memory_limit
        Bytes of memory, or a str such as "4GB", for all processes together. Counts that exceed it are written to a
        temporary folder (of the system, or the environment variable TMPDIR), as sorted runs that are then merged. None for
        three quarters of the memory that the machine and its control groups have left.
    output
        A file to write the table to, .parquet or .arrow (also .ipc, .feather), in batches, so that it need not fit in
        memory. It appears when it is complete.
    executor
        A concurrent.futures.Executor that counts in place of nbbpe's own worker processes: Dask's `client.get_executor()`,
        one of mpi4py or Ray, a pool of processes. The source must be files that its workers find under the same paths or
        URLs. Each task is a part of a file, and may be run again if a worker is lost.

    Returns
    -------
    A pyarrow.Table, sorted by word; None if it is written to `output`. Its columns:

        word  : binary (large_binary where a word has 2^31 bytes or more)
        count : int64, 1 or more

    The metadata of its schema say, as JSON under the key "nbbpe", the pattern and its regexes, the version of `regex`, the
    special tokens, nbbpe's version and the format's, and the denominator of the weights.

    Raises
    ------
    TypeError, ValueError, OSError, ImportError
        As in `train`; ImportError also if pyarrow is missing, ValueError also if `output` has another ending, or is a file
        of the source.
    OverflowError
        If the counts, times the weights in whole numbers, do not fit in int64.

    >>> import nbbpe
    >>> counts = nbbpe.count_words(documents=["the cat", "the hat"])
    >>> counts.column_names, counts.num_rows
    (['word', 'count'], 3)
    >>> counts.to_pylist()[2]
    {'word': b'the', 'count': 2}
    >>> nbbpe.train(counts=counts, vocab_size=258).merges
    [(b't', b'h'), (b'th', b'e')]
    """
    specials = check_special_tokens(special_tokens)
    split = get_pattern(pattern)
    splits_by_regex(split, split_with)
    options = check_counting_options(workers, progress, field, on_error, split_with, executor, memory_limit)
    from ..counting.count_description import Description
    from ..counting.count_tables import arrow, batch_of, check_output, schema_of, write_counts
    from .corpus import Corpus
    from .counted_text import CountedText
    from .supply import Splits

    pa = arrow()
    if output is not None:
        check_output(output)
    text = CountedText(Corpus(source, documents, weights=weights), options, split, specials)
    if output is not None:
        check_not_read((each.path() for each in text.inputs()), output)
    with ExitStack() as stack:
        # Opened first, so that an invalid output is an error before the long work, not after it.
        path = None if output is None else stack.enter_context(whole_file(output))
        limit = stack.enter_context(text.limited())
        print_outcome = text.print_forecast(None)
        gathered = text.gathered(Splits(split, split), limit)
        schema = schema_of(Description(split, specials, text.denominator).metadata(), gathered.longest())
        if path is not None:
            print_outcome(write_counts(gathered.sorted_batches(), schema, path))
            return None
        batches = [batch_of(words, schema) for words in gathered.sorted_batches()]
        print_outcome(sum(map(len, batches)))
        return pa.Table.from_batches(batches, schema=schema)
