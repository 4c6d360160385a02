"""Prepares words for extending a vocabulary of characters: each byte of a character that it lacks becomes a word by itself.

Such bytes are tokens, but merges of characters never apply to them (formats/tokenizer_json/characters.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..counting.word_counts import WordCounts
from ..encoding.pretoken_ids import pretoken_ids
from ..model.model import Model
from ..system.stretches import starts_of
from ..text.byte_fallback import ByteFallback
from ..text.utf8 import inserted
from ..words.supply import Stage


def stage_of_characters(model: Model, stage: Stage) -> Stage:
    """A stage for a model with a vocabulary of characters: its words cut, each part with the count of its word."""
    # First within unknown characters, as encoding cuts text: else two of their bytes might merge to the beginning of
    # another character.
    words = _cut(stage.words, _places_within(model, stage.words))
    ids, _ = pretoken_ids(words.text, words.starts, model.merge_table())
    places = starts_of(model.packed.lengths_of(ids))[:-1][np.isin(ids, model.extras.byte_fallback)]
    words = _cut(words, np.concatenate([places, places + 1]))
    groups = stage.groups
    if groups is not None:
        groups = groups._replace(starts=np.searchsorted(words.starts, stage.words.starts[groups.starts]))
    return Stage(words, stage.n_tokens, groups)


def _places_within(model: Model, words: WordCounts) -> NDArray[np.int64]:
    """The places in the text of these words at which unknown characters are cut."""
    inner = words.starts[1:-1]  # a newline is put there, so that bytes of two words do not form a character
    lines = inserted(words.text[: words.starts[-1]].tobytes(), inner, b"\n")
    places = ByteFallback(model.characters).places(lines)
    return places - np.searchsorted(inner + np.arange(len(inner)), places)


def _cut(words: WordCounts, places: NDArray[np.int64]) -> WordCounts:
    """Words cut at places of their text; the parts need not be distinct."""
    starts = np.unique(np.concatenate([words.starts, places]))
    return WordCounts(words.text, starts, words.counts[np.searchsorted(words.starts, starts[:-1], "right") - 1])
