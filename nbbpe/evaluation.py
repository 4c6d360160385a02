"""Compare tokenizers: the figures of each tokenizer on each text, as rows of a table."""

from __future__ import annotations

import warnings
from codecs import getincrementaldecoder
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .encoding.encoded_inputs import encoded_inputs
from .sources import Input, check_read_again
from .sources.named_texts import Texts, inputs_of_each, named_sources
from .system.excerpt import shown
from .system.progress import ProgressOption
from .text.lacking_byte import LackingByte
from .text.utf8 import is_utf8
from .tokenizer import Tokenizer

_END = 256  # the id of the end of a document, beside those of the 256 bytes


@dataclass(frozen=True)
class Evaluation:
    """The figures of one tokenizer on one text. A ratio is None if it would divide by 0.

    tokenizer, text : their names
    n_bytes, n_characters : of the text as it is, before any normalizer, so that they are the same for all tokenizers
    n_words : runs of characters that are not whitespace, as `str.split` gives them
    n_tokens : as `nbbpe count` counts them
    n_partial_utf8 : tokens that begin or end inside a character, such as a single byte of it. Byte-level BPE has no unknown
        token: these stand for characters that the vocabulary lacks
    bytes_per_token, characters_per_token : compression
    tokens_per_word : fertility
    partial_utf8_share : n_partial_utf8 / n_tokens
    parity : n_tokens divided by n_tokens of the same tokenizer on the first text. If the texts are translations of each
        other, 1 is equal treatment, and 2 is a text at twice the price
    """

    tokenizer: str
    text: str
    n_bytes: int
    n_characters: int
    n_words: int
    n_tokens: int
    n_partial_utf8: int
    bytes_per_token: float | None
    characters_per_token: float | None
    tokens_per_word: float | None
    partial_utf8_share: float | None
    parity: float | None


def evaluate(
    tokenizers: Mapping[str, Tokenizer],
    on: Texts,
    progress: ProgressOption = None,
    *,
    field: str | None = None,
    on_error: str = "raise",
) -> list[Evaluation]:
    """Compute the figures of each tokenizer on each text: a list of rows, text by text. Memory is bounded.

    tokenizers : a dict from names, which the rows show, to tokenizers
    on : the texts: a path, a list of paths, or a dict from names to sources, each a path, a list of paths or Arrow data
    progress, field, on_error : as in `nbbpe.train`

    Raises TypeError for an iterator and ValueError for a pipe or a stream of Arrow data, as each text is read several
    times; ValueError for a path that is given twice.

    >>> import nbbpe.evaluation
    >>> tok = nbbpe.train("corpus.txt", 264)
    >>> smaller, _ = tok.truncate(260)
    >>> rows = nbbpe.evaluation.evaluate({"264": tok, "260": smaller}, "corpus.txt")
    >>> [(row.tokenizer, row.n_tokens, round(row.tokens_per_word, 2)) for row in rows]
    [('264', 420, 4.62), ('260', 500, 5.49)]
    """
    _check_tokenizers(tokenizers)
    sources = named_sources(on)
    for name, source in sources.items():
        if isinstance(source, Iterator):
            raise TypeError(f"on: {name!r} is read several times, so it must be a path or a list of paths, not an iterator")
    texts = inputs_of_each(sources, field, on_error)
    for inputs in texts.values():
        check_read_again("on", "several times", inputs)
    sizes = {name: _text_size(inputs, progress, on_error) for name, inputs in texts.items()}
    counts: dict[tuple[str, str], _TokenCounts] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `_text_size` has given the warnings about a text already
        for of_tokenizer, tokenizer in tokenizers.items():
            # A table can be read from its beginning only if it is opened again.
            for of_text, inputs in inputs_of_each(sources, field, on_error).items():
                try:
                    counts[of_text, of_tokenizer] = _token_counts(tokenizer, inputs, progress, on_error)
                except LackingByte as error:
                    raise LackingByte(f"the tokenizer {of_tokenizer!r} on {of_text!r}: {error}") from None
                if sizes[of_text].n_words and not counts[of_text, of_tokenizer].n_tokens:
                    raise ValueError(
                        f"on: {of_text!r} is read several times, and was empty after the first: give a path, or Arrow data "
                        "that can be read again, such as a table"
                    )
    first = next(iter(sources))
    return [
        _evaluation(of_tokenizer, of_text, sizes[of_text], counts[of_text, of_tokenizer], counts[first, of_tokenizer])
        for of_text in sources
        for of_tokenizer in tokenizers
    ]


