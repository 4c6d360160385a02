"""Train a Tokenizer: count the words of text, and learn merges from them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .model.special_tokens import check_special_tokens
from .model.vocab_checks import check_n_tokens
from .patterns.pattern_argument import PatternLike, get_pattern, splits_by_regex
from .system.arguments import argument
from .system.integers import check_integer
from .system.memory_limits import MemoryLimit
from .system.paths import Path
from .system.progress import ProgressOption
from .system.wrong_argument import WrongArgument
from .text.utf8 import Text
from .tokenizer import Tokenizer
from .training.learning_options import check_learning_options
from .training.superwords import Superwords
from .training.token_rules import TokenRules

if TYPE_CHECKING:
    from .sources.tables.arrow_data import ArrowData
    from .words.counting_options import MinWordCount
    from .words.mixture import Mixture


class _DefaultPattern(str):
    """A default value that can be told from the same string given by the user."""


_GPT2: PatternLike = _DefaultPattern("gpt2")


def train(
    source: Path | Sequence[Path] | Iterator[Text] | ArrowData | Mixture | None = None,
    vocab_size: int | None = None,
    special_tokens: Sequence[str] = (),
    *,
    pattern: PatternLike = _GPT2,
    tie_break: str = "bytes",
    min_frequency: int = 1,
    max_token_length: int | None = None,
    workers: int | None = None,
    progress: ProgressOption = None,
    field: str | None = None,
    on_error: str = "raise",
    split_with: str | None = None,
    documents: Iterable[Text] | None = None,
    rules: TokenRules | None = None,
    superwords: Superwords | None = None,
    start: Tokenizer | None = None,
    on_interrupt: str = "raise",
    counts: Any = None,
    weights: Sequence[Any] | None = None,
    memory_limit: MemoryLimit = None,
    min_word_count: MinWordCount = None,
    executor: Any = None,
) -> Tokenizer:
    """Train a byte-level BPE tokenizer.

    Parameters
    ----------
    source
        The path of a file, a list or tuple of paths, an iterator or generator whose items are documents (str or bytes), an
        Arrow column, or a table or stream with the column `field` (of any library with Arrow's C interface; needs pyarrow),
        or a `Mixture` of sources. An open file is a TypeError: its lines would become documents.

        A name that ends in .jsonl or .ndjson is a file of JSON lines, with a document in a field of each record; .json is
        an array of such records (or JSON lines); .parquet and .arrow (also .ipc, .feather) are tables with a document in a
        column of each row (they need pyarrow); any other name is plain text, in which special tokens separate documents.
        Invalid UTF-8 in plain text is kept, each byte as a character of its own. JSON and plain text may be compressed,
        with .gz, .bz2, .xz, .lzma, .zst or .zstd after the name (before Python 3.14, the last two need backports.zstd).

        A path may be a pattern ("data/*.jsonl.gz", "data/**/*.txt"), or a URL ("https://...", "s3://bucket/*.parquet") that
        fsspec can read. `pip install "nbbpe[data]"` adds pyarrow, fsspec and backports.zstd; s3:// also needs s3fs. All
        files are read as streams; one worker reads a remote file, an Arrow stream, or a file that is compressed in one
        frame.
    vocab_size
        Number of all tokens: 256 bytes, merges, special tokens.
    special_tokens
        Strings that separate documents and never take part in a merge, in plain text and in records. They get the last
        ids, in their order.
    pattern
        How text is split into pretokens, across which nothing is merged: a name ("gpt2"), a custom regex in the syntax of
        the `regex` package, a list of these that split in turn (each one splits the pretokens of the one before), or None
        for no splitting at all.
    tie_break
        Which of several pairs with the highest count is merged: "bytes" takes the greatest pair of byte strings (left,
        then right), "ids" the smallest pair of ids (as rustbpe and bpeasy do), "huggingface" the smallest pair of ids
        where bytes are numbered as in Hugging Face's alphabet.
    min_frequency
        A pair that occurs less often is not merged. The count is of the pair, not of a word: how often its two tokens are
        neighbours in all of the text at the time of the merge (as in Hugging Face's trainer).
    max_token_length
        A pair that would make a token of more bytes is never merged, and training continues as if it did not exist; None
        for no limit. Special tokens and the seeds of `rules` may be longer. (Hugging Face's `max_token_length` allows one
        byte less, but never less than 2: its 17 is 16 here.)
    workers
        Number of processes that read and count; None for as many as pay off, up to the number of processors. The result is
        the same for any number.
    progress
        None shows a progress bar if stderr is a terminal, True always, False never; a callable is called with
        (stage, done, total).
    field
        The field of a JSON record, or the column of a table, that holds the text; None for "text".
    on_error
        What to do with a malformed record (broken JSON, no such field, null, not a string): "raise" raises ValueError that
        names the file and the line or row; "skip" skips it, and one warning at the end says how many were skipped and names
        the first. A document that is None is skipped, too; with "raise" it is a TypeError, as every other object that is
        not text.
    split_with
        What splits text by the pattern. None or "auto" is the fastest way: the pattern's automaton, and the `regex` package
        for what that leaves undecided (see `explain_pattern`). "regex" is that package alone, slower and with the same
        result, to compare with. "compiled" raises ValueError for a pattern that is not compiled, or only in part.
    documents
        The documents themselves (str or bytes), a list or any other iterable of them, instead of a source.
    rules
        A `TokenRules`, which says what a token must not be or contain.
    superwords
        A `Superwords`, for a second stage of training in which tokens may cross whitespace. The source is read twice, so it
        cannot be counts, an iterator, Arrow data or a pipe.
    start
        A tokenizer to continue from, see `Tokenizer.extend`: its tokens keep their ids, new ones get the ids after the
        highest. Its pattern and its special tokens are used. If its training was interrupted (`on_interrupt`), the result
        is that of training in one go: special tokens get the last ids again. In that case, superwords, a parity `window`,
        gaps between ids, and fewer tokens than parity's `after` are errors. None starts from the bytes.
    on_interrupt
        What Ctrl-C or SIGTERM does while merges are learned. "raise": the usual effect. "keep": the result is a tokenizer
        with the merges so far; a warning says how many there are, and `Tokenizer.provenance` records the interruption; a
        second Ctrl-C raises. While words are counted, and outside the main thread, "keep" has no effect.
    counts
        Instead of text, words that were counted before, see `count_words`: a file of counts (.parquet, .arrow), a pattern
        of such names, a URL, a table or stream of any library with Arrow's C interface, an iterator of record batches, a
        dict from word to count, or a list of these. Words are strings or binary; equal words are added up. `pattern` and
        `special_tokens` are not needed, as tables carry them. They are needed for a dict, and if a table has lost them, for
        example by a GROUP BY, and must not contradict the tables.
    weights
        A positive number (int, float or Fraction) for each item of `source` or `counts`, by which its counts are
        multiplied, exactly: see `count_words`.
    memory_limit
        Bytes of memory, or a str such as "4GB", for all processes together, at least 64 MB; None for three quarters of what
        the machine and its control groups have left. Counts that exceed it are written to a temporary folder (of the
        system, or the environment variable TMPDIR) and merged from there. If the words do not fit, training ends before the
        merges, with an error that says which `min_word_count` would fit. The limit does not cover the words that a
        `Mixture` holds out, nor any words of a mixture with `parity`.
    min_word_count
        Words that occur less often are skipped. None skips none; "auto" skips as few as possible so that the rest fits in
        `memory_limit`, with a warning that says how much of the text is skipped. The provenance has the figures.
    executor
        A concurrent.futures.Executor that counts in place of nbbpe's own worker processes, see `count_words`; not for a
        `Mixture`.

    Returns
    -------
    A Tokenizer. Ids 0 to 255 are the bytes, 256 + i is the result of merge i, and special tokens follow. If no pairs are
    left before `vocab_size` is reached, there are fewer merges, and one warning says so.

    Raises
    ------
    TypeError, ValueError : an invalid argument, before any work; split_with="compiled" for a pattern that cannot be
        compiled, with the reason
    ValueError : a source without text, a malformed record
    OSError : a file that is missing or cannot be read, before long work; one that is truncated, when its end is reached;
        one that changed while it was read. Errors of an iterable are passed on
    ImportError : a file that needs a package which is not installed, before long work
    ValueError : counts of different patterns or special tokens, or without metadata and pattern=; a row that is not a word
        with a count
    MemoryError : words that do not fit in `memory_limit`, before the merges
    OverflowError : counts whose sum does not fit in int64; more than 2^32 distinct words and bytes of these together

    >>> import nbbpe
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264, special_tokens=["<|endoftext|>"])
    >>> tok.merges[:3]
    [(b'a', b't'), (b't', b'h'), (b'th', b'e')]
    >>> tok.encode("the cat<|endoftext|>")
    [258, 261, 263]
    """
    from .vocabulary.extension import check_can_go_on, cut_short, extend, with_special_tokens_last
    from .vocabulary.from_bytes import train_from_bytes
    from .words.corpus import Corpus
    from .words.counting_options import check_counting_options
    from .words.finding import find_supply

    special_tokens = check_special_tokens(special_tokens)
    counting = check_counting_options(
        workers, progress, field, on_error, split_with, executor, memory_limit, min_word_count
    )
    learning = check_learning_options(tie_break, min_frequency, max_token_length, rules, on_interrupt)
    corpus = Corpus(source, documents, counts, weights)
    if start is not None:
        _check_start(start, special_tokens, pattern)
        if superwords is not None:
            raise ValueError("superwords are learned from the bytes on, not from a tokenizer: leave start out")
        interrupted = cut_short(start._model)
        if interrupted is not None:
            check_can_go_on(start._model, interrupted, corpus.parity)
        model = extend(start._model, corpus, counting, learning, vocab_size)
        return Tokenizer._of(model if interrupted is None else with_special_tokens_last(model))
    if vocab_size is None:
        missing = f"{argument('vocab_size')} is missing"
        raise TypeError(f"{missing}: the number of tokens in all, as in nbbpe.train(source, vocab_size=10_000)")
    _check_vocab_size(vocab_size, len(special_tokens))
    is_default = isinstance(pattern, _DefaultPattern)
    given_pattern = None if is_default and counts is not None else get_pattern(pattern)
    if given_pattern is not None:
        splits_by_regex(given_pattern, split_with)
    supply = find_supply(corpus, counting, given_pattern, special_tokens)
    learning = learning._replace(denominator=supply.denominator)
    n_tokens = _check_vocab_size(vocab_size, len(supply.special_tokens))
    return Tokenizer._of(train_from_bytes(supply, counting, learning, superwords, n_tokens, vocab_size))


def train_bpe(
    input_path: Path, vocab_size: int, special_tokens: Sequence[str]
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Train on one file with the GPT-2 pattern, and return (vocab, merges) as the assignment of Stanford's CS336 asks.

    vocab maps ids to bytes, special tokens included; merges are pairs of bytes, in the order in which they were learned.

    input_path : the file
    vocab_size, special_tokens : as in `train`, with the same errors

    >>> import nbbpe
    >>> vocab, merges = nbbpe.train_bpe("corpus.txt", 260, ["<|endoftext|>"])
    >>> merges
    [(b'a', b't'), (b't', b'h'), (b'th', b'e')]
    >>> vocab[256], vocab[259]
    (b'at', b'<|endoftext|>')
    """
    if not isinstance(input_path, (str, os.PathLike)):
        raise TypeError(f"input_path must be a path, not {type(input_path).__name__}")
    tokenizer = train(input_path, vocab_size, special_tokens)
    return dict(tokenizer.vocab), tokenizer.merges


def _check_start(start: Tokenizer, special_tokens: Sequence[str], pattern: PatternLike) -> None:
    """Raise TypeError or ValueError if start is not a Tokenizer, or if the other arguments contradict it."""
    if not isinstance(start, Tokenizer):
        raise TypeError(f"start must be a Tokenizer or None, not {type(start).__name__}; nbbpe.load reads one")
    for token in special_tokens:
        if token not in start.special_tokens:
            raise ValueError(
                f"special token {token!r} is not one of those of start, which are used: add it to start first, "
                "start=tok.with_special_tokens([...])"
            )
    if not isinstance(pattern, _DefaultPattern) and get_pattern(pattern).regexes != start._model.pattern.regexes:
        raise ValueError(
            f"{argument('pattern', pattern)} is not the pattern of start, {start.pattern!r}, which is used: leave it out"
        )


def _check_vocab_size(vocab_size: int, n_special: int) -> int:
    """The number of tokens that are not special. Raises TypeError or ValueError for an invalid size."""
    vocab_size = check_integer("vocab_size", vocab_size)
    n_tokens = vocab_size - n_special
    if n_tokens < 256:
        raise WrongArgument(
            f"{argument('vocab_size', vocab_size)} is too small: 256 bytes and {n_special} special tokens "
            f"need {256 + n_special}"
        )
    check_n_tokens(n_tokens, vocab_size)
    return n_tokens
