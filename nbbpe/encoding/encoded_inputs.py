"""Encode inputs part by part in this process, for functions that count or compare ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..model.model import Model
from ..sources import Input, Part, Tally, total_size, warn_of_skipped
from ..system.progress import Progress, ProgressOption
from ..text.chunks import CutRules
from ..text.lacking_byte import LackingByte
from ..text.windows import NO_ID
from .special_choice import Choice


class EncodesParts(Protocol):
    """The methods of a Tokenizer that encoding a source needs."""

    @property
    def _model(self) -> Model: ...

    def encode_part(
        self, part: Part, separator: int, tally: Tally, allowed_special: Choice | None = None
    ) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """The ids of a part of a source, in arrays, see Tokenizer.encode_part."""


def encoded_inputs(
    tokenizer: EncodesParts,
    inputs: Sequence[Input],
    stage: str,
    progress: ProgressOption,
    on_error: str,
    separator_id: int = NO_ID,
    allowed: Sequence[str] | None = None,
    warn: bool = True,
) -> Iterator[NDArray[Any]]:
    """The ids of inputs, part by part, with a progress bar. Each array is valid until the next one is requested.

    stage        : what the progress bar calls the work
    separator_id : written after each document; NO_ID for nothing
    allowed      : the special tokens to recognise; None for all in plain text, and none in records
    warn         : whether to warn of records that are skipped
    """
    skipped = []
    with Progress(progress, stage, total_size(inputs), "B") as bar:
        for each in inputs:
            for part in each.cut(each.n_text() + 1, CutRules(tokenizer._model.pattern, [])):
                tally = Tally(on_error)
                with _naming(each):
                    for ids, _ in tokenizer.encode_part(part, separator_id, tally, allowed):
                        bar.advance(tally.newly_read())
                        yield ids
                bar.advance(tally.newly_read())
                skipped.append(tally.skipped())
    if warn:
        warn_of_skipped(skipped)


@contextmanager
def _naming(each: Input) -> Iterator[None]:
    """Add the file's name to the error of a byte that the vocabulary lacks; errors of reading name it already."""
    try:
        yield
    except LackingByte as error:
        if each.file is None:
            raise
        raise LackingByte(f"{each.file.name}: {error}") from None
