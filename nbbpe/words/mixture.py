"""A mixture of sources to train on: weights, shares and limits, samples by a seed, and documents that are held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from numbers import Rational
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counting.gathering import Gathered, Limit
from ..counting.word_counts import WordCounts
from ..sources import Input, find_inputs_of_each
from ..sources.sampling import Sample, SampledInput
from ..system.byte_sizes import byte_size
from ..system.excerpt import shown, shown_count
from ..system.integers import check_integer, check_positive
from ..system.wrong_argument import WrongArgument
from .parity import Parity, check_names, check_parity

if TYPE_CHECKING:
    from fractions import Fraction

_FINENESS = 1000  # the smallest multiplier of a source with shares: rounding changes a share by at most 0.05 %


@dataclass(frozen=True)
class Mixture:
    """Sources of text in chosen proportions, for `nbbpe.train`.

    Parameters
    ----------
    sources
        By name, each as `nbbpe.train` takes it: a path, a list of paths, an Arrow column, an iterator of documents.
    weights
        By name, how often a source counts: each of its words counts as if it occurred so many times as often. A positive
        number (int, float or Fraction); 1 for a source without a weight. A float is the decimal that it is written as.
    shares
        In place of weights: by name, the share of a source in all of the text (in bytes), whatever its size. Positive
        numbers, one for each source; only their proportions matter. The source that counts least counts once, all others
        more often; sources without text are ignored.
    max_bytes
        About how many bytes of a source to train on, for all sources, or by name: a number, or a str such as "100MB". A
        larger source is sampled by whole documents, as for `held_out`, and a warning says if more than twice as much is
        left. Its size must be known, so it cannot be an iterator, Arrow data, a pipe, or a remote file whose server does
        not tell its size. The size of compressed text (taken as four times that of the file) and that of a column of a
        file are estimates.
    held_out
        The share of each source's documents that is never trained on, 0 to less than 1. The provenance of the tokenizer
        says how well it compresses them. In plain text, special tokens separate documents; without special tokens, each
        line is a document. Of a source with few documents, all may be held out, or none, which a warning says. Nothing can
        be held out of a source that cannot be read twice: an iterator, Arrow data, a pipe.
    seed
        An integer; another seed gives other samples. Samples do not depend on the number of workers or the order of files,
        and equal documents are all in a sample, or none of them is.
    parity
        A `Parity`, or True for `Parity()`: each merge is chosen for the source that is compressed worst at that time, so
        that all sources, such as languages, are compressed equally well, whatever their sizes. False: each merge is the
        most frequent pair of all sources.

    Raises
    ------
    TypeError, ValueError : an invalid argument

    >>> import nbbpe
    >>> mixture = nbbpe.Mixture({"a": iter(["the the"]), "b": iter(["hat"])}, weights={"b": 5})
    >>> nbbpe.train(mixture, vocab_size=257).merges
    [(b'h', b'a')]
    """

    sources: Mapping[str, Any]
    weights: Mapping[str, float | Fraction] | None = None
    shares: Mapping[str, float] | None = None
    max_bytes: int | str | Mapping[str, int | str] | None = None
    held_out: float = 0.0
    seed: int = 0
    parity: Parity | bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.sources, Mapping) or not all(isinstance(name, str) for name in self.sources):
            raise TypeError(f"sources must be a dict of sources by name, not {shown(self.sources)}")
        if not self.sources:
            raise ValueError("sources is empty: a mixture needs at least one")
        if self.weights is not None and self.shares is not None:
            raise TypeError("give weights or shares, not both")
        for name, numbers in ("weights", self.weights), ("shares", self.shares):
            if numbers is not None:
                self._check_numbers(name, numbers)
        if self.shares is not None and (missing := [name for name in self.sources if name not in self.shares]):
            raise ValueError(f"shares has no number for {missing[0]!r}: give one for each source")
        limits = self.max_bytes if isinstance(self.max_bytes, Mapping) else dict.fromkeys(self.sources, self.max_bytes)
        check_names("max_bytes", limits, self.sources)
        for limit in limits.values():
            if limit is not None:
                check_positive("max_bytes", byte_size("max_bytes", limit))
        if isinstance(self.held_out, bool) or not isinstance(self.held_out, (int, float)):
            raise TypeError(f"held_out must be a number, not {shown(self.held_out)}")
        if not 0 <= self.held_out < 1:
            raise ValueError(f"held_out must be at least 0 and less than 1, not {shown(self.held_out)}")
        object.__setattr__(self, "seed", check_integer("seed", self.seed))
        if not -(2**63) <= self.seed < 2**63:
            raise ValueError(f"seed must fit in 64 bits, and {self.seed} does not")
        if self.parity is True:
            object.__setattr__(self, "parity", Parity())
        if self.parity is not False:
            check_parity(self.parity, self.sources)

    def _check_numbers(self, argument: str, numbers: Mapping[str, Any]) -> None:
        if not isinstance(numbers, Mapping):
            raise TypeError(f"{argument} must be a dict of numbers by name, not {shown(numbers)}")
        check_names(argument, numbers, self.sources)
        for name, number in numbers.items():
            if isinstance(number, bool) or not isinstance(number, (int, float, Rational)):
                raise TypeError(f"{argument}[{name!r}] must be a number, not {shown(number)}")
            if not 0 < number < float("inf"):  # type: ignore[operator]
                raise ValueError(f"{argument}[{name!r}] must be positive, not {shown(number)}")


def find_mixture(
    mixture: Mixture, field: str | None, on_error: str
) -> tuple[dict[str, list[Input]], dict[str, list[Input]]]:
    """The inputs of each source and of each parallel text, by name (see `find_inputs`).

    Raises ValueError for a source that cannot be sampled.
    """
    parallel_texts = (mixture.parity.parallel if isinstance(mixture.parity, Parity) else None) or {}
    named = [(f"sources[{name!r}]", source) for name, source in mixture.sources.items()]
    named += [(f"parallel[{name!r}]", text) for name, text in parallel_texts.items()]
    inputs_of_each = find_inputs_of_each(named, field, on_error)
    found = dict(zip(mixture.sources, inputs_of_each, strict=False))
    parallel = dict(zip(parallel_texts, inputs_of_each[len(found) :], strict=True))
    for name, inputs in found.items():
        in_memory, is_limited = any(each.file is None for each in inputs), max_bytes_of(mixture, name) is not None
        if is_limited and any(each.file and each.size() is None for each in inputs):
            raise WrongArgument(f"the size of {name!r} is not known (a pipe?): max_bytes cannot be applied to it")
        if mixture.held_out and any(each.path() and each.is_read_once() for each in inputs):
            raise WrongArgument(f"{name!r} is a pipe, which cannot be read twice: nothing can be held out of it")
        if mixture.held_out and in_memory:
            raise WrongArgument(f"{name!r} is in memory and may not be readable twice: nothing can be held out of it")
        if is_limited and in_memory:
            raise WrongArgument(f"{name!r} is in memory, and its size is not known: max_bytes cannot be applied to it")
    return found, parallel


class CountedMixture(NamedTuple):
    """The words of each source of a mixture, by the source's name.

    trained     : the words to train on
    multipliers : the factors of their counts
    sources     : everything else, without parallel texts
    """

    trained: dict[str, Gathered]
    multipliers: dict[str, int]
    sources: CountedSources


class CountedSources(NamedTuple):
    """What is known of the sources of a mixture besides the words to train on, by the source's name.

    held_out : the words of held-out documents
    parallel : the words of the parallel texts, if there are any
    records  : the provenance's entries, without the figures that need the trained model
    counts   : for parity, the counts of all words of each source, in the order of the sources' names
    """

    held_out: dict[str, WordCounts]
    parallel: dict[str, WordCounts]
    records: dict[str, dict[str, Any]]
    counts: Sequence[NDArray[np.int64]] = ()


def count_mixture(
    mixture: Mixture,
    found: Mapping[str, list[Input]],
    limit: Limit,
    count: Callable[[list[Input]], Gathered],
    measure: Callable[[list[Input]], WordCounts],
) -> CountedMixture:
    """Count the words of all sources: `count` does so for inputs to train on, `measure` for held-out documents.

    Raises OverflowError if the weighted counts do not fit in int64.
    """

    def sampled(inputs: list[Input], low: float, high: float) -> list[Input]:
        if (low, high) == (0.0, 1.0):
            return inputs
        return [SampledInput(each, Sample(mixture.seed, low, high)) for each in inputs]

    trained: dict[str, Gathered] = {}
    held_out, sizes = {}, {}
    for name, inputs in found.items():
        share, most_bytes = 1.0, max_bytes_of(mixture, name)
        if most_bytes is not None:
            size = (1 - mixture.held_out) * sum(each.n_text() for each in inputs)
            share = min(1.0, most_bytes / size) if size else 1.0
        trained[name] = count(sampled(inputs, mixture.held_out, mixture.held_out + (1 - mixture.held_out) * share))
        sizes[name] = trained[name].n_text()
        if limit.is_reached(sum(words.n_bytes() for words in trained.values())):
            for words in trained.values():
                words.move_to_run()
        if mixture.held_out:
            held_out[name] = measure(sampled(inputs, 0.0, mixture.held_out))
    multipliers = _multipliers(mixture, sizes)
    # The multiplier of a source without words must fit in int64, too: NumPy multiplies its empty array by it.
    total = sum(max(words.total(), 1) * multipliers[name] for name, words in trained.items())
    if total >= 2**63:
        raise OverflowError(
            f"the weighted words are {shown_count(total)}, which does not fit in 64 bits: use smaller weights, weights "
            "with a smaller common denominator, or shares that differ less"
        )
    records = {name: {"bytes": sizes[name], "multiplier": multipliers[name]} for name in trained}
    return CountedMixture(trained, multipliers, CountedSources(held_out, {}, records))


def max_bytes_of(mixture: Mixture, name: str) -> int | None:
    """The limit of a source; None if it has none."""
    limit = mixture.max_bytes.get(name) if isinstance(mixture.max_bytes, Mapping) else mixture.max_bytes
    return None if limit is None else byte_size("max_bytes", limit)


def denominator_of(mixture: Mixture) -> int:
    """The number by which weighted counts are divided to give occurrences in the text."""
    if mixture.shares is not None:
        return _FINENESS
    return lcm(*(weight.denominator for weight in _weights(mixture).values()))


def _weights(mixture: Mixture) -> dict[str, Fraction]:
    """The weights of the sources that have one."""
    from .weights import written_fraction  # here, as it brings `decimal` with it

    return {name: written_fraction(weight) for name, weight in (mixture.weights or {}).items()}


def _multipliers(mixture: Mixture, sizes: Mapping[str, int]) -> dict[str, int]:
    """What each source's counts are multiplied by."""
    from .weights import exact_fraction  # here, as it brings `decimal` with it

    if mixture.shares is not None:
        # A source without text is ignored, or it would be the one that counts least.
        rates = {name: exact_fraction(share) / sizes[name] for name, share in mixture.shares.items() if sizes[name]}
        least = min(rates.values(), default=exact_fraction(1))
        return {name: round(_FINENESS * rates.get(name, least) / least) for name in sizes}
    weights = _weights(mixture)
    unit = denominator_of(mixture)
    return {name: int(weights.get(name, 1) * unit) for name in mixture.sources}
