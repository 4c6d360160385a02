"""Counts the words of a source as a tokenizer prepares and splits its text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..counting.counters import WordRules
from ..counting.gathering import Gathering, gather_inputs
from ..encoding.new_encoder import new_encoder
from ..encoding.special_choice import pack_special_tokens
from ..model.model import Model
from ..sources import Input, Tally
from ..text.chunks import CutRules
from ..text.windows import NO_ID


def gather_source(
    gathering: Gathering,
    inputs: Sequence[Input],
    rules: WordRules,
    n_workers: int,
    report: Callable[[int], None],
    model: Model | None,
) -> None:
    """Count the words of inputs, as `gather_inputs` does, after a model (if given) has prepared their text.

    The rules must have the model's pattern and special tokens. If the model normalizes text or changes it otherwise, this
    process does all the work, as that is done in Python.
    """
    if model is None or not model.rewrites_text:
        gather_inputs(gathering, inputs, rules, n_workers, report)
        return
    specials = pack_special_tokens(model.choosable)
    encoder, sought = new_encoder(model, np.dtype(np.uint32), 0, specials).allowing(specials)
    # Without special tokens, as the encoder has found them already.
    counter = gathering.limit.new_counter(rules._replace(special_tokens=()), n_workers=1)
    separators = [token.encode() for token in model.choosable]
    for each in inputs:
        for part in each.cut(each.n_text() + 1, CutRules(model.pattern, separators)):
            tally = Tally(rules.on_error)
            with part.open(sought, encoder.at_once, NO_ID, tally) as text_reader:
                reader = encoder.reading(text_reader)
                taken = 0
                while (window := reader.advance(taken)) is not None:
                    taken = counter.count(window)
                    report(tally.newly_read())
            report(tally.newly_read())
            gathering.skipped.append(tally.skipped())
    gathering.add_counted(counter)
