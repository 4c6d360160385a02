"""Subcommands that make vocabularies (`train`, `extend`) and the word counts to train from (`count-words`)."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import click

from ..counting.count_tables import ENDINGS, check_output, count_rows
from ..formats.nbbpe_folder.folder import scratch_for
from ..model.special_tokens import check_special_tokens
from ..patterns.pattern_argument import splits_by_regex
from ..system.memory_limits import memory_limit_of
from ..tokenizer import Tokenizer
from ..trainer import train as train_tokenizer
from ..training.learning_options import TIE_BREAKS
from ..training.token_rules import TokenRules
from ..vocabulary.extension import check_size
from ..words.count_words import count_words as write_word_counts
from .options import (
    as_paths,
    as_usage,
    check_no_stdout,
    check_used,
    command,
    json_option,
    pattern_of,
    pattern_option,
    print_figures,
    read_with_pattern,
    source_options,
    split_options,
    split_with_option,
    workers_option,
)
from .tables import shown_path
from .training_options import (
    min_frequency_option,
    mixture_option,
    read_mixture,
    rules_options,
    superwords_of,
    superwords_option,
    word_count,
)

_OF_TEXTS = "field", "on_error", "split_with", "workers", "min_frequency"  # options without effect on seeds


@command(
    "nbbpe train corpus.txt --vocab-size 10000 --special '<|endoftext|>' -o tok",
    "nbbpe train a.txt b.txt --vocab-size 32000 -o tokenizer",
    "nbbpe train 'data/*.jsonl.gz' --field body --vocab-size 32000 -o tokenizer",
    "zcat corpus.gz | nbbpe train - --vocab-size 5000 -o tokenizer",
    "nbbpe train --counts 'counts/*.parquet' --vocab-size 32000 -o tokenizer",
    "nbbpe train --mixture languages.json --vocab-size 32000 -o tokenizer",
    "nbbpe train a.txt --vocab-size 32000 --max-numbers 3 --seed-token https -o tok",
    "nbbpe train corpus.txt --vocab-size 32000 --superwords 24000 -o tokenizer",
)
@click.argument("inputs", nargs=-1)
@click.option(
    "--counts",
    multiple=True,
    metavar="FILE",
    help="Instead of texts, words that `nbbpe count-words` has counted (.parquet, .arrow), or a pattern of such names; may "
    "be repeated. INPUTS are then files of counts, too.",
)
@mixture_option
@click.option(
    "--vocab-size", type=int, required=True, metavar="N", help="Number of all tokens: 256 bytes, merges, special tokens."
)
@click.option(
    "-o",
    "--output",
    "target",
    required=True,
    metavar="FOLDER",
    help="Where to save the tokenizer; an existing one is replaced.",
)
@split_options
@click.option(
    "--min-word-count",
    type=word_count,
    metavar="N",
    help="Skip words that occur less often: a number, or `auto` for the smallest with which the other words fit in "
    "memory.  [default: skip none]",
)
@click.option(
    "--tie-break",
    type=click.Choice(TIE_BREAKS),
    default="bytes",
    show_default=True,
    help="Which pair is merged if counts are equal.",
)
@min_frequency_option
@click.option("--max-token-length", type=click.IntRange(2), metavar="N", help="No token gets more bytes than this.")
@rules_options
@superwords_option
@click.option("--keep", is_flag=True, help="On Ctrl-C or SIGTERM while merges are learned, save the merges so far.")
@split_with_option
@source_options
@workers_option
@json_option
def train(
    inputs: Sequence[str],
    counts: Sequence[str],
    mixture: str | None,
    vocab_size: int,
    target: str,
    special: Sequence[str],
    patterns: Sequence[str],
    rules: TokenRules | None,
    superwords_after: int | None,
    keep: bool,
    weights: Sequence[Any],
    memory_limit: str | None,
    split_with: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a tokenizer on the texts INPUTS, on a mixture of sources, or on counts of words, and save it.

    INPUTS are files of plain text or JSON (.jsonl, .json), compressed or not (.gz, .bz2, .xz, .zst), or tables
    (.parquet, .arrow), patterns of such names in quotes, URLs, or `-`.
    """
    _check_folder(target)
    inputs, counts = _texts_or_counts(inputs, counts, mixture)
    of_texts = {
        "--field": options["field"] is not None,
        "--on-error skip": options["on_error"] == "skip",
        f"--split-with {split_with}": split_with != "auto",
        "--superwords": superwords_after is not None,
    }
    useless = [option for option, is_given in of_texts.items() if is_given]
    if counts and useless:
        raise click.UsageError(f"{useless[0]} is for texts, and --counts come from text that was counted already")
    if mixture is not None and weights:
        raise click.UsageError("--weight is for texts and --counts: a mixture has its own weights")
    with as_usage():
        mixed = None if mixture is None else read_mixture(mixture)
        if patterns or not counts:
            options["pattern"] = pattern_of(patterns or ["gpt2"])
        if not counts:
            splits_by_regex(options["pattern"], split_with)
        check_special_tokens(special)
        memory_limit_of(memory_limit)
    if vocab_size < 256 + len(special):
        raise click.UsageError(f"--vocab-size {vocab_size}: 256 bytes and {len(special)} special tokens need more")
    # The target is tried before the long work, so that saving does not fail after it.
    with scratch_for(target), as_paths(inputs) as paths:
        began = time.perf_counter()
        tokenizer = train_tokenizer(
            mixed or paths or None,
            vocab_size,
            special,
            rules=rules,
            superwords=superwords_of(superwords_after, rules),
            split_with=None if counts and split_with == "auto" else split_with,
            on_interrupt="keep" if keep else "raise",
            counts=list(counts) or None,
            weights=list(weights) or None,
            memory_limit=memory_limit,
            **options,
        )
        seconds = time.perf_counter() - began
        tokenizer.save(target)
    _print_trained(target, tokenizer, seconds, as_json)


