"""A vocabulary learned from the bytes on, in one stage or, with superwords, in two. extension.py goes on from others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..model.model import Model
from ..patterns.pattern import Pattern, splits_by_regex
from ..system.progress import Progress
from ..system.stopping import Stopping, stopping_on_signals
from ..system.wrong_argument import WrongArgument
from ..training.learning_options import LearningOptions
from ..training.merges import compile_beside_counting, learn_merges
from ..training.superwords import Superwords, check_superwords, phrases
from ..words.counting_options import CountingOptions
from ..words.supply import Supply
from ..words.words_in_memory import record_of
from .extension import start_from, with_seeds

if TYPE_CHECKING:
    from ..words.supply import Counted, Stage


def train_from_bytes(
    supply: Supply,
    counting: CountingOptions,
    learning: LearningOptions,
    superwords: Superwords | None,
    n_tokens: int,
    vocab_size: int,
) -> Model:
    """See nbbpe.train: a model with merges up to `n_tokens` tokens, and special tokens after them, `vocab_size` in all.

    Invalid arguments are errors before any work.
    """
    split, special_tokens = supply.split, supply.special_tokens
    check_superwords(superwords, n_tokens, split)
    second = None if superwords is None else _SecondStage(supply, counting, superwords)
    n_first = n_tokens if superwords is None else superwords.after
    learned = _Learned(counting)
    if learning.rules.seeds:
        with_seeds(learned.model(split), learning.rules.seeds, n_first, learning.tie_break)
    compile_beside_counting()
    print_outcome = supply.print_forecast(n_tokens, None if second is None else second.windows)
    counted = supply.count(n_tokens)
    n_words = len(counted.words.counts) if counted.left_out is None else counted.left_out.n_all_words
    stages = supply.stages(counted, n_first)
    if second is not None:
        second.begin(n_tokens)
    learned.go_on(stages, n_first, split, learning)
    if second is not None:
        del stages
        split = second.joined
        windows = second.learn(learned, n_tokens, learning)
    print_outcome(n_words)
    has = f"{256 + len(learned.merges) + len(special_tokens):,} tokens"
    n_wanted = n_tokens - 256
    is_interrupted = learning.warn_if_fewer(learned.stopping, len(learned.merges), n_wanted, "merges", vocab_size, has)
    last = counted if second is None or windows is None else windows
    training = learning.record(vocab_size, last.words, is_interrupted, counting.n_workers)
    training |= record_of(counted.left_out)
    if second is not None:
        training["superwords"] = second.record()
    model = Model.trained(learned.merges, special_tokens, split, training)
    return model.with_training(supply.record(last, model))


class _Learned:
    """The merges that have been learned so far.

    merges   : int32[n, 2], ids of left and right
    stopping : of the last stage: whether a signal stopped it
    """

    def __init__(self, counting: CountingOptions) -> None:
        self._counting = counting
        self.merges: NDArray[np.int32] = np.empty((0, 2), dtype=np.int32)
        self.stopping = Stopping()

    def model(self, split: Pattern) -> Model:
        """What they make, without special tokens."""
        return Model.trained(self.merges, [], split, {})

    def go_on(self, stages: Iterable[Stage], n_tokens: int, split: Pattern, learning: LearningOptions) -> None:
        """Learn more, up to `n_tokens` tokens, from one stage after another."""
        seeds = learning.rules.seeds
        with (
            Progress(self._counting.progress, "learn merges", n_tokens, "") as bar,
            stopping_on_signals(learning.keeps_on_interrupt) as self.stopping,
        ):
            for stage in stages:
                at = None
                if len(self.merges) or seeds:
                    model = with_seeds(self.model(split), seeds, n_tokens, learning.tie_break)
                    assert model.merge_ids is not None
                    self.merges, at = model.merge_ids[:, :2], start_from(model, stage.words).start
                if self.stopping() or 256 + len(self.merges) >= stage.n_tokens:
                    continue
                more = learn_merges(
                    stage.words,
                    stage.n_tokens,
                    learning,
                    bar.reach,
                    at,
                    self.stopping,
                    stage.groups,
                    n_threads=self._counting.n_workers,
                )
                self.merges = np.concatenate([self.merges, more])


class _SecondStage:
    """The stage of training in which tokens may cross whitespace.

    joined  : the pattern of the tokenizer, with phrases as pretokens
    windows : the pattern by which words are counted

    Raises TypeError or ValueError if superwords cannot be learned from this supply of words.
    """

    def __init__(self, supply: Supply, counting: CountingOptions, superwords: Superwords) -> None:
        if not supply.inputs():
            raise WrongArgument("superwords are learned from text: counts do not record which words are neighbours")
        if any(each.is_read_once() for each in supply.inputs()):
            raise WrongArgument("superwords need a source that can be read twice: not an iterator, Arrow data or a pipe")
        self.joined = phrases(supply.split, superwords)
        self.windows = phrases(supply.split, superwords, superwords.window)
        for each in self.joined, self.windows:
            splits_by_regex(each, counting.split_with)
        self._supply = supply
        self._superwords = superwords
        # Few windows occur often enough where a number says how often, so that there is room for them beside the words.
        self._counts_early = isinstance(counting.min_word_count, int)
        self._counted: Counted | None = None

    def begin(self, n_tokens: int) -> None:
        """Before the first stage: an error where no window occurs often enough is raised now, not after that."""
        self._supply.split = self.joined
        if self._counts_early:
            self._counted = self._supply.count(n_tokens, self.windows)

    def learn(self, learned: _Learned, n_tokens: int, learning: LearningOptions) -> Counted | None:
        """Learn merges up to `n_tokens` tokens, unless a signal has stopped the first stage; returns the windows, or None
        where they were not counted."""
        is_stopped = learned.stopping()
        if self._counted is None and not is_stopped:
            self._counted = self._supply.count(n_tokens, self.windows)
        if self._counted is None:
            return None
        if not is_stopped:
            stages = self._supply.stages(self._counted, n_tokens)
            most_words = min(self._superwords.max_words, learning.rules.max_words or self._superwords.max_words)
            rules = replace(learning.rules, max_words=most_words, seeds=())
            learned.go_on(stages, n_tokens, self.joined, learning._replace(rules=rules))
        return self._counted

    def record(self) -> dict[str, Any]:
        """What the provenance says of it."""
        return {**asdict(self._superwords), **record_of(self._counted.left_out if self._counted else None)}
