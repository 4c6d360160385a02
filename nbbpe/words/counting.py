"""Counts of words as tables: made once, added up by any engine, trained from as often as wanted."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.special_tokens import check_special_tokens
from ..sources import Input, find_inputs, total_size
from ..system.atomic_files import whole_file
from ..system.memory_limits import MemoryLimit
from ..system.paths import Path
from ..system.progress import Progress, ProgressOption, shows_bar
from ..text.pattern import Pattern, PatternLike, get_pattern, splits_by_regex
from ..text.utf8 import Text
from .asked import Asked, how_to_count

if TYPE_CHECKING:
    from ..training.gathering import Gathered, Limit


class _Unsaid(str):
    """A default that can be told from the same string that a user gives."""


GPT2: PatternLike = _Unsaid("gpt2")


def is_said(pattern: PatternLike) -> bool:
    """Whether a pattern was given by the user."""
    return not isinstance(pattern, _Unsaid)


def count_words(
    source: Path | Sequence[Path] | Iterator[Text] | None = None,
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

    Counts of several texts can be added up in any order, by `train` or by any engine with a GROUP BY, so that text is
    counted once, wherever it lies, and any vocabulary size and tie rule is trained from it. Needs pyarrow
    (`pip install "nbbpe[data]"`).

    Parameters
    ----------
    source, pattern, special_tokens, workers, field, on_error, split_with, documents, progress
        As in `train`.
    weights
        A positive number (int, float or Fraction) for each item of `source`, by which its counts are multiplied. A float
        is taken as the decimal that it is written as: 0.1 is 1/10. Counts stay whole numbers: all are multiplied by the
        common denominator of the weights, which the table's metadata name.
    memory_limit
        Bytes of memory, or a str such as "4GB", for all processes together. What exceeds it is written to a temporary
        folder (of the system, or the environment variable TMPDIR), as sorted runs that are then merged. None for three
        quarters of what the machine and its control groups leave.
    output
        A file to write the table to, .parquet or .arrow (also .ipc, .feather), in batches, so that it need not fit in
        memory. It appears when it is complete.
    executor
        A concurrent.futures.Executor that counts in place of own worker processes: Dask's `client.get_executor()`, one of
        mpi4py or Ray, a pool of processes. The source must be files, which its workers find under the same paths or URLs.
        Each task is a part of a file, and may be run again where a worker is lost.

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
        As `train`; ImportError also if pyarrow is missing, ValueError for a name of `output` with another ending.
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
    asked = how_to_count(workers, progress, field, on_error, split_with, executor, memory_limit)
    from ..training.count_description import Description
    from ..training.count_tables import arrow, batch_of, check_output, schema_of, write_counts
    from ..training.gathering import limited

    pa = arrow()
    if output is not None:
        check_output(output)
    text = find_text(asked, source, documents, weights)
    with ExitStack() as stack:
        # What could fail after long work is tried before it.
        path = None if output is None else stack.enter_context(whole_file(output))
        limit = stack.enter_context(limited(asked.n_bytes, asked.is_limited, text.n_text()))
        say_outcome = forecasted(asked, text, split, specials, None)
        gathered = count_text(asked, text, limit, split, specials)
        schema = schema_of(Description(split, specials, text.denominator), gathered.longest())
        if path is not None:
            say_outcome(write_counts(gathered.sorted_batches(), schema, path))
            return None
        batches = [batch_of(words, schema) for words in gathered.sorted_batches()]
        say_outcome(sum(map(len, batches)))
        return pa.Table.from_batches(batches, schema=schema)


class CountedText(NamedTuple):
    """Text to count.

    groups      : inputs, and what their counts are multiplied by
    denominator : what the counts must be divided by then
    """

    groups: list[tuple[list[Input], int]]
    denominator: int = 1

    @property
    def inputs(self) -> list[Input]:
        """All inputs."""
        return [each for inputs, _ in self.groups for each in inputs]

    def n_text(self) -> int | None:
        """Its bytes; None where nobody knows."""
        sizes = [each.n_text() for each in self.inputs]
        return sum(sizes) if all(sizes) else None


def find_text(asked: Asked, source: object, documents: object, weights: Sequence[Any] | None) -> CountedText:
    """What a source or documents stand for, checked as far as that is cheap; see `find_inputs`."""
    inputs = find_inputs(source, asked.field, asked.on_error, documents=documents)
    if weights is None:
        return CountedText([(inputs, 1)])
    from ..training.weights import check_weights, whole_factors

    is_list = isinstance(source, (list, tuple)) and documents is None
    items = list(source) if is_list else [source]  # type: ignore[call-overload]
    factors, denominator = whole_factors(check_weights(weights, len(items), "source"))
    groups: dict[int, list[Input]] = {}
    for factor, some in zip(factors, _by_item(items, inputs), strict=True):
        groups.setdefault(factor, []).extend(some)
    return CountedText([(some, factor) for factor, some in groups.items()], denominator)


def _by_item(items: list[Any], inputs: list[Input]) -> Iterator[list[Input]]:
    """The inputs of each item, of which a pattern of names may stand for several."""
    from ..sources.finding import find_files

    rest = iter(inputs)
    for item in items:
        n_files = len(find_files(item)) if isinstance(item, (str, os.PathLike)) else 1
        yield [next(rest) for _ in range(n_files)]


def count_text(asked: Asked, text: CountedText, limit: Limit, split: Pattern, special_tokens: Sequence[str]) -> Gathered:
    """Count the words of a text. Raises ValueError where there are none."""
    from ..training.gathering import Gathering, gather_inputs

    separators = [token.encode() for token in special_tokens]
    gathering = Gathering(limit)
    with Progress(asked.progress, "count words", total_size(text.inputs), "B") as bar:
        how = asked.n_workers, bar.advance, asked.on_error, asked.by_regex
        for inputs, factor in text.groups:
            gather_inputs(gathering, limit, inputs, split, separators, *how, factor, asked.executor)
    return checked(asked, gathering.finish())


def checked(asked: Asked, gathered: Gathered) -> Gathered:
    """The words of text. Raises ValueError where there are none."""
    if gathered.is_empty():
        skipped = " and malformed records, which were skipped" if asked.on_error == "skip" else ""
        raise ValueError(f"no text to train on: the source is empty, or holds nothing but special tokens{skipped}")
    return gathered


def forecasted(
    asked: Asked, text: CountedText, split: Pattern, special_tokens: Sequence[str], n_tokens: int | None
) -> Callable[[int], None]:
    """Before a long run that shows its progress, say what to expect; returns what says at its end how it went.

    That is called with the number of distinct words.
    """
    if not shows_bar(asked.progress):
        return say_nothing
    from ..training import forecast

    separators = [token.encode() for token in special_tokens]
    expected = forecast.forecast(text.inputs, split, separators, asked.n_workers, n_tokens, asked.n_bytes)
    if expected is None:
        return say_nothing
    forecast.say(str(expected))
    began = time.perf_counter()
    return lambda n_words: forecast.say(forecast.outcome(time.perf_counter() - began, n_words))


def say_nothing(n_words: int) -> None:
    """Say nothing of how a run went: of a short one, or one of which nothing was said before."""