class _TextSize(NamedTuple):
    """The size of a text, which is the same for all tokenizers."""

    n_bytes: int
    n_characters: int
    n_words: int


class _TokenCounts(NamedTuple):
    """How many tokens a text has, and how many of them begin or end inside a character."""

    n_tokens: int
    n_partial_utf8: int


def _check_tokenizers(tokenizers: object) -> None:
    """Raise TypeError or ValueError unless `tokenizers` is a dict from names to tokenizers that is not empty."""
    if not isinstance(tokenizers, Mapping):
        raise TypeError(f"tokenizers must be a dict from names to tokenizers, not {type(tokenizers).__name__}")
    for name, tokenizer in tokenizers.items():
        if not isinstance(name, str) or not isinstance(tokenizer, Tokenizer):
            raise TypeError(
                f"tokenizers must be a dict from names to tokenizers, and has {shown(name)}: {shown(tokenizer)}"
            )
    if not tokenizers:
        raise ValueError("tokenizers is empty: give a dict from names to tokenizers")


def _evaluation(tokenizer: str, text: str, size: _TextSize, counts: _TokenCounts, of_first: _TokenCounts) -> Evaluation:
    n_tokens = counts.n_tokens
    return Evaluation(
        tokenizer=tokenizer,
        text=text,
        **size._asdict(),
        **counts._asdict(),
        bytes_per_token=_ratio(size.n_bytes, n_tokens),
        characters_per_token=_ratio(size.n_characters, n_tokens),
        tokens_per_word=_ratio(n_tokens, size.n_words),
        partial_utf8_share=_ratio(counts.n_partial_utf8, n_tokens),
        parity=_ratio(n_tokens, of_first.n_tokens),
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _text_size(inputs: Sequence[Input], progress: ProgressOption, on_error: str) -> _TextSize:
    single_bytes = Tokenizer({i: bytes([i]) for i in range(_END)}, [])
    decoder = getincrementaldecoder("utf-8")("surrogateescape")
    n_bytes = n_characters = n_words = 0
    in_word = False
    for ids in encoded_inputs(single_bytes, inputs, "count words", progress, on_error, _END):
        n_ends = int(np.count_nonzero(ids == _END))
        text = decoder.decode(np.where(ids == _END, ord("\n"), ids).astype(np.uint8).tobytes())
        n_bytes += len(ids) - n_ends
        n_characters += len(text) - n_ends
        n_words += len(text.split()) - (in_word and bool(text) and not text[0].isspace())
        in_word = not text[-1].isspace() if text else in_word
    return _TextSize(n_bytes, n_characters, n_words)  # nothing is left in the decoder, as documents end with a newline here


def _token_counts(tokenizer: Tokenizer, inputs: Sequence[Input], progress: ProgressOption, on_error: str) -> _TokenCounts:
    vocab = tokenizer._model.packed
    counts = np.zeros(len(vocab.ids), dtype=np.int64)
    for ids in encoded_inputs(tokenizer, inputs, "count tokens", progress, on_error):
        counts += vocab.count(ids)
    used = zip(vocab.ids[counts > 0].tolist(), counts[counts > 0].tolist(), strict=True)
    n_partial = sum(n for token_id, n in used if not is_utf8(tokenizer.vocab[token_id]))
    return _TokenCounts(int(counts.sum()), n_partial)
