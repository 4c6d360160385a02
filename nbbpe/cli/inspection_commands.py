"""Subcommands that show what a tokenizer, a pattern or a file of ids is like."""

from __future__ import annotations

import textwrap
from codecs import getincrementaldecoder
from collections.abc import Sequence
from typing import Any

import click
import numpy as np
from click.core import ParameterSource

from ..conversion import says_no_pattern
from ..explanation import explain_pattern
from ..idfiles.token_file import TokenFile
from ..inspection import compare as compare_tokenizers
from ..inspection import encoded, text_figures, vocabulary_figures
from ..system.paths import Path
from ..text.pattern import ALIASES, NAMED
from ..tokenizer import Tokenizer
from ..vocabulary.report import short_names
from ..vocabulary.report_data import ReportFigures, Row, TokenFigures, TokenUse
from . import tables
from .options import (
    TOKENIZER,
    as_paths,
    as_usage,
    command,
    json_option,
    pattern_of,
    pattern_option,
    print_figures,
    read_with_pattern,
    shown_path,
    source_options,
    workers_option,
)
from .streams import as_path

_MOST_LISTED = 25  # tokens of each kind in a report, as its page has
_SHOWN_BYTES = 2000  # of the text that a pattern is shown with
_OF_TOKENS = "longest", "frequent", "unused"
_OF_RECORDS = "field", "on_error"


def _one_text(context: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> str | None:
    """The only text of --on, or None. Of several, which `report` takes, click would take the last and say nothing."""
    if len(texts) > 1:
        raise click.UsageError(
            f"--on is given {len(texts)} times, and {context.info_name} takes one text: run it for each, or name the files "
            "of one text by a pattern, such as '*.txt'"
        )
    return texts[0] if texts else None


@command(
    "nbbpe inspect tokenizer",
    "nbbpe inspect tokenizer --on corpus.txt",
    "nbbpe inspect tokenizer --on corpus.txt --plot figures.png",
    "nbbpe inspect corpus.bin --verify",
    "nbbpe inspect train.bin --dtype uint16",
    "nbbpe inspect --pattern gpt2 --on corpus.txt",
    Patterns=textwrap.wrap(", ".join([*NAMED, *ALIASES]), tables.WIDTH - 4),
)
@click.argument("tokenizer", required=False, envvar=TOKENIZER)
@click.option(
    "--on",
    "text",
    multiple=True,
    callback=_one_text,
    metavar="TEXT",
    help="Also show the tokenizer's figures on this text.",
)
@click.option(
    "--pattern",
    "patterns",
    multiple=True,
    metavar="P",
    help="Explain this split pattern, a name or a regex, instead of a tokenizer. If repeated, they split in turn. With a "
    "TOKENIZER whose files do not name a pattern, split by this one.",
)
@click.option("--draw", metavar="FILE", help="Draw the automaton of --pattern (the first, if repeated) into an .svg file.")
@click.option("--plot", metavar="FILE", help="Draw the figures into a .png, .svg or .pdf file (needs matplotlib).")
@click.option(
    "--longest", type=click.IntRange(0), default=10, show_default=True, help="How many of the longest tokens to show."
)
@click.option(
    "--frequent",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="How many of the most frequent tokens to show.",
)
@click.option(
    "--unused", type=click.IntRange(0), default=10, show_default=True, help="How many of the unused tokens to show."
)
@click.option(
    "--dtype",
    type=click.Choice(["uint16", "uint32"]),
    help="The type of the ids in a .bin file that has no sidecar, as nanoGPT's train.bin.",
)
@click.option("--verify", is_flag=True, help="Compare the ids of a .bin or .npy file with their checksum.")
@source_options
@json_option
@click.pass_context
def inspect(
    context: click.Context,
    tokenizer: str | None,
    text: str | None,
    patterns: Sequence[str],
    draw: str | None,
    plot: str | None,
    longest: int,
    frequent: int,
    unused: int,
    dtype: str | None,
    verify: bool,
    field: str | None,
    on_error: str,
    as_json: bool,
) -> None:
    """Show the contents of a vocabulary, and its figures on a text.

    TOKENIZER may also be a file of ids (.bin or .npy), to show its contents. With --pattern instead of a TOKENIZER, show
    how a split pattern works, and how it splits the beginning of TEXT.
    """
    if tokenizer is not None and context.get_parameter_source("tokenizer") is ParameterSource.ENVIRONMENT and patterns:
        tokenizer = None
    if draw is not None and not draw.lower().endswith(".svg"):
        raise click.UsageError(f"--draw {draw!r} must end in .svg")
    if patterns and tokenizer is None:
        if verify or plot is not None or dtype:
            raise click.UsageError("--verify, --dtype and --plot cannot be used with --pattern")
        _check_used(context, _OF_TOKENS, "is for tokenizers, and --pattern is explained without one")
        if text is None:
            _check_used(context, _OF_RECORDS, "needs --on")
        _inspect_pattern(patterns, text, draw, as_json, {"field": field, "on_error": on_error})
        return
    if draw:
        raise click.UsageError("--draw needs --pattern")
    if tokenizer is None:
        (argument,) = (each for each in context.command.params if each.name == "tokenizer")
        raise click.MissingParameter(ctx=context, param=argument)
    if tokenizer.endswith((".bin", ".npy")):
        if text is not None or plot is not None:
            raise click.UsageError(f"--on and --plot are for tokenizers, and {shown_path(tokenizer)} is a file of ids")
        why = f"is for tokenizers, and {shown_path(tokenizer)} is a file of ids"
        _check_used(context, (*_OF_TOKENS, *_OF_RECORDS, "patterns"), why)
        _inspect_ids(tokenizer, dtype, verify, as_json)
        return
    if verify or dtype:
        option = "--verify" if verify else "--dtype"
        raise click.UsageError(f"{option} is for files of ids, .bin or .npy, and {shown_path(tokenizer)} is not one")
    if text is None:
        _check_used(context, ("frequent", "unused", *_OF_RECORDS), "needs --on")
    if plot is not None:
        from .plots import check_plot
        from .plots import draw as draw_figures

        with as_usage():
            check_plot(plot)
    inspected = read_with_pattern(tokenizer, patterns)
    vocabulary = vocabulary_figures(inspected, longest)
    on_text = None
    if text is not None:
        with as_path(text) as path:
            on_text = text_figures(inspected, [path], frequent, field=field, on_error=on_error)
    if plot:
        draw_figures(plot, shown_path(tokenizer), inspected, vocabulary, on_text)
    lines = tables.vocabulary_lines(shown_path(tokenizer), vocabulary)
    if on_text:
        lines += ["", *tables.text_lines(shown_path(text or ""), on_text, unused)]
    if plot:
        lines += ["", f"drawn into {shown_path(plot)}"]
    data: dict[str, Any] = {"vocabulary": vocabulary}
    if on_text:
        data["text"] = {**tables.as_data(on_text), "unused": tables.first_unused(on_text, unused)}
    print_figures(data, lines, as_json)


def _check_used(context: click.Context, names: Sequence[str], why: str) -> None:
    """Raise UsageError if one of these options is given, as it would be ignored."""
    for parameter in context.command.params:
        if parameter.name in names and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]} {why}")


