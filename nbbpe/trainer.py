"""Training: text to words to merges to a Tokenizer."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Sequence

from .corpus import Path, check_readable, file_size
from .parallel import check_workers
from .patterns import Pattern, get_pattern
from .progress import Progress, ProgressOption
from .special_tokens import check_special_tokens
from .ties import check_tie_break
from .tokenizer import Tokenizer


def train(
    source: Path | Sequence[Path] | Iterable[str | bytes],
    vocab_size: int,
    special_tokens: Sequence[str] = (),
    *,
    pattern: str | Pattern | None = "gpt2",
    tie_break: str = "bytes",
    min_frequency: int = 1,
    max_token_length: int | None = None,
    workers: int | None = None,
    progress: ProgressOption = None,
) -> Tokenizer:
    """Train a byte-level BPE tokenizer.

    Parameters
    ----------
    source
        A path to a text file, a list or tuple of such paths, or an iterable whose items are documents (str, or bytes).
        Bytes of a file that are no valid UTF-8 are kept, each as a character of its own.
    vocab_size
        Number of tokens in all: 256 bytes, merges, special tokens.
    special_tokens
        Strings that separate documents and never take part in a merge. They get the last ids, in their order.
    pattern
        How text is split into pretokens, across which nothing is merged: a name ("gpt2"), a regex of your own in the
        syntax of the `regex` package, or None for no splitting at all.
    tie_break
        Which of several pairs with the highest count is merged: "bytes" takes the greatest pair of byte strings (left,
        then right), "ids" the smallest pair of ids (as rustbpe and bpeasy do), "huggingface" the smallest pair of ids
        where bytes are numbered as in Hugging Face's alphabet.
    min_frequency
        A pair that occurs less often is not merged. What counts is the pair, not the word: how often its two tokens
        stand side by side in all of the text, at the moment when it would be merged (as in Hugging Face's trainer).
    max_token_length
        A pair whose bytes would be more than this is never merged, and all others are as if it did not count; None for
        no limit. Special tokens may be longer. (Hugging Face's `max_token_length` allows one byte less, but never
        less than 2: its 17 is 16 here.)
    workers
        Processes for reading and counting; None takes what pays, up to the processors there are. The result is the same
        for every number.
    progress
        None shows a bar on a terminal, True or False one or none; a callable is called with (stage, done, total).

    Returns
    -------
    Tokenizer. Ids 0 to 255 are the bytes, 256 + i is the result of merge i, special tokens follow. Where the pairs run
    out before `vocab_size` there are fewer merges, and one warning says so.

    Raises
    ------
    TypeError, ValueError : an argument that cannot be meant, before any work
    ValueError : a source without text
    OSError : a file that is missing or cannot be read, before long work; an iterable's own errors pass
    """
    special_tokens = check_special_tokens(special_tokens)
    n_tokens = _check_vocab_size(vocab_size, len(special_tokens))
    split = get_pattern(pattern)
    check_tie_break(tie_break)
    _check_positive("min_frequency", min_frequency)
    if max_token_length is not None:
        _check_positive("max_token_length", max_token_length)
    n_workers = check_workers(workers)
    paths = _paths(source)
    if paths is not None:
        check_readable(paths)

    from .merging import learn_merges
    from .pretokenize import corpus_fingerprint, count_documents, count_files

    separators = [token.encode() for token in special_tokens]
    if paths is not None:
        sizes = [file_size(path) for path in paths]
        total = None if None in sizes else sum(size for size in sizes if size is not None)
        with Progress(progress, "count words", total, "B") as bar:
            words = count_files(paths, split, separators, n_workers, bar.advance)
    else:
        with Progress(progress, "count words", None, "B") as bar:
            words = count_documents(source, split, separators, bar.advance)  # type: ignore[arg-type]
    if not len(words.counts):
        raise ValueError("there is no text to train on: the source is empty, or holds nothing but special tokens")
    with Progress(progress, "learn merges", n_tokens, "") as bar:
        merges = learn_merges(words, n_tokens, tie_break, min_frequency, max_token_length, bar.reach)
    if len(merges) < n_tokens - 256:
        warnings.warn(
            f"the text has pairs for only {len(merges):,} of the {n_tokens - 256:,} merges that vocab_size="
            f"{vocab_size:,} asks for, so the vocabulary has {256 + len(merges) + len(special_tokens):,} tokens",
            stacklevel=2,
        )
    training = {
        "vocab_size": vocab_size.__index__(),
        "tie_break": tie_break,
        "min_frequency": min_frequency,
        "max_token_length": max_token_length,
        "corpus": {
            "fingerprint": corpus_fingerprint(words),
            "words": int(words.counts.sum()),
            "distinct_words": len(words.counts),
        },
    }
    return Tokenizer._from_merge_ids(merges, special_tokens, split, training)


def train_bpe(
    input_path: Path, vocab_size: int, special_tokens: Sequence[str]
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Train on one file with the GPT-2 pattern, and return (vocab, merges) as the course's assignment asks.

    vocab maps ids to bytes, special tokens included; merges are pairs of bytes in the order in which they were learned.
    For arguments and errors see `train`.
    """
    if not isinstance(input_path, (str, os.PathLike)):
        raise TypeError(f"input_path must be a path, not {type(input_path).__name__}")
    tokenizer = train(input_path, vocab_size, special_tokens)
    return tokenizer.vocab, tokenizer.merges


def _check_positive(name: str, value: int) -> None:
    """Raise TypeError or ValueError for an argument that is no positive integer."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a positive integer, not {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")


def _check_vocab_size(vocab_size: int, n_special: int) -> int:
    """The number of tokens that are not special. Raises TypeError or ValueError for a size that cannot be."""
    if isinstance(vocab_size, bool) or not hasattr(vocab_size, "__index__"):
        raise TypeError(f"vocab_size must be an integer, not {vocab_size!r}")
    n_tokens = vocab_size.__index__() - n_special
    if n_tokens < 256:
        raise ValueError(
            f"vocab_size={vocab_size} is too small: 256 bytes and {n_special} special tokens need {256 + n_special}"
        )
    if n_tokens >= 2**31 - 1:
        raise ValueError(f"vocab_size={vocab_size} is too large: ids must fit in 31 bits")
    return n_tokens


def _paths(source: object) -> list[Path] | None:
    """The paths that a source names, or None where it is an iterable of documents."""
    if isinstance(source, (str, os.PathLike)):
        return [source]
    if isinstance(source, (bytes, bytearray)):
        raise TypeError("source must be a path, a list of paths, or an iterable of documents; put one document in a list")
    if not isinstance(source, Iterable):
        raise TypeError(f"source must be a path, a list of paths, or an iterable of documents, not {type(source).__name__}")
    if not isinstance(source, (list, tuple)):
        return None
    files = [isinstance(item, os.PathLike) or (isinstance(item, str) and _is_file(item)) for item in source]
    for item, is_file in zip(source, files, strict=True):
        if not is_file and (any(files) or (isinstance(item, str) and _LOOKS_LIKE_PATH.fullmatch(item))):
            raise FileNotFoundError(
                f"{item!r} in the list is not a file; all items of a list are paths, or all are documents "
                "(documents that look like paths can be given as iter(documents))"
            )
    return list(source) if any(files) else None


# One line that ends in a suffix, or has a slash and no blank.
_LOOKS_LIKE_PATH = re.compile(r"[^\n]{1,1024}\.[A-Za-z0-9]{1,8}|[^\s]{0,1024}/[^\s]{0,1024}")


def _is_file(name: str) -> bool:
    try:
        return os.path.exists(name)
    except ValueError:  # a NUL character
        return False
