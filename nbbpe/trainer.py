"""Training: text to words to merges to a Tokenizer."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence

from .model.model import Model
from .model.special_tokens import check_special_tokens
from .sources import find_inputs, total_size
from .system.paths import Path
from .system.progress import Progress, ProgressOption
from .system.workers import check_positive, check_workers
from .text.pattern import PatternLike, get_pattern
from .text.utf8 import Text
from .tokenizer import Tokenizer
from .training.tie_break import check_tie_break


def train(
    source: Path | Sequence[Path] | Iterator[Text] | None = None,
    vocab_size: int | None = None,
    special_tokens: Sequence[str] = (),
    *,
    pattern: PatternLike = "gpt2",
    tie_break: str = "bytes",
    min_frequency: int = 1,
    max_token_length: int | None = None,
    workers: int | None = None,
    progress: ProgressOption = None,
    field: str | None = None,
    on_error: str = "raise",
    documents: Iterable[Text] | None = None,
) -> Tokenizer:
    """Train a byte-level BPE tokenizer.

    Parameters
    ----------
    source
        The path of a file, a list or tuple of paths, or an iterator or generator whose items are documents (str, or bytes).

        A name that ends in .jsonl or .ndjson is a file of JSON lines, with a document in a field of each record; .json an
        array of such records (or JSON lines, too); .parquet
        is a table with a document in a column of each row (needs pyarrow); any other is plain text, in which special
        tokens separate documents. Bytes of plain text that are no valid UTF-8 are kept, each as a character of its own.
        JSON lines and plain text may be packed, with .gz or .zst after the name (.zst needs zstandard).

        A path may be a pattern ("data/*.jsonl.gz", "data/**/*.txt"), or a URL ("https://...", "s3://bucket/*.parquet")
        that fsspec can read. `pip install "nbbpe[data]"` brings pyarrow, zstandard and fsspec. All files are read as
        streams; those that are packed or remote by one worker each.
    vocab_size
        Number of tokens in all: 256 bytes, merges, special tokens.
    special_tokens
        Strings that separate documents and never take part in a merge, in plain text and in records. They get the last
        ids, in their order.
    pattern
        How text is split into pretokens, across which nothing is merged: a name ("gpt2"), a regex of your own in the
        syntax of the `regex` package, a list of these that split in turn (each one sees what those before have left, part
        by part), or None for no splitting at all.
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
    field
        The field of a JSON record, or the column of a parquet file, that holds the text; None for "text".
    on_error
        What becomes of a bad record (broken JSON, no such field, null, not a string): "raise" raises ValueError that names
        file and line or row; "skip" leaves it out, and one warning at the end tells how many and names the first.
    documents
        In place of a source, documents (str, or bytes) themselves: a list of them, or any other iterable.

    Returns
    -------
    Tokenizer. Ids 0 to 255 are the bytes, 256 + i is the result of merge i, special tokens follow. Where the pairs run
    out before `vocab_size` there are fewer merges, and one warning says so.

    Raises
    ------
    TypeError, ValueError : an argument that cannot be meant, before any work
    ValueError : a source without text, a bad record
    OSError : a file that is missing or cannot be read, before long work; one that is cut off, when its end is reached; one
        that changed while it was read; an iterable's own errors pass
    ImportError : a file that needs a package which is not installed, before long work
    """
    special_tokens = check_special_tokens(special_tokens)
    if vocab_size is None:
        raise TypeError("vocab_size is missing: the number of tokens in all, as in nbbpe.train(source, vocab_size=10_000)")
    n_tokens = _check_vocab_size(vocab_size, len(special_tokens))
    split = get_pattern(pattern)
    check_tie_break(tie_break)
    min_frequency = check_positive("min_frequency", min_frequency)
    if max_token_length is not None:
        max_token_length = check_positive("max_token_length", max_token_length)
    n_workers = check_workers(workers)
    inputs = find_inputs(source, field, on_error, documents=documents)

    from .training.merges import learn_merges
    from .training.word_counts import corpus_fingerprint, count_files

    separators = [token.encode() for token in special_tokens]
    with Progress(progress, "count words", total_size(inputs), "B") as bar:
        words = count_files(inputs, split, separators, n_workers, bar.advance, on_error)
    if not len(words.counts):
        skipped = " and bad records, which were left out" if on_error == "skip" else ""
        raise ValueError(f"there is no text to train on: the source is empty, or holds nothing but special tokens{skipped}")
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
    return Tokenizer._of(Model.trained(merges, special_tokens, split, training))


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
    return dict(tokenizer.vocab), tokenizer.merges


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