def _first_bytes(path: Path, options: dict[str, Any]) -> bytes:
    """The beginning of a text, as other commands read it: decompressed, and only the text field of records."""
    single_bytes = Tokenizer({i: bytes([i]) for i in range(256)}, [])
    data = b""
    for ids in encoded(single_bytes, [path], progress=False, **options):
        data += ids[:_SHOWN_BYTES].astype(np.uint8).tobytes()
        if len(data) >= _SHOWN_BYTES:
            break
    return data[:_SHOWN_BYTES]


def _inspect_pattern(
    patterns: Sequence[str], text: str | None, draw: str | None, as_json: bool, options: dict[str, Any]
) -> None:
    beginning = None
    if text is not None:
        with as_path(text) as path:
            data = _first_bytes(path, options)
        # An incomplete character at the end is dropped.
        beginning = getincrementaldecoder("utf-8")("surrogateescape").decode(data, final=len(data) < _SHOWN_BYTES)
    with as_usage():
        found = explain_pattern(pattern_of(patterns), beginning)
        if draw:
            found.to_svg(draw)
    print_figures(
        {
            "name": found.name,
            "regexes": list(found.regexes),
            "compiled": found.is_compiled,
            "not_compiled": found.not_compiled,
            "partly_compiled": found.is_partly_compiled,
            "has_pieces": found.has_pieces,
            "levels": [
                {
                    "regex": level.regex,
                    "n_states": level.n_states,
                    "classes": [{"n": each.n, "examples": list(each.examples)} for each in level.classes],
                    "pairs": sorted(level.pairs),
                    "triples": sorted(level.triples),
                }
                for level in found.levels
            ],
            "pretokens": [_printable(each) for each in found.pretokens],
            "is_certain": list(found.is_certain),
        },
        [*str(found).split("\n"), *(["", f"drawn into {shown_path(draw)}"] if draw else [])],
        as_json,
    )


