"""How the inputs of an encoding are divided among workers: into which parts, for how many threads or processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..sources import Input, Part, shared_by_threads
from ..text.chunks import CutRules
from .checksum import checksum
from .kept_parts import KeptParts
from .part_encoder import EncodesFiles

MIN_BYTES_FOR_WORKERS = 8 << 20  # below it, starting processes costs more than it saves
# Threads need that much text for every so many files, which is 32 kB for each: opening a file is work of Python's, and two
# threads have taken 1.3 times as long as one for files of 1 to 16 kB; from 32 kB on they were not slower.
_FILES = 256
_CHUNK_BYTES = 8 << 20  # of text: what a worker takes at a time


class Division(NamedTuple):
    """How inputs are divided among workers.

    of_inputs  : the parts of each input, of about `part_bytes` bytes of text
    n_workers  : how many workers pay off
    in_threads : whether the workers should be threads, not processes
    """

    of_inputs: list[Sequence[Part]]
    part_bytes: int
    n_workers: int
    in_threads: bool

    def parts(self) -> list[Part]:
        """The parts of all inputs."""
        return [part for of_input in self.of_inputs for part in of_input]


def divide(
    tokenizer: EncodesFiles,
    inputs: Sequence[Input],
    allowed_special: Sequence[str] | None,
    n_workers: int,
    kept: KeptParts | None = None,
    executor: Any = None,
) -> Division:
    """Divide inputs among workers, or those of an executor; with `kept`, as in the run that is resumed."""
    n_text = sum(each.n_text() for each in inputs)
    # Threads start sooner and need less memory, but only one of them is in Python at a time. To be resumed, parts go to
    # processes: one gets no new part before the one that it has finished is noted, and if killed takes no other along.
    in_python = tokenizer._encoder.in_python or any(each.in_python for each in inputs)
    in_threads = not kept and not in_python and executor is None
    if n_text < MIN_BYTES_FOR_WORKERS * (max(1, len(inputs) / _FILES) if in_threads else 1):
        n_workers = 1
    if kept:
        part_bytes = kept.part_bytes or _kept_part_bytes(n_workers)
    else:
        # One process writes a file for each input; several take turns, in parts small enough that they end together.
        # Parts are no smaller than what pays: each worker makes its own cache, and many that wait for their turn its room.
        shared = max(n_text // (4 * n_workers), _CHUNK_BYTES // 32) + 1
        part_bytes = min(_CHUNK_BYTES, shared) if n_workers > 1 else n_text + 1
    recognised = tokenizer.special_tokens if allowed_special is None else allowed_special
    special_tokens = [token.encode() for token in recognised]  # others are text that must not be cut there
    # What is done to a text before it is split may depend on where it begins: then plain text is not cut.
    model = tokenizer._model
    uncut = n_text + 1 if model.is_prepared else part_bytes
    rules = CutRules(model.pattern, special_tokens, model.normalizer.form)
    of_inputs = [each.cut(part_bytes if each.has_records else uncut, rules) for each in inputs]
    if n_workers > 1:
        # Workers inherit kernels and tables instead of making them again.
        checksum(np.fromiter(tokenizer.encode_iterable(["warm up"]), dtype=tokenizer.dtype))
    in_threads = in_threads and n_workers > 1
    if in_threads:
        pairs = zip(of_inputs, inputs, strict=True)
        of_inputs = [shared_by_threads(parts, each.n_text(), n_workers) for parts, each in pairs]
    return Division(of_inputs, part_bytes, n_workers, in_threads)


def _kept_part_bytes(n_workers: int) -> int:
    """The size of the parts of a run that can be resumed: a kill costs two parts, or as much text in smaller parts of more
    workers.

    Below an eighth of the usual size, opening and noting files would take longer than it saves.
    """
    return max(min(_CHUNK_BYTES, 2 * _CHUNK_BYTES // n_workers), _CHUNK_BYTES // 8, 1)
