"""Counts how often a source uses each token, and finds unused tokens and how often each merge was applied from that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..encoding.pretoken_ids import unmerged_ids
from ..encoding.special_choice import Choice
from ..idfiles.division import divide
from ..idfiles.part_encoder import EncodesFiles
from ..model.model import Model
from ..model.packed_vocab import has_few_gaps
from ..sources import Part, Skipped, Tally, find_inputs, total_size, warn_of_skipped
from ..sources.tables.arrow_data import ArrowData
from ..system.paths import Path
from ..system.progress import Progress, ProgressOption
from ..system.workers import ENDED, check_workers, run_jobs
from ..text.utf8 import Text
from ..text.windows import NO_ID

_SMALL = 1 << 24  # up to so many ids, an array by id is small enough, whatever the gaps


def frequencies(
    tokenizer: EncodesFiles,
    source: Path | Sequence[Path] | Iterator[Text] | ArrowData | None = None,
    workers: int | None = None,
    progress: ProgressOption = None,
    *,
    field: str | None = None,
    on_error: str = "raise",
    allowed_special: Choice | None = None,
    split_with: str | None = None,
    documents: Iterable[Text] | None = None,
) -> NDArray[np.int64]:
    """How often each id occurs where a source is encoded, int64[vocab_size].

    source, workers, progress, field, on_error, allowed_special, split_with, documents : as in `encode_file`, with the same
        errors

    The ids are those of `encode_file` without a separator: the sum is the number of ids that it would write. Memory is
    bounded, and so is that of each worker: a thread or a process, as in `encode_file`.

    Raises ValueError for a vocabulary whose ids leave gaps much larger than itself, as the array has an entry for each.

    >>> counts = tok.frequencies(documents=["the cat", "the hat"])
    >>> int(counts[tok.token_to_id("the")]), int(counts.sum())
    (2, 6)
    """
    n_workers = check_workers(workers)
    tokenizer = tokenizer._splitting_with(split_with)
    size = check_gaps(tokenizer._model)
    allowed = tokenizer._allowed_tokens(allowed_special)
    inputs = find_inputs(source, field, on_error, documents=documents)
    division = divide(tokenizer, inputs, allowed, n_workers)
    counts = np.zeros(size, dtype=np.int64)
    skipped: dict[int, Skipped] = {}
    with Progress(progress, "count tokens", total_size(inputs), "B") as bar:
        make_job = partial(_Counter, tokenizer, on_error, allowed, size)
        for number, result in run_jobs(make_job, division.parts(), division.n_workers, division.in_threads):
            if number is None:
                counts += result
            elif isinstance(result, Skipped):
                if result.n:
                    skipped[number] = result
            elif result is not ENDED:
                bar.advance(result)
    warn_of_skipped(skipped[number] for number in sorted(skipped))
    return counts


class _Counter:
    """Counts the ids of parts of a source: a Job for workers."""

    def __init__(self, tokenizer: EncodesFiles, on_error: str, allowed: Sequence[str] | None, size: int) -> None:
        self._tokenizer = tokenizer
        self._on_error = on_error
        self._allowed = allowed
        self._counts = np.zeros(size, dtype=np.int64)

    def run(self, part: Part) -> Iterator[int | Skipped]:
        """Count the ids of a part; yields how many bytes were read, and finally the skipped records."""
        from ..kernels.encoding.count_ids import count_long_ids, count_short_ids

        count = count_short_ids if self._tokenizer.dtype == np.uint16 else count_long_ids
        tally = Tally(self._on_error)
        for ids, _ in self._tokenizer.encode_part(part, NO_ID, tally, self._allowed):
            count(ids, self._counts)
            yield tally.newly_read()
        yield tally.newly_read()
        yield tally.skipped()

    def finish(self) -> NDArray[np.int64]:
        """All counts."""
        return self._counts


def check_gaps(model: Model) -> int:
    """The length of an array by id. Raises ValueError if it would be much larger than the vocabulary."""
    if model.size > _SMALL and not has_few_gaps(model.vocab):
        raise ValueError(
            f"the vocabulary has {len(model.vocab):,} tokens and ids up to {model.size - 1:,}: an array with an entry for "
            "each id would be mostly empty"
        )
    return model.size


def token_bytes(model: Model) -> NDArray[np.int32]:
    """See Tokenizer.token_bytes."""
    lengths = np.zeros(check_gaps(model), dtype=np.int32)
    for token_id, token in model.ordinary.items():
        lengths[token_id] = len(token)
    return lengths


def unused(model: Model, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ids of ordinary tokens whose count (by id) is 0, ascending."""
    return np.array(sorted(token_id for token_id in model.ordinary if not counts[token_id]), dtype=np.int64)


def unreachable(model: Model) -> NDArray[np.int64]:
    """See Tokenizer.unreachable."""
    return np.sort(unmerged_ids(model.ordinary, model.merge_table()))


def merge_counts(model: Model, counts: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """How often each merge was applied to texts, int64[n_merges, ...], from how often each token is in them.

    counts : int64[n_tokens, ...], by ascending id; of one text, or a column for each

    None unless each merge makes a new token of bytes and of tokens that were made before (see inspection.merge_counts).
    None also if pretokens that are tokens are not merged (`ignore_merges`): with fewer merges, such a pretoken becomes
    other tokens than those that its token is made of.
    """
    merges = model.merge_ids
    if merges is None or model.whole:
        return None
    known = {token_id for token_id, token in model.ordinary.items() if len(token) == 1}
    for left, right, result in merges.tolist():
        if left not in known or right not in known or result in known:
            return None
        known.add(result)
    made = counts.copy()
    applied = np.zeros((len(merges), *counts.shape[1:]), dtype=np.int64)
    numbers = model.packed.numbers_of(merges).tolist()
    for rank in range(len(merges) - 1, -1, -1):
        left, right, result = numbers[rank]
        applied[rank] = made[result]
        made[left] += applied[rank]
        made[right] += applied[rank]
    return applied
