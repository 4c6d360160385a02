"""Divides the inputs of an encoding into parts, and chooses how many threads or processes encode them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..sources import Input, Part, shared_by_threads
from ..text.chunks import CutRules
from .checksum import checksum
from .kept_parts import KeptParts
from .part_encoder import EncodesFiles

MIN_BYTES_FOR_WORKERS = 8 << 20  # of text; for less, starting processes costs more than it saves
# Threads need MIN_BYTES_FOR_WORKERS for every 256 files, 32 kB for each file: files are opened in Python, by one thread at
# a time. For files of 1 to 16 kB, two threads have taken 1.3 times as long as one; from 32 kB on they were not slower.
_FILES = 256
_CHUNK_BYTES = 8 << 20  # of text in a usual part


class Division(NamedTuple):
    """How inputs are divided among workers.

    of_inputs  : the parts of each input
    part_bytes : about how many bytes of text a part has
    n_workers  : how many workers are worth starting
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
    """Divide inputs among `n_workers` workers, or fewer. With `kept`, the parts are as large as in the resumed run."""
    n_text = sum(each.n_text() for each in inputs)
    # Threads start sooner and need less memory, but only one at a time runs Python code. A run that can be resumed uses
    # processes: each gets a new part only after its last one is noted as finished, and if killed loses only its own part.
    in_python = tokenizer._encoder.in_python or any(each.in_python for each in inputs)
    in_threads = not kept and not in_python and executor is None
    if n_text < MIN_BYTES_FOR_WORKERS * (max(1, len(inputs) / _FILES) if in_threads else 1):
        n_workers = 1
    if kept:
        part_bytes = kept.part_bytes or _kept_part_bytes(n_workers)
    else:
        # For one worker, each input is one part. For several, parts are small enough that all workers end at about the same
        # time, and large enough to be worth a worker, which fills a cache, and a buffer if other parts must come first.
        shared = max(n_text // (4 * n_workers), _CHUNK_BYTES // 32) + 1
        part_bytes = min(_CHUNK_BYTES, shared) if n_workers > 1 else n_text + 1
    recognised = tokenizer.special_tokens if allowed_special is None else allowed_special
    special_tokens = [token.encode() for token in recognised]  # text may be cut at these; other special tokens are text
    # A step before splitting, such as a prefix space, may depend on where the text begins: then plain text is not cut.
    model = tokenizer._model
    uncut = n_text + 1 if model.is_prepared else part_bytes
    rules = CutRules(model.pattern, special_tokens, model.normalizer.form)
    of_inputs = [each.cut(part_bytes if each.has_records else uncut, rules) for each in inputs]
    if n_workers > 1:
        # Load kernels and make tables here, so that forked workers inherit them.
        checksum(np.fromiter(tokenizer.encode_iterable(["warm up"]), dtype=tokenizer.dtype))
    in_threads = in_threads and n_workers > 1
    if in_threads:
        pairs = zip(of_inputs, inputs, strict=True)
        of_inputs = [shared_by_threads(parts, each.n_text(), n_workers) for parts, each in pairs]
    return Division(of_inputs, part_bytes, n_workers, in_threads)


def _kept_part_bytes(n_workers: int) -> int:
    """The size of the parts of a run that can be resumed.

    A kill loses one part of each worker: with smaller parts for more workers, as much text as two usual parts have. Below
    an eighth of the usual size, opening files and noting parts would take longer than smaller parts save.
    """
    return max(min(_CHUNK_BYTES, 2 * _CHUNK_BYTES // n_workers), _CHUNK_BYTES // 8, 1)
