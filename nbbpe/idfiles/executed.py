"""Encoding on an executor: a task is a part of a source, and returns the files that a worker here would write."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..sources import Part
from ..sources.elsewhere import for_elsewhere
from ..system.atomic_files import name_in_errors
from ..system.executors import run_on
from ..system.lazy import imported_on_use
from ..system.paths import Path
from ..system.workers import Job, Results
from .manifest import Finished

tempfile: Any = imported_on_use("tempfile")

Task = tuple[int, Part]  # the number of its file, and the part


class EncodedPart(NamedTuple):
    """What a task returns.

    position : of the task
    files    : the content of each file of the part, by name
    finished : what the part came to
    """

    position: int
    files: dict[str, bytes]
    finished: Finished


def encode_part(numbered: tuple[int, Task], make_encoder: Callable[[str], Job]) -> EncodedPart:
    """Encode a part into files of a temporary folder, and return them. The same however often it is called.

    make_encoder : makes what writes the files of a part (a PartEncoder) into a folder
    """
    position, task = numbered
    with tempfile.TemporaryDirectory() as folder:
        (finished,) = [result for result in make_encoder(folder).run(task) if isinstance(result, Finished)]
        files = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                files[name] = file.read()
    return EncodedPart(position, files, finished)


def encode_on(
    executor: Any, make_encoder: Callable[[str], Job], tasks: Sequence[Task], folder: str, output_path: Path
) -> Results:
    """As `run_jobs` with encoders that write to a folder; the executor's workers need not reach it."""
    sent = [(position, (number, for_elsewhere(part))) for position, (number, part) in enumerate(tasks)]
    for done in run_on(executor, partial(encode_part, make_encoder=make_encoder), sent):
        with name_in_errors(output_path):
            for name, content in done.files.items():
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(content)
        yield done.position, done.finished.n_read
        yield done.position, done.finished
