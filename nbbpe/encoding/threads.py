"""Encode parts of text in several threads at once, into one array of ids in the order of the text.

A part is a stretch of a long text, cut at certain boundaries, some texts of a batch, or some rows of an Arrow column. Each
thread takes the next part when it is done with one, and writes its ids to a buffer, from which they are copied to their
place when it is the part's turn. Buffers are reused, as new memory is expensive.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..kernels.machine.large_pages import Room
from ..kernels.pieces.special_tokens import new_special_tokens
from ..system.integers import check_limit
from ..system.job import ENDED, run_here
from ..system.part_joiner import Joiner, PartWriter
from ..system.worker_threads import run_in_threads
from ..system.workers import default_workers
from ..text.text_windows import cut_text, most_bytes, text_windows
from ..text.utf8 import Data
from ..text.windows import Windows

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from .encoder import Encoder

T = TypeVar("T")
R = TypeVar("R")

BYTES_PER_THREAD = 1 << 20  # of text; for less, one more thread does not pay off
PART_BYTES = 1 << 22  # of text that a thread takes at a time, at most; with half as much, later passes took 7 % longer
_PARTS_PER_THREAD = 8  # at least, so that threads end together
SPARE = 32  # ids after those of a part: kernels may write a few bytes more than they need


class MemoryPart(NamedTuple):
    """A part of texts in memory, which one thread encodes at a time.

    n_bytes   : the most bytes that its windows have: of text as UTF-8, and one for each separator between texts
    open      : returns its windows, with special tokens found
    ends_text : whether a text ends at the end of the part, with no break there
    """

    n_bytes: int
    open: Callable[[SpecialTokens], Windows]
    ends_text: bool = False


def check_threads(num_threads: int | None) -> int | None:
    """An argument `num_threads`. Raises TypeError or ValueError unless it is a positive integer or None."""
    return check_limit("num_threads", num_threads)


def threads_for(n_bytes: int, num_threads: int | None) -> int:
    """How many threads to use for `n_bytes` of text; at most `num_threads`, or all processors if that is None."""
    most = default_workers() if num_threads is None else num_threads
    return max(1, min(most, n_bytes // BYTES_PER_THREAD))


def part_bytes(n_bytes: int, n_threads: int) -> int:
    """The number of bytes that each part of a text of `n_bytes` should have."""
    if n_threads == 1:
        return n_bytes + 1
    return max(min(PART_BYTES, n_bytes // (_PARTS_PER_THREAD * n_threads)), 1)


def encode_text(
    encoder: Encoder, text: str | Data, specials: SpecialTokens | None, num_threads: int | None
) -> NDArray[Any]:
    """As Encoder.encode_text, in several threads if that pays off."""
    encoder, text, specials = encoder.for_text(text, specials)
    n_threads = threads_for(len(text), num_threads)
    sought = specials or new_special_tokens([])
    parts = stretches(encoder, text, sought, n_threads)
    if len(parts) == 1:
        return encoder.encode_given(text, specials)
    return encode_parts(encoder, parts, sought, n_threads)[0]


def count(encoder: Encoder, text: str | Data, specials: SpecialTokens | None, num_threads: int | None) -> int:
    """As Encoder.count_given, in several threads if that pays off."""
    encoder, text, specials = encoder.for_text(text, specials)
    n_threads = threads_for(len(text), num_threads)
    sought = specials or new_special_tokens([])
    parts = stretches(encoder, text, sought, n_threads)
    if len(parts) == 1:
        return encoder.count_given(text, specials)
    return sum(results_of(lambda part: encoder.count_windows(part.open(sought)), parts, n_threads))


def stretches(encoder: Encoder, text: str | Data, specials: SpecialTokens, n_threads: int) -> list[MemoryPart]:
    """Cut a text into parts for `n_threads` threads; one part if the text cannot be cut."""
    n_bytes = len(text)
    cuts = [(0, n_bytes)]
    if n_threads > 1 and encoder.cut_by is not None:
        n_parts = -(-n_bytes // part_bytes(n_bytes, n_threads))
        cuts = cut_text(text, n_parts, encoder.cut_by, specials)
    width = most_bytes(text) // max(n_bytes, 1)  # the most bytes of a character
    return [MemoryPart(width * (end - start), partial(text_windows, text, start=start, end=end)) for start, end in cuts]


class _Array:
    """An array of ids that grows: a PartWriter to which parts are written in their order."""

    def __init__(self, n: int, dtype: np.dtype[Any]) -> None:
        self._room = Room(n, dtype)
        self._n = 0

    def room(self, _: int) -> NDArray[np.uint8]:
        """See part_joiner.PartWriter; all memory that is left."""
        return self._room.array[self._n :].view(np.uint8)

    def wrote(self, n_bytes: int) -> None:
        self._n += n_bytes // self._room.array.itemsize

    def write(self, data: memoryview) -> None:
        ids = np.frombuffer(data, dtype=self._room.array.dtype)
        n = self._n + len(ids)
        if n > len(self._room.array):  # the encoder has made a text longer, as by a normalizer
            former, self._room = self._room, Room(2 * n, ids.dtype)
            self._room.array[: self._n] = former.array[: self._n]
        self._room.array[self._n : n] = ids
        self._n = n

    def part(self, _: int) -> AbstractContextManager[PartWriter]:
        """As Joiner.part, if parts come one after another."""
        return nullcontext(self)

    def cut(self) -> NDArray[Any]:
        """All ids, as an array; can be called once."""
        return self._room.cut(self._n)


class _Each:
    """A Job that calls a function for each task."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self._work = work

    def run(self, task: Any) -> Iterator[Any]:
        """Do one task."""
        yield self._work(task)

    def finish(self) -> None:
        """Return no other result: each task has its own."""