def _printable(text: str) -> str:
    """A text with its bytes of invalid UTF-8 as escapes."""
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _inspect_ids(path: str, dtype: str | None, verify: bool, as_json: bool) -> None:
    file = TokenFile(path, dtype=dtype, verify=verify)
    figures = {
        "ids": path,
        "n_ids": len(file),
        "dtype": file.dtype.name,
        "fingerprint": file.fingerprint,
        "vocab_size": file.vocab_size,
        "verified": verify,
    }
    pairs = [("ids", f"{len(file):,}"), ("type", file.dtype.name)]
    if file.fingerprint is not None:
        pairs.append(("tokenizer", f"{file.fingerprint}, {file.vocab_size:,} tokens"))
    if verify:
        pairs.append(("checksum", "matches the ids that were written"))
    print_figures(figures, [shown_path(path), *tables.indented(tables.facts(pairs))], as_json)


@command(
    "nbbpe compare tokenizer-a tokenizer-b --on corpus.txt",
    "nbbpe compare tokenizer-a tokenizer-b --on corpus.txt --examples 50",
    "nbbpe compare tokenizer-a tokenizer-b --on corpus.txt --json",
)
@click.argument("a")
@click.argument("b")
@click.option(
    "--on",
    "text",
    required=True,
    multiple=True,
    callback=_one_text,
    metavar="TEXT",
    help="The text to compare them on.",
)
@click.option(
    "--examples",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="How many words to show that they split differently.",
)
@pattern_option
@source_options
@json_option
def compare(a: str, b: str, text: str, examples: int, patterns: Sequence[str], as_json: bool, **options: Any) -> None:
    """Show which of two tokenizers needs fewer tokens for a text, and how they differ."""
    is_asked = [bool(patterns) and says_no_pattern(each) for each in (a, b)]
    if patterns and not any(is_asked):
        raise click.UsageError("--pattern is for files that do not name a pattern, and both tokenizers name theirs")
    first, second = (
        read_with_pattern(each, patterns if asked else ()) for each, asked in zip((a, b), is_asked, strict=True)
    )
    with as_path(text) as path:
        found = compare_tokenizers(first, second, [path], examples, **options)
    print_figures(found, tables.comparison_lines(shown_path(a), shown_path(b), shown_path(text), found), as_json)


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
    """Write a report on a vocabulary as one HTML page, to read before you decide on it, or print its figures as JSON.

    For each TEXT and each script: compression at every size of the vocabulary, tokens per word, and the gain of twice the
    vocabulary. Of the tokens: the longest, those that begin or end inside a character, those that are never
    used, near duplicates. A TEXT is like the INPUTS of `nbbpe train`.
    """
    if target is None and not as_json:
        raise click.UsageError("give -o FILE for a page, --json for the figures, or both")
    if target is not None and not target.endswith((".html", ".htm")):
        raise click.UsageError(f"-o {target!r} must end in .html")
    reported = read_with_pattern(tokenizer, patterns)
    names = list(map(shown_path, short_names(texts)))
    for number, each in enumerate(names):
        if each in names[:number]:
            raise click.UsageError(f"two texts have the name {each!r}, so that one would be lost: give each once")
    with as_paths(texts) as paths:
        on = dict(zip(names, paths, strict=True))
        figures = reported.report(target, on, name=shown_path(tokenizer), **options)
    data = {"tokenizer": tokenizer, "n_vocab": len(reported), **_report_as_data(figures)} if as_json else {}
    print_figures(data, [f"{shown_path(target or '')}: {len(reported):,} tokens on {', '.join(on)}"], as_json)


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
    """How many tokens there are of each kind, and the first of them."""
    numbers = {name: value for name, value in vars(figures).items() if isinstance(value, int)}
    kinds = {name: value for name, value in vars(figures).items() if isinstance(value, list)}
    sizes = {f"n_{name}": len(uses) for name, uses in kinds.items() if name != "longest"}
    return {**numbers, **sizes, **{name: _uses_as_data(uses[:_MOST_LISTED]) for name, uses in kinds.items()}}


def _uses_as_data(uses: Sequence[TokenUse | list[TokenUse]]) -> list[Any]:
    return [
        {"id": use.token_id, **tables.bytes_as_data(use.token), "n_uses": use.n_uses, "n_made": use.n_made}
        if isinstance(use, TokenUse)
        else _uses_as_data(use)
        for use in uses
    ]
