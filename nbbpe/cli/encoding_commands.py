"""Subcommands that turn text into ids (`encode`, `count`) and back (`decode`)."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import click

from ..encoding.special_choice import Choice, allowed_in, find_separator
from ..inspection import count_tokens_of_each, encoded
from ..system.beside_ids import SIDECAR, files_of_ids
from ..system.links import is_device
from ..system.paths import check_not_read
from ..system.worker_processes import WorkerError
from ..tokenizer import Tokenizer
from . import tables
from .options import (
    as_paths,
    as_usage,
    command,
    json_option,
    pattern_option,
    print_figures,
    read_with_pattern,
    source_options,
    special_option,
    split_with_option,
    tokenizer_option,
    workers_option,
)
from .signals import Ended
from .streams import STDIN, output, read_ids, stdin_blocks, write_ids
from .tables import shown_path

_KEEPING = "surrogateescape"  # the error handler with which bytes of invalid UTF-8 come out as they went in
# Errors after which the same command can continue once there is room: a full disk, a quota, a file size limit.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@command(
    "nbbpe encode corpus.txt -o corpus.bin -t tokenizer",
    "nbbpe encode corpus.txt -o corpus.npy --workers 4",
    "nbbpe encode - -o - < a.txt | head",
    "nbbpe encode a.txt -o - --format raw | my-program",
    "nbbpe encode 'data/*.jsonl' -o all.bin --separator '<|endoftext|>' --resume",
)
@click.argument("inputs", nargs=-1)
@click.option("-o", "--output", "target", default=STDIN, metavar="FILE", help="A .bin or .npy file, or `-`.  [default: -]")
@click.option("--format", "form", type=click.Choice(["text", "raw"]), help="Format of ids on stdout.  [default: text]")
@click.option("--separator", metavar="TOKEN", help="The special token to write after each document.")
@click.option("--separator-first", is_flag=True, help="Write it in front of each document instead.")
@click.option(
    "--resume", is_flag=True, help="Keep finished parts next to FILE, and continue from the parts of an earlier run."
)
@special_option
@tokenizer_option
@split_with_option
@pattern_option
@source_options
@workers_option
@json_option
def encode(
    inputs: Sequence[str],
    target: str,
    form: str | None,
    separator: str | None,
    separator_first: bool,
    resume: bool,
    allowed: Choice | None,
    tokenizer: str,
    split_with: str,
    patterns: Sequence[str],
    workers: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Turn the texts INPUTS, or stdin, into ids.

    A .bin file holds raw little-endian integers, uint16 up to 65,536 tokens, else uint32; an .npy file holds a NumPy
    array. On stdout, ids are numbers, with a new line for each line of the text; or raw, as in a .bin file. INPUTS are
    given as for `nbbpe train`. Special tokens are recognised in plain text, but in records only with --allow-special, as
    a record that contains one would become two documents.
    """
    inputs = inputs or [STDIN]
    if separator_first and separator is None:
        raise click.UsageError("--separator-first needs --separator, the special token to write in front of each document")
    options |= {"separator": separator, "separator_first": separator_first, "allowed_special": allowed}
    if target == STDIN:
        _check_for_stdout(form, resume, workers, as_json)
        encoder = _encoder_of(tokenizer, separator, split_with, patterns)
        _encode_to_stdout(encoder, inputs, form or "text", options)
        return
    _check_for_file(target, form, inputs, resume)
    encoder = _encoder_of(tokenizer, separator, split_with, patterns)
    with as_paths(inputs) as paths, _saying_what_is_kept(target) if resume else nullcontext():
        began = time.perf_counter()
        n_tokens = encoder.encode_file(paths, target, workers, split_with=split_with, resume=resume, **options)
        seconds = time.perf_counter() - began
    dtype = encoder.dtype.name
    figures = {"output": target, "n_tokens": n_tokens, "dtype": dtype, "seconds": round(seconds, 3)}
    print_figures(figures, [f"{shown_path(target)}: {n_tokens:,} tokens as {dtype}, in {seconds:.1f} s"], as_json)


def _check_for_stdout(form: str | None, resume: bool, workers: int | None, as_json: bool) -> None:
    """Raise UsageError for options that ids on stdout cannot have."""
    if as_json:
        raise click.UsageError("--json prints figures, and with -o - stdout is for the ids")
    if resume:
        raise click.UsageError("--resume needs a file of ids: give -o a name that ends in .bin or .npy")
    if workers is not None:
        raise click.UsageError("--workers is for files of ids: ids for stdout are made by one worker")
    if form == "raw" and sys.stdout.isatty():
        raise click.UsageError("raw ids are not for a terminal: write them to a file (-o ids.bin) or into a pipe")


