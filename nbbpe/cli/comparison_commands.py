"""Subcommands that measure tokenizers on texts: `compare` several of them, or write a `report` on one."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import click

from ..encoding.alignment import DifferentTexts
from ..evaluation import evaluate
from ..inspection import Comparison
from ..inspection import compare as compare_tokenizers
from ..sources.named_texts import check_distinct, short_names
from ..system.excerpt import first_few
from ..system.paths import Path
from ..tokenizer import Tokenizer
from ..vocabulary.report_data import ReportFigures, Row, TokenFigures, TokenUse
from . import tables
from .formats import says_no_pattern
from .options import (
    TOKENIZER,
    as_paths,
    as_usage,
    check_used,
    command,
    json_option,
    pattern_option,
    print_figures,
    read_with_pattern,
    source_options,
    workers_option,
)
from .tables import shown_path

_MOST_LISTED = 25  # tokens of each kind in a report's JSON, as many as on its page


@command(
    "nbbpe compare tokenizer-a tokenizer-b --on corpus.txt",
    "nbbpe compare tokenizer-a tokenizer-b --on corpus.txt --examples 50",
    "nbbpe compare tokenizer-a tokenizer-b tokenizer-c --on corpus.txt",
    "nbbpe compare tokenizer-a tokenizer-b --on english.txt --on german.txt",
    "nbbpe compare tokenizer-a tokenizer-b --on corpus.txt --json",
)
@click.argument("tokenizers", nargs=-1, required=True)
@click.option("--on", "texts", required=True, multiple=True, metavar="TEXT", help="A text; may be repeated.")
@click.option(
    "--examples",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="How many words to show that two tokenizers split differently.",
)
@pattern_option
@source_options
@json_option
@click.pass_context
def compare(
    context: click.Context,
    /,
    tokenizers: Sequence[str],
    texts: Sequence[str],
    examples: int,
    patterns: Sequence[str],
    as_json: bool,
    **options: Any,
) -> None:
    """Show how many tokens each of several tokenizers needs for each of several texts.

    For each: bytes per token, characters per token, tokens per word (fertility; words have whitespace around them), parity
    (the number of tokens divided by that of the first TEXT, if the others are translations of it), and the share of tokens
    that are part of a character. For two tokenizers on one TEXT, also show how they differ, unless a normalizer makes them
    encode different texts.
    """
    with as_usage():
        check_distinct(texts)
    is_pair = len(tokenizers) == 2 and len(texts) == 1
    if not is_pair:
        check_used(context, ["examples"], "is for two tokenizers on one text")
    needs = [bool(patterns) and says_no_pattern(each) for each in tokenizers]
    if patterns and not any(needs):
        raise click.UsageError("--pattern is for files that do not name a pattern, and all tokenizers name theirs")
    loaded = [read_with_pattern(each, patterns if need else ()) for each, need in zip(tokenizers, needs, strict=True)]
    with as_paths(texts) as paths:
        rows = evaluate(dict(zip(tokenizers, loaded, strict=True)), dict(zip(texts, paths, strict=True)), **options)
        found = _differences(loaded, paths, examples, options) if is_pair else None
    if found is None:
        print_figures({"table": rows}, tables.evaluation_lines(rows), as_json)
        return
    first, second = rows[0], rows[-1]  # the same row if a tokenizer is compared with itself
    print_figures({"table": rows, **tables.as_data(found)}, tables.comparison_lines(found, first, second), as_json)


def _differences(
    pair: Sequence[Tokenizer], paths: Sequence[Path], n_examples: int, options: Mapping[str, Any]
) -> Comparison | None:
    """Compare how two tokenizers split a text; None, with a warning, if they do not encode the same text."""
    a, b = pair
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `evaluate` has warned about the text already
            return compare_tokenizers(a, b, paths, n_examples, **options)
    except DifferentTexts as error:
        warnings.warn(f"only the figures of each are shown: {error}", stacklevel=2)
        return None


@command(
    "nbbpe report tokenizer --on corpus.txt -o report.html",
    "nbbpe report tokenizer --on english.txt --on 'german/*.jsonl' -o report.html",
    "nbbpe report tokenizer --on english.txt --on german.txt --json",
)
@click.argument("tokenizer", required=True, envvar=TOKENIZER)
@click.option("--on", "texts", required=True, multiple=True, metavar="TEXT", help="A text to report on; may be repeated.")
@click.option("-o", "--output", "target", metavar="FILE", help="The page to write, an .html file.")
@pattern_option
@source_options
@workers_option
@json_option
def report(
    tokenizer: str,
    texts: Sequence[str],
    target: str | None,
    patterns: Sequence[str],
    as_json: bool,
    **options: Any,
) -> None:
    """Write a report on a vocabulary as one HTML page, to help you decide on it, or print its figures as JSON.

    For each TEXT and each script: compression at every size of the vocabulary, tokens per word, and the gain of twice the
    vocabulary. A word is a pretoken with a letter, and special tokens do not count; in `nbbpe compare` words have
    whitespace around them, and all tokens count. Lists of tokens: the longest, those that begin or end inside a character,
    unused ones, near duplicates. A TEXT is given as the INPUTS of `nbbpe train` are.
    """
    if target is None and not as_json:
        raise click.UsageError("give -o FILE for a page, --json for the figures, or both")
    if target is not None and not target.endswith((".html", ".htm")):
        raise click.UsageError(f"-o {target!r} must end in .html")
    reported = read_with_pattern(tokenizer, patterns)
    names = list(map(shown_path, short_names(texts)))
    with as_usage():
        check_distinct(names)
    with as_paths(texts) as paths:
        on = dict(zip(names, paths, strict=True))
        figures = reported.report(target, on, name=shown_path(tokenizer), **options)
    data = {"tokenizer": tokenizer, "n_vocab": len(reported), **_report_as_data(figures)} if as_json else {}
    print_figures(
        data,
        [f"{shown_path(target or '')}: a vocabulary of {len(reported):,} tokens on {first_few(names, show=str)}"],
        as_json,
    )


def _report_as_data(figures: ReportFigures) -> dict[str, Any]:
    return {
        "texts": list(map(_row_as_data, figures.texts)),
        "scripts": list(map(_row_as_data, figures.scripts)),
        "total": _row_as_data(figures.total),
        "vocab_sizes": figures.vocab_sizes,
        "doubled_vocab_size": figures.doubled_vocab_size,
        "tokens": _tokens_as_data(figures.tokens),
    }


def _row_as_data(row: Row) -> dict[str, Any]:
    ratios = {name: getattr(row, name) for name in ("bytes_per_token", "characters_per_token", "tokens_per_word")}
    return {**row._asdict(), **ratios}


def _tokens_as_data(figures: TokenFigures) -> dict[str, Any]:
    """The number of tokens of each kind, and the first _MOST_LISTED of them."""
    numbers = {name: value for name, value in vars(figures).items() if isinstance(value, int)}
    kinds = {name: value for name, value in vars(figures).items() if isinstance(value, list)}
    sizes: dict[str, int | None] = {f"n_{name}": len(uses) for name, uses in kinds.items() if name != "longest"}
    if not figures.knows_made:
        sizes["n_intermediate"] = None
    return {**numbers, **sizes, **{name: _uses_as_data(uses[:_MOST_LISTED]) for name, uses in kinds.items()}}


def _uses_as_data(uses: Sequence[TokenUse | list[TokenUse]]) -> list[Any]:
    return [
        {"id": use.token_id, **tables.bytes_as_data(use.token), "n_uses": use.n_uses, "n_made": use.n_made}
        if isinstance(use, TokenUse)
        else _uses_as_data(use)
        for use in uses
    ]
