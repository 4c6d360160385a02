"""Encodes on an executor: a task is a part of a source, and returns the files that a local worker would write."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from ..sources import Part
from ..sources.files.portable_parts import portable_part
from ..system.atomic_files import name_in_errors
from ..system.executors import run_on
from ..system.lazy import imported_on_use
from ..system.scratch import named_instead
from ..system.workers import Results
from .manifest import Finished
from .part_encoder import PartEncoder

tempfile: Any = imported_on_use("tempfile")

Task = tuple[int, Part]  # the number of its file, and the part


class EncodedPart(NamedTuple):
    """What a task returns.

    files    : the content of each file of the part, by name
    finished : the counts and checksums of the part
    """

    files: dict[str, bytes]
    finished: Finished


def encode_part(task: Task, encoder: PartEncoder) -> EncodedPart:
    """Encode a part into files of a temporary folder, and return their contents. It can safely be called again."""
    with tempfile.TemporaryDirectory() as folder, named_instead(folder, tempfile.gettempdir()):
        # A write error in this process is about its temporary folder, not about the output.
        here = encoder._replace(folder=folder, output_path=tempfile.gettempdir())
        (finished,) = [each for each in here.run(task) if isinstance(each, Finished)]
        files = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                files[name] = file.read()
    return EncodedPart(files, finished)


def encode_on(executor: Any, encoder: PartEncoder, tasks: Sequence[Task]) -> Results:
    """Like `run_jobs` with PartEncoders, but on an executor, whose workers need no access to the encoder's folder."""
    sent = [(number, portable_part(part)) for number, part in tasks]
    for position, done in run_on(executor, partial(encode_part, encoder=encoder), sent):
        with name_in_errors(encoder.output_path):
            for name, content in done.files.items():
                with open(os.path.join(encoder.folder, name), "wb") as file:
                    file.write(content)
        yield position, done.finished.n_read
        yield position, done.finished
