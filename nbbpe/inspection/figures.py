"""Computes the figures of a vocabulary, and of a tokenizer on a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding.encoded_inputs import encoded_inputs
from ..encoding.special_choice import Choice
from ..sources import find_inputs, find_inputs_of_each
from ..system.integers import check_integer
from ..system.progress import ProgressOption
from ..text.utf8 import Text
from ..tokenizer import Tokenizer
from .arguments import TextSource, check_tokenizer


@dataclass(frozen=True)
class Token:
    """A token of a vocabulary."""

    token_id: int
    token: bytes


@dataclass(frozen=True)
class VocabularyFigures:
    """The figures of a vocabulary.

    n_tokens : all tokens, special ones included
    n_merges : None if tokens merge by rank, without a list of merges
    special_tokens : with their ids
    pattern : name or regex, or a list of these that split in turn; None for no pattern
    normalizer : the normal form that text is put into, or the steps that change it; None for no normalizer
    dtype : the name of the type of ids
    length_counts : how many tokens there are of each length in bytes, without special tokens
    longest : the longest tokens, without special tokens, the longest first, and the lowest id first among equals
    """

    n_tokens: int
    n_merges: int | None
    special_tokens: dict[str, int]
    pattern: str | list[str] | None
    normalizer: str | list[str | dict[str, Any]] | None
    dtype: str
    length_counts: dict[int, int]
    longest: list[Token]


@dataclass(frozen=True)
class TextFigures:
    """The figures of a tokenizer on a text.

    n_bytes, n_tokens : of the text, after the tokenizer's normalizer
    n_vocab : tokens in the vocabulary, without special tokens
    n_used : how many of these the text uses
    unused : those that it does not use, by id
    most_frequent : (token, how often), the most frequent first
    counts : int64[number of tokens], how often each token occurs, by ascending id, special tokens included
    """

    n_bytes: int
    n_tokens: int
    n_vocab: int
    n_used: int
    unused: list[Token]
    most_frequent: list[tuple[Token, int]]
    counts: NDArray[np.int64]

    @property
    def bytes_per_token(self) -> float | None:
        """The compression rate; None for an empty text."""
        return self.n_bytes / self.n_tokens if self.n_tokens else None


def vocabulary_figures(tokenizer: Tokenizer, n_longest: int = 10) -> VocabularyFigures:
    """The figures of a vocabulary, with its `n_longest` longest tokens.

    >>> import nbbpe.inspection
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
    >>> figures = nbbpe.inspection.vocabulary_figures(tok)
    >>> figures.n_tokens, figures.longest[0]
    (264, Token(token_id=260, token=b' the'))
    """
    check_tokenizer("tokenizer", tokenizer)
    n_longest = check_integer("n_longest", n_longest, 0)
    ordinary = tokenizer._model.ordinary
    merges = tokenizer._model.merges
    longest = sorted(ordinary.items(), key=lambda item: (-len(item[1]), item[0]))[:n_longest]
    return VocabularyFigures(
        n_tokens=len(tokenizer),
        n_merges=None if merges is None else len(merges),
        special_tokens=tokenizer.special_tokens,
        pattern=tokenizer.pattern,
        normalizer=tokenizer.normalizer,
        dtype=tokenizer.dtype.name,
        length_counts=dict(sorted(Counter(map(len, ordinary.values())).items())),
        longest=[Token(*item) for item in longest],
    )


def text_figures(
    tokenizer: Tokenizer,
    source: TextSource | None = None,
    n_most_frequent: int = 10,
    progress: ProgressOption = None,
    *,
    field: str | None = None,
    on_error: str = "raise",
    allowed_special: Choice | None = None,
    documents: Iterable[Text] | None = None,
) -> TextFigures:
    """The figures of a tokenizer on a text. Memory is bounded.

    n_most_frequent : how many of the most frequent tokens to list
    source, documents, progress, field, on_error, allowed_special : as in `encoded`

    >>> import nbbpe.inspection
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
    >>> figures = nbbpe.inspection.text_figures(tok, documents=["the cat, the mat"])
    >>> figures.n_tokens, figures.bytes_per_token, figures.most_frequent[0]
    (7, 2.2857142857142856, (Token(token_id=32, token=b' '), 1))
    """
    check_tokenizer("tokenizer", tokenizer)
    n_most_frequent = check_integer("n_most_frequent", n_most_frequent, 0)
    vocab = tokenizer._model.packed
    counts = np.zeros(len(vocab.ids), dtype=np.int64)
    allowed = tokenizer._allowed_tokens(allowed_special)
    inputs = find_inputs(source, field, on_error, documents=documents)
    for ids in encoded_inputs(tokenizer, inputs, "count tokens", progress, on_error, allowed=allowed):
        counts += vocab.count(ids)
    return figures_of_counts(tokenizer, counts, n_most_frequent)


def count_tokens_of_each(
    tokenizer: Tokenizer, sources: Sequence[TextSource], field: str | None, on_error: str, allowed_special: Choice | None
) -> list[tuple[int, int]]:
    """(number of tokens, number of bytes) of each of several texts. Faster for small texts than `text_figures`, as nothing
    is computed for each token of the vocabulary.

    field : as in `encoded`, except that some of the texts may be plain text
    on_error, allowed_special : as in `encoded`

    >>> import nbbpe.inspection
    >>> tok = nbbpe.train("corpus.txt", 264, ["<|endoftext|>"])
    >>> nbbpe.inspection.count_tokens_of_each(tok, ["corpus.txt"], field=None, on_error="raise", allowed_special=None)
    [(210, 660)]
    """
    check_tokenizer("tokenizer", tokenizer)
    lengths_of = tokenizer._model.packed.lengths_of
    allowed = tokenizer._allowed_tokens(allowed_special)
    found = []
    for inputs in find_inputs_of_each([("source", source) for source in sources], field, on_error):
        n_tokens = n_bytes = 0
        for ids in encoded_inputs(tokenizer, inputs, "count tokens", None, on_error, allowed=allowed):
            n_tokens += len(ids)
            n_bytes += int(lengths_of(ids).sum())
        found.append((n_tokens, n_bytes))
    return found


def figures_of_counts(tokenizer: Tokenizer, counts: NDArray[np.int64], n_most_frequent: int = 10) -> TextFigures:
    """The figures of a text from how often each token is in it (see `TextFigures.counts`)."""
    vocab, ordinary = tokenizer._model.packed, tokenizer._model.ordinary
    order = np.argsort(-counts, kind="stable")[: n_most_frequent + len(vocab.ids) - len(ordinary)]
    frequent = zip(vocab.ids[order].tolist(), counts[order].tolist(), strict=True)
    found = [(Token(token_id, ordinary[token_id]), n) for token_id, n in frequent if n and token_id in ordinary]
    unused_ids = vocab.ids[counts == 0].tolist()
    unused = [Token(token_id, ordinary[token_id]) for token_id in unused_ids if token_id in ordinary]
    return TextFigures(
        n_bytes=int((counts * vocab.lengths).sum()),
        n_tokens=int(counts.sum()),
        n_vocab=len(ordinary),
        n_used=len(ordinary) - len(unused),
        unused=unused,
        most_frequent=found[:n_most_frequent],
        counts=counts,
    )
