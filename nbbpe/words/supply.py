"""The interface `Supply` of words to train on; finding.py chooses the kind of supply for a corpus."""

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

    words    : the words to train on
    left_out : what was skipped as too rare, None if nothing was
    sources  : what is known of the sources of a mixture
    """

    words: WordCounts
    left_out: LeftOut | None
    sources: CountedSources = CountedSources({}, {}, {})


class Stage(NamedTuple):
    """Words to learn merges from up to `n_tokens` tokens, and, for parity, the groups of these words."""

    words: WordCounts
    n_tokens: int
    groups: Groups | None = None


class Splits(NamedTuple):
    """The patterns that split text.

    words     : for the words to train on
    tokenizer : of the trained tokenizer; for texts that only measure compression
    """

    words: Pattern
    tokenizer: Pattern


class Supply(ABC):
    """Words with counts.

    split, special_tokens : how the trained tokenizer, too, splits text into words
    denominator           : what counts must be divided by, because weights are fractions
    """

    def __init__(self, options: CountingOptions, split: Pattern, special_tokens: list[str], denominator: int) -> None:
        self._options = options
        self._was_read = False
        self.split = split
        self.special_tokens = special_tokens
        self.denominator = denominator

    def count(self, n_tokens: int, splits: Splits | None = None) -> Counted:
        """Count the words for training `n_tokens` tokens; `min_word_count` says which rare ones are skipped.

        splits : patterns in place of `split`

        Raises ValueError if there are no words, MemoryError or OverflowError if they do not fit (see `words_that_fit`).
        """
        from .words_in_memory import words_that_fit

        with self.limited() as limit:
            gathered = self.gathered(splits or Splits(self.split, self.split), limit)
            return Counted(*words_that_fit(gathered, n_tokens, limit, self._options.min_word_count, self.denominator))

    def limited(self) -> AbstractContextManager[Limit]:
        """The limit of memory for gathering words, with a folder for what exceeds it."""
        return limited(self._options.memory_limit, self._options.is_limit_given, self._most_text())

    def stages(self, counted: Counted, n_tokens: int) -> list[Stage]:
        """The stages of learning merges from these words, up to `n_tokens` tokens."""
        return [Stage(counted.words, n_tokens)]

    def print_forecast(self, n_tokens: int | None, then: Pattern | None = None) -> Callable[[int], None]:
        """Print a forecast before a long run that shows its progress. Returns a function that prints the actual figures at
        the end; its argument is the number of distinct words.

        n_tokens : how many tokens are learned; None if words are only counted
        then     : the pattern of a second pass over the text, if there is one
        """
        return print_no_outcome

    def record(self, counted: Counted, model: Model) -> dict[str, Any]:
        """The entries about sources in the provenance of the model that was trained on these words."""
        return {}

    def inputs(self) -> list[Input]:
        """The texts to count, and those that only measure compression; empty for tables of counts."""
        return []

    def gathered(self, splits: Splits, limit: Limit) -> Gathered:
        """The words, counted with these patterns. Raises ValueError if there are none.

        The first time that the text is read, one warning says which malformed records were skipped.
        """
        gathered = self._gathered(splits, limit)
        if not self._was_read:
            warn_of_skipped(gathered.skipped)
            self._was_read = True
        if gathered.is_empty():
            raise ValueError(self._empty_message())
        return gathered

    @abstractmethod
    def _gathered(self, splits: Splits, limit: Limit) -> Gathered:
        """The words, counted with these patterns."""

    def _word_rules(self, split: Pattern) -> WordRules:
        """How a counter makes words of text, with this pattern."""
        separators = [token.encode() for token in self.special_tokens]
        return WordRules(split, separators, self._options.on_error, self._options.by_regex)

    def _empty_message(self) -> str:
        """The message of the error if there are no words."""
        skipped = " and malformed records, which were skipped" if self._options.on_error == "skip" else ""
        files = [each.file.name for each in self.inputs() if each.file is not None]
        names = f" ({first_few(files, show=repr)})" if files else ""
        return f"there is no text: the source{names} is empty, or holds nothing but special tokens{skipped}"

    def _most_text(self) -> int | None:
        """An upper bound of the bytes of text; None if not known."""
        sizes = [each.most_text() for each in self.inputs()]
        return sum(size for size in sizes if size is not None) if sizes and None not in sizes else None


def print_no_outcome(n_words: int) -> None:
    """Print nothing at the end of a run that printed no forecast."""
