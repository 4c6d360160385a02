"""How two tokenizers differ on a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding.alignment import Differences, DifferentTexts, aligned
from ..encoding.encoded_inputs import encoded_inputs
from ..sources import Input, check_read_again, find_inputs
from ..system.integers import check_integer
from ..system.paths import Path
from ..system.progress import ProgressOption
from ..text.utf8 import Text
from ..tokenizer import Tokenizer
from .arguments import check_tokenizer
from .figures import TextFigures, figures_of_counts


@dataclass(frozen=True)
class Split:
    """A stretch of text that two tokenizers split differently, between two places where both split it."""

    text: bytes
    count: int
    a: list[bytes]
    b: list[bytes]


@dataclass(frozen=True)
class Comparison:
    """Two tokenizers on one text.

    a, b : the figures of each
    n_shared : tokens that both vocabularies have, without special tokens
    n_only_a, n_only_b : tokens that only one of them has
    n_same : tokens of the text that are the same in both
    n_differing : stretches of the text that are split differently
    n_differing_bytes : the bytes of these stretches
    splits : the most frequent of these stretches; very long ones, and those first seen after very many others, are left out
    """

    a: TextFigures
    b: TextFigures
    n_shared: int
    n_only_a: int
    n_only_b: int
    n_same: int
    n_differing: int
    n_differing_bytes: int
    splits: list[Split]


def compare(
    a: Tokenizer,
    b: Tokenizer,
    source: Path | Sequence[Path] | None = None,
    n_splits: int = 20,
    progress: ProgressOption = None,
    *,
    field: str | None = None,
    on_error: str = "raise",
    documents: Sequence[Text] | None = None,
) -> Comparison:
    """Compare two tokenizers on a text: a path, a list of paths, or `documents`, a list. Both read it at the same time.

    Arguments are as in `nbbpe.train`; `n_splits` is the most stretches to list. Raises TypeError for an iterator and
    ValueError for a pipe, which can be read only once. Raises ValueError also if the tokenizers change the text in
    different ways (by a normalizer, a space in front, dropped spaces), as they then encode different texts.

    >>> import nbbpe.inspection
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
    >>> smaller, _ = tok.truncate(260)
    >>> found = nbbpe.inspection.compare(tok, smaller, documents=["the cat, the mat"])
    >>> found.a.n_tokens, found.b.n_tokens, found.splits[0]
    (7, 9, Split(text=b' cat', count=1, a=[b' cat'], b=[b' ', b'cat']))
    """
    for name, tokenizer in ("a", a), ("b", b):
        check_tokenizer(name, tokenizer)
    n_splits = check_integer("n_splits", n_splits, 0)
    inputs, again = _inputs_twice(source, documents, field, on_error)
    tokens_a, tokens_b = set(a._model.ordinary.values()), set(b._model.ordinary.values())
    vocabs = [tokenizer._model.packed for tokenizer in (a, b)]
    counts = [np.zeros(len(vocab.ids), dtype=np.int64) for vocab in vocabs]
    differences = Differences(vocabs)
    streams = (
        encoded_inputs(a, inputs, "compare", progress, on_error),
        encoded_inputs(b, again, "compare", False, on_error, warn=False),
    )
    may_change = a.normalizer != b.normalizer or a._model.is_prepared or b._model.is_prepared
    for ids in aligned(streams, vocabs):
        if may_change and a._decoder.decode_part(ids[0]) != b._decoder.decode_part(ids[1]):
            raise DifferentTexts
        differences.add(ids)
        for count, vocab, part in zip(counts, vocabs, ids, strict=True):
            count += vocab.count(part)
    return Comparison(
        a=figures_of_counts(a, counts[0]),
        b=figures_of_counts(b, counts[1]),
        n_shared=len(tokens_a & tokens_b),
        n_only_a=len(tokens_a - tokens_b),
        n_only_b=len(tokens_b - tokens_a),
        n_same=differences.n_same,
        n_differing=differences.n_stretches,
        n_differing_bytes=differences.n_bytes,
        splits=[
            _split(a, np.frombuffer(ids_a, a.dtype), b, np.frombuffer(ids_b, b.dtype), count)
            for (ids_a, ids_b), count in differences.stretches.most_common(n_splits)
        ],
    )


def _inputs_twice(
    source: Path | Sequence[Path] | None, documents: Sequence[Text] | None, field: str | None, on_error: str
) -> tuple[list[Input], list[Input]]:
    """The inputs of a source for each of two tokenizers. Raises TypeError or ValueError if it can be read only once."""
    if isinstance(source, Iterator):
        raise TypeError("source is read twice, so it must be a path or a list, not an iterator")
    if isinstance(documents, Iterator):
        raise TypeError("documents is read twice, so it must be a list, not an iterator")
    inputs = again = find_inputs(source, field, on_error, documents=documents)
    check_read_again("source", "twice", inputs)
    if any(each.file is None for each in inputs):  # a table must be opened again to be read again
        again = find_inputs(source, field, on_error, documents=documents)
    return inputs, again


def _split(a: Tokenizer, ids_a: NDArray[Any], b: Tokenizer, ids_b: NDArray[Any], count: int) -> Split:
    return Split(
        text=a._decoder.decode_part(ids_a),
        count=count,
        a=list(map(a.vocab.__getitem__, ids_a.tolist())),
        b=list(map(b.vocab.__getitem__, ids_b.tolist())),
    )
