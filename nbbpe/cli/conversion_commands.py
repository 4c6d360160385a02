"""Subcommands that write tokenizers in other formats (`convert`), and compiled kernels to disk (`warmup`)."""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

import click

from ..formats.recognise import recognised
from ..loading import load
from ..model.special_tokens import check_special_tokens
from ..system.atomic_files import made_folder
from ..system.links import target_of
from ..system.paths import absolute
from ..tokenizer import Tokenizer
from . import EXIT_FAILED, tables
from .formats import FORMATS, Format, find_format, read_tokenizer
from .options import as_usage, check_no_stdout, command, json_option, pattern_of, print_figures
from .tables import shown_path


@command(
    "nbbpe convert tokenizer gpt2-files --to gpt2",
    "nbbpe convert gpt2-files tokenizer --special '<|endoftext|>'",
    "nbbpe convert cl100k_base.tiktoken tokenizer",
    "nbbpe convert qwen/tokenizer.json tokenizer",
    Formats=tables.table([(each.name, each.about) for each in FORMATS], left=[0, 1]),
)
@click.argument("source")
@click.argument("target")
@click.option(
    "--to",
    "format_name",
    type=click.Choice([each.name for each in FORMATS]),
    help="The format to write.  [default: by the name of TARGET]",
)
@click.option(
    "--special", multiple=True, metavar="TOKEN", help="A special token, if SOURCE does not name its special tokens."
)
@click.option(
    "--pattern",
    "patterns",
    multiple=True,
    help="How text is split (or `none`), if SOURCE does not say.  [default: the format's pattern]",
)
@click.option(
    "--normalizer",
    type=click.Choice(["apply", "ignore"]),
    default="apply",
    show_default=True,
    help="Whether to keep the normalizer of a tokenizer.json. If ignored, normalize texts beforehand.",
)
@click.option(
    "--verify",
    "verified",
    is_flag=True,
    help="Check that what was written gives the same ids: read it with the library that owns the format, and encode hard "
    "text.",
)
@json_option
def convert(
    source: str,
    target: str,
    format_name: str | None,
    special: Sequence[str],
    patterns: Sequence[str],
    normalizer: Literal["apply", "ignore"],
    verified: bool,
    as_json: bool,
) -> None:
    """Write the tokenizer SOURCE as TARGET, in another format. Missing folders are made."""
    check_no_stdout(target, "TARGET")
    with as_usage():
        chosen = find_format(target, format_name)
        check_special_tokens(special)
        pattern = pattern_of(patterns) if patterns else None
    tokenizer = read_tokenizer(source, special, pattern, normalizer)
    if verified:
        from ..formats.verification import check_verifiable, verify_written  # imported here, as it takes a while

        check_verifiable(chosen.name)  # before anything is written or replaced
    with made_folder(os.path.dirname(absolute(target).rstrip(os.sep))):
        written = chosen.write(tokenizer, target) or [target]
    n_tokens = chosen.n_tokens(tokenizer)
    if unsaid := chosen.unsaid(tokenizer, written):
        result = "as this tokenizer"
        if chosen.moves_special(tokenizer):
            result = "with other ids of special tokens (Tokenizer.from_tiktoken(special_tokens={...}) takes theirs)"
        warnings.warn(
            f"{chosen.name} files hold neither pattern nor special tokens; options to read them {result}: "
            f"{shlex.join(unsaid)}",
            stacklevel=1,
        )
    _warn_if_hidden(tokenizer, chosen, target, written)
    proof = verify_written(tokenizer._model, tokenizer.encode, chosen.name, written) if verified else None
    about = {"format": chosen.name, "written": list(written), "n_tokens": n_tokens, "unsaid": unsaid}
    lines = [f"{shown_path(path)}: {chosen.name}, {n_tokens:,} tokens" for path in written]
    if proof is not None:
        about["verified"] = proof
        lines += [f"verified: {proof}"]
    print_figures(about, lines, as_json)


def _warn_if_hidden(tokenizer: Tokenizer, chosen: Format, target: str, written: Sequence[str]) -> None:
    """Warn if the target folder is still read as another tokenizer, because of files that were there before."""
    if not os.path.isdir(target) or (found := recognised(target)).kind == chosen.name:
        return
    with suppress(ValueError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about files that this conversion did not write
        if load(target) == tokenizer:
            return
    first = os.path.basename(found.sources[0])
    warnings.warn(
        f"{shown_path(target)} also has a {first} of another tokenizer, which is read if you give the folder's name: give "
        f"{shown_path(written[0])} instead, or move {first} away",
        stacklevel=1,
    )


@command(
    "nbbpe warmup",
    "NUMBA_CACHE_DIR=/shared/cache nbbpe warmup",
    "nbbpe warmup --into image/cache/nbbpe --cpu x86-64-v3",
)
@click.option(
    "--into",
    metavar="FOLDER",
    help="A folder to write the kernels to, for a wheel or for other machines. With NUMBA_CACHE_DIR=D, processes find "
    "those in D/nbbpe.",
)
@click.option(
    "--cpu",
    default="",
    metavar="NAMES",
    help="Processors to compile for, such as x86-64-v3,x86-64-v4.  [default: this one]",
)
@json_option
def warmup(into: str | None, cpu: str, as_json: bool) -> int:
    """Compile all kernels now, so that later processes load them.

    For images, clusters and wheels. Fails if the kernels cannot be stored in any folder.
    """
    from .. import warmup as compile_all
    from ..kernels.compiler.target import parse_wanted

    processors = [name for name in cpu.split(",") if name]
    with as_usage():
        for name in processors:
            parse_wanted(name)
    done = compile_all(into, processors)
    lines = [f"compiled {done.n_compiled} kernels in {done.seconds:.1f} s"]
    if done.n_lost:
        lines += [f"{done.n_lost} kernels could not be stored: each process will compile them again"]
    elif not done.folders:
        lines += ["they could not be stored: each process will compile them again"]
    lines += [f"{n_kernels} kernels are stored in {folder}" for folder, n_kernels in done.folders.items()]
    if into is not None:
        parent, name = os.path.split(target_of(into))
        lines += [
            f"processes find them with NUMBA_CACHE_DIR={shown_path(parent)}"
            if name == "nbbpe"
            else "processes look for them in the folder nbbpe of their NUMBA_CACHE_DIR, and in nbbpe/kernels/objects"
        ]
    print_figures(done._asdict(), lines, as_json)
    return 0 if done.folders and not done.n_lost else EXIT_FAILED
