"""Parity between the sources of a mixture: each merge is chosen for the source that is compressed worst.

See Foroutan et al. 2025, Parity-Aware Byte-Pair Encoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..counting.sorted_runs import concatenate, words_between
from ..counting.word_counts import WordCounts
from ..system.excerpt import shown
from ..system.integers import check_limit
from ..system.stretches import starts_of
from ..training.parity_queues import Groups


@dataclass(frozen=True, kw_only=True)
class Parity:
    """Parity between the sources of a `Mixture`: each merge is the most frequent pair of the source that is compressed
    worst at that time, and is applied to all sources.

    A source without a pair that may be merged is passed over. Of equally compressed sources, the one whose name sorts first
    is chosen. Weights and shares only affect which pairs reach `min_frequency`, which words reach `min_word_count`, and the
    merges before `after`.

    Parameters
    ----------
    parallel
        By name, a text for every source; all of these texts say the same, and are not trained on. The source whose text
        takes the most tokens is the one that is compressed worst. None: it is the source with the fewest bytes per token.
        That needs no other text, but scripts differ in how many bytes a character takes, and languages in how many they
        need to say the same.
    after
        Up to this number of tokens (including the 256 bytes, without special tokens), each merge is the most frequent pair
        of all sources together (the paper's hybrid variant). None for no such merges.
    window
        In any so many merges in a row, a source gets at most about twice its even share, so that a source whose merges no
        longer help does not take all further merges. None for no limit. (The paper's variant with a moving window.)

    Raises
    ------
    TypeError, ValueError : an invalid argument

    >>> import nbbpe
    >>> sources = {"large": iter(["the the the then they"]), "small": iter(["zu zum zur"])}
    >>> nbbpe.train(nbbpe.Mixture(sources, parity=True), vocab_size=260).merges
    [(b't', b'h'), (b'z', b'u'), (b'th', b'e'), (b' ', b'zu')]
    """

    parallel: Mapping[str, Any] | None = None
    after: int | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        if self.parallel is not None and not isinstance(self.parallel, Mapping):
            raise TypeError(f"parallel must be a dict of texts by name, not {shown(self.parallel)}")
        for name in "after", "window":
            object.__setattr__(self, name, check_limit(name, getattr(self, name)))
        if self.after is not None and self.after < 256:
            raise ValueError(f"after={self.after} is too small: the 256 bytes are tokens, too")


def check_parity(parity: object, sources: Mapping[str, Any]) -> None:
    """Raise TypeError or ValueError unless `parity` is a Parity that fits the sources."""
    if not isinstance(parity, Parity):
        raise TypeError(f"parity must be a Parity, True or False, not {shown(parity)}")
    if parity.parallel is None:
        return
    for name in sources:
        if name not in parity.parallel:
            raise ValueError(f"parallel has no text for {name!r}: give one for each source")
    check_names("parallel", parity.parallel, sources)


def check_names(argument: str, by_name: Mapping[str, Any], sources: Mapping[str, Any]) -> None:
    """Raise ValueError for a name in an argument that is not a source."""
    for name in by_name:
        if name not in sources:
            raise ValueError(f"{argument} names {name!r}, which is not a source: those are {', '.join(sources)}")


def with_groups(
    words: WordCounts, n_words: Sequence[int], measures: Sequence[WordCounts], window: int | None
) -> tuple[WordCounts, Groups]:
    """The words of sources, followed by those of their parallel texts, and the groups of these for `learn_merges`.

    words    : of all sources, one source after another
    n_words  : how many of them belong to each source
    measures : the words of each source's parallel text; empty if there are none

    Raises OverflowError if the weighted bytes of a source do not fit in int64.
    """
    sizes = []
    for end, n in zip(np.cumsum(n_words).tolist(), n_words, strict=True):
        own = words_between(words, end - n, end)
        lengths = np.diff(own.starts)
        if float(lengths.astype(np.float64) @ own.counts.astype(np.float64)) >= 2.0**62:
            raise OverflowError(
                "the weighted bytes of a source do not fit in 64 bits: use smaller weights, or shares that differ less"
            )
        sizes.append(int(lengths @ own.counts))
    starts = starts_of([*n_words, *(len(each.counts) for each in measures)])
    n_sources = len(n_words)
    measured_by = np.arange(n_sources, dtype=np.int64) + (n_sources if measures else 0)
    groups = Groups(starts, np.array(sizes + [1] * len(measures), dtype=np.int64), measured_by, window or 0)
    return concatenate([words, *measures]), groups
