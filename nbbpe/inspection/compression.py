"""Computes how often each merge is applied to a text, and how well a smaller vocabulary would compress it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..tokenizer import Tokenizer
from .arguments import check_tokenizer


def merge_counts(tokenizer: Tokenizer, token_counts: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """How often each merge was applied to a text, int64[n_merges], from how often each token is in it (TextFigures.counts).

    A merge is applied once for each of its tokens in the text, and once for each that became part of a longer token. So
    every merge must make a new token out of existing ones. Returns None if that is not so, if the tokenizer has no list of
    merges, if it does not merge pretokens that are tokens (`ignore_merges`) and merging would not give one of these, or if
    the text has an added token that a merge makes, too, as that is found without merging. Raises ValueError unless there is
    a whole number for each token.

    >>> import nbbpe.inspection
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
    >>> figures = nbbpe.inspection.text_figures(tok, documents=["the cat, the mat"])
    >>> nbbpe.inspection.merge_counts(tok, figures.counts).tolist()
    [2, 2, 2, 1, 1, 1, 0, 0]
    """
    from ..vocabulary import frequencies

    counts = _whole_counts(tokenizer, token_counts)
    model = tokenizer._model
    shared = np.array([model.special[token] for token in model.extras.shared], dtype=np.int64)
    if model.merge_ids is not None and counts[model.packed.numbers_of(np.intersect1d(shared, model.merge_ids[:, 2]))].any():
        return None
    return frequencies.merge_counts(model, counts)


def compression_by_size(
    tokenizer: Tokenizer, token_counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
    """Bytes per token on a text if the vocabulary had only its first n merges, for each n from none to all.

    Returns (vocabulary sizes, bytes per token); None if `merge_counts` is None, or the text is empty. Each time that a
    merge is applied, there is one token fewer, so the text is not encoded again. Errors are those of `merge_counts`.

    >>> import nbbpe.inspection
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
    >>> figures = nbbpe.inspection.text_figures(tok, documents=["the cat, the mat"])
    >>> sizes, bytes_per_token = nbbpe.inspection.compression_by_size(tok, figures.counts)
    >>> sizes[[0, -1]].tolist(), bytes_per_token[[0, -1]].round(2).tolist()
    ([256, 264], [1.0, 2.29])
    """
    token_counts = _whole_counts(tokenizer, token_counts)
    applied = merge_counts(tokenizer, token_counts)
    vocab = tokenizer._model.packed
    n_bytes = int((token_counts * vocab.lengths).sum())
    if applied is None or not n_bytes:
        return None
    special = vocab.numbers_of(np.array(list(set(tokenizer.special_tokens.values())), dtype=np.int64))
    n_shortest = n_bytes - int((token_counts * (vocab.lengths - 1))[special].sum())
    n_tokens = n_shortest - np.cumsum(np.concatenate([[0], applied]))
    return len(tokenizer) - len(applied) + np.arange(len(applied) + 1), n_bytes / n_tokens


def _whole_counts(tokenizer: Tokenizer, token_counts: object) -> NDArray[np.int64]:
    """The argument `token_counts` as int64, as sums of smaller integers could wrap around. Errors as in `merge_counts`."""
    check_tokenizer("tokenizer", tokenizer)
    counts = np.asarray(token_counts)
    if counts.shape != (len(tokenizer),):
        raise ValueError(
            f"token_counts must have a number for each of the {len(tokenizer):,} tokens, by ascending id, and is of shape "
            f"{counts.shape}: give TextFigures.counts of the same tokenizer, or tok.frequencies(...)[sorted(tok.vocab)]"
        )
    with np.errstate(invalid="ignore"):  # of NaN
        whole = counts.astype(np.int64)
    if counts.dtype == bool or not np.array_equal(whole, counts):
        raise ValueError("token_counts must be whole numbers, how often each token is in the text")
    return whole