def results_of(
    work: Callable[[T], R], tasks: Sequence[T], n_threads: int, stopping: threading.Event | None = None
) -> list[R]:
    """The results of a function for all tasks, in their order; several threads call it, unless `n_threads` is 1.

    stopping : see run_in_threads
    """
    found: list[Any] = [None] * len(tasks)
    make_job, n_threads = partial(_Each, work), min(n_threads, len(tasks))
    if n_threads > 1:
        results = run_in_threads(make_job, tasks, n_threads, here=True, stopping=stopping)
    else:
        results = run_here(make_job, tasks)
    for number, result in results:
        if number is not None and result is not ENDED:
            found[number] = result
    return found


def _encode_part(
    encoder: Encoder,
    specials: SpecialTokens,
    writer_of: Callable[[int], AbstractContextManager[PartWriter]],
    task: tuple[int, MemoryPart],
) -> tuple[int, NDArray[np.int64]]:
    """Encode a part; returns the number of its ids, and how many there are up to each break without id."""
    number, part = task
    with writer_of(number) as writer:
        room = writer.room((part.n_bytes + SPARE) * encoder.dtype.itemsize).view(encoder.dtype)
        ids, ends = encoder.encode_to(part.open(specials), room)
        if ids.ctypes.data == room.ctypes.data:
            writer.wrote(ids.nbytes)
        else:
            writer.write(ids.data)
    return len(ids), ends


def encode_parts(
    encoder: Encoder, parts: Sequence[MemoryPart], specials: SpecialTokens, n_threads: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The ids of all parts, in order, in one new array, and 0 followed by the end of each text's ids in it.

    A text ends at a break without id, and where a part says so.
    """
    encoder, sought = encoder.allowing(specials)
    out = _Array(sum(part.n_bytes for part in parts) + SPARE, encoder.dtype)
    stopping = threading.Event()
    joiner = Joiner(out, 2 * n_threads, stopping) if n_threads > 1 else None
    work = partial(_encode_part, encoder, sought, joiner.part if joiner else out.part)
    found = results_of(work, list(enumerate(parts)), n_threads, stopping)
    if joiner:
        joiner.close()
    ends = [np.zeros(1, dtype=np.int64)]
    n_ids = 0
    for part, (n_of_part, of_texts) in zip(parts, found, strict=True):
        ends.append(of_texts + n_ids)
        n_ids += n_of_part
        if part.ends_text:
            ends.append(np.array([n_ids], dtype=np.int64))
    return out.cut(), np.concatenate(ends)