def _check_for_file(target: str, form: str | None, inputs: Sequence[str], resume: bool) -> None:
    """Raise UsageError for options that a file of ids cannot have."""
    if os.path.splitext(target)[1] not in (".bin", ".npy"):
        raise click.UsageError(f"-o {target!r} must be a name that ends in .bin or .npy, or `-`")
    if form == "text" or (form == "raw" and not target.endswith(".bin")):
        raise click.UsageError("--format is for ids on stdout; a file's name gives its format: .bin is raw, .npy an array")
    if resume and STDIN in inputs:
        raise click.UsageError("--resume needs files, which can be read again; `-` is standard input, read once only")


@contextmanager
def _saying_what_is_kept(target: str) -> Iterator[None]:
    """Add to an error's message what a run with --resume has kept, if the same command can continue from there."""
    try:
        yield
    except Ended as ended:
        ended.left = _kept(target)
        raise
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise type(error)(error.errno, f"{error.strerror}{_kept(target)}", error.filename) from error
    except (MemoryError, WorkerError) as error:
        raise type(error)(f"{error}{_kept(target)}") from error


def _kept(target: str) -> str:
    """The end of a message about the parts that a run with --resume has finished; "" if there are none."""
    from ..idfiles.kept_parts import folder_of  # imported here, as most commands do not need it

    if not os.path.isdir(kept := folder_of(target)):
        return ""
    return f"; finished parts are kept in {shown_path(kept)}, and the same command continues from there"


def _encoder_of(tokenizer: str, separator: str | None, split_with: str, patterns: Sequence[str]) -> Tokenizer:
    """Read a tokenizer that splits as the options say. Raises UsageError if the separator is not one of its tokens."""
    found = read_with_pattern(tokenizer, patterns)
    with as_usage():
        find_separator(found.special_tokens, separator)
        return found._splitting_with(split_with)


def _encode_to_stdout(tokenizer: Tokenizer, inputs: Sequence[str], form: str, options: dict[str, Any]) -> None:
    if list(inputs) == [STDIN] and options["separator"] is None and options["field"] is None:
        # Each block is encoded as it arrives: the writer of stdin may be slow.
        allowed = allowed_in(False, options["allowed_special"])
        write_ids(tokenizer.encode_stream(stdin_blocks(), allowed_special=allowed), form, tokenizer)
    else:
        with as_paths(inputs) as paths:
            write_ids(encoded(tokenizer, paths, "encode", **options), form, tokenizer)


@command(
    "nbbpe decode corpus.bin -t tokenizer | head",
    "nbbpe encode a.txt -o - | nbbpe decode - | diff - a.txt",
    "echo 262 257 | nbbpe decode -",
)
@click.argument("source", metavar="[IDS]", default=STDIN)
@click.option("-o", "--output", "target", default=STDIN, metavar="FILE", help="Where to write the text.  [default: -]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "raw", "npy"]),
    help="Format of the ids.  [default: by the name: .bin is raw, .npy is npy, any other is text]",
)
@tokenizer_option
@pattern_option
def decode(source: str, target: str, form: str | None, tokenizer: str, patterns: Sequence[str]) -> None:
    """Turn the ids in the file IDS, or of stdin, back into text, byte for byte.

    As text, ids are numbers separated by spaces, newlines or commas, also in brackets, as Python prints a list.
    """
    decoder = read_with_pattern(tokenizer, patterns)
    if STDIN not in (source, target) and not is_device(target):
        check_not_read([source, *files_of_ids([source + SIDECAR])], target)
    done = 0
    stream = decoder.stream_decoder(_KEEPING)
    with output(target) as file:
        for ids in read_ids(source, form, decoder):
            try:
                file.write(stream.feed(ids).encode(errors=_KEEPING))
            except ValueError:
                place, wrong = next((i, x) for i, x in enumerate(ids.tolist()) if decoder.id_to_token(x) is None)
                raise ValueError(
                    f"{shown_path(source)}: id {wrong} at index {done + place:,} is not in the vocabulary of "
                    f"{len(decoder):,} tokens; were they made by another tokenizer?"
                ) from None
            done += len(ids)
        file.write(stream.finish().encode(errors=_KEEPING))


@command(
    "nbbpe count *.txt -t tokenizer",
    "cat a.txt | nbbpe count",
    "nbbpe count a.txt --json",
)
@click.argument("inputs", nargs=-1)
@special_option
@tokenizer_option
@pattern_option
@source_options
@json_option
def count(
    inputs: Sequence[str],
    allowed: Choice | None,
    tokenizer: str,
    patterns: Sequence[str],
    field: str | None,
    on_error: str,
    as_json: bool,
) -> None:
    """Count the tokens of the texts INPUTS, which are given as for `nbbpe train`, or of stdin."""
    inputs = inputs or [STDIN]
    counter = read_with_pattern(tokenizer, patterns)
    with as_paths(inputs) as paths:
        counted = count_tokens_of_each(counter, [[path] for path in paths], field, on_error, allowed)
    rows = [(source, *figures) for source, figures in zip(inputs, counted, strict=True)]
    figures = [{"input": name, "n_tokens": n_tokens, "n_bytes": n_bytes} for name, n_tokens, n_bytes in rows]
    print_figures(figures, tables.count_lines(rows), as_json)
