"""Learns a vocabulary from the bytes: in one pass, or, with superwords, in two. (extension.py continues from others.)"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.model import Model
from ..patterns.pattern import Pattern
from ..patterns.pattern_argument import splits_by_regex
from ..system.progress import Progress
from ..system.stopping import Stopping, stopping_on_signals
from ..system.wrong_argument import WrongArgument
from ..training.learning_options import LearningOptions
from ..training.merges import compile_beside_counting, learn_merges
from ..training.superwords import Superwords, check_superwords, phrases
from ..words.counting_options import CountingOptions
from ..words.supply import Splits, Supply
from ..words.words_in_memory import record_of
from .extension import start_from, with_seeds

if TYPE_CHECKING:
    from ..words.supply import Stage


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
    check_superwords(superwords, n_tokens, supply.split)
    passes = _passes(supply, counting, learning, superwords, n_tokens)
    first, last = passes[0], passes[-1]
    learned = _Learned(counting)
    if learning.rules.seeds:
        with_seeds(learned.model(first.splits.tokenizer), learning.rules.seeds, first.n_tokens, learning.tie_break)
    compile_beside_counting()
    print_outcome = supply.print_forecast(n_tokens, None if superwords is None else last.splits.words)

    # If min_word_count is a number, few windows of phrases occur that often, so they fit in memory together with the words.
    # Then both passes count now, so that an error, if no window is left, comes before the first merges.
    counted_first = passes if isinstance(counting.min_word_count, int) else passes[:1]
    counted = [supply.count(n_tokens, each.splits) for each in counted_first]
    for number, each in enumerate(passes):
        if learned.stopping():
            break
        if number == len(counted):
            counted.append(supply.count(n_tokens, each.splits))
        learned.learn(supply.stages(counted[number], each.n_tokens), each)
    words, left_out = counted[0].words, counted[0].left_out
    print_outcome(len(words.counts) if left_out is None else left_out.n_all_words)
    result = f"{256 + len(learned.merges) + len(supply.special_tokens):,} tokens"
    n_wanted = n_tokens - 256
    is_interrupted = learning.warn_if_fewer(learned.stopping, len(learned.merges), n_wanted, "merges", vocab_size, result)
    training = learning.record(vocab_size, counted[-1].words, is_interrupted, counting.n_workers)
    training |= record_of(left_out)
    if superwords is not None:
        training["superwords"] = asdict(superwords) | record_of(counted[1].left_out if len(counted) > 1 else None)
    model = Model.trained(learned.merges, supply.special_tokens, last.splits.tokenizer, training)
    return model.with_training(supply.record(counted[-1], model))


class _Pass(NamedTuple):
    """A pass over the text, in which words are counted, and merges are learned from them.

    splits   : the patterns that split text
    n_tokens : merges are learned up to this number of tokens
    learning : which pairs are merged
    """

    splits: Splits
    n_tokens: int
    learning: LearningOptions


def _passes(
    supply: Supply, counting: CountingOptions, learning: LearningOptions, superwords: Superwords | None, n_tokens: int
) -> list[_Pass]:
    """The passes: one, and for superwords a second one, in which tokens may cross whitespace.

    Raises TypeError or ValueError if superwords cannot be learned from this supply of words.
    """
    split = supply.split
    if superwords is None:
        return [_Pass(Splits(split, split), n_tokens, learning)]
    if not supply.inputs():
        raise WrongArgument("superwords are learned from text: counts do not record which words are neighbours")
    if any(each.is_read_once() for each in supply.inputs()):
        raise WrongArgument("superwords need a source that can be read twice: not an iterator, Arrow data or a pipe")
    joined, windows = phrases(split, superwords), phrases(split, superwords, superwords.window)
    for pattern in joined, windows:
        splits_by_regex(pattern, counting.split_with)
    most_words = min(superwords.max_words, learning.rules.max_words or superwords.max_words)
    rules = replace(learning.rules, max_words=most_words, seeds=())
    return [
        _Pass(Splits(split, split), superwords.after, learning),
        _Pass(Splits(windows, joined), n_tokens, learning._replace(rules=rules)),
    ]


class _Learned:
    """The merges that have been learned so far.

    merges   : int32[n, 2], ids of left and right
    stopping : says whether a signal stopped the last pass
    """

    def __init__(self, counting: CountingOptions) -> None:
        self._counting = counting
        self.merges: NDArray[np.int32] = np.empty((0, 2), dtype=np.int32)
        self.stopping = Stopping()

    def model(self, split: Pattern) -> Model:
        """The model with these merges, without special tokens."""
        return Model.trained(self.merges, [], split, {})

    def learn(self, stages: Iterable[Stage], of_pass: _Pass) -> None:
        """Learn the merges of each stage of a pass in turn."""
        learning = of_pass.learning
        seeds = learning.rules.seeds
        with (
            Progress(self._counting.progress, "learn merges", of_pass.n_tokens, "") as bar,
            stopping_on_signals(learning.keeps_on_interrupt) as self.stopping,
        ):
            for stage in stages:
                start = None
                if len(self.merges) or seeds:
                    model = with_seeds(self.model(of_pass.splits.tokenizer), seeds, of_pass.n_tokens, learning.tie_break)
                    assert model.merge_ids is not None
                    self.merges, start = model.merge_ids[:, :2], start_from(model, stage.words).start
                if self.stopping() or 256 + len(self.merges) >= stage.n_tokens:
                    continue
                more = learn_merges(
                    stage.words,
                    stage.n_tokens,
                    learning,
                    bar.reach,
                    start,
                    self.stopping,
                    stage.groups,
                    n_threads=self._counting.n_workers,
                )
                self.merges = np.concatenate([self.merges, more])