def _texts_or_counts(
    inputs: Sequence[str], counts: Sequence[str], mixture: str | None
) -> tuple[Sequence[str], Sequence[str]]:
    """Return (texts, files of counts). Raises UsageError unless exactly one of texts, counts and mixture is given."""
    if counts:
        # Of `--counts counts/*.parquet` without quotes, only the first file belongs to --counts: the rest are inputs.
        more = [name for name in inputs if name.lower().endswith(ENDINGS)]
        counts, inputs = [*counts, *more], [name for name in inputs if name not in more]
    if [bool(inputs), bool(counts), mixture is not None].count(True) != 1:
        raise click.UsageError("give one of these: the texts to train on, --mixture, or --counts")
    for name in counts:
        if os.path.isfile(name) and not name.lower().endswith(ENDINGS):
            raise click.UsageError(f"--counts {name!r} must end in one of {', '.join(ENDINGS)}")
    return inputs, counts


def _print_trained(target: str, tokenizer: Tokenizer, seconds: float, as_json: bool) -> None:
    n_merges = len(tokenizer.merges)
    figures = {"tokenizer": target, "n_tokens": len(tokenizer), "n_merges": n_merges, "seconds": round(seconds, 3)}
    line = (
        f"{shown_path(target)}: {len(tokenizer):,} tokens (256 bytes, {n_merges:,} merges, "
        f"{len(tokenizer.special_tokens)} special), trained in {seconds:.1f} s"
    )
    print_figures(figures, [line], as_json)


