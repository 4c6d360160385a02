"""The arguments of `nbbpe.train` about learning merges, checked, and their record in the provenance."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any, NamedTuple

from ..system.arguments import argument
from ..system.choices import check_one_of
from ..system.excerpt import shown
from ..system.integers import check_positive
from ..system.stopping import ON_INTERRUPT, Stopping
from ..system.user_warnings import warn_user
from .token_rules import TokenRules, shown_rules

if TYPE_CHECKING:
    from ..counting.word_counts import WordCounts

# The rules by which training chooses among pairs of equal count; `nbbpe.train` says what each does.
TIE_BREAKS = ("bytes", "ids", "huggingface")


class LearningOptions(NamedTuple):
    """Arguments of `nbbpe.train` that say which pairs are merged, checked; see `check_learning_options`.

    keeps_on_interrupt : whether `on_interrupt` is "keep"
    denominator        : what counts must be divided by, because weights are fractions
    """

    tie_break: str = "bytes"
    min_frequency: int = 1
    max_token_length: int | None = None
    rules: TokenRules = TokenRules()
    keeps_on_interrupt: bool = False
    denominator: int = 1

    @property
    def least_count(self) -> int:
        """The smallest count of a pair that is merged: `min_frequency`, in units of weighted counts."""
        return self.min_frequency * self.denominator

    def record(self, vocab_size: int, words: WordCounts, is_interrupted: bool, n_threads: int = 1) -> dict[str, Any]:
        """The entry of the provenance about training on these words."""
        from ..counting.word_counts import corpus_fingerprint

        rules = self.rules.record()
        return {
            "vocab_size": vocab_size.__index__(),
            "tie_break": self.tie_break,
            "min_frequency": self.min_frequency,
            "max_token_length": self.max_token_length,
            "corpus": {
                "fingerprint": corpus_fingerprint(words, n_threads),
                "words": int(words.counts.sum()),
                "distinct_words": len(words.counts),
                **({"denominator": self.denominator} if self.denominator != 1 else {}),
            },
            **({"interrupted": True} if is_interrupted else {}),
            **({"rules": rules} if rules else {}),
        }

    def warn_if_fewer(
        self, stopping: Stopping, n_learned: int, n_wanted: int, unit: str, vocab_size: int, result: str
    ) -> bool:
        """Warn if fewer were learned than wanted. Returns whether a signal is the reason.

        unit   : "merges" or "new tokens", for the warning
        result : the size of the vocabulary, in words
        """
        if n_learned >= n_wanted:
            return False
        wanted = f"{n_wanted:,} {unit} that {argument('vocab_size', int(vocab_size))} asks for"
        if stopping.number is not None:
            warn_user(
                f"training was interrupted by {signal.Signals(stopping.number).name} after {n_learned:,} of the "
                f"{wanted}; the tokenizer has these"
            )
        else:
            weighted = " of weighted counts" if self.denominator > 1 else ""
            limits = [argument("min_frequency", self.min_frequency) + weighted] if self.least_count > 1 else []
            limits += [] if self.max_token_length is None else [argument("max_token_length", self.max_token_length)]
            limits += [shown_rules(self.rules)] if self.rules.record() else []
            warn_user(
                f"the text has pairs for only {n_learned:,} of the {wanted}"
                f"{', with ' * bool(limits)}{' and '.join(limits)}, so the vocabulary has {result}",
            )
        return stopping()


def check_learning_options(
    tie_break: str, min_frequency: int, max_token_length: int | None, rules: TokenRules | None, on_interrupt: str
) -> LearningOptions:
    """Check arguments of `nbbpe.train`. Raises TypeError or ValueError."""
    check_one_of("tie_break", tie_break, TIE_BREAKS)
    min_frequency = check_positive("min_frequency", min_frequency)
    if max_token_length is not None:
        max_token_length = check_positive("max_token_length", max_token_length)
    check_one_of("on_interrupt", on_interrupt, ON_INTERRUPT)
    if not (rules is None or isinstance(rules, TokenRules)):
        raise TypeError(f"rules must be a TokenRules, not {shown(rules)}")
    return LearningOptions(tie_break, min_frequency, max_token_length, rules or TokenRules(), on_interrupt == "keep")
