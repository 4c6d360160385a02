"""What the subcommands share: their declaration, common options, and printing.

The `**options` of a subcommand are passed on to the library, whose arguments have the same names.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import click
from click.core import ParameterSource

from ..encoding.special_choice import ALL, NONE
from ..patterns.pattern import ALIASES, NAMED, Pattern
from ..patterns.pattern_argument import SPLIT_WITH, get_pattern
from ..system.arguments import naming_options
from ..system.atomic_files import name_in_errors
from ..system.paths import Path
from ..tokenizer import Tokenizer
from . import tables
from .formats import read_tokenizer
from .streams import STDIN, as_path

# Parameters of a command, and the arguments of the library that they become, if the names differ.
_ARGUMENTS = {
    "allowed": ["allowed_special"],
    "inputs": ["source"],
    "patterns": ["pattern"],
    "special": ["special_tokens"],
    "target": ["output"],
    "texts": ["on", "source"],
}


def options_of(command: click.Command) -> dict[str, str]:
    """The names that messages use for arguments of the library while a command runs: `--vocab-size`, or `INPUTS`."""
    names: dict[str, str] = {}
    for parameter in command.params:
        name = parameter.name or ""
        shown_name = parameter.human_readable_name
        if isinstance(parameter, click.Option):
            shown_name = "/".join([*parameter.opts[:1], *parameter.secondary_opts[:1]])
        names |= dict.fromkeys([name, *_ARGUMENTS.get(name, [])], shown_name)
    return names


class _Text(click.types.StringParamType):
    """A string that a shell completes as the name of a pattern or of a file. (click does not complete strings.)"""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem  # imported here, as it is needed for completion only

        if param.name == "patterns":
            return [CompletionItem(name) for name in [*NAMED, *ALIASES] if name.startswith(incomplete)]
        return [CompletionItem(incomplete, type="file")]


class Command(click.Command):
    """A command whose help ends with sections of preformatted lines, and which accepts --debug (see `main`)."""

    def __init__(self, *arguments: Any, sections: Mapping[str, Sequence[str]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._sections = sections
        debug = click.Option(["--debug"], is_flag=True, expose_value=False, help="Show the traceback of an error.")
        self.params.append(debug)
        for parameter in self.params:
            if parameter.type is click.STRING:
                parameter.type = _Text()

    def invoke(self, ctx: click.Context) -> Any:
        with naming_options(options_of(self)):
            return super().invoke(ctx)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with name_in_errors("stdout"):  # help is printed here
            return super().make_context(*arguments, **options)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            rest = super().parse_args(ctx, args)
            self._check_short_options(ctx)
            return rest
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # click does not set it for all errors
            raise

    def _check_short_options(self, ctx: click.Context) -> None:
        """Raise UsageError for `-o=name`, which click would read as the name `=name`."""
        for option in self.params:
            value = ctx.params.get(option.name or "")
            has_short = isinstance(option, click.Option) and not option.opts[0].startswith("--")
            if has_short and isinstance(value, str) and value.startswith("="):
                short, long = option.opts[0], option.opts[-1]
                raise click.UsageError(
                    f"{short} {value!r} begins with `=`: write {short} {value[1:]} or {long}={value[1:]}"
                )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, lines in self._sections.items():
            with formatter.section(title):
                for line in lines:
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def command(*examples: str, **sections: Sequence[str]) -> Callable[[Callable[..., Any]], click.Command]:
    return click.command(cls=Command, sections={**sections, "Examples": examples})


# A list of numbers in indented JSON, which has a line for each. (It never matches in a string: those have no line breaks.)
_NUMBERS = re.compile(r"\[\n([\s\d.,eE+-]+)\]")
TOKENIZER = "NBBPE_TOKENIZER"  # the environment variable
tokenizer_option = click.option(
    "-t",
    "--tokenizer",
    metavar="TOKENIZER",
    envvar=TOKENIZER,
    required=True,
    show_envvar=True,
    help="Folder or file of the tokenizer.",
)
special_option = click.option(
    "--allow-special/--no-special",
    "allowed",
    default=None,
    callback=lambda context, parameter, value: {True: ALL, False: NONE}.get(value),
    help="Whether special tokens in the text become their ids, or are plain text.  [default: they do in plain text, but "
    "not in records (.jsonl, .json, .parquet, .arrow)]",
)
pattern_option = click.option(
    "--pattern",
    "patterns",
    multiple=True,
    help="How text is split (or `none`), for files that do not name a pattern: tiktoken's, GPT-2's.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print figures as JSON, for scripts.")
workers_option = click.option(
    "--workers",
    type=click.IntRange(1),
    metavar="N",
    help="Number of workers.  [default: as many as pay off, up to the number of processors]",
)
split_with_option = click.option(
    "--split-with",
    type=click.Choice(SPLIT_WITH),
    default="auto",
    show_default=True,
    help="Split with the pattern's automaton, or with the `regex` package: slower, with the same result.",
)


def several(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Combine options into one decorator; --help lists them in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def exact_weight(value: str) -> Any:
    """Convert a positive number or fraction, such as 1/3, to a Fraction. Raises ValueError for anything else."""
    from fractions import Fraction

    _, _, exponent = value.lower().partition("e")
    if len(exponent.strip().lstrip("+-0")) > 3:  # a Fraction would compute an integer of so many digits
        raise ValueError(f"{value!r} is too large or too small")
    try:
        weight = Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{value!r} is not a number or a fraction") from None
    if weight <= 0:
        raise ValueError(f"{value!r} is not positive")
    return weight


def _weight(value: str) -> Any:
    try:
        return exact_weight(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


# How text is divided into words, for the commands that count them.
split_options = several(
    click.option(
        "--special", multiple=True, metavar="TOKEN", help="A special token that separates documents; may be repeated."
    ),
    click.option(
        "--pattern",
        "patterns",
        multiple=True,
        help="How text is split: a name, a regex, or `none`. If repeated, the patterns split in turn.  [default: gpt2]",
    ),
    click.option(
        "--weight",
        "weights",
        multiple=True,
        type=_weight,
        metavar="W",
        help="Multiply the counts of an input by this number or fraction, such as 1/3; give one for each input.",
    ),
    click.option(
        "--memory-limit",
        metavar="SIZE",
        help="Memory for all processes, such as 4GB; counts that exceed it go to temporary files.  [default: three "
        "quarters of the free memory]",
    ),
)
# Which field of a record is its text, and what happens to malformed records.
source_options = several(
    click.option("--field", help="The field or column of a record that holds the text.  [default: text]"),
    click.option(
        "--on-error",
        type=click.Choice(["raise", "skip"]),
        default="raise",
        show_default=True,
        help="What to do with malformed records.",
    ),
)


def pattern_of(patterns: Sequence[str]) -> Pattern:
    """The split pattern for the values of --pattern; several split in turn."""
    if "none" in patterns and len(patterns) > 1:
        raise click.UsageError("--pattern none does not split, so it cannot be combined with other patterns")
    return get_pattern(None if list(patterns) == ["none"] else patterns)


def read_with_pattern(path: str, patterns: Sequence[str]) -> Tokenizer:
    """Read a tokenizer; `patterns` are the values of --pattern, for files that do not name their pattern.

    If the path is from the environment variable and does not exist, the error names the variable.
    """
    with as_usage():
        pattern = pattern_of(patterns) if patterns else None
    try:
        return read_tokenizer(path, pattern=pattern)
    except FileNotFoundError as error:
        source = click.get_current_context().get_parameter_source("tokenizer")
        if source is ParameterSource.ENVIRONMENT and not os.path.exists(path):
            raise click.UsageError(f"the environment variable {TOKENIZER}: {error}") from None
        raise


def check_no_stdout(target: str, argument: str) -> None:
    """Raise UsageError if stdout is given for a tokenizer, as it would become a folder named `-`."""
    if target == STDIN:
        raise click.UsageError(f"{argument} `-`: a tokenizer cannot be written to stdout; give a folder or file")


def check_used(context: click.Context, names: Sequence[str], why: str) -> None:
    """Raise UsageError if one of these options is given, as it would be ignored."""
    for parameter in context.command.params:
        if parameter.name in names and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]} {why}")


@contextmanager
def as_paths(inputs: Sequence[str]) -> Iterator[list[Path]]:
    """The paths of several inputs (see `as_path`). At most one may be `-`, as stdin can be read only once."""
    if inputs.count(STDIN) > 1:
        raise click.UsageError("`-` can be given once")
    with ExitStack() as stack:
        yield [stack.enter_context(as_path(source)) for source in inputs]


@contextmanager
def as_usage() -> Iterator[None]:
    """Turn a ValueError into an error of the command line."""
    try:
        yield
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def print_figures(data: Any, lines: Sequence[str], as_json: bool) -> None:
    """Print a result, as lines for people or as JSON for scripts."""
    text = _NUMBERS.sub(_in_one_line, json.dumps(tables.as_data(data), indent=2)) if as_json else "\n".join(lines)
    with name_in_errors("stdout"):
        click.echo(text)


def _in_one_line(numbers: re.Match[str]) -> str:
    return f"[{' '.join(numbers[1].split())}]"
