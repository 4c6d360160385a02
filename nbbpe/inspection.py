"""Statistics of tokenizers: the vocabulary, how well it compresses a text, how two tokenizers differ. Prints nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .encoded_inputs import encoded_inputs
from .encoding.alignment import Differences, DifferentTexts, aligned
from .encoding.special_choice import Choice, find_separator
from .model.packed_vocab import PackedVocab
from .sources import check_read_again, find_inputs, find_inputs_of_each
from .sources.arrow_data import ArrowData
from .system.choices import check_bool
from .system.excerpt import shown
from .system.integers import check_integer
from .system.paths import Path
from .system.progress import ProgressOption
from .text.utf8 import Text
from .tokenizer import Tokenizer

TextSource = Path | Sequence[Path] | Iterator[Text] | ArrowData  # what `nbbpe.train` takes


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
    n_vocab : tokens in the vocabulary, without special tokens, as in the next two
    n_used : how many of them the text uses
    unused : the tokens that it does not use, by id
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
        """None for an empty text."""
        return self.n_bytes / self.n_tokens if self.n_tokens else None


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
    splits : the most frequent of them; very long ones, and those first seen after very many others, are not listed
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


def vocabulary_figures(tokenizer: Tokenizer, n_longest: int = 10) -> VocabularyFigures:
    """The figures of a vocabulary, with its `n_longest` longest tokens.

    >>> import nbbpe.inspection
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
    >>> figures = nbbpe.inspection.vocabulary_figures(tok)
    >>> figures.n_tokens, figures.longest[0]
    (264, Token(token_id=260, token=b' the'))
    """
    _check_tokenizer("tokenizer", tokenizer)
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


def encoded(
    tokenizer: Tokenizer,
    source: TextSource | None = None,
    stage: str = "encode",
    progress: ProgressOption = None,
    *,
    separator: str | None = None,
    separator_first: bool = False,
    field: str | None = None,
    on_error: str = "raise",
    allowed_special: Choice | None = None,
    warn: bool = True,
    documents: Iterable[Text] | None = None,
) -> Iterator[NDArray[Any]]:
    """The ids of a source in new arrays, with a progress bar.

    source, documents, progress : as in `nbbpe.train`
    stage : what the progress bar calls the work
    separator, separator_first, field, on_error, allowed_special : as in `encode_file`
    warn : whether to warn of records that are skipped

    >>> import nbbpe.inspection
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
    >>> [ids.tolist() for ids in nbbpe.inspection.encoded(tok, documents=["the cat", "the"])]
    [[258, 261, 258]]
    """
    _check_tokenizer("tokenizer", tokenizer)
    separator_first = check_bool("separator_first", separator_first)
    check_bool("warn", warn)
    separator_id = find_separator(tokenizer.special_tokens, separator, separator_first)
    allowed = tokenizer._allowed_tokens(allowed_special)
    inputs = find_inputs(source, field, on_error, documents=documents)
    arrays = encoded_inputs(tokenizer, inputs, stage, progress, on_error, separator_id, allowed, warn)
    # Those of the encoder share its memory: of a list of them, all would have the last ids.
    yield from _moved_on(arrays, separator_id) if separator_first else (ids.copy() for ids in arrays)


def _moved_on(arrays: Iterator[NDArray[Any]], first: int) -> Iterator[NDArray[Any]]:
    """Ids that end with `first`, with it in front instead: each id moves to the place of the next one."""
    for ids in arrays:
        moved = np.roll(ids, 1)
        if len(ids):
            moved[0], first = first, ids[-1]
        yield moved


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
    _check_tokenizer("tokenizer", tokenizer)
    n_most_frequent = check_integer("n_most_frequent", n_most_frequent, 0)
    vocab = tokenizer._model.packed
    counts = np.zeros(len(vocab.ids), dtype=np.int64)
    allowed = tokenizer._allowed_tokens(allowed_special)
    inputs = find_inputs(source, field, on_error, documents=documents)
    for ids in encoded_inputs(tokenizer, inputs, "count tokens", progress, on_error, allowed=allowed):
        counts += vocab.count(ids)
    return _text_figures(tokenizer, vocab, counts, n_most_frequent)


def count_tokens_of_each(
    tokenizer: Tokenizer, sources: Sequence[TextSource], field: str | None, on_error: str, allowed_special: Choice | None
) -> list[tuple[int, int]]:
    """The number of tokens of each of several texts, and of bytes, as in `text_figures`, without figures for each token of
    the vocabulary, which take longer than encoding a small text.

    field : as in `encoded`; if it is given, some of the texts may be plain text
    on_error, allowed_special : as in `encoded`

    >>> import nbbpe.inspection
    >>> tok = nbbpe.train("corpus.txt", 264, ["<|endoftext|>"])
    >>> nbbpe.inspection.count_tokens_of_each(tok, ["corpus.txt"], field=None, on_error="raise", allowed_special=None)
    [(210, 660)]
    """
    _check_tokenizer("tokenizer", tokenizer)
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
    """Two tokenizers on one text: a path, a list of paths, or `documents`, a list. It is read by both at the same time.

    Arguments are those of `nbbpe.train`; `n_splits` is how many examples there are at most. Raises TypeError for an
    iterator and ValueError for a pipe, which can be read once only; ValueError also if one of the tokenizers changes the
    text and the other does not, by a normalizer, by putting a space in front or by dropping space, as the texts then
    differ.

    >>> import nbbpe.inspection
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
    >>> smaller, _ = tok.truncate(260)
    >>> found = nbbpe.inspection.compare(tok, smaller, documents=["the cat, the mat"])
    >>> found.a.n_tokens, found.b.n_tokens, found.splits[0]
    (7, 9, Split(text=b' cat', count=1, a=[b' cat'], b=[b' ', b'cat']))
    """
    for name, tokenizer in ("a", a), ("b", b):
        _check_tokenizer(name, tokenizer)
    n_splits = check_integer("n_splits", n_splits, 0)
    if isinstance(source, Iterator):
        raise TypeError("source is read twice, so it must be a path or a list, not an iterator")
    if isinstance(documents, Iterator):
        raise TypeError("documents is read twice, so it must be a list, not an iterator")
    inputs = again = find_inputs(source, field, on_error, documents=documents)
    check_read_again("source", "twice", inputs)
    if any(each.file is None for each in inputs):  # a table can be read from its beginning only if it is opened again
        again = find_inputs(source, field, on_error, documents=documents)
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
        if may_change and a.decode_bytes(ids[0]) != b.decode_bytes(ids[1]):
            raise DifferentTexts
        differences.add(ids)
        for count, vocab, part in zip(counts, vocabs, ids, strict=True):
            count += vocab.count(part)
    return Comparison(
        a=_text_figures(a, vocabs[0], counts[0]),
        b=_text_figures(b, vocabs[1], counts[1]),
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


def merge_counts(tokenizer: Tokenizer, token_counts: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """How often each merge was applied to a text, int64[n_merges], from how often each token is in it (TextFigures.counts).

    A merge is applied once for each of its tokens in the text, and for each that became part of a longer token. This holds
    if every merge makes a new token out of existing ones; None if the merges are not of this kind, the tokenizer has no
    list of merges, or it does not merge a pretoken that is a token (`ignore_merges`) and that merging would not give. None
    also if the text has a token that is both made by a merge and an added token, which is found without merging. Raises
    ValueError unless there is a whole number for each token.

    >>> import nbbpe.inspection
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
    >>> figures = nbbpe.inspection.text_figures(tok, documents=["the cat, the mat"])
    >>> nbbpe.inspection.merge_counts(tok, figures.counts).tolist()
    [2, 2, 2, 1, 1, 1, 0, 0]
    """
    from .vocabulary import frequencies

    counts = _whole_counts(tokenizer, token_counts)
    model = tokenizer._model
    shared = np.array([model.special[token] for token in model.extras.shared], dtype=np.int64)
    if model.merge_ids is not None and counts[model.packed.numbers_of(np.intersect1d(shared, model.merge_ids[:, 2]))].any():
        return None
    return frequencies.merge_counts(model, counts)


def compression_by_size(
    tokenizer: Tokenizer, token_counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
    """Bytes per token on a text if the vocabulary had only its first merges, for each number of these.

    Returns (vocabulary sizes, bytes per token), from no merges to all of them; None if `merge_counts` is None, or the text
    is empty. Each merge that is applied makes one token fewer, so the text is not encoded again. Errors are those of
    `merge_counts`.

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
    """The argument `token_counts` of a tokenizer as int64: sums of smaller integers could wrap around. See `merge_counts`
    for the errors."""
    _check_tokenizer("tokenizer", tokenizer)
    given = np.asarray(token_counts)
    if given.shape != (len(tokenizer),):
        raise ValueError(
            f"token_counts must have a number for each of the {len(tokenizer):,} tokens, by ascending id, and is of shape "
            f"{given.shape}: give TextFigures.counts of the same tokenizer, or of what its frequencies gives "
            "[sorted(tok.vocab)]"
        )
    with np.errstate(invalid="ignore"):  # of NaN
        whole = given.astype(np.int64)
    if given.dtype == bool or not np.array_equal(whole, given):
        raise ValueError("token_counts must be whole numbers, how often each token is in the text")
    return whole


def _check_tokenizer(argument: str, tokenizer: object) -> None:
    """Raise TypeError for what is no Tokenizer, such as the folder of one, which the command takes."""
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(f"{argument} must be a Tokenizer (see nbbpe.load), not {shown(tokenizer)}")


def _split(a: Tokenizer, ids_a: NDArray[Any], b: Tokenizer, ids_b: NDArray[Any], count: int) -> Split:
    return Split(
        text=a.decode_bytes(ids_a),
        count=count,
        a=list(map(a.vocab.__getitem__, ids_a.tolist())),
        b=list(map(b.vocab.__getitem__, ids_b.tolist())),
    )


def _text_figures(
    tokenizer: Tokenizer, vocab: PackedVocab, counts: NDArray[np.int64], n_most_frequent: int = 10
) -> TextFigures:
    ordinary = tokenizer._model.ordinary
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
