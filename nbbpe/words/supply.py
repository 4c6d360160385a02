"""What training gets its words from, see finding.py for the kinds of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from ..model.model import Model
from ..text.pattern import Pattern
from ..training.fitting import LeftOut, words_that_fit
from ..training.gathering import Gathered, Limit, limited
from ..training.parity_queues import Groups
from ..training.word_counts import WordCounts
from .asked import Asked
from .counting import say_nothing


class Stage(NamedTuple):
    """Words to learn merges from, up to a number of tokens, and the groups in which they stand, if there are any."""

    words: WordCounts
    n_tokens: int
    groups: Groups | None = None


class Supply(ABC):
    """Words with counts.

    split, special_tokens : what makes words of text
    denominator           : what counts must be divided by, because weights are fractions
    """

    def __init__(self, asked: Asked, split: Pattern, special_tokens: list[str], denominator: int = 1) -> None:
        self._asked = asked
        self.split = split
        self.special_tokens = special_tokens
        self.denominator = denominator

    def count(self, n_tokens: int, split: Pattern | None = None) -> tuple[WordCounts, LeftOut | None]:
        """The words, as far as they fit for training `n_tokens` tokens; with another pattern if one is given.

        Raises ValueError if there are none.
        """
        asked = self._asked
        with limited(asked.n_bytes, asked.is_limited, self._n_text()) as limit:
            gathered = self._gathered(split or self.split, limit)
            return words_that_fit(gathered, n_tokens, limit, asked.least_count, self.denominator)

    def stages(self, words: WordCounts, n_tokens: int) -> list[Stage]:
        """How merges are learned from the words that `count` gave last, up to `n_tokens` tokens."""
        return [Stage(words, n_tokens)]

    def forecasted(self, n_tokens: int) -> Callable[[int], None]:
        """Say before a long run what to expect of it; returns what says after it how it went, see `counting.forecasted`."""
        return say_nothing

    def told(self, model: Model) -> dict[str, Any]:
        """What the provenance of the model that was trained says of its sources beside the words."""
        return {}

    @abstractmethod
    def _gathered(self, split: Pattern, limit: Limit) -> Gathered: ...

    def _n_text(self) -> int | None:
        """The bytes of text; None where nobody knows."""
        return None
