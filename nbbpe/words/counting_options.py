"""The arguments of `nbbpe.train` about counting words, checked."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ..system.arguments import argument
from ..system.excerpt import shown
from ..system.executors import check_executor
from ..system.integers import check_positive
from ..system.memory_limits import MemoryLimit, memory_limit_of
from ..system.progress import ProgressOption
from ..system.workers import check_workers

MinWordCount = int | Literal["auto"] | None


class CountingOptions(NamedTuple):
    """Arguments of `nbbpe.train` that say how words are counted, checked; see `check_counting_options`.

    memory_limit   : bytes, None for no limit
    is_limit_given : whether the user gave this limit
    """

    n_workers: int
    progress: ProgressOption
    field: str | None
    on_error: str
    split_with: str | None
    executor: Any
    memory_limit: int | None
    is_limit_given: bool
    min_word_count: MinWordCount

    @property
    def by_regex(self) -> bool:
        """Whether `regex` splits all pieces. (Whether the pattern allows that, `splits_by_regex` checks.)"""
        return self.split_with == "regex"


def check_counting_options(
    workers: int | None,
    progress: ProgressOption,
    field: str | None,
    on_error: str,
    split_with: str | None,
    executor: Any,
    memory_limit: MemoryLimit,
    min_word_count: MinWordCount = None,
) -> CountingOptions:
    """Check arguments of `nbbpe.train`. Raises TypeError or ValueError."""
    min_word_count = _check_min_word_count(min_word_count)
    check_executor(executor)
    most_bytes = memory_limit_of(memory_limit)
    return CountingOptions(
        n_workers=check_workers(workers),
        progress=progress,
        field=field,
        on_error=on_error,
        split_with=split_with,
        executor=executor,
        memory_limit=most_bytes,
        is_limit_given=memory_limit is not None,
        min_word_count=min_word_count,
    )


def _check_min_word_count(min_word_count: MinWordCount) -> MinWordCount:
    """min_word_count as an int, "auto" or None. Raises TypeError or ValueError for anything else."""
    if min_word_count is None:
        return None
    if isinstance(min_word_count, str):
        if min_word_count == "auto":
            return min_word_count
        raise ValueError(
            f'{argument("min_word_count")} must be a positive integer, "auto" or None, not {shown(min_word_count)}'
        )
    return check_positive("min_word_count", min_word_count, 'a positive integer, "auto" or None')
