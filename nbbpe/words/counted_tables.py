"""Supplies words to train on by adding up tables and files of counts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..counting.count_description import common_description
from ..counting.count_sources import open_counts, words_in
from ..counting.gathering import Gathered, Gathering, Limit
from ..patterns.pattern import Pattern
from ..system.excerpt import first_few
from ..system.progress import Progress
from .corpus import Corpus
from .counting_options import CountingOptions
from .supply import Splits, Supply
from .weights import check_weights, whole_factors


class CountedTables(Supply):
    """Tables of counts, opened. Raises the errors of `open_counts`, `common_description` and `check_weights`.

    pattern      : the user's argument, None if not given
    is_extension : see `common_description`
    """

    def __init__(
        self,
        corpus: Corpus,
        options: CountingOptions,
        pattern: Pattern | None,
        special_tokens: Sequence[str],
        is_extension: bool,
    ) -> None:
        counts, weights = corpus.counts, corpus.weights
        is_list = isinstance(counts, (list, tuple))
        items = list(counts) if is_list else [counts]
        if not items:
            raise ValueError("counts is an empty list: it names no table, so there is nothing to train on")
        by_item = [Fraction(1)] * len(items) if weights is None else check_weights(weights, len(items), "counts")
        opened = [open_counts(item, f"counts[{number}]" if is_list else "counts") for number, item in enumerate(items)]
        tables = [(table, weight) for of_item, weight in zip(opened, by_item, strict=True) for table in of_item]
        description, denominators = common_description(
            [(table.name, table.metadata) for table, _ in tables], pattern, special_tokens, is_extension
        )
        exact = [weight / denominator for (_, weight), denominator in zip(tables, denominators, strict=True)]
        factors, denominator = whole_factors(exact)
        super().__init__(options, description.pattern, description.special_tokens, denominator)
        self._tables = [(table, factor) for (table, _), factor in zip(tables, factors, strict=True)]

    def _gathered(self, splits: Splits, limit: Limit) -> Gathered:
        """The words of all tables. Raises ValueError for a row that is not a word with a count."""
        gathering = Gathering(limit)
        with Progress(self._options.progress, "read counts", None, "words") as bar:
            for table, factor in self._tables:
                for words in words_in(table):
                    gathering.add(words, factor, are_distinct=False)
                    bar.advance(len(words.counts))
        return gathering.finish()

    def _empty_message(self) -> str:
        names = first_few([table.name for table, _ in self._tables], show=repr)
        return f"there is nothing to train on: the tables of counts ({names}) have no rows"
