"""A supply of words to train on; finding.py chooses its kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..counting.counters import WordRules
from ..counting.gathering import Gathered, Limit, limited
from ..counting.word_counts import WordCounts
from ..patterns.pattern import Pattern
from ..sources import Input, warn_of_skipped
from ..system.excerpt import first_few
from .counting_options import CountingOptions
from .mixture import CountedSources

if TYPE_CHECKING:
    from ..model.model import Model
    from ..training.parity_queues import Groups
    from .words_in_memory import LeftOut


class Counted(NamedTuple):
    """Words that a supply has counted.

    words    : those to train on
    left_out : those that are too rare, None if there are none
    sources  : what is known of the sources, if they are those of a mixture
    """

    words: WordCounts
    left_out: LeftOut | None
    sources: CountedSources = CountedSources({}, {}, {})


class Stage(NamedTuple):
    """Words to learn merges from, up to a number of tokens, and their groups, if there are any."""

    words: WordCounts
    n_tokens: int
    groups: Groups | None = None


class Splits(NamedTuple):
    """How text is split.

    words     : the pattern by which the words to train on are counted
    tokenizer : that of the later tokenizer, by which text is split that only measures
    """

    words: Pattern
    tokenizer: Pattern


class Supply(ABC):
    """Words with counts.

    split, special_tokens : how text is split into words, as by the later tokenizer
    denominator           : what counts must be divided by, because weights are fractions
    """

    def __init__(self, options: CountingOptions, split: Pattern, special_tokens: list[str], denominator: int) -> None:
        self._options = options
        self._was_read = False
        self.split = split
        self.special_tokens = special_tokens
        self.denominator = denominator

    def count(self, n_tokens: int, splits: Splits | None = None) -> Counted:
        """The words, as far as they fit for training `n_tokens` tokens; with other patterns if they are given.

        Raises ValueError if there are none.
        """
        from .words_in_memory import words_that_fit

        with self.limited() as limit:
            gathered = self.gathered(splits or Splits(self.split, self.split), limit)
            return Counted(*words_that_fit(gathered, n_tokens, limit, self._options.min_word_count, self.denominator))

    def limited(self) -> AbstractContextManager[Limit]:
        """The limit of memory in which words are gathered."""
        return limited(self._options.memory_limit, self._options.is_limit_given, self._most_text())

    def stages(self, counted: Counted, n_tokens: int) -> list[Stage]:
        """How merges are learned from these words, up to `n_tokens` tokens."""
        return [Stage(counted.words, n_tokens)]

    def print_forecast(self, n_tokens: int | None, then: Pattern | None = None) -> Callable[[int], None]:
        """Before a long run that shows its progress, print what to expect; returns what prints at its end how it went.

        That is called with the number of distinct words. `n_tokens` is None where nothing is learned from them; `then` is
        another pattern with which they are counted and learned from once more.
        """
        return print_no_outcome

    def record(self, counted: Counted, model: Model) -> dict[str, Any]:
        """Entries for the provenance of the model that was trained on these words about its sources."""
        return {}

    def inputs(self) -> list[Input]:
        """The text to count, with texts that measure it; empty for tables of counts."""
        return []

    def gathered(self, splits: Splits, limit: Limit) -> Gathered:
        """The words, counted with these patterns. Raises ValueError where there are none.

        One warning says which malformed records were skipped, when the text is read for the first time.
        """
        gathered = self._gathered(splits, limit)
        if not self._was_read:
            warn_of_skipped(gathered.skipped)
            self._was_read = True
        if gathered.is_empty():
            raise ValueError(self._says_empty())
        return gathered

    @abstractmethod
    def _gathered(self, splits: Splits, limit: Limit) -> Gathered:
        """The words, counted with these patterns."""

    def _word_rules(self, split: Pattern) -> WordRules:
        """How text is made into words, by a pattern."""
        separators = [token.encode() for token in self.special_tokens]
        return WordRules(split, separators, self._options.on_error, self._options.by_regex)

    def _says_empty(self) -> str:
        """The message of the error if there are no words."""
        skipped = " and malformed records, which were skipped" if self._options.on_error == "skip" else ""
        files = [each.file.name for each in self.inputs() if each.file is not None]
        named = f" ({first_few(files, show=repr)})" if files else ""
        return f"there is no text: the source{named} is empty, or holds nothing but special tokens{skipped}"

    def _most_text(self) -> int | None:
        """The most bytes of text that there may be; None if not known."""
        sizes = [each.most_text() for each in self.inputs()]
        return sum(size for size in sizes if size is not None) if sizes and None not in sizes else None


def print_no_outcome(n_words: int) -> None:
    """Print nothing at the end of a run that printed no forecast."""
