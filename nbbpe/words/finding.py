"""Chooses the supply of words to train on: text to count, a mixture of sources, or tables of counts.

All sources are found and checked before any work; `nbbpe.train` describes the arguments.
"""

from __future__ import annotations

from ..counting.gathering import Gathered, Gathering, Limit
from ..model.model import Model
from ..patterns.pattern import Pattern
from ..sources import total_size
from ..system.arguments import argument
from ..system.progress import Progress
from ..system.user_warnings import warn_user
from .corpus import Corpus
from .counted_text import CountedText
from .counting_options import CountingOptions
from .mixed_text import MixedText, ParityText
from .mixture import Mixture
from .source_words import gather_source
from .supply import Splits, Supply


def find_supply(
    corpus: Corpus, options: CountingOptions, pattern: Pattern | None, special_tokens: list[str], model: Model | None = None
) -> Supply:
    """The supply of the words of a corpus.

    pattern : the user's argument; None if not given, which is for tables of counts, as these record their pattern
    model   : the model of a tokenizer that is extended, which may prepare text before it is split; None in `nbbpe.train`
    """
    source = corpus.source
    if corpus.counts is not None:
        _check_only_counts(corpus, options)
        if model is not None and model.changes_valid_text:
            warn_user(
                "the tokenizer changes text before it splits it (it normalizes text, or puts spaces in front), and counts "
                "are used as they are: count text that was changed in the same way"
            )
        from .counted_tables import CountedTables

        return CountedTables(corpus, options, pattern, special_tokens, is_extension=model is not None)
    assert pattern is not None
    if isinstance(source, Mixture) and corpus.documents is None:
        if corpus.weights is not None:
            raise TypeError("a Mixture has weights of its own: leave weights out")
        if options.executor is not None:
            raise TypeError("a Mixture is counted by nbbpe's own workers: leave executor out")
        if corpus.parity is not None:
            return ParityText(options, source, pattern, special_tokens, model)
        return MixedText(options, source, pattern, special_tokens, model)
    if model is not None and model.rewrites_text:
        if corpus.weights is not None or options.executor is not None:
            raise TypeError("text that the tokenizer normalizes is counted by this process: leave weights and executor out")
        return _PreparedText(corpus, options, model)
    return CountedText(corpus, options, pattern, special_tokens)


class _PreparedText(CountedText):
    """Text that a model prepares before it is split."""

    def __init__(self, corpus: Corpus, options: CountingOptions, model: Model) -> None:
        super().__init__(corpus, options, model.pattern, list(model.special))
        self._model = model

    def _gathered(self, splits: Splits, limit: Limit) -> Gathered:
        gathering = Gathering(limit)
        with Progress(self._options.progress, "count words", total_size(self._inputs), "B") as bar:
            gather_source(gathering, self._inputs, self._word_rules(splits.words), 1, bar.advance, self._model)
        return gathering.finish()


def _check_only_counts(corpus: Corpus, options: CountingOptions) -> None:
    """Raise TypeError for arguments about text, given together with counts=."""
    of_text = {
        "source": corpus.source,
        "documents": corpus.documents,
        "field": options.field,
        "split_with": options.split_with,
    }
    for name, value in of_text.items():
        if value is not None:
            raise TypeError(f"give {name} or counts, not both: counts come from text that was counted already")
    if options.executor is not None:
        raise TypeError("counts are added up by this process: leave executor out (nbbpe.count_words takes it)")
    if options.on_error != "raise":
        raise TypeError(
            f"{argument('on_error', options.on_error)} is for records, and counts have none: an invalid count "
            "is always an error"
        )
