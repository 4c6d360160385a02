"""Encodes a source into arrays of ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding.encoded_inputs import encoded_inputs
from ..encoding.special_choice import Choice, find_separator
from ..sources import find_inputs
from ..system.choices import check_bool
from ..system.progress import ProgressOption
from ..text.utf8 import Text
from ..tokenizer import Tokenizer
from .arguments import TextSource, check_tokenizer


def encoded(
    tokenizer: Tokenizer,
    source: TextSource | None = None,
    stage: str = "encode",
    progress: ProgressOption = None,
    *,
    separator: str | None = None,
    separator_first: bool = False,
    field: str | None = None,
    on_error: str = "raise",
    allowed_special: Choice | None = None,
    warn: bool = True,
    documents: Iterable[Text] | None = None,
) -> Iterator[NDArray[Any]]:
    """The ids of a source in new arrays, with a progress bar.

    source, documents, progress : as in `nbbpe.train`
    stage : what the progress bar calls the work
    separator, separator_first, field, on_error, allowed_special : as in `encode_file`
    warn : whether to warn of records that are skipped

    >>> import nbbpe.inspection
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
    >>> [ids.tolist() for ids in nbbpe.inspection.encoded(tok, documents=["the cat", "the"])]
    [[258, 261, 258]]
    """
    check_tokenizer("tokenizer", tokenizer)
    separator_first = check_bool("separator_first", separator_first)
    check_bool("warn", warn)
    separator_id = find_separator(tokenizer.special_tokens, separator, separator_first)
    allowed = tokenizer._allowed_tokens(allowed_special)
    inputs = find_inputs(source, field, on_error, documents=documents)
    arrays = encoded_inputs(tokenizer, inputs, stage, progress, on_error, separator_id, allowed, warn)
    # Copied, as the encoder's arrays share its memory: in a list of them, all would have the last ids.
    yield from _separator_first(arrays, separator_id) if separator_first else (ids.copy() for ids in arrays)


def _separator_first(arrays: Iterator[NDArray[Any]], first: int) -> Iterator[NDArray[Any]]:
    """Ids that end with `first`, with it in front instead: each id moves to the place of the next one."""
    for ids in arrays:
        moved = np.roll(ids, 1)
        if len(ids):
            moved[0], first = first, ids[-1]
        yield moved
