"""The subcommand `inspect`, which shows a tokenizer, explains a pattern, or describes a file of ids."""

from __future__ import annotations

import os
import textwrap
from codecs import getincrementaldecoder
from collections.abc import Sequence
from typing import Any, NamedTuple

import click
import numpy as np
from click.core import ParameterSource

from ..idfiles.checksum import Checksum, checksum
from ..idfiles.sidecar import check_checksum
from ..idfiles.token_file import TokenFile
from ..inspection import encoded, text_figures, vocabulary_figures
from ..pattern_explanation import explain_pattern
from ..patterns.pattern import ALIASES, NAMED
from ..sources.finding import find_files
from ..system.paths import Path, check_mappable, check_not_read
from ..system.read_numbers import read_numbers
from ..tokenizer import Tokenizer
from . import tables
from .options import (
    TOKENIZER,
    as_usage,
    check_used,
    command,
    json_option,
    pattern_of,
    print_figures,
    read_with_pattern,
    source_options,
)
from .streams import as_path, unchanged
from .tables import shown_path

_IDS_AT_ONCE = 1 << 20  # read in one step when a file is verified
_SHOWN_BYTES = 2000  # of the text that a pattern is applied to
_OF_TOKENS = "longest", "frequent", "unused"
_OF_RECORDS = "field", "on_error"


def _one_text(context: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> str | None:
    """The only text of --on, or None. Raises UsageError for several, of which click alone would silently take the last."""
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
    Patterns=textwrap.wrap(", ".join([*NAMED, *ALIASES]), tables.WIDTH - 4, break_on_hyphens=False),
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
        check_used(context, _OF_TOKENS, "is for tokenizers, and --pattern is explained without one")
        if text is None:
            check_used(context, _OF_RECORDS, "needs --on")
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
        check_used(context, (*_OF_TOKENS, *_OF_RECORDS, "patterns"), why)
        _inspect_ids(tokenizer, dtype, verify, as_json)
        return
    if verify or dtype:
        option = "--verify" if verify else "--dtype"
        raise click.UsageError(f"{option} is for files of ids, .bin or .npy, and {shown_path(tokenizer)} is not one")
    if text is None:
        check_used(context, ("frequent", "unused", *_OF_RECORDS), "needs --on")
    shown = _Shown(longest, frequent, unused)
    _inspect_tokenizer(tokenizer, patterns, text, plot, shown, as_json, {"field": field, "on_error": on_error})


class _Shown(NamedTuple):
    """How many tokens of each kind are shown."""

    longest: int
    frequent: int
    unused: int


def _inspect_tokenizer(
    name: str,
    patterns: Sequence[str],
    text: str | None,
    plot: str | None,
    shown: _Shown,
    as_json: bool,
    options: dict[str, Any],
) -> None:
    if plot is not None:
        from .plots import check_plot
        from .plots import draw as draw_figures

        with as_usage():
            check_plot(plot)
    tokenizer = read_with_pattern(name, patterns)
    vocabulary, on_text = vocabulary_figures(tokenizer, shown.longest), None
    data: dict[str, Any] = {"vocabulary": vocabulary}
    lines = tables.vocabulary_lines(shown_path(name), vocabulary)
    if text is not None:
        with as_path(text) as path:
            _check_not_drawn_over(path, plot)
            on_text = text_figures(tokenizer, [path], shown.frequent, **options)
        data["text"] = {**tables.as_data(on_text), "unused": tables.first_unused(on_text, shown.unused)}
        lines += ["", *tables.text_lines(shown_path(text), on_text, shown.unused)]
    if plot is not None:
        draw_figures(plot, shown_path(name), tokenizer, vocabulary, on_text)
        lines += ["", f"drawn into {shown_path(plot)}"]
    print_figures(data, lines, as_json)


def _check_not_drawn_over(text: Path, drawing: str | None) -> None:
    """Raise WrongArgument if a drawing would replace a file of the text."""
    if drawing is not None:
        check_not_read((file.path for file in find_files(text)), drawing)


def _first_bytes(path: Path, options: dict[str, Any]) -> bytes:
    """Read the beginning of a text as other commands do: decompressed, and only the text field of records."""
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
            _check_not_drawn_over(path, draw)
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
    r"""Write bytes of invalid UTF-8, which are surrogate escapes in the text, as \xNN."""
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _inspect_ids(path: str, dtype: str | None, verify: bool, as_json: bool) -> None:
    file = _verified(path, dtype) if verify else TokenFile(path, dtype=dtype)
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


def _verified(path: str, dtype: str | None) -> TokenFile:
    """Open a file of ids and verify its checksum. Raises as `TokenFile.verify`, or OSError if the file changed meanwhile.

    The ids are read, not mapped, see `unchanged`.
    """
    check_mappable(path)
    with unchanged(path) as opened:
        file = TokenFile(path, dtype=dtype)
        opened.seek(-file.ids.nbytes, os.SEEK_END)
        parts = iter(lambda: checksum(read_numbers(opened, file.dtype, _IDS_AT_ONCE)), Checksum())
        check_checksum(file.path, file._checksum, parts)
    return file
