"""Supplies words to train on, or to store, by counting text."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..counting.gathering import Gathered, Gathering, Limit, gather_inputs
from ..kernels.compiler.notices import say
from ..patterns.pattern import Pattern
from ..sources import Input, total_size
from ..sources.finding import find_by_item
from ..system.progress import Progress, shows_bar
from .corpus import Corpus
from .counting_options import CountingOptions
from .supply import Splits, Supply, print_no_outcome


class CountedText(Supply):
    """The text of a source or of documents, checked as far as that is cheap (see `find_by_item`)."""

    def __init__(self, corpus: Corpus, options: CountingOptions, split: Pattern, special_tokens: list[str]) -> None:
        found = find_by_item(corpus.source, options.field, options.on_error, corpus.documents)
        self._inputs = [each for inputs in found for each in inputs]
        self._groups = {1: self._inputs}  # inputs by the factor of their counts
        denominator = 1
        if corpus.weights is not None:
            from .weights import check_weights, whole_factors

            factors, denominator = whole_factors(check_weights(corpus.weights, len(found), "source"))
            self._groups = {}
            for factor, inputs in zip(factors, found, strict=True):
                self._groups.setdefault(factor, []).extend(inputs)
        super().__init__(options, split, special_tokens, denominator)

    def inputs(self) -> list[Input]:
        return self._inputs

    def print_forecast(self, n_tokens: int | None, then: Pattern | None = None) -> Callable[[int], None]:
        options = self._options
        if not shows_bar(options.progress):
            return print_no_outcome
        from . import forecast

        run = options.n_workers, n_tokens, options.memory_limit
        expected = forecast.forecast(self._inputs, self._word_rules(self.split), *run)
        if expected is None:
            return print_no_outcome
        if then is not None and (second := forecast.forecast(self._inputs, self._word_rules(then), *run)) is not None:
            expected = expected.followed_by(second)
        say(str(expected))
        began = time.perf_counter()
        return lambda n_words: say(forecast.outcome(time.perf_counter() - began, n_words))

    def _gathered(self, splits: Splits, limit: Limit) -> Gathered:
        options = self._options
        rules = self._word_rules(splits.words)
        gathering = Gathering(limit)
        with Progress(options.progress, "count words", total_size(self._inputs), "B") as bar:
            for factor, inputs in self._groups.items():
                gather_inputs(gathering, inputs, rules, options.n_workers, bar.advance, factor, options.executor)
        return gathering.finish()