@command(
    "nbbpe count-words corpus.txt --special '<|endoftext|>' -o counts.parquet",
    "nbbpe count-words 'data/*.jsonl.gz' --pattern cl100k -o counts.arrow",
    "nbbpe count-words a.txt b.txt --weight 1 --weight 1/3 -o counts.parquet",
)
@click.argument("inputs", nargs=-1, required=True)
@click.option("-o", "--output", "target", required=True, metavar="FILE", help="The file to write: .parquet or .arrow.")
@split_options
@split_with_option
@source_options
@workers_option
@json_option
def count_words(
    inputs: Sequence[str],
    target: str,
    special: Sequence[str],
    patterns: Sequence[str],
    weights: Sequence[Any],
    memory_limit: str | None,
    split_with: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Count the distinct words of the texts INPUTS and write a table to train from.

    INPUTS are as for `nbbpe train`. Tables that were counted with the same pattern and special tokens can be added up.
    """
    with as_usage():
        pattern = pattern_of(patterns or ["gpt2"])
        splits_by_regex(pattern, split_with)
        check_special_tokens(special)
        check_output(target)
        memory_limit_of(memory_limit)
    with as_paths(inputs) as paths:
        began = time.perf_counter()
        write_word_counts(
            paths,
            output=target,
            pattern=pattern,
            special_tokens=special,
            weights=list(weights) or None,
            memory_limit=memory_limit,
            split_with=split_with,
            **options,
        )
        seconds = time.perf_counter() - began
    n_words = count_rows(target)
    figures = {"counts": target, "n_words": n_words, "seconds": round(seconds, 3)}
    print_figures(figures, [f"{shown_path(target)}: {n_words:,} distinct words, counted in {seconds:.1f} s"], as_json)


@command(
    "nbbpe extend tokenizer german.txt --vocab-size 40000 -o larger",
    "nbbpe extend cl100k_base.tiktoken 'a/*.jsonl' --vocab-size 110000 -o larger",
    "nbbpe extend tokenizer --seed-token ' photosynthesis' -o larger",
)
@click.argument("tokenizer")
@click.argument("inputs", nargs=-1)
@mixture_option
@click.option(
    "--vocab-size",
    type=int,
    metavar="N",
    help="Number of all ids, including those of TOKENIZER. Not with seeds alone.",
)
@click.option(
    "-o",
    "--output",
    "target",
    required=True,
    metavar="FOLDER",
    help="Where to save the larger tokenizer; an existing one is replaced.",
)
@click.option(
    "--tie-break",
    type=click.Choice(TIE_BREAKS),
    help="Which pair is merged if counts are equal.  [default: as TOKENIZER was trained, else bytes]",
)
@min_frequency_option
@click.option("--max-token-length", type=click.IntRange(2), metavar="N", help="No new token gets more bytes than this.")
@rules_options
@pattern_option
@split_with_option
@source_options
@workers_option
@json_option
@click.pass_context
def extend(
    context: click.Context,
    /,
    tokenizer: str,
    inputs: Sequence[str],
    mixture: str | None,
    vocab_size: int | None,
    target: str,
    patterns: Sequence[str],
    rules: TokenRules | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn more tokens for TOKENIZER from the texts INPUTS, or from a mixture of sources, and save the result.

    All ids stay, and new tokens get the next ones. INPUTS are given as for `nbbpe train`. With --seed-token, and no
    INPUTS, --mixture or --vocab-size, the seeds are all that is added.
    """
    _check_folder(target)
    has_texts = bool(inputs) or mixture is not None
    # If a size is given, texts are required: they may be missing because a shell variable is empty.
    seeds_alone = not has_texts and vocab_size is None and rules is not None and bool(rules.seeds)
    if not seeds_alone and (not has_texts or (inputs and mixture is not None)):
        raise click.UsageError("give either the texts to learn from or --mixture (or only --seed-token)")
    if vocab_size is None and has_texts:
        raise click.UsageError("--vocab-size is missing")
    if seeds_alone:
        check_used(context, _OF_TEXTS, "is for texts, and with --seed-token alone there are none")
    start = read_with_pattern(tokenizer, patterns)
    with as_usage():
        mixed = None if mixture is None else read_mixture(mixture)
        if vocab_size is not None:
            check_size(start._model, vocab_size)
    with scratch_for(target), as_paths(inputs) as paths:
        began = time.perf_counter()
        documents: list[str] | None = [] if seeds_alone else None
        larger = start.extend(mixed or paths or None, vocab_size, documents=documents, rules=rules, **options)
        seconds = time.perf_counter() - began
        larger.save(target)
    n_new = len(larger) - len(start)
    figures = {"tokenizer": target, "n_tokens": len(larger), "n_new": n_new, "seconds": round(seconds, 3)}
    line = f"{shown_path(target)}: {len(larger):,} tokens, {n_new:,} of them new, trained in {seconds:.1f} s"
    print_figures(figures, [line], as_json)


def _check_folder(target: str) -> None:
    """Raise UsageError or NotADirectoryError if -o cannot be a folder to save a tokenizer in."""
    check_no_stdout(target, "-o")
    if os.path.isdir(target):
        return
    if os.path.exists(target):
        raise NotADirectoryError(f"-o {target!r} is a file; give a folder to save the tokenizer in")
    if target.endswith(".json"):
        raise click.UsageError(f"-o {target}: give a folder; `nbbpe convert` makes a tokenizer.json of it")
