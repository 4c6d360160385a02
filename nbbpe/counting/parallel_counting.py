"""Counts the words of files and iterables, with counters in one or many processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from ..sources import Documents, Input, Skipped
from ..system.workers import ENDED, SharedJob, run_jobs
from ..text.windows import BATCH
from .counters import WordRules, make_counter
from .word_counts import WordCounts

T = TypeVar("T", bound=SharedJob)
MIN_BYTES_FOR_WORKERS = 64 << 20  # below it, starting processes and adding up their counts costs more than it saves
_CHUNK_BYTES = 16 << 20  # taken at a time by a process that works alone
_SHARED_CHUNK_BYTES = 4 << 20  # taken at a time by each of several processes, which all end within the time of one chunk


def warm_up(rules: WordRules) -> None:
    """Load the kernels that count by these rules, or compile them."""
    count_files([Documents([b"warm up"])], rules, 1, lambda n_bytes: None)


def count_files(inputs: Sequence[Input], rules: WordRules, n_workers: int, report: Callable[[int], None]) -> WordCounts:
    """Count the words of files and iterables, in `n_workers` processes if that pays.

    `report` is called with numbers of bytes that were read. Malformed records may be skipped silently.
    """
    counter, _ = run_counters(partial(make_counter, rules), inputs, rules, n_workers, report)
    return counter.finish(n_workers)


def run_counters(
    make: Callable[[], T], inputs: Sequence[Input], rules: WordRules, n_workers: int, report: Callable[[int], None]
) -> tuple[T, list[Skipped]]:
    """Count the words of inputs with counters that `make` makes: one in this process, and others in worker processes.

    Returns the counter of this process, which has taken over the words of the others, and the malformed records that were
    skipped, in their order. For the other arguments see `count_files`.
    """
    counter = make()
    n_workers = workers_that_pay(inputs, n_workers)
    total = sum(each.n_text() for each in inputs)
    part_bytes = max(BATCH, min(_SHARED_CHUNK_BYTES, total // (8 * n_workers))) if n_workers > 1 else _CHUNK_BYTES
    tasks = [part for each in inputs for part in each.cut(part_bytes, rules.cut_rules)]
    if n_workers > 1:
        # Workers inherit compiled kernels instead of racing to compile them.
        warm_up(rules)
    skipped: dict[int, Skipped] = {}
    for number, result in run_jobs(make, tasks, n_workers, own=counter):
        if isinstance(result, Skipped):
            if result.n and number is not None:
                skipped[number] = result
        elif result is not ENDED:
            report(result)
    return counter, [skipped[number] for number in sorted(skipped)]


def workers_that_pay(inputs: Sequence[Input], n_workers: int) -> int:
    """How many of `n_workers` processes pay off for these inputs: one, or all."""
    return 1 if sum(each.n_text() for each in inputs) < MIN_BYTES_FOR_WORKERS else n_workers
