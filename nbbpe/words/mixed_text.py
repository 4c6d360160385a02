"""Supplies words to train on by counting a mixture of sources."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..counting.gathering import Gathered, Gathering, Limit
from ..counting.sorted_runs import concatenate, n_text_of, words_between
from ..counting.word_counts import WordCounts
from ..encoding.pretoken_ids import pretoken_ids
from ..model.model import Model
from ..patterns.pattern import Pattern
from ..sources import Input, Skipped, total_size
from ..system.excerpt import first_few
from ..system.progress import Progress
from ..system.user_warnings import warn_user
from .counting_options import CountingOptions
from .mixture import (
    CountedMixture,
    CountedSources,
    Mixture,
    count_mixture,
    denominator_of,
    find_mixture,
    max_bytes_of,
)
from .parity import Parity, with_groups
from .source_words import gather_source
from .supply import Counted, Splits, Stage, Supply


class MixedText(Supply):
    """The sources of a mixture, whose words are added up."""

    def __init__(
        self, options: CountingOptions, mixture: Mixture, split: Pattern, special_tokens: list[str], model: Model | None
    ) -> None:
        super().__init__(options, split, special_tokens, denominator_of(mixture))
        self._mixture = mixture
        self._found, self._found_parallel = find_mixture(mixture, options.field, options.on_error)
        self._model = model
        self._sources: CountedSources  # set by `_gathered`, and returned by `count`

    def inputs(self) -> list[Input]:
        found = [*self._found.values(), *self._found_parallel.values()]
        return [each for inputs in found for each in inputs]

    def count(self, n_tokens: int, splits: Splits | None = None) -> Counted:
        return super().count(n_tokens, splits)._replace(sources=self._sources)

    def record(self, counted: Counted, model: Model) -> dict[str, Any]:
        records = {name: dict(record) for name, record in counted.sources.records.items()}
        for name, words in counted.sources.held_out.items():
            records[name]["held_out_bytes_per_token"] = _bytes_per_token(words, model)
        mixture = self._mixture
        limits = {name: limit for name in mixture.sources if (limit := max_bytes_of(mixture, name)) is not None}
        arguments = {"held_out": mixture.held_out, **({"max_bytes": limits} if limits else {}), "seed": mixture.seed}
        return {"mixture": {**arguments, "sources": records}}

    def _empty_message(self) -> str:
        limits = self._limits()
        if not limits:
            return super()._empty_message()
        return f"there is no text: {limits} leaves no document of the sources, or they have none"

    def _limits(self) -> str:
        """The arguments that leave documents out, as a message shows them; empty if there are none."""
        limits = {"max_bytes": self._mixture.max_bytes, "held_out": self._mixture.held_out}
        return " and ".join(f"{name}={value}" for name, value in limits.items() if value)

    def _warn_of_samples(self, counted: CountedMixture) -> None:
        """Warn of samples that are far from the size asked for: of few documents, a sample may take all or none."""
        mixture, trained, held_out = self._mixture, counted.trained, counted.sources.held_out
        may_lack = [name for name in trained if mixture.held_out or max_bytes_of(mixture, name) is not None]
        sampled = [name for name in may_lack if any(each.n_text() for each in self._found[name])]
        without = [name for name in sampled if trained[name].is_empty()]
        if len(without) < len(trained):  # no text at all is an error, which `gathered` raises
            # With max_bytes, it is not known whether there is text among the documents that are left out.
            empty = [n for n in without if max_bytes_of(mixture, n) is None and not len(held_out[n].counts)]
            if empty:
                warn_user(f"there is no text of {first_few(empty)}, neither to train on nor to hold out")
            left_out = [name for name in without if name not in empty]
            _warn_of_sampled(left_out, f"{self._limits()} leaves no text of", " to train on, as")
        if mixture.held_out:
            none = [name for name in sampled if not len(held_out[name].counts) and name not in without]
            _warn_of_sampled(none, f"held_out={mixture.held_out} holds out no text of", ", as")
        most = {name: max_bytes_of(mixture, name) or math.inf for name in sampled}
        larger = [name for name in sampled if counted.sources.records[name]["bytes"] > 2 * most[name]]
        after = " to train on, as compressed text may be larger than estimated, and"
        _warn_of_sampled(larger, f"max_bytes={mixture.max_bytes} leaves more than twice as much text of", after)

    def _gathered(self, splits: Splits, limit: Limit) -> Gathered:
        counted, skipped = self._count(splits, limit)
        gathering = Gathering(limit)
        for name, words in counted.trained.items():
            words.add_to(gathering, counted.multipliers[name])
        gathering.skipped += skipped
        return gathering.finish()

    def _count(self, splits: Splits, limit: Limit) -> tuple[CountedMixture, list[Skipped]]:
        """The words of each source, and the malformed records that were skipped."""
        options = self._options
        size = total_size([each for inputs in self._found.values() for each in inputs])
        if size is not None and self._mixture.held_out:
            size *= 2  # held-out documents are counted in a second pass
        parallel_size = total_size([each for inputs in self._found_parallel.values() for each in inputs])
        size = None if size is None or parallel_size is None else size + parallel_size
        with Progress(options.progress, "count words", size, "B") as bar:

            def count(inputs: list[Input], by: Pattern = splits.words) -> Gathered:
                gathering = Gathering(limit)
                gather_source(gathering, inputs, self._word_rules(by), options.n_workers, bar.advance, self._model)
                return gathering.finish()

            def measure(inputs: list[Input]) -> WordCounts:
                return count(inputs, splits.tokenizer).in_memory()

            counted = count_mixture(self._mixture, self._found, limit, count, measure)
            if not self._was_read:
                self._warn_of_samples(counted)
            found = {name: count(inputs, splits.tokenizer) for name, inputs in self._found_parallel.items()}
        parallel = {name: gathered.in_memory() for name, gathered in found.items()}
        self._sources = counted.sources._replace(parallel=parallel)
        return counted, [each for words in (*counted.trained.values(), *found.values()) for each in words.skipped]


class ParityText(MixedText):
    """The sources of a mixture with parity, whose words follow each other in the order of the sources' names."""

    def __init__(
        self, options: CountingOptions, mixture: Mixture, split: Pattern, special_tokens: list[str], model: Model | None
    ) -> None:
        super().__init__(options, mixture, split, special_tokens, model)
        assert isinstance(mixture.parity, Parity)
        self._parity = mixture.parity
        self._names = sorted(mixture.sources)

    def stages(self, counted: Counted, n_tokens: int) -> list[Stage]:
        words, parallel = counted.words, counted.sources.parallel
        measures = [parallel[name] for name in self._names] if parallel else []
        together, groups = with_groups(words, self._n_words(counted), measures, self._parity.window)
        first = [] if self._parity.after is None else [Stage(words, min(self._parity.after, n_tokens))]
        return [*first, Stage(together, n_tokens, groups)]

    def record(self, counted: Counted, model: Model) -> dict[str, Any]:
        record = super().record(counted, model)
        parity, parallel = self._parity, counted.sources.parallel
        end = 0
        for name, n in zip(self._names, self._n_words(counted), strict=True):
            of_source = record["mixture"]["sources"][name]
            of_source["bytes_per_token"] = _bytes_per_token(words_between(counted.words, end, end + n), model)
            end += n
            if parallel:
                of_source["parallel_tokens"] = _n_tokens(parallel[name], model)
        record["mixture"]["parity"] = {"after": parity.after, "window": parity.window}
        return record

    def _n_words(self, counted: Counted) -> list[int]:
        """How many of the words each source has."""
        least = 1 if counted.left_out is None else counted.left_out.min_word_count * self.denominator
        return [int((counts >= least).sum()) for counts in counted.sources.counts]

    def _gathered(self, splits: Splits, limit: Limit) -> Gathered:
        counted, skipped = self._count(splits, limit)
        parts = []
        for name in self._names:
            words = counted.trained[name].in_memory()
            parts.append(words._replace(counts=words.counts * counted.multipliers[name]))
        self._sources = self._sources._replace(counts=[part.counts for part in parts])
        for name, words in self._sources.parallel.items():
            if not len(words.counts) and not counted.trained[name].is_empty():
                raise ValueError(f"the parallel text of {name!r} is empty, so the compression of {name!r} is unknown")
        return Gathered(concatenate(parts), [], limit, skipped)


def _warn_of_sampled(names: list[str], before: str, after: str) -> None:
    """Warn of what sampling did to some sources, with the text of the warning around their names; of none, do nothing."""
    if names:
        warn_user(
            f"{before} {first_few(names)}{after} whole documents are kept or left out. In plain text, special tokens "
            "separate documents; without special tokens, each line is a document (in Python, "
            "with_special_tokens adds them after training)"
        )


def _bytes_per_token(words: WordCounts, model: Model) -> float | None:
    """How well a model compresses the text of some words; None for no text."""
    return n_text_of(words) / _n_tokens(words, model) if len(words.counts) else None


def _n_tokens(words: WordCounts, model: Model) -> int:
    """How many tokens a model makes of the text of some words."""
    start = words.starts[0]
    _, ends = pretoken_ids(words.text[start:], words.starts - start, model.merge_table())
    return int(np.diff(ends) @ words.counts)
